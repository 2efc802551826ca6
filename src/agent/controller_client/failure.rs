//! From what the HTTP library says to the numbered reason: the kind of an error is read from its
//! chain of causes, never from its text.

use std::error::Error;
use std::io;

use rustls::CertificateError;

use super::super::clock;
use super::endpoint::Endpoint;
use crate::sys::machine;
use crate::types::reason::Failure;

/// Whom a failed call was to.
pub(super) struct Blame<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) issued_at: i64,
}

impl Blame<'_> {
    pub(super) fn failure(&self, error: &reqwest::Error) -> Failure {
        let Endpoint { address, port, .. } = *self.endpoint;
        if let Some(tls) = find(error, &|cause| cause.downcast_ref::<rustls::Error>().cloned()) {
            return self.tls(&tls);
        }
        let refused = find(error, &|cause| Some(cause.downcast_ref::<io::Error>()?.kind()))
            .is_some_and(|kind| {
                matches!(kind, io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset)
            });
        Failure::ControllerUnreachable { address, port, refused }
    }

    fn tls(&self, error: &rustls::Error) -> Failure {
        let Endpoint { address, port, .. } = *self.endpoint;
        let host = machine::clock();
        if is_about_time(error) && clock::may_explain(host, self.issued_at) {
            Failure::ClockWrong { host, issued: self.issued_at }
        } else {
            Failure::TlsFailed { address, port }
        }
    }
}

fn is_about_time(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(certificate) = error else { return false };
    matches!(
        certificate,
        CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. }
    )
}

/// What `pick` finds first in the chain. An `io::Error` hides its content from `source`, so that is
/// looked into on its own.
fn find<T>(
    error: &(dyn Error + 'static),
    pick: &dyn Fn(&(dyn Error + 'static)) -> Option<T>,
) -> Option<T> {
    if let Some(found) = pick(error) {
        return Some(found);
    }
    let content = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let inner: Option<&(dyn Error + 'static)> = match content {
        Some(content) => Some(content),
        None => error.source(),
    };
    find(inner?, pick)
}

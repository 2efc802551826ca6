//! The certificate authority that agents trust: its certificate travels on the boot medium, its
//! key never leaves this process.

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    SanType,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use time::{Duration, OffsetDateTime};

/// A host whose clock is this far behind can still verify.
const BACKDATED: Duration = Duration::hours(25);
const VALID: Duration = Duration::days(30);

/// A CA with one server certificate under it.
pub struct Authority {
    ca_pem: String,
    server: Arc<ServerConfig>,
}

/// The certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// Making or signing a certificate failed.
    #[error("making the certificate of the agent API failed")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refused the certificate.
    #[error("the certificate of the agent API was refused")]
    Tls(#[from] rustls::Error),
}

impl Authority {
    /// Makes a fresh CA (ECDSA P-256) and a server certificate for `addresses`, valid for 30 days
    /// from `now`.
    ///
    /// # Errors
    /// When key generation or signing fails.
    pub fn generate(addresses: &[IpAddr], now: OffsetDateTime) -> Result<Self, AuthorityError> {
        let mut ca = params("leaseless agent API CA", now);
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;

        let mut server = params("leaseless agent API", now);
        server.subject_alt_names = addresses.iter().copied().map(SanType::IpAddress).collect();
        server.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        Ok(Self { ca_pem: issuer.pem(), server: Arc::new(config) })
    }

    /// PEM of the CA, for the boot medium.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// TLS configuration of the server under this CA.
    #[must_use]
    pub fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }
}

fn params(name: &str, now: OffsetDateTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = now - BACKDATED;
    params.not_after = now + VALID;
    params
}

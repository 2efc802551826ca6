//! TLS towards a BMC: verified against a CA of the host's own or the system's, or not at all.
//! Names who signed a certificate that does not verify.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::error::Cause;

/// How the BMC's certificate is checked.
#[derive(Debug, Clone)]
pub struct TlsPolicy {
    /// PEM certificates to trust instead of the system's: CAs, or the BMC's own certificate.
    pub ca_pem: Option<Vec<u8>>,
    /// Whether the certificate must verify.
    pub verify: bool,
    /// Oldest version to speak.
    pub min_version: TlsVersion,
}

/// TLS versions. BMCs that speak only 1.0 or 1.1 can't be reached over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVersion {
    /// 1.2.
    Tls12,
    /// 1.3.
    Tls13,
}

impl Default for TlsPolicy {
    fn default() -> Self {
        Self { ca_pem: None, verify: true, min_version: TlsVersion::Tls12 }
    }
}

/// The issuer of the last certificate that did not verify.
pub(super) type SeenIssuer = Arc<Mutex<Option<String>>>;

impl TlsPolicy {
    /// A configuration for reqwest, and where the verifier notes an issuer it did not accept.
    pub(super) fn client_config(&self) -> Result<(ClientConfig, SeenIssuer), Cause> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let seen = SeenIssuer::default();
        let verifier = Verifier {
            trust: if self.verify { self.trust(&provider)? } else { Trust::Anything },
            provider: Arc::clone(&provider),
            seen: Arc::clone(&seen),
        };
        let versions: &[&rustls::SupportedProtocolVersion] = match self.min_version {
            TlsVersion::Tls12 => &[&rustls::version::TLS13, &rustls::version::TLS12],
            TlsVersion::Tls13 => &[&rustls::version::TLS13],
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|error| Cause::Roots(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok((config, seen))
    }

    fn trust(&self, provider: &Arc<CryptoProvider>) -> Result<Trust, Cause> {
        let Some(pem) = &self.ca_pem else { return Ok(Trust::System(OnceLock::new())) };
        let pinned: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|error| Cause::Roots(format!("the CA file is no PEM: {error}")))?;
        if pinned.is_empty() {
            let text = "the CA file holds no certificate: it needs BEGIN CERTIFICATE blocks";
            return Err(Cause::Roots(text.to_owned()));
        }
        let chain = chain_to(pinned.iter().cloned(), provider);
        Ok(Trust::Only { pinned, chain })
    }
}

/// A verifier for what these CAs signed; `None` if none of them can be used.
fn chain_to(
    cas: impl IntoIterator<Item = CertificateDer<'static>>,
    provider: &Arc<CryptoProvider>,
) -> Option<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(cas);
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().ok()
}

enum Trust {
    Anything,
    /// What the system's CAs signed; they are read when the first certificate comes.
    System(OnceLock<Option<Arc<WebPkiServerVerifier>>>),
    /// These very certificates, or what these CAs signed.
    Only {
        pinned: Vec<CertificateDer<'static>>,
        chain: Option<Arc<WebPkiServerVerifier>>,
    },
}

impl Trust {
    /// Whether this very certificate is enough. BMCs sign for themselves, with names that fit no
    /// address: the certificate itself is proof then.
    fn is_pinned(&self, certificate: &CertificateDer<'_>) -> bool {
        match self {
            Self::Anything => true,
            Self::System(_) => false,
            Self::Only { pinned, .. } => pinned.iter().any(|pin| pin == certificate),
        }
    }

    fn chain(&self, provider: &Arc<CryptoProvider>) -> Option<&Arc<WebPkiServerVerifier>> {
        match self {
            Self::Anything => None,
            Self::System(chain) => chain
                .get_or_init(|| chain_to(rustls_native_certs::load_native_certs().certs, provider))
                .as_ref(),
            Self::Only { chain, .. } => chain.as_ref(),
        }
    }
}

struct Verifier {
    trust: Trust,
    provider: Arc<CryptoProvider>,
    seen: SeenIssuer,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.trust.is_pinned(end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        let verified = match self.trust.chain(&self.provider) {
            Some(chain) => {
                chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            None => Err(rustls::CertificateError::UnknownIssuer.into()),
        };
        if verified.is_err() {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            *seen = issuer(end_entity);
        }
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Common name, else organisation, of a certificate's issuer (RFC 5280 §4.1.2.4), for a message.
fn issuer(certificate: &[u8]) -> Option<String> {
    let (_, body, _) = der(certificate)?;
    let (_, tbs, _) = der(body)?;
    let (tag, _, after) = der(tbs)?;
    // An explicit version comes before the serial number.
    let rest = if tag == 0xA0 { der(after)?.2 } else { after };
    let (_, _, rest) = der(rest)?;
    let (_, name, _) = der(rest)?;
    const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
    const ORGANISATION: [u8; 3] = [0x55, 0x04, 0x0A];
    attribute(name, COMMON_NAME).or_else(|| attribute(name, ORGANISATION))
}

fn attribute(mut name: &[u8], wanted: [u8; 3]) -> Option<String> {
    while let Some((_, set, rest)) = der(name) {
        name = rest;
        let (_, pair, _) = der(set)?;
        let (_, kind, value) = der(pair)?;
        if kind == wanted {
            let text = String::from_utf8_lossy(der(value)?.1).into_owned();
            return Some(text.chars().filter(|c| !c.is_control()).take(100).collect());
        }
    }
    None
}

/// Tag, content and what follows of one DER element (X.690 §8.1) with a one-byte tag.
fn der(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7F);
        if count == 0 || count > 4 || rest.len() < count {
            return None;
        }
        let (size, rest) = rest.split_at(count);
        (size.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
    };
    (rest.len() >= length).then(|| (tag, &rest[..length], &rest[length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_issuer_is_read_from_a_certificate() {
        let mut parameters = rcgen::CertificateParams::new(["bmc".to_owned()]).unwrap();
        parameters.distinguished_name.push(rcgen::DnType::OrganizationName, "Rack");
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "iDRAC default");
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        assert_eq!(issuer(certificate.der()).as_deref(), Some("iDRAC default"));
    }

    #[test]
    fn a_certificate_cut_short_has_no_issuer_and_does_no_harm() {
        let key = rcgen::KeyPair::generate().unwrap();
        let parameters = rcgen::CertificateParams::new(["bmc".to_owned()]).unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        for length in 0..certificate.der().len() {
            assert_eq!(issuer(&certificate.der()[..length]), None);
        }
    }

    #[test]
    fn a_ca_file_without_certificates_is_refused() {
        let policy = TlsPolicy { ca_pem: Some(b"hello".to_vec()), ..TlsPolicy::default() };
        assert!(policy.client_config().unwrap_err().to_string().contains("BEGIN CERTIFICATE"));
    }
}

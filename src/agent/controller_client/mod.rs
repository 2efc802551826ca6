//! The node's half of the agent API (`types::report`): HTTPS under the medium's CA alone, IP
//! literals, bounded answers, every call with a deadline. What went wrong is a numbered reason.
//!
//! Not here: when to try again (`run` decides).

mod endpoint;
mod failure;

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, StatusCode, header};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::endpoint::{Endpoint, NoNames};
use self::failure::Blame;
use super::clock::NotBefore;
use super::telemetry::chain;
use crate::types::boot::BootConfig;
use crate::types::reason::Failure;
use crate::types::report::{ApiError, Instruction, Progress, Report, Session, SessionRequest};

const CONNECT: Duration = Duration::from_secs(5);
const CALL: Duration = Duration::from_secs(15);
/// A report of a large host over a slow management network.
const REPORT: Duration = Duration::from_secs(60);
/// The controller holds `GET /v1/next` for 25 s.
const LONG_POLL: Duration = Duration::from_secs(40);
/// Every answer of the API is far smaller.
const LARGEST_ANSWER: usize = 64 << 10;

/// Why the configuration names no controller that could be called.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No PEM certificate, or none that can be a trust anchor.
    #[error("ca_pem holds no usable certificate")]
    Ca,
    /// No URL is `https://` with an IP address.
    #[error("controller_urls names no https://<IP address>[:port]")]
    NoUrl,
    /// The TLS library refused its own configuration.
    #[error("TLS can't be set up")]
    Tls(#[from] rustls::Error),
    /// The HTTP library refused its own configuration.
    #[error("HTTP can't be set up")]
    Http(#[from] reqwest::Error),
}

/// A client for one boot of one host.
#[derive(Debug)]
pub struct ControllerClient {
    http: reqwest::Client,
    endpoints: Vec<Endpoint>,
    request: SessionRequest,
    issued_at: i64,
    session: Option<OpenSession>,
}

#[derive(Debug)]
struct OpenSession {
    endpoint: Endpoint,
    bearer: header::HeaderValue,
}

impl ControllerClient {
    /// A client for the controller that `boot` names; `boot_id` is the kernel's.
    ///
    /// # Errors
    /// When `boot` names no controller that could be called.
    pub fn new(boot: &BootConfig, boot_id: String) -> Result<Self, ClientError> {
        let endpoints: Vec<Endpoint> =
            boot.controller_urls.iter().filter_map(|url| Endpoint::parse(url)).collect();
        if endpoints.is_empty() {
            return Err(ClientError::NoUrl);
        }
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(&boot.ca_pem, boot.issued_at)?)
            .https_only(true)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(NoNames)
            .connect_timeout(CONNECT)
            .user_agent(concat!("leaseless-agent/", env!("CARGO_PKG_VERSION")))
            .build()?;
        let request = SessionRequest {
            host_id: boot.host_id.clone(),
            token: boot.token.clone(),
            boot_id,
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Ok(Self { http, endpoints, request, issued_at: boot.issued_at, session: None })
    }

    /// Trades the token for a session at the first controller that answers, in the order of the
    /// configuration. The same boot may trade again.
    ///
    /// # Errors
    /// One reason per controller, when none gave a session.
    pub async fn open_session(&mut self) -> Result<String, Vec<Failure>> {
        self.session = None;
        let mut failures = Vec::new();
        for endpoint in &self.endpoints {
            match self.trade(endpoint).await {
                Ok(session) => {
                    self.session = Some(session);
                    return Ok(endpoint.to_string());
                }
                Err(failure) => failures.push(failure),
            }
        }
        Err(failures)
    }

    /// Says what the agent is doing.
    ///
    /// # Errors
    /// When it was not heard.
    pub async fn progress(&self, message: &str) -> Result<(), Failure> {
        let body = Progress { message: message.to_owned() };
        self.call(Method::POST, "v1/progress", Some(&body), CALL).await.map(drop)
    }

    /// Hands in the report.
    ///
    /// # Errors
    /// When it was not taken.
    pub async fn report(&self, report: &Report) -> Result<Instruction, Failure> {
        let (endpoint, answer) = self.call(Method::POST, "v1/report", Some(report), REPORT).await?;
        decode(endpoint, &answer)
    }

    /// Asks what to do next; the controller may take 25 s to answer.
    ///
    /// # Errors
    /// When it did not answer.
    pub async fn next(&self) -> Result<Instruction, Failure> {
        let (endpoint, answer) = self.call(Method::GET, "v1/next", None::<&()>, LONG_POLL).await?;
        decode(endpoint, &answer)
    }

    async fn trade(&self, endpoint: &Endpoint) -> Result<OpenSession, Failure> {
        let request = self.http.post(endpoint.url("v1/session")).timeout(CALL).json(&self.request);
        let answer = self.send(endpoint, request).await?;
        let Session { session } = decode(endpoint, &answer)?;
        let mut bearer = header::HeaderValue::try_from(format!("Bearer {}", session.expose()))
            .map_err(|_| refused(endpoint, StatusCode::OK, "its session is no header value"))?;
        bearer.set_sensitive(true);
        Ok(OpenSession { endpoint: endpoint.clone(), bearer })
    }

    async fn call<B: Serialize + Sync>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
        deadline: Duration,
    ) -> Result<(&Endpoint, Vec<u8>), Failure> {
        let Some(OpenSession { endpoint, bearer }) = &self.session else {
            return Err(Failure::ControllerRefused { status: 401 });
        };
        let mut request = self
            .http
            .request(method, endpoint.url(path))
            .timeout(deadline)
            .header(header::AUTHORIZATION, bearer.clone());
        if let Some(body) = body {
            request = request.json(body);
        }
        Ok((endpoint, self.send(endpoint, request).await?))
    }

    async fn send(
        &self,
        endpoint: &Endpoint,
        request: reqwest::RequestBuilder,
    ) -> Result<Vec<u8>, Failure> {
        let blame = |error: reqwest::Error| {
            tracing::warn!(controller = %endpoint, "{}", chain(&error));
            Blame { endpoint, issued_at: self.issued_at }.failure(&error)
        };
        let mut response = request.send().await.map_err(blame)?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(blame)? {
            if body.len() + piece.len() > LARGEST_ANSWER {
                return Err(refused(endpoint, status, "its answer is larger than 64 KiB"));
            }
            body.extend_from_slice(&piece);
        }
        if status.is_success() {
            return Ok(body);
        }
        let said = serde_json::from_slice::<ApiError>(&body)
            .map_or_else(|_| "it did not say why".to_owned(), |error| error.error);
        Err(refused(endpoint, status, &said))
    }
}

fn decode<T: DeserializeOwned>(endpoint: &Endpoint, body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| {
        // Not the text itself: it may hold a session.
        let place = format!("its answer is not valid at column {}", error.column());
        refused(endpoint, StatusCode::OK, &place)
    })
}

fn refused(endpoint: &Endpoint, status: StatusCode, why: &str) -> Failure {
    tracing::warn!(controller = %endpoint, status = status.as_u16(), "refused: {why}");
    Failure::ControllerRefused { status: status.as_u16() }
}

/// TLS that trusts the medium's CA and nothing else.
fn tls(ca_pem: &str, issued_at: i64) -> Result<rustls::ClientConfig, ClientError> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
        let certificate = certificate.map_err(|_| ClientError::Ca)?;
        roots.add(certificate).map_err(|_| ClientError::Ca)?;
    }
    if roots.is_empty() {
        return Err(ClientError::Ca);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clock = NotBefore::new(issued_at);
    let mut config = rustls::ClientConfig::builder_with_details(provider, clock)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

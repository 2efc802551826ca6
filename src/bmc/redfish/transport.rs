//! One HTTP exchange with a BMC: headers that BMCs need, redirects on the same host, bounded
//! bodies, a deadline for everything.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::client::noted_issuer;
use super::error::Cause;
use super::tls::{SeenIssuer, TlsPolicy};

/// No answer of a BMC that we read is larger.
const BODY_BOUND: usize = 4 << 20;
/// Redirects that are followed, one after the other.
const REDIRECTS: usize = 5;
const CONNECT_DEADLINE: Duration = Duration::from_secs(15);

/// The way to one BMC.
pub(super) struct Transport {
    http: reqwest::Client,
    base: Url,
    issuer: SeenIssuer,
    reached: AtomicBool,
    /// Cleared when the BMC answers 406 to `Accept-Encoding: identity`.
    wants_identity: AtomicBool,
}

/// One request.
pub(super) struct Request<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) body: Option<&'a Value>,
    pub(super) if_match: Option<&'a str>,
    pub(super) deadline: Duration,
}

impl<'a> Request<'a> {
    pub(super) fn new(method: Method, path: &'a str, deadline: Duration) -> Self {
        Self { method, path, body: None, if_match: None, deadline }
    }
}

/// One answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// Path it came from, after redirects.
    pub(super) path: String,
    pub(super) etag: Option<String>,
    /// Path in `Location`; whatever host a BMC believes to have is not asked.
    pub(super) location: Option<String>,
    pub(super) retry_after: Option<Duration>,
    /// Methods in `Allow`.
    pub(super) allow: Vec<String>,
    /// `X-Auth-Token`.
    pub(super) token: Option<String>,
    pub(super) body: Body,
}

/// Body of an answer.
#[derive(Debug)]
pub(super) enum Body {
    /// Nothing, or blanks.
    Empty,
    /// JSON.
    Json(Value),
    /// A web page.
    Html,
    /// The start of something else.
    Other(String),
}

impl Transport {
    pub(super) fn new(base: &str, tls: &TlsPolicy) -> Result<Self, Cause> {
        let base = Url::parse(base)
            .map_err(|error| Cause::Roots(format!("{base:?} is no URL: {error}")))?;
        let (config, issuer) = tls.client_config()?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .user_agent(concat!("leaseless/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_DEADLINE)
            // Some BMCs stop answering on connections that stay open.
            .pool_max_idle_per_host(0)
            .http1_only()
            .no_proxy()
            .build()
            .map_err(|error| Cause::Roots(error.to_string()))?;
        let yes = AtomicBool::new(true);
        Ok(Self { http, base, issuer, reached: AtomicBool::new(false), wants_identity: yes })
    }

    /// Scheme, host and port.
    pub(super) fn base(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Whether the BMC ever answered.
    pub(super) fn was_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    /// Sends one request and reads its answer, whatever its status.
    pub(super) async fn send(
        &self,
        request: &Request<'_>,
        login: &HeaderMap,
    ) -> Result<Reply, Cause> {
        let exchange = async {
            let reply = self.follow(request, login).await?;
            let identity = self.wants_identity.load(Ordering::Relaxed);
            if reply.status != 406 || !identity {
                return Ok(reply);
            }
            self.wants_identity.store(false, Ordering::Relaxed);
            self.follow(request, login).await
        };
        tokio::time::timeout(request.deadline, exchange)
            .await
            .unwrap_or(Err(Cause::TimedOut(request.deadline)))
    }

    /// Follows redirects of reads, on the same host only: the login goes with them.
    async fn follow(&self, request: &Request<'_>, login: &HeaderMap) -> Result<Reply, Cause> {
        let mut url = self.url(request.path)?;
        for _ in 0..=REDIRECTS {
            let response = self.once(request, &url, login).await?;
            if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED
            {
                return self.read(response).await;
            }
            let to = text(response.headers(), header::LOCATION).unwrap_or_default();
            let refuse = |why| Err(Cause::Redirect { to: to.clone(), why });
            if request.method != Method::GET {
                return refuse("only reads are repeated elsewhere");
            }
            let Ok(next) = url.join(&to) else { return refuse("it is no URL") };
            if next.host() != self.base.host() {
                return refuse("it is another host, and the password is not for that one");
            }
            if next.scheme() != self.base.scheme() && next.scheme() != "https" {
                return refuse("the password would leave TLS");
            }
            url = next;
        }
        Err(Cause::Redirect { to: url.to_string(), why: "there is no end of redirects" })
    }

    async fn once(
        &self,
        request: &Request<'_>,
        url: &Url,
        login: &HeaderMap,
    ) -> Result<Response, Cause> {
        let mut builder = self
            .http
            .request(request.method.clone(), url.clone())
            .headers(login.clone())
            .header(header::ACCEPT, "application/json")
            .header("OData-Version", "4.0")
            .header(header::CONNECTION, "close");
        if self.wants_identity.load(Ordering::Relaxed) {
            builder = builder.header(header::ACCEPT_ENCODING, "identity");
        }
        if let Some(tag) = request.if_match.and_then(|tag| HeaderValue::from_str(tag).ok()) {
            builder = builder.header(header::IF_MATCH, tag);
        }
        if let Some(body) = request.body {
            builder = builder.json(body);
        } else if request.method == Method::POST {
            // Without a body there would be no length, which some BMCs refuse with 411.
            builder = builder.header(header::CONTENT_LENGTH, "0");
        }
        let response = builder.send().await.map_err(|error| self.network(error))?;
        self.reached.store(true, Ordering::Relaxed);
        Ok(response)
    }

    /// The URL of a path of this BMC, or of a link it gave.
    fn url(&self, path: &str) -> Result<Url, Cause> {
        let unusable = |_| Cause::Unreadable { property: "@odata.id", value: path.to_owned() };
        let mut url = self.base.join(&format!("/{}", path.trim_start_matches('/')));
        if let Ok(url) = &mut url {
            url.set_fragment(None);
        }
        url.map_err(unusable)
    }

    async fn read(&self, mut response: Response) -> Result<Reply, Cause> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(Cause::Broken)? {
            if bytes.len() + chunk.len() > BODY_BOUND {
                return Err(Cause::TooLarge { bound: BODY_BOUND });
            }
            bytes.extend_from_slice(&chunk);
        }
        let headers = response.headers();
        let allow = text(headers, header::ALLOW).unwrap_or_default();
        Ok(Reply {
            status: response.status().as_u16(),
            path: response.url().path().to_owned(),
            etag: text(headers, header::ETAG),
            location: text(headers, header::LOCATION)
                .and_then(|to| response.url().join(&to).ok())
                .map(|url| url[url::Position::BeforePath..].to_owned()),
            retry_after: text(headers, header::RETRY_AFTER).and_then(|text| retry_after(&text)),
            allow: allow.split(',').map(|method| method.trim().to_uppercase()).collect(),
            token: text(headers, "x-auth-token"),
            body: body(&bytes),
        })
    }

    fn network(&self, error: reqwest::Error) -> Cause {
        let host = self.base.host_str().unwrap_or_default().to_owned();
        match rustls_error(&error) {
            Some(source @ rustls::Error::InvalidCertificate(_)) => {
                Cause::Certificate { host, issuer: noted_issuer(&self.issuer), source }
            }
            Some(source) => Cause::Tls { host, source },
            None if error.is_connect() || error.is_timeout() => {
                Cause::Unreachable { base: self.base().to_owned(), source: error.without_url() }
            }
            None => Cause::Broken(error.without_url()),
        }
    }
}

fn text(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn body(bytes: &[u8]) -> Body {
    // Some BMCs begin with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii();
    if bytes.is_empty() {
        return Body::Empty;
    }
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Body::Json(value);
    }
    if bytes.starts_with(b"<") {
        return Body::Html;
    }
    Body::Other(String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned())
}

/// Seconds, or a date (RFC 9110 §10.2.3).
fn retry_after(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let format = &time::format_description::well_known::Rfc2822;
    let at = time::OffsetDateTime::parse(&text.trim().replace("GMT", "+0000"), format).ok()?;
    SystemTime::from(at).duration_since(SystemTime::now()).ok()
}

/// The TLS error in a chain: hyper and reqwest wrap it in I/O errors, which hide what they hold.
fn rustls_error(error: &reqwest::Error) -> Option<rustls::Error> {
    let mut next: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found.clone());
        }
        let inside = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        next = match inside {
            Some(inside) => Some(inside),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_told_apart_by_what_they_hold() {
        assert!(matches!(body(b" \n"), Body::Empty));
        assert!(matches!(body(b"\xEF\xBB\xBF{\"a\":1}"), Body::Json(_)));
        assert!(matches!(body(b"<!DOCTYPE html>"), Body::Html));
        assert!(matches!(body(b"{\"a\":"), Body::Other(_)));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after("30"), Some(Duration::from_secs(30)));
        assert!(retry_after("Wed, 21 Oct 2099 07:28:00 GMT").is_some());
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), None);
        assert_eq!(retry_after("soon"), None);
    }
}

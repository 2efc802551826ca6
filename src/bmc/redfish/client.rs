//! Requests to one BMC and their answers: login, redirects, retries, ETags, bounds.
//!
//! Not here: what a resource means, or which vendor wants what.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use super::answer::Answer;
use super::error::{Cause, RedfishError, Step};
use super::etag;
use super::quirks::{self, Backoff, IfMatch};
use super::resource::Resource;
use super::session::{Auth, Credentials};
use super::tls::{SeenIssuer, TlsPolicy};
use super::transport::{Body, Reply, Request, Transport};

/// Reads and small changes. Slow BMCs need tens of seconds for a single GET.
const CALL_DEADLINE: Duration = Duration::from_secs(60);
/// Actions: some BMCs fetch a whole image before they answer.
const ACTION_DEADLINE: Duration = Duration::from_secs(300);
/// Of one GET, before the fault is reported.
const GET_RETRY: Backoff =
    Backoff { tries: 4, first: Duration::from_secs(3), most: Duration::from_secs(12) };

/// One BMC, logged in to.
pub(super) struct Client {
    pub(super) transport: Transport,
    pub(super) credentials: Credentials,
    /// How requests prove who sends them.
    pub(super) auth: Mutex<Auth>,
    /// Path of the session collection, once the service root told.
    pub(super) sessions: Mutex<Option<String>>,
}

impl Client {
    pub(super) fn new(
        base: &str,
        credentials: Credentials,
        tls: &TlsPolicy,
    ) -> Result<Self, RedfishError> {
        let transport = Transport::new(base, tls).map_err(|cause| cause.at(Step::PreparingTls))?;
        Ok(Self {
            transport,
            credentials,
            auth: Mutex::new(Auth::Nothing),
            sessions: Mutex::new(None),
        })
    }

    pub(super) fn auth(&self) -> Auth {
        self.auth.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_auth(&self, auth: Auth) {
        *self.auth.lock().unwrap_or_else(PoisonError::into_inner) = auth;
    }

    /// Reads a resource; faults of the server are tried again.
    pub(super) async fn get(&self, step: Step, path: &str) -> Result<Resource, RedfishError> {
        let mut waits = GET_RETRY.waits();
        loop {
            let request = Request::new(Method::GET, path, CALL_DEADLINE);
            let reply = self.send(step, &request).await;
            let again = match &reply {
                Ok(reply) => reply.status >= 500 && reply.status != 501,
                // A BMC that was never reached is a wrong address more often than a slow one.
                Err(error) => {
                    matches!(*error.cause, Cause::Broken(_)) || {
                        matches!(*error.cause, Cause::Unreachable { .. })
                            && self.transport.was_reached()
                    }
                }
            };
            let wait = if again { waits.next() } else { None };
            let Some(wait) = wait else {
                return resource(reply?).map_err(|cause| cause.on(step, Method::GET, path));
            };
            let asked = reply.ok().and_then(|reply| reply.retry_after);
            tracing::debug!(path, ?wait, "the BMC has a fault, asking again");
            tokio::time::sleep(asked.map_or(wait, |asked| asked.min(GET_RETRY.most))).await;
        }
    }

    /// Reads a resource that need not be there: 404 and the like give `None`.
    pub(super) async fn get_optional(
        &self,
        step: Step,
        path: &str,
    ) -> Result<Option<Resource>, RedfishError> {
        match self.get(step, path).await {
            Ok(resource) => Ok(Some(resource)),
            Err(error) if matches!(error.status(), Some(400 | 403..=405 | 410 | 500..=599)) => {
                tracing::debug!(path, error = %error.cause, "left out");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Changes a resource, with the ETag it was read with if the BMC takes one.
    pub(super) async fn patch(
        &self,
        step: Step,
        path: &str,
        body: &Value,
        etag: Option<&str>,
        if_match: IfMatch,
    ) -> Result<Reply, RedfishError> {
        let mut ladder = etag::ladder(etag, if_match).into_iter();
        let mut tag = ladder.next().flatten();
        let mut is_demanded = false;
        loop {
            let request = Request {
                body: Some(body),
                if_match: tag.as_deref(),
                ..Request::new(Method::PATCH, path, CALL_DEADLINE)
            };
            let error = match self.write(step, &request).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            match error.status() {
                Some(412) if !is_demanded => match ladder.next() {
                    Some(next) => tag = next,
                    None => return Err(error),
                },
                Some(428) if !is_demanded => {
                    is_demanded = true;
                    let fresh = self.get(step, path).await?.etag;
                    tag = Some(fresh.unwrap_or_else(|| "*".to_owned()));
                }
                _ => return Err(error),
            }
        }
    }

    /// Calls an action. Actions are other resources than what they act on: never an If-Match.
    pub(super) async fn post(
        &self,
        step: Step,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, RedfishError> {
        let request = Request { body, ..Request::new(Method::POST, path, ACTION_DEADLINE) };
        let reply = self.write(step, &request).await?;
        self.finish(step, path, reply).await
    }

    /// Deletes a resource.
    pub(super) async fn delete(&self, step: Step, path: &str) -> Result<(), RedfishError> {
        let request = Request::new(Method::DELETE, path, Duration::from_secs(15));
        let reply = self.send(step, &request).await?;
        accept(reply).map(drop).map_err(|cause| cause.on(step, Method::DELETE, path))
    }

    /// A write, sent again while the BMC says in known words that it is only busy.
    async fn write(&self, step: Step, request: &Request<'_>) -> Result<Reply, RedfishError> {
        let mut waits: Option<quirks::Waits> = None;
        loop {
            let reply = self.send(step, request).await?;
            let error = match accept(reply) {
                Ok(reply) => return Ok(reply),
                Err(cause) => cause.on(step, request.method.clone(), request.path),
            };
            let backoff = error.answer().and_then(quirks::passing_refusal);
            let Some(backoff) = backoff else { return Err(error) };
            let Some(wait) = waits.get_or_insert_with(|| backoff.waits()).next() else {
                return Err(error);
            };
            tracing::info!(path = request.path, ?wait, cause = %error.cause, "the BMC is busy");
            tokio::time::sleep(wait).await;
        }
    }

    /// One request with a valid login; a session that ran out is renewed once.
    pub(super) async fn send(
        &self,
        step: Step,
        request: &Request<'_>,
    ) -> Result<Reply, RedfishError> {
        let told = |cause: Cause| cause.on(step, request.method.clone(), request.path);
        let auth = self.auth();
        let reply = self.transport.send(request, &self.headers(&auth)).await.map_err(told)?;
        if !matches!(reply.status, 401 | 403) || !auth.is_session() {
            return self.check_login(reply, &auth).map_err(told);
        }
        // A 403 may be about this request alone; the second answer tells.
        self.renew_session(&auth).await?;
        let auth = self.auth();
        let reply = self.transport.send(request, &self.headers(&auth)).await.map_err(told)?;
        self.check_login(reply, &auth).map_err(told)
    }

    fn check_login(&self, reply: Reply, auth: &Auth) -> Result<Reply, Cause> {
        match (reply.status, auth) {
            (401, Auth::Basic | Auth::Session { .. }) => Err(Cause::LoginRefused {
                user: self.credentials.username.clone(),
                status: reply.status,
            }),
            _ => Ok(reply),
        }
    }

    fn headers(&self, auth: &Auth) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let (name, value) = match auth {
            Auth::Nothing => return headers,
            Auth::Basic => ("authorization", self.credentials.basic()),
            Auth::Session { token, .. } => ("x-auth-token", token.expose().to_owned()),
        };
        // A token that is no header value can't have come in one.
        if let Ok(mut value) = HeaderValue::from_str(&value) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers
    }
}

/// The resource of a successful read.
fn resource(reply: Reply) -> Result<Resource, Cause> {
    let reply = accept(reply)?;
    match reply.body {
        Body::Json(value) => {
            Ok(Resource { path: reply.path, etag: reply.etag, allow: reply.allow, value }.tagged())
        }
        Body::Html => Err(Cause::Html { status: reply.status }),
        Body::Empty => Err(Cause::NotJson { status: reply.status, start: String::new() }),
        Body::Other(start) => Err(Cause::NotJson { status: reply.status, start }),
    }
}

/// A success, or what the BMC said instead.
pub(super) fn accept(reply: Reply) -> Result<Reply, Cause> {
    if (200..300).contains(&reply.status) {
        return Ok(reply);
    }
    match reply.body {
        Body::Html => Err(Cause::Html { status: reply.status }),
        Body::Json(body) => Err(Cause::Refused { answer: Answer::read(reply.status, &body) }),
        Body::Empty => Err(Cause::Refused { answer: Answer::read(reply.status, &Value::Null) }),
        Body::Other(text) => {
            Err(Cause::Refused { answer: Answer::read(reply.status, &Value::from(text)) })
        }
    }
}

/// What the verifier noted about a certificate that it refused.
pub(super) fn noted_issuer(seen: &SeenIssuer) -> Option<String> {
    seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

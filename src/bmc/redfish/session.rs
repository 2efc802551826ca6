//! Logging in: a session where the BMC has them, else Basic (DSP0266 §13.3). A session is deleted
//! on close: BMCs have few.

use std::sync::PoisonError;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Client, accept};
use super::error::{Cause, RedfishError, Step};
use super::quirks;
use super::transport::Request;
use crate::types::Secret;

const LOGIN_DEADLINE: Duration = Duration::from_secs(60);

/// Who logs in.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// User name.
    pub username: String,
    /// Password.
    pub password: Secret,
}

impl Credentials {
    /// Value of `Authorization`.
    pub(super) fn basic(&self) -> String {
        let pair = format!("{}:{}", self.username, self.password.expose());
        format!("Basic {}", STANDARD.encode(pair))
    }
}

/// How requests prove who sends them.
#[derive(Debug, Clone)]
pub(super) enum Auth {
    /// Not at all: the service root is open.
    Nothing,
    /// The password with every request.
    Basic,
    /// A token.
    Session {
        /// `X-Auth-Token`.
        token: Secret,
        /// Path of the session.
        path: Option<String>,
    },
}

impl Auth {
    pub(super) const fn is_session(&self) -> bool {
        match self {
            Self::Session { .. } => true,
            Self::Nothing | Self::Basic => false,
        }
    }
}

impl Client {
    /// Logs in, by session if the BMC has sessions and gives one.
    pub(super) async fn log_in(&self, sessions: Option<String>) -> Result<(), RedfishError> {
        *self.sessions.lock().unwrap_or_else(PoisonError::into_inner) = sessions.clone();
        let Some(path) = sessions else {
            self.set_auth(Auth::Basic);
            return Ok(());
        };
        match self.create_session(&path).await {
            Ok(auth) => self.set_auth(auth),
            // Trying the same password again would only bring the lockout nearer.
            Err(error) if error.status() == Some(401) => {
                let user = self.credentials.username.clone();
                let cause = Cause::LoginRefused { user, status: 401 };
                return Err(cause.on(Step::LoggingIn, Method::POST, &path));
            }
            Err(error) => {
                tracing::info!(cause = %error.cause, "no session, using Basic");
                self.set_auth(Auth::Basic);
            }
        }
        Ok(())
    }

    /// A new session in place of `stale`, unless somebody else has renewed it already.
    pub(super) async fn renew_session(&self, stale: &Auth) -> Result<(), RedfishError> {
        if let (Auth::Session { token: now, .. }, Auth::Session { token: then, .. }) =
            (self.auth(), stale)
            && now != *then
        {
            return Ok(());
        }
        let path = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(path) = path else { return Ok(()) };
        match self.create_session(&path).await {
            Ok(auth) => {
                self.set_auth(auth);
                Ok(())
            }
            Err(error) if matches!(error.status(), Some(401 | 403)) => {
                let user = self.credentials.username.clone();
                let status = error.status().unwrap_or_default();
                let cause = Cause::LoginRefused { user, status };
                Err(cause.on(Step::LoggingIn, Method::POST, &path))
            }
            Err(error) => Err(error),
        }
    }

    async fn create_session(&self, path: &str) -> Result<Auth, RedfishError> {
        let (user, password) = (&self.credentials.username, &self.credentials.password);
        let plain = json!({"UserName": user, "Password": password});
        let reply = match self.try_session(path, &plain).await {
            Err(error) if error.answer().is_some_and(quirks::wants_login_domain) => {
                let mut body = plain;
                body["Oem"] = quirks::login_domain();
                self.try_session(path, &body).await?
            }
            other => other?,
        };
        let token = reply.token.map(Secret::new);
        let path = reply.location;
        token.map(|token| Auth::Session { token, path }).ok_or_else(|| {
            let cause = Cause::Unreadable { property: "X-Auth-Token", value: String::new() };
            cause.on(Step::LoggingIn, Method::POST, "sessions")
        })
    }

    async fn try_session(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<super::transport::Reply, RedfishError> {
        let told = |cause: Cause| cause.on(Step::LoggingIn, Method::POST, path);
        let request =
            Request { body: Some(body), ..Request::new(Method::POST, path, LOGIN_DEADLINE) };
        let reply = self.transport.send(&request, &reqwest::header::HeaderMap::new()).await;
        reply.and_then(accept).map_err(told)
    }

    /// Deletes the session, if there is one.
    pub(super) async fn log_out(&self) -> Result<(), RedfishError> {
        let Auth::Session { path: Some(path), .. } = self.auth() else { return Ok(()) };
        let deleted = self.delete(Step::LoggingOut, &path).await;
        self.set_auth(Auth::Nothing);
        deleted
    }
}

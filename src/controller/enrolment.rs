//! Which boot of which host may speak: a one-time token, traded once for a session. Pure.
//!
//! A token belongs to the first boot that trades it. The same boot may repeat the trade, since an
//! answer can get lost on its way; any other boot is refused, and that is told.

use std::collections::HashMap;

use crate::types::Secret;
use crate::types::report::SessionRequest;

/// The hosts that are expected to call.
#[derive(Debug, Default)]
pub struct Enrolments {
    hosts: HashMap<String, Enrolment>,
}

#[derive(Debug)]
struct Enrolment {
    token: Secret,
    boot: Option<Boot>,
}

#[derive(Debug)]
struct Boot {
    boot_id: String,
    session: Secret,
}

/// Answer to a trade.
#[derive(Debug, PartialEq, Eq)]
pub enum Trade {
    /// The boot's session.
    Granted {
        /// Bearer token.
        session: Secret,
        /// Whether this is the first time that this boot is heard of.
        first: bool,
    },
    /// No such host, or the token is not its.
    Unknown,
    /// The token was right, and an earlier boot spent it.
    Replayed,
}

impl Enrolments {
    /// Expects `host_id` to call with `token`. An earlier token and session of it end.
    pub fn expect(&mut self, host_id: String, token: Secret) {
        self.hosts.insert(host_id, Enrolment { token, boot: None });
    }

    /// Expects `host_id` no longer.
    pub fn forget(&mut self, host_id: &str) {
        self.hosts.remove(host_id);
    }

    /// Trades a token; `fresh` becomes the session of a boot that has none.
    pub fn trade(&mut self, request: &SessionRequest, fresh: Secret) -> Trade {
        let Some(enrolment) = self.hosts.get_mut(&request.host_id) else { return Trade::Unknown };
        if !enrolment.token.matches(request.token.expose()) {
            return Trade::Unknown;
        }
        match &enrolment.boot {
            Some(boot) if boot.boot_id == request.boot_id => {
                Trade::Granted { session: boot.session.clone(), first: false }
            }
            Some(_) => Trade::Replayed,
            None => {
                let boot_id = request.boot_id.clone();
                enrolment.boot = Some(Boot { boot_id, session: fresh.clone() });
                Trade::Granted { session: fresh, first: true }
            }
        }
    }

    /// The host whose session this is.
    #[must_use]
    pub fn host_of(&self, session: &str) -> Option<&str> {
        let holds = |enrolment: &Enrolment| {
            enrolment.boot.as_ref().is_some_and(|boot| boot.session.matches(session))
        };
        self.hosts.iter().find(|(_, enrolment)| holds(enrolment)).map(|(id, _)| id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(host: &str, token: &str, boot: &str) -> SessionRequest {
        SessionRequest {
            host_id: host.into(),
            token: Secret::new(token),
            boot_id: boot.into(),
            agent_version: "0".into(),
        }
    }

    fn expecting() -> Enrolments {
        let mut enrolments = Enrolments::default();
        enrolments.expect("h".into(), Secret::new("t"));
        enrolments
    }

    #[test]
    fn the_same_boot_gets_its_session_again() {
        let mut enrolments = expecting();
        let first = enrolments.trade(&request("h", "t", "b1"), Secret::new("s1"));
        assert_eq!(first, Trade::Granted { session: Secret::new("s1"), first: true });
        let again = enrolments.trade(&request("h", "t", "b1"), Secret::new("s2"));
        assert_eq!(again, Trade::Granted { session: Secret::new("s1"), first: false });
        assert_eq!(enrolments.host_of("s1"), Some("h"));
        assert_eq!(enrolments.host_of("s2"), None);
    }

    #[test]
    fn another_boot_with_a_spent_token_is_refused_and_named() {
        let mut enrolments = expecting();
        enrolments.trade(&request("h", "t", "b1"), Secret::new("s1"));
        let replay = enrolments.trade(&request("h", "t", "b2"), Secret::new("s2"));
        assert_eq!(replay, Trade::Replayed);
    }

    #[test]
    fn a_wrong_token_or_host_is_unknown_even_after_the_trade() {
        let mut enrolments = expecting();
        for (host, token) in [("h", "x"), ("x", "t"), ("h", "")] {
            let answer = enrolments.trade(&request(host, token, "b1"), Secret::new("s"));
            assert_eq!(answer, Trade::Unknown, "{host} {token}");
        }
        enrolments.trade(&request("h", "t", "b1"), Secret::new("s1"));
        let answer = enrolments.trade(&request("h", "x", "b1"), Secret::new("s"));
        assert_eq!(answer, Trade::Unknown);
    }

    #[test]
    fn a_forgotten_host_has_no_session() {
        let mut enrolments = expecting();
        enrolments.trade(&request("h", "t", "b1"), Secret::new("s1"));
        enrolments.forget("h");
        assert_eq!(enrolments.host_of("s1"), None);
    }
}

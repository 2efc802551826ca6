//! The four messages that make both sides of an RMCP+ session know each other (IPMI 2.0 §13.17
//! to §13.24), with Open Session before them. Pure: randomness and sockets are `lan.rs`'s.

use zeroize::Zeroizing;

use super::crypto::{Hash, Keys};

/// Bytes of a user name at most (§13.20).
pub(super) const NAME_MAX: usize = 16;
/// Bytes of a password at most (§22.30).
pub(super) const PASSWORD_MAX: usize = 20;

/// Look the user up by name alone, not by name and role: without it, a user whose limit is below
/// the asked role is no match (§13.20, byte 25).
const NAME_ONLY_LOOKUP: u8 = 0x10;
const ENCRYPTION_AES_CBC_128: u8 = 1;

/// RMCP+ status codes (table 13-15) that we tell apart or send.
pub(super) mod status {
    pub(in super::super) const OK: u8 = 0x00;
    pub(in super::super) const NO_SESSION_FREE: u8 = 0x01;
    pub(in super::super) const INVALID_SESSION: u8 = 0x02;
    pub(in super::super) const BAD_AUTHENTICATION: u8 = 0x04;
    pub(in super::super) const BAD_INTEGRITY: u8 = 0x05;
    pub(in super::super) const NO_AUTHENTICATION_MATCH: u8 = 0x06;
    pub(in super::super) const NO_INTEGRITY_MATCH: u8 = 0x07;
    pub(in super::super) const INACTIVE_SESSION: u8 = 0x08;
    pub(in super::super) const INVALID_ROLE: u8 = 0x09;
    pub(in super::super) const UNAUTHORIZED_ROLE: u8 = 0x0A;
    pub(in super::super) const NO_SESSION_FREE_FOR_ROLE: u8 = 0x0B;
    pub(in super::super) const UNAUTHORIZED_NAME: u8 = 0x0D;
    pub(in super::super) const INVALID_CHECK_VALUE: u8 = 0x0F;
    pub(in super::super) const BAD_ENCRYPTION: u8 = 0x10;
    pub(in super::super) const NO_SUITE_MATCH: u8 = 0x11;
}

/// Why a reply ends the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failed {
    /// The BMC says so (table 13-15).
    Status(u8),
    /// Shorter than it has to be.
    Malformed,
    /// It answers with algorithms that we did not offer or do not trust.
    Algorithms,
    /// RAKP 2 was made with another password.
    Password,
    /// RAKP 4 was made with another session key.
    SessionKey,
}

/// `None`: not the reply to this message, keep waiting.
pub(super) type Reply<T> = Option<Result<T, Failed>>;

/// What we bring to the exchange.
pub(super) struct Console<'a> {
    pub(super) session: u32,
    pub(super) random: [u8; 16],
    /// 1 callback to 4 administrator.
    pub(super) privilege: u8,
    pub(super) user: &'a [u8],
    pub(super) password: &'a [u8],
    /// The BMC's own key, where one is set.
    pub(super) kg: Option<&'a [u8]>,
}

/// What Open Session settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) session: u32,
    pub(super) authentication: Hash,
    pub(super) integrity: Hash,
}

/// What RAKP 2 brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    random: [u8; 16],
    guid: [u8; 16],
}

/// Open Session Request for the suite of `hash` (17: SHA-256, 3: SHA-1), with the highest
/// privilege that the user may have.
pub(super) fn open_session(tag: u8, session: u32, hash: Hash) -> Vec<u8> {
    let algorithm = |kind: u8, number: u8| [kind, 0, 0, 8, number, 0, 0, 0];
    [
        [tag, 0, 0, 0].as_slice(),
        &session.to_le_bytes(),
        &algorithm(0, hash.authentication_number()),
        &algorithm(1, hash.integrity_number()),
        &algorithm(2, ENCRYPTION_AES_CBC_128),
    ]
    .concat()
}

/// Open Session Response. Its algorithms are what counts: some BMCs answer a request for suite 17
/// with those of suite 3.
pub(super) fn opened(payload: &[u8], tag: u8, session: u32) -> Reply<Opened> {
    let payload = match after_status(payload, tag, session)? {
        Ok(payload) => payload,
        Err(failed) => return Some(Err(failed)),
    };
    let Some(fields) = payload.first_chunk::<28>() else {
        return Some(Err(Failed::Malformed));
    };
    let session = u32::from_le_bytes([fields[0], fields[1], fields[2], fields[3]]);
    let algorithms = (
        Hash::from_authentication(fields[8] & 0x3F),
        Hash::from_integrity(fields[16] & 0x3F),
        fields[24] & 0x3F,
    );
    Some(match algorithms {
        (Some(authentication), Some(integrity), ENCRYPTION_AES_CBC_128) if session != 0 => {
            Ok(Opened { session, authentication, integrity })
        }
        (Some(_), Some(_), ENCRYPTION_AES_CBC_128) => Err(Failed::Malformed),
        _ => Err(Failed::Algorithms),
    })
}

/// The rest of a reply from byte 9 on, once its tag, status and session id are right.
fn after_status(payload: &[u8], tag: u8, session: u32) -> Reply<&[u8]> {
    let [reply_tag, reply_status, ..] = *payload else {
        return None;
    };
    if reply_tag != tag {
        return None;
    }
    if reply_status != status::OK {
        return Some(Err(Failed::Status(reply_status)));
    }
    let Some((head, rest)) = payload.split_first_chunk::<8>() else {
        return Some(Err(Failed::Malformed));
    };
    (head[4..] == session.to_le_bytes()).then_some(Ok(rest))
}

impl Console<'_> {
    fn role(&self) -> u8 {
        NAME_ONLY_LOOKUP | self.privilege
    }

    /// Role, length of the name and name, as every keyed hash covers them.
    fn identity(&self) -> Vec<u8> {
        let length = u8::try_from(self.user.len()).expect("the name's length was checked");
        [&[self.role(), length], self.user].concat()
    }

    /// The password padded with zeros to 20 bytes.
    fn user_key(&self) -> Zeroizing<[u8; PASSWORD_MAX]> {
        let mut key = Zeroizing::new([0; PASSWORD_MAX]);
        key[..self.password.len()].copy_from_slice(self.password);
        key
    }

    pub(super) fn rakp1(&self, tag: u8, opened: &Opened) -> Vec<u8> {
        let length = u8::try_from(self.user.len()).expect("the name's length was checked");
        [
            [tag, 0, 0, 0].as_slice(),
            &opened.session.to_le_bytes(),
            &self.random,
            &[self.role(), 0, 0, length],
            self.user,
        ]
        .concat()
    }

    /// RAKP 2: the BMC proves that it knows the password.
    pub(super) fn challenge(&self, payload: &[u8], tag: u8, opened: &Opened) -> Reply<Challenge> {
        let rest = match after_status(payload, tag, self.session)? {
            Ok(rest) => rest,
            Err(failed) => return Some(Err(failed)),
        };
        let length = opened.authentication.full();
        let Some((random, guid, code)) = split_challenge(rest).filter(|it| it.2.len() == length)
        else {
            return Some(Err(Failed::Malformed));
        };
        let covered: [&[u8]; 6] = [
            &self.session.to_le_bytes(),
            &opened.session.to_le_bytes(),
            &self.random,
            random,
            guid,
            &self.identity(),
        ];
        Some(if opened.authentication.verifies(&*self.user_key(), &covered, code) {
            Ok(Challenge { random: *random, guid: *guid })
        } else {
            Err(Failed::Password)
        })
    }

    /// RAKP 3: we prove that we know it too.
    pub(super) fn rakp3(&self, tag: u8, opened: &Opened, challenge: &Challenge) -> Vec<u8> {
        let covered: [&[u8]; 3] =
            [&challenge.random, &self.session.to_le_bytes(), &self.identity()];
        let code = opened.authentication.hmac(&*self.user_key(), &covered);
        [[tag, status::OK, 0, 0].as_slice(), &opened.session.to_le_bytes(), &code].concat()
    }

    /// RAKP 3 that only says why we end the exchange, so that the BMC frees the session.
    pub(super) fn rakp3_refusal(tag: u8, opened: &Opened) -> Vec<u8> {
        let refusal = [tag, status::INVALID_CHECK_VALUE, 0, 0];
        [refusal.as_slice(), &opened.session.to_le_bytes()].concat()
    }

    /// RAKP 4: both sides have the same session key.
    pub(super) fn keys(
        &self,
        payload: &[u8],
        tag: u8,
        opened: &Opened,
        challenge: &Challenge,
    ) -> Reply<Keys> {
        let code = match after_status(payload, tag, self.session)? {
            Ok(code) => code,
            Err(failed) => return Some(Err(failed)),
        };
        let hash = opened.authentication;
        if code.len() != hash.truncated() {
            return Some(Err(Failed::Malformed));
        }
        let session_key = self.session_key(hash, challenge);
        let covered: [&[u8]; 3] = [&self.random, &opened.session.to_le_bytes(), &challenge.guid];
        Some(if hash.verifies(&session_key, &covered, code) {
            Ok(Keys::derive(hash, opened.integrity, &session_key))
        } else {
            Err(Failed::SessionKey)
        })
    }

    fn session_key(&self, hash: Hash, challenge: &Challenge) -> Zeroizing<Vec<u8>> {
        let covered: [&[u8]; 3] = [&self.random, &challenge.random, &self.identity()];
        match self.kg {
            Some(kg) => hash.hmac(kg, &covered),
            None => hash.hmac(&*self.user_key(), &covered),
        }
    }
}

fn split_challenge(rest: &[u8]) -> Option<(&[u8; 16], &[u8; 16], &[u8])> {
    let (random, rest) = rest.split_first_chunk()?;
    let (guid, code) = rest.split_first_chunk()?;
    Some((random, guid, code))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OPENED: Opened =
        Opened { session: 0xB, authentication: Hash::Sha256, integrity: Hash::Sha256 };

    fn console() -> Console<'static> {
        Console {
            session: 0xA,
            random: [1; 16],
            privilege: 4,
            user: b"admin",
            password: b"secret",
            kg: None,
        }
    }

    fn open_response(authentication: u8, integrity: u8, encryption: u8) -> Vec<u8> {
        let mut payload = vec![5, 0, 4, 0, 0xA, 0, 0, 0, 0xB, 0, 0, 0];
        for (kind, number) in [(0, authentication), (1, integrity), (2, encryption)] {
            payload.extend([kind, 0, 0, 8, number, 0, 0, 0]);
        }
        payload
    }

    #[test]
    fn the_answered_algorithms_count() {
        assert_eq!(opened(&open_response(3, 4, 1), 5, 0xA), Some(Ok(OPENED)));
        let sha1 = Opened { authentication: Hash::Sha1, integrity: Hash::Sha1, ..OPENED };
        assert_eq!(opened(&open_response(1, 1, 1), 5, 0xA), Some(Ok(sha1)));
    }

    #[test]
    fn a_session_without_protection_is_refused() {
        for (authentication, integrity, encryption) in [(0, 4, 1), (3, 0, 1), (3, 4, 0), (3, 2, 1)]
        {
            let payload = open_response(authentication, integrity, encryption);
            assert_eq!(opened(&payload, 5, 0xA), Some(Err(Failed::Algorithms)));
        }
    }

    #[test]
    fn replies_to_other_messages_are_passed_over() {
        assert_eq!(opened(&open_response(3, 4, 1), 6, 0xA), None);
        assert_eq!(opened(&open_response(3, 4, 1), 5, 0xC), None);
        assert_eq!(opened(&[], 5, 0xA), None);
        assert_eq!(opened(&[5, 0x11], 5, 0xA), Some(Err(Failed::Status(0x11))));
        assert_eq!(opened(&open_response(3, 4, 1)[..20], 5, 0xA), Some(Err(Failed::Malformed)));
    }

    #[test]
    fn the_user_is_looked_up_by_name_alone() {
        let message = console().rakp1(1, &OPENED);
        assert_eq!(message[24..28], [0x14, 0, 0, 5]);
        assert_eq!(&message[28..], b"admin");
    }

    proptest! {
        #[test]
        fn any_reply_is_read_without_a_panic(payload in proptest::collection::vec(any::<u8>(), 0..80)) {
            let challenge = Challenge { random: [2; 16], guid: [3; 16] };
            let shaped = [&[5, 0, 0, 0, 0xA, 0, 0, 0], payload.as_slice()].concat();
            for payload in [payload, shaped] {
                let _ = opened(&payload, 5, 0xA);
                prop_assert!(!matches!(console().challenge(&payload, 5, &OPENED), Some(Ok(_))));
                prop_assert!(!matches!(console().keys(&payload, 5, &OPENED, &challenge), Some(Ok(_))));
            }
        }
    }
}

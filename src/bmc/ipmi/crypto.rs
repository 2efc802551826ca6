//! Keyed hashes and encryption of RMCP+ (IPMI 2.0 §13.28 to §13.32): cipher suites 17 and 3.
//!
//! Not here: what is hashed or sent; `rakp.rs` and `packet.rs` say that.

use aes::Aes128;
use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockDecryptMut, BlockEncryptMut, KeyIvInit};
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::Sha256;
use zeroize::{Zeroize, Zeroizing};

/// Bytes of an AES block, and so of the initialisation vector.
pub(super) const BLOCK: usize = 16;

/// Hash under the HMAC of an authentication or integrity algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
}

impl Hash {
    /// Authentication algorithm number (table 13-17).
    pub(super) const fn authentication_number(self) -> u8 {
        match self {
            Self::Sha1 => 1,
            Self::Sha256 => 3,
        }
    }

    /// Integrity algorithm number (table 13-18).
    pub(super) const fn integrity_number(self) -> u8 {
        match self {
            Self::Sha1 => 1,
            Self::Sha256 => 4,
        }
    }

    pub(super) const fn from_authentication(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Sha1),
            3 => Some(Self::Sha256),
            _ => None,
        }
    }

    pub(super) const fn from_integrity(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Sha1),
            4 => Some(Self::Sha256),
            _ => None,
        }
    }

    /// Bytes of the whole HMAC, as RAKP 2 and 3 carry it.
    pub(super) const fn full(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Bytes of the HMAC that RAKP 4 and every packet carry: SHA1-96, SHA256-128.
    pub(super) const fn truncated(self) -> usize {
        match self {
            Self::Sha1 => 12,
            Self::Sha256 => 16,
        }
    }

    pub(super) fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
        match self {
            Self::Sha1 => finish(with_key::<Hmac<Sha1>>(key), parts),
            Self::Sha256 => finish(with_key::<Hmac<Sha256>>(key), parts),
        }
    }

    /// Whether `code` is the beginning of the HMAC, in constant time. Its length is the caller's
    /// to check.
    pub(super) fn verifies(self, key: &[u8], parts: &[&[u8]], code: &[u8]) -> bool {
        match self {
            Self::Sha1 => verify(with_key::<Hmac<Sha1>>(key), parts, code),
            Self::Sha256 => verify(with_key::<Hmac<Sha256>>(key), parts, code),
        }
    }
}

fn with_key<M: Mac + hmac::digest::KeyInit>(key: &[u8]) -> M {
    <M as Mac>::new_from_slice(key).expect("HMAC takes keys of any length")
}

fn finish<M: Mac>(mut mac: M, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    parts.iter().for_each(|part| mac.update(part));
    Zeroizing::new(mac.finalize().into_bytes().to_vec())
}

fn verify<M: Mac>(mut mac: M, parts: &[&[u8]], code: &[u8]) -> bool {
    parts.iter().for_each(|part| mac.update(part));
    mac.verify_truncated_left(code).is_ok()
}

/// The keys of one session (§13.32).
pub(super) struct Keys {
    pub(super) integrity: Hash,
    k1: Zeroizing<Vec<u8>>,
    aes: Zeroizing<[u8; BLOCK]>,
}

impl Keys {
    /// From the session integrity key: K1 for packets' codes, the head of K2 for AES.
    pub(super) fn derive(authentication: Hash, integrity: Hash, sik: &[u8]) -> Self {
        let k1 = authentication.hmac(sik, &[&[1; 20]]);
        let k2 = authentication.hmac(sik, &[&[2; 20]]);
        let mut aes = Zeroizing::new([0; BLOCK]);
        aes.copy_from_slice(&k2[..BLOCK]);
        Self { integrity, k1, aes }
    }

    /// Integrity code of a packet.
    pub(super) fn code(&self, covered: &[u8]) -> Vec<u8> {
        let mut code = self.integrity.hmac(&self.k1, &[covered]).to_vec();
        code.truncate(self.integrity.truncated());
        code
    }

    pub(super) fn code_verifies(&self, covered: &[u8], code: &[u8]) -> bool {
        code.len() == self.integrity.truncated()
            && self.integrity.verifies(&self.k1, &[covered], code)
    }

    /// Initialisation vector and ciphertext of a payload, padded with 1, 2, 3… and the pad's
    /// length (§13.29.1).
    pub(super) fn encrypt(&self, iv: [u8; BLOCK], payload: &[u8]) -> Vec<u8> {
        let mut buffer = payload.to_vec();
        let pad = (BLOCK - (payload.len() + 1) % BLOCK) % BLOCK;
        buffer.extend((1u8..).take(pad));
        buffer.push(u8::try_from(pad).expect("less than a block"));
        let sealed = cbc::Encryptor::<Aes128>::new((&*self.aes).into(), &iv.into())
            .encrypt_padded_vec_mut::<NoPadding>(&buffer);
        buffer.zeroize();
        [iv.as_slice(), &sealed].concat()
    }

    /// The payload, where vector, length and padding are right.
    pub(super) fn decrypt(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (iv, ciphertext) = sealed.split_first_chunk::<BLOCK>()?;
        let mut payload = cbc::Decryptor::<Aes128>::new((&*self.aes).into(), iv.into())
            .decrypt_padded_vec_mut::<NoPadding>(ciphertext)
            .ok()?;
        let pad = payload.pop()?;
        let kept = payload.len().checked_sub(usize::from(pad))?;
        let right = payload[kept..].iter().copied().eq(1..=pad);
        payload.truncate(kept);
        right.then_some(payload)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hmacs_match_the_rfc_vectors() {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let data: &[&[u8]] = &[b"what do ya want ", b"for nothing?"];
        // RFC 2202 §3 and RFC 4231 §4.3, test case 2.
        assert_eq!(
            hex(&Hash::Sha1.hmac(b"Jefe", data)),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
        );
        assert_eq!(
            hex(&Hash::Sha256.hmac(b"Jefe", data)),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    proptest! {
        #[test]
        fn what_was_encrypted_is_decrypted(
            payload in proptest::collection::vec(any::<u8>(), 0..100),
            iv: [u8; BLOCK],
        ) {
            let keys = Keys::derive(Hash::Sha256, Hash::Sha256, &[7; 32]);
            let sealed = keys.encrypt(iv, &payload);
            prop_assert_eq!(sealed.len() % BLOCK, 0);
            prop_assert_eq!(keys.decrypt(&sealed), Some(payload));
        }

        #[test]
        fn any_ciphertext_is_read_without_a_panic(
            sealed in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let _ = Keys::derive(Hash::Sha1, Hash::Sha1, &[7; 20]).decrypt(&sealed);
        }
    }
}

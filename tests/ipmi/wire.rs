//! The BMC's side of RMCP+, written apart from the client: HMAC and CBC by hand over the bare
//! hash and block functions.

use aes::Aes128;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Cipher suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    Three,
    Seventeen,
}

impl Suite {
    /// Authentication, integrity and confidentiality algorithm.
    pub fn algorithms(self) -> [u8; 3] {
        match self {
            Self::Three => [1, 1, 1],
            Self::Seventeen => [3, 4, 1],
        }
    }

    fn hash(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Three => Sha1::digest(data).to_vec(),
            Self::Seventeen => Sha256::digest(data).to_vec(),
        }
    }

    pub fn code_length(self) -> usize {
        match self {
            Self::Three => 12,
            Self::Seventeen => 16,
        }
    }

    /// RFC 2104, with keys of at most one block.
    pub fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        let padded = |with: u8| {
            let mut block = [with; 64];
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            block.to_vec()
        };
        let inner = self.hash(&[padded(0x36), parts.concat()].concat());
        self.hash(&[padded(0x5C), inner].concat())
    }

    pub fn code(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        let mut code = self.hmac(key, parts);
        code.truncate(self.code_length());
        code
    }
}

pub fn decrypt(key: &[u8], sealed: &[u8]) -> Vec<u8> {
    let cipher = Aes128::new_from_slice(&key[..16]).unwrap();
    let mut clear = Vec::new();
    for pair in 1..sealed.len() / 16 {
        let mut block = *aes::Block::from_slice(&sealed[pair * 16..(pair + 1) * 16]);
        cipher.decrypt_block(&mut block);
        let before = &sealed[(pair - 1) * 16..pair * 16];
        clear.extend(block.iter().zip(before).map(|(byte, before)| byte ^ before));
    }
    let pad = usize::from(*clear.last().unwrap());
    clear.truncate(clear.len() - 1 - pad);
    clear
}

pub fn encrypt(key: &[u8], clear: &[u8]) -> Vec<u8> {
    let cipher = Aes128::new_from_slice(&key[..16]).unwrap();
    let mut clear = clear.to_vec();
    let pad = u8::try_from(15 - clear.len() % 16).unwrap();
    clear.extend((1..=pad).chain([pad]));
    let mut sealed = vec![0xA5; 16];
    for chunk in clear.chunks(16) {
        let before = sealed[sealed.len() - 16..].to_vec();
        let mixed: Vec<u8> = chunk.iter().zip(before).map(|(byte, before)| byte ^ before).collect();
        let mut block = *aes::Block::from_slice(&mixed);
        cipher.encrypt_block(&mut block);
        sealed.extend(block);
    }
    sealed
}

/// RMCP header, session header and payload.
pub fn packet(kind: u8, session: u32, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_le_bytes();
    let header = [6, 0, 0xFF, 7, 6, kind];
    [&header, session.to_le_bytes().as_slice(), &sequence.to_le_bytes(), &length, payload].concat()
}

/// Pad, pad length, next header, code.
pub fn sign(suite: Suite, key: &[u8], mut packet: Vec<u8>) -> Vec<u8> {
    let pad = (4 - (packet.len() - 4 + 2) % 4) % 4;
    packet.extend(vec![0xFF; pad]);
    packet.extend([u8::try_from(pad).unwrap(), 7]);
    let code = suite.code(key, &[&packet[4..]]);
    [packet, code].concat()
}

/// An IPMI message from the BMC to the console.
pub fn answer(netfn: u8, number_and_lun: u8, command: u8, data: &[u8]) -> Vec<u8> {
    let sum = |bytes: &[u8]| bytes.iter().fold(0u8, |sum, byte| sum.wrapping_sub(*byte));
    let head = [0x81, (netfn | 1) << 2];
    let body = [&[0x20, number_and_lun, command], data].concat();
    [head.as_slice(), &[sum(&head)], &body, &[sum(&body)]].concat()
}

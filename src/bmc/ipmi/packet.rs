//! Datagrams: RMCP, the session headers of IPMI 1.5 and 2.0, and the IPMI message inside
//! (IPMI 2.0 §13.6, §13.8). Bytes to values and back; no socket, no clock.

use super::crypto::{BLOCK, Keys};

/// UDP payloads are smaller than any MTU.
pub(super) const DATAGRAM_MAX: usize = 1500;

/// RMCP version 1, no acknowledgement, class IPMI.
const RMCP: [u8; 4] = [0x06, 0x00, 0xFF, 0x07];
const FORMAT_NONE: u8 = 0x00;
const FORMAT_RMCP_PLUS: u8 = 0x06;
const ENCRYPTED: u8 = 0x80;
const AUTHENTICATED: u8 = 0x40;
const NEXT_HEADER: u8 = 0x07;

const BMC: u8 = 0x20;
const CONSOLE: u8 = 0x81;

/// Payload types (table 13-16).
pub(super) mod payload {
    pub(in super::super) const MESSAGE: u8 = 0x00;
    pub(in super::super) const OPEN_SESSION: u8 = 0x10;
    pub(in super::super) const OPEN_SESSION_RESPONSE: u8 = 0x11;
    pub(in super::super) const RAKP_1: u8 = 0x12;
    pub(in super::super) const RAKP_2: u8 = 0x13;
    pub(in super::super) const RAKP_3: u8 = 0x14;
    pub(in super::super) const RAKP_4: u8 = 0x15;
}

/// An IPMI 1.5 packet outside any session, for the one command that precedes RMCP+.
pub(super) fn outside_session(message: &[u8]) -> Vec<u8> {
    let length = u8::try_from(message.len()).expect("such a message is short");
    let header = [FORMAT_NONE, 0, 0, 0, 0, 0, 0, 0, 0, length];
    [&RMCP, header.as_slice(), message].concat()
}

/// An RMCP+ packet of session setup.
pub(super) fn setup(payload_type: u8, payload: &[u8]) -> Vec<u8> {
    rmcp_plus(payload_type, 0, 0, payload)
}

fn rmcp_plus(payload_type: u8, session: u32, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).expect("payloads are short");
    [
        &RMCP,
        [FORMAT_RMCP_PLUS, payload_type].as_slice(),
        &session.to_le_bytes(),
        &sequence.to_le_bytes(),
        &length.to_le_bytes(),
        payload,
    ]
    .concat()
}

/// An IPMI message inside a session: encrypted, padded to four bytes, signed.
pub(super) fn sealed(
    keys: &Keys,
    session: u32,
    sequence: u32,
    iv: [u8; BLOCK],
    message: &[u8],
) -> Vec<u8> {
    let payload_type = payload::MESSAGE | ENCRYPTED | AUTHENTICATED;
    let mut packet = rmcp_plus(payload_type, session, sequence, &keys.encrypt(iv, message));
    let pad = (4 - (packet.len() - RMCP.len() + 2) % 4) % 4;
    packet.resize(packet.len() + pad, 0xFF);
    packet.extend([u8::try_from(pad).expect("less than 4"), NEXT_HEADER]);
    let code = keys.code(&packet[RMCP.len()..]);
    packet.extend(code);
    packet
}

/// A received packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet<'a> {
    /// IPMI 1.5 without a session.
    OutsideSession(&'a [u8]),
    /// RMCP+ session setup.
    Setup { payload_type: u8, payload: &'a [u8] },
    /// RMCP+ inside a session, not verified yet.
    Sealed(Sealed<'a>),
}

/// What a packet inside a session is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sealed<'a> {
    pub(super) session: u32,
    pub(super) sequence: u32,
    payload: &'a [u8],
    covered: &'a [u8],
    code: &'a [u8],
}

impl<'a> Packet<'a> {
    /// `None` for anything that no BMC sends us.
    pub(super) fn parse(datagram: &'a [u8]) -> Option<Self> {
        // Some BMCs answer with a sequence number of their own in the RMCP header.
        let [6, _, _, 7, packet @ ..] = datagram else {
            return None;
        };
        match *packet {
            [FORMAT_NONE, _, _, _, _, _, _, _, _, length, ref rest @ ..] => {
                rest.get(..usize::from(length)).map(Self::OutsideSession)
            }
            [FORMAT_RMCP_PLUS, kind, a, b, c, d, e, f, g, h, low, high, ref rest @ ..] => {
                let (payload, trailer) =
                    rest.split_at_checked(usize::from(u16::from_le_bytes([low, high])))?;
                let payload_type = kind & !(ENCRYPTED | AUTHENTICATED);
                if kind & (ENCRYPTED | AUTHENTICATED) == 0 {
                    return Some(Self::Setup { payload_type, payload });
                }
                // A session of ours never lets a message pass that lacks either protection.
                let wanted = payload::MESSAGE | ENCRYPTED | AUTHENTICATED;
                let signed = packet.len() - trailer.len() + trailer_length(trailer)?;
                let (covered, code) = packet.split_at_checked(signed)?;
                let session = u32::from_le_bytes([a, b, c, d]);
                let sequence = u32::from_le_bytes([e, f, g, h]);
                (kind == wanted).then_some(Self::Sealed(Sealed {
                    session,
                    sequence,
                    payload,
                    covered,
                    code,
                }))
            }
            _ => None,
        }
    }
}

/// Bytes of pad, pad length and next header. The pad is told from the code behind it by its own
/// bytes: 0xFF up to the length byte that counts them.
fn trailer_length(trailer: &[u8]) -> Option<usize> {
    (0..4).find_map(|pad: usize| {
        let (filler, rest) = trailer.split_at_checked(pad)?;
        let [length, NEXT_HEADER, ..] = *rest else {
            return None;
        };
        let fits = usize::from(length) == pad && filler.iter().all(|byte| *byte == 0xFF);
        fits.then_some(pad + 2)
    })
}

impl Sealed<'_> {
    /// The IPMI message, if the packet is what the holder of the keys sent.
    pub(super) fn open(&self, keys: &Keys) -> Option<Vec<u8>> {
        if keys.code_verifies(self.covered, self.code) { keys.decrypt(self.payload) } else { None }
    }
}

/// A request to the BMC as an IPMI LAN message (table 13-8).
pub(super) fn request(netfn: u8, command: u8, number: u8, lun: u8, data: &[u8]) -> Vec<u8> {
    let head = [BMC, netfn << 2 | lun];
    let body = [&[CONSOLE, number << 2, command], data].concat();
    [&head, [checksum(&head)].as_slice(), &body, &[checksum(&body)]].concat()
}

/// A BMC's answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    pub(super) netfn: u8,
    pub(super) command: u8,
    /// Number of the request that it answers.
    pub(super) number: u8,
    /// Completion code, then data; never empty.
    pub(super) data: &'a [u8],
}

impl<'a> Answer<'a> {
    /// `None` where a checksum is wrong or it is too short.
    pub(super) fn parse(message: &'a [u8]) -> Option<Self> {
        let (head, body) = message.split_first_chunk::<3>()?;
        let [_, number, command, data @ .., _] = body else {
            return None;
        };
        let right = checksum(head) == 0 && checksum(body) == 0 && !data.is_empty();
        right.then_some(Self { netfn: head[1] >> 2, command: *command, number: number >> 2, data })
    }
}

/// Makes the sum of all bytes zero.
fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::crypto::Hash;
    use super::*;

    fn keys() -> Keys {
        Keys::derive(Hash::Sha256, Hash::Sha256, &[9; 32])
    }

    #[test]
    fn a_request_has_the_bytes_that_the_specification_shows() {
        // Get Channel Authentication Capabilities, as ipmitool sends it.
        let message = request(0x06, 0x38, 0, 0, &[0x8E, 0x04]);
        assert_eq!(message, [0x20, 0x18, 0xC8, 0x81, 0x00, 0x38, 0x8E, 0x04, 0xB5]);
        let packet = outside_session(&message);
        assert_eq!(packet[..14], [6, 0, 0xFF, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(Packet::parse(&packet), Some(Packet::OutsideSession(&message)));
    }

    #[test]
    fn a_changed_byte_of_an_answer_is_noticed() {
        let message = request(0x07, 0x01, 5, 0, &[0, 1, 2]);
        assert!(Answer::parse(&message).is_some_and(|answer| answer.number == 5));
        for place in 0..message.len() {
            let mut changed = message.clone();
            changed[place] ^= 0x10;
            assert_eq!(Answer::parse(&changed), None, "byte {place}");
        }
    }

    proptest! {
        #[test]
        fn what_was_sealed_is_opened(
            message in proptest::collection::vec(any::<u8>(), 0..80),
            session: u32, sequence: u32, iv: [u8; BLOCK],
        ) {
            let packet = sealed(&keys(), session, sequence, iv, &message);
            let Some(Packet::Sealed(found)) = Packet::parse(&packet) else {
                return Err(TestCaseError::fail("not a sealed packet"));
            };
            prop_assert_eq!((found.session, found.sequence), (session, sequence));
            prop_assert_eq!(found.open(&keys()), Some(message));
        }

        #[test]
        fn a_changed_bit_never_opens(
            message in proptest::collection::vec(any::<u8>(), 0..40),
            place in any::<prop::sample::Index>(), bit in 0..8u8,
        ) {
            let mut packet = sealed(&keys(), 1, 1, [3; BLOCK], &message);
            let place = 4 + place.index(packet.len() - 4);
            packet[place] ^= 1 << bit;
            if let Some(Packet::Sealed(found)) = Packet::parse(&packet) {
                prop_assert_eq!(found.open(&keys()), None);
            }
        }

        #[test]
        fn any_datagram_is_read_without_a_panic(
            datagram in proptest::collection::vec(any::<u8>(), 0..120),
            format in prop_oneof![Just(FORMAT_NONE), Just(FORMAT_RMCP_PLUS)], kind: u8,
        ) {
            let _ = Packet::parse(&datagram);
            let _ = Answer::parse(&datagram);
            let shaped = [&RMCP, [format, kind].as_slice(), &datagram].concat();
            if let Some(Packet::Sealed(found)) = Packet::parse(&shaped) {
                let _ = found.open(&keys());
            }
        }
    }
}

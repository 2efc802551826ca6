//! An RMCP+ session (IPMI 2.0 §13.14 to §13.16): opened, used one request at a time, closed when
//! dropped. Serves ipmi-rs as its connection. Blocking; every request has its deadline.

use std::thread;
use std::time::Duration;

use ipmi_rs::app::auth::GetChannelAuthenticationCapabilities;
use ipmi_rs::connection::{
    IpmiCommand, IpmiConnection, Message, Request, RequestTargetAddress, Response,
};

use super::crypto::{Hash, Keys};
use super::error::{Asker, IpmiError};
use super::login::{Login, level};
use super::packet::{self, Answer, Packet, payload};
use super::rakp::{self, Challenge, Console, Failed, Opened, Reply, status};
use super::window::Window;
use super::wire::Wire;

const NETFN_APP: u8 = 0x06;
const GET_CHANNEL_AUTH_CAPABILITIES: u8 = 0x38;
const SET_SESSION_PRIVILEGE_LEVEL: u8 = 0x3B;
const CLOSE_SESSION: u8 = 0x3C;
/// "This channel", with the capabilities of IPMI 2.0.
const THIS_CHANNEL: u8 = 0x8E;

/// Completion codes (table 5-2).
const NODE_BUSY: u8 = 0xC0;
const INSUFFICIENT_PRIVILEGE: u8 = 0xD4;

/// A BMC that says "node busy" is asked this often.
const BUSY_TRIES: u32 = 5;
const BUSY_PAUSE: Duration = Duration::from_millis(300);
/// A whole session setup is tried again when a repeated datagram may have confused the BMC.
const SETUP_TRIES: u32 = 3;

/// An open session.
pub(super) struct Session {
    wire: Wire,
    remote: u32,
    local: u32,
    keys: Keys,
    sent: u32,
    window: Window,
    number: u8,
}

impl Session {
    /// Opens a session with cipher suite 17, else 3, at the level that the login asks for.
    pub(super) fn open(mut wire: Wire, login: &Login) -> Result<Self, IpmiError> {
        login.check()?;
        ask_capabilities(&mut wire, login)?;
        let agreed = match agree(&mut wire, login, Hash::Sha256) {
            Ok(agreed) => agreed,
            Err(first) if is_final(&first) => return Err(first),
            // Some BMCs offer suite 17 and can't do it (ipmitool issue 363).
            Err(first) => {
                agree(&mut wire, login, Hash::Sha1).map_err(|second| more_telling(first, second))?
            }
        };
        let Agreed { opened, local, keys } = agreed;
        let (remote, sent, number) = (opened.session, 0, 0);
        let mut session =
            Self { wire, remote, local, keys, sent, window: Window::default(), number };
        session.raise_privilege(login)?;
        Ok(session)
    }

    /// A session starts at user level, whatever was asked for before (§22.18).
    fn raise_privilege(&mut self, login: &Login) -> Result<(), IpmiError> {
        const NAME: &str = "Set Session Privilege Level";
        let wanted = [level(login.privilege)];
        let answer = self.command(NETFN_APP, SET_SESSION_PRIVILEGE_LEVEL, 0, &wanted)?;
        match *answer.data {
            [0, ..] => Ok(()),
            // 80h: not available for this user; 81h: above the limit of user or channel.
            [0x80 | 0x81 | INSUFFICIENT_PRIVILEGE, ..] => Err(asker(login).privilege_too_low()),
            [code, ..] => Err(IpmiError::Refused { command: NAME, code: format!("{code:#04x}") }),
            [] => Err(IpmiError::Malformed { command: NAME }),
        }
    }

    /// One request, repeated with a new number while the BMC says that it is busy.
    fn command(
        &mut self,
        netfn: u8,
        command: u8,
        lun: u8,
        data: &[u8],
    ) -> Result<OwnedAnswer, IpmiError> {
        for _ in 1..BUSY_TRIES {
            let answer = self.command_once(netfn, command, lun, data)?;
            if answer.data.first() != Some(&NODE_BUSY) {
                return Ok(answer);
            }
            thread::sleep(BUSY_PAUSE);
        }
        self.command_once(netfn, command, lun, data)
    }

    fn command_once(
        &mut self,
        netfn: u8,
        command: u8,
        lun: u8,
        data: &[u8],
    ) -> Result<OwnedAnswer, IpmiError> {
        let number = self.next_number();
        let message = packet::request(netfn, command, number, lun, data);
        let Self { wire, remote, local, keys, sent, window, .. } = self;
        let answer = wire.exchange(
            || {
                *sent = sent.wrapping_add(1).max(1);
                Ok(packet::sealed(keys, *remote, *sent, random()?, &message))
            },
            |packet| {
                let Packet::Sealed(sealed) = packet else { return None };
                let message = sealed.open(keys).filter(|_| sealed.session == *local)?;
                if !window.admits(sealed.sequence) {
                    return None;
                }
                let answer = Answer::parse(&message)?;
                let ours =
                    (answer.netfn, answer.command, answer.number) == (netfn | 1, command, number);
                ours.then(|| OwnedAnswer { netfn: answer.netfn, data: answer.data.to_vec() })
            },
        );
        answer.map_err(|error| match error {
            IpmiError::NoAnswer(peer) => IpmiError::SessionLost(peer),
            other => other,
        })
    }

    /// Six bits tell requests apart.
    fn next_number(&mut self) -> u8 {
        self.number = (self.number + 1) & 0x3F;
        self.number
    }
}

impl Drop for Session {
    /// Says good-bye and does not wait for the answer: BMCs have few sessions.
    fn drop(&mut self) {
        let number = self.next_number();
        let session = self.remote.to_le_bytes();
        let message = packet::request(NETFN_APP, CLOSE_SESSION, number, 0, &session);
        if let Ok(iv) = random() {
            let sequence = self.sent.wrapping_add(1).max(1);
            let packet = packet::sealed(&self.keys, self.remote, sequence, iv, &message);
            let _ = self.wire.send(&packet);
        }
    }
}

struct OwnedAnswer {
    netfn: u8,
    data: Vec<u8>,
}

impl IpmiConnection for Session {
    type SendError = IpmiError;
    type RecvError = IpmiError;
    type Error = IpmiError;

    /// Sending and receiving are one step here, for the sake of retransmission.
    fn send(&mut self, request: &mut Request) -> Result<(), IpmiError> {
        self.send_recv(request).map(drop)
    }

    fn recv(&mut self) -> Result<Response, IpmiError> {
        Err(IpmiError::Malformed { command: "a request that was never sent" })
    }

    fn send_recv(&mut self, request: &mut Request) -> Result<Response, IpmiError> {
        let lun = match request.target() {
            RequestTargetAddress::Bmc(lun) | RequestTargetAddress::BmcOrIpmb(_, _, lun) => lun,
        };
        let (netfn, command) = (request.netfn_raw(), request.cmd());
        let answer = self.command(netfn, command, lun.value(), request.data())?;
        let message = Message::new_raw(answer.netfn, command, answer.data);
        Response::new(message, 0).ok_or(IpmiError::Malformed { command: "a request" })
    }
}

/// The first thing that anybody asks a BMC: is it there, and does it speak IPMI 2.0?
fn ask_capabilities(wire: &mut Wire, login: &Login) -> Result<(), IpmiError> {
    let data = [THIS_CHANNEL, level(login.privilege)];
    let message = packet::request(NETFN_APP, GET_CHANNEL_AUTH_CAPABILITIES, 0, 0, &data);
    let datagram = packet::outside_session(&message);
    let data = wire.exchange(
        || Ok(datagram.clone()),
        |packet| match packet {
            Packet::OutsideSession(message) => Answer::parse(message)
                .filter(|answer| answer.command == GET_CHANNEL_AUTH_CAPABILITIES)
                .map(|answer| answer.data.to_vec()),
            Packet::Setup { .. } | Packet::Sealed(_) => None,
        },
    )?;
    match data.split_first() {
        Some((0, capabilities)) => {
            match GetChannelAuthenticationCapabilities::parse_success_response(capabilities) {
                Ok(found) if !found.ipmi2_connections_supported => Err(IpmiError::OldVersion),
                Ok(_) => Ok(()),
                Err(_) => {
                    Err(IpmiError::Malformed { command: "Get Channel Authentication Capabilities" })
                }
            }
        }
        // It answers, which is what matters; session setup will tell the rest.
        Some(_) | None => Ok(()),
    }
}

/// What session setup gave.
struct Agreed {
    opened: Opened,
    local: u32,
    keys: Keys,
}

/// Session setup with one suite. A BMC that got a datagram twice may have made two challenges of
/// it, and then finds our answer to the first one wrong: that is worth another try.
fn agree(wire: &mut Wire, login: &Login, hash: Hash) -> Result<Agreed, IpmiError> {
    for _ in 1..SETUP_TRIES {
        let resent = wire.resent;
        match agree_once(wire, login, hash) {
            Err(SetupError::Failed(_, Failed::Status(code)))
                if wire.resent != resent
                    && [
                        status::INVALID_SESSION,
                        status::INACTIVE_SESSION,
                        status::INVALID_CHECK_VALUE,
                    ]
                    .contains(&code) => {}
            other => return other.map_err(|error| error.explained(login)),
        }
    }
    agree_once(wire, login, hash).map_err(|error| error.explained(login))
}

enum SetupError {
    Ipmi(IpmiError),
    Failed(&'static str, Failed),
}

impl SetupError {
    fn explained(self, login: &Login) -> IpmiError {
        match self {
            Self::Ipmi(error) => error,
            Self::Failed(message, failed) => asker(login).error(message, failed),
        }
    }
}

fn agree_once(wire: &mut Wire, login: &Login, hash: Hash) -> Result<Agreed, SetupError> {
    let console = Console {
        session: session_id().map_err(SetupError::Ipmi)?,
        random: random().map_err(SetupError::Ipmi)?,
        privilege: level(login.privilege),
        user: login.user.as_bytes(),
        password: login.password.expose().as_bytes(),
        kg: login.kg.as_ref().map(|kg| kg.expose().as_bytes()),
    };
    let local = console.session;
    let mut setup = Setup { wire, tag: 0 };
    let opened: Opened = setup.step(
        ("Open Session Request", payload::OPEN_SESSION, payload::OPEN_SESSION_RESPONSE),
        |tag| rakp::open_session(tag, local, hash),
        |payload, tag| rakp::opened(payload, tag, local),
    )?;
    let challenge = setup.step(
        ("RAKP 1", payload::RAKP_1, payload::RAKP_2),
        |tag| console.rakp1(tag, &opened),
        |payload, tag| console.challenge(payload, tag, &opened),
    );
    if let Err(SetupError::Failed(_, Failed::Password)) = challenge {
        let refusal =
            packet::setup(payload::RAKP_3, &Console::rakp3_refusal(setup.tag + 1, &opened));
        let _ = setup.wire.send(&refusal);
    }
    let challenge: Challenge = challenge?;
    let keys = setup.step(
        ("RAKP 3", payload::RAKP_3, payload::RAKP_4),
        |tag| console.rakp3(tag, &opened, &challenge),
        |payload, tag| console.keys(payload, tag, &opened, &challenge),
    )?;
    Ok(Agreed { opened, local, keys })
}

struct Setup<'a> {
    wire: &'a mut Wire,
    tag: u8,
}

impl Setup<'_> {
    /// One message of session setup: its name, its payload type and that of the reply.
    fn step<T>(
        &mut self,
        (name, sent, expected): (&'static str, u8, u8),
        request: impl FnOnce(u8) -> Vec<u8>,
        reply: impl Fn(&[u8], u8) -> Reply<T>,
    ) -> Result<T, SetupError> {
        self.tag += 1;
        let tag = self.tag;
        let datagram = packet::setup(sent, &request(tag));
        let answer = self.wire.exchange(
            || Ok(datagram.clone()),
            |packet| match packet {
                Packet::Setup { payload_type, payload } if payload_type == expected => {
                    reply(payload, tag)
                }
                Packet::Setup { .. } | Packet::OutsideSession(_) | Packet::Sealed(_) => None,
            },
        );
        answer.map_err(SetupError::Ipmi)?.map_err(|failed| SetupError::Failed(name, failed))
    }
}

/// Whether another cipher suite can't change anything.
fn is_final(error: &IpmiError) -> bool {
    matches!(error, IpmiError::UnknownUser { .. } | IpmiError::PrivilegeTooLow { .. })
}

/// Where the second suite is simply not there, the first one's error says more.
fn more_telling(first: IpmiError, second: IpmiError) -> IpmiError {
    match second {
        IpmiError::SuiteUnsupported | IpmiError::NoAnswer(_) | IpmiError::SessionRefused(_) => {
            first
        }
        other => other,
    }
}

fn asker(login: &Login) -> Asker<'_> {
    Asker {
        user: &login.user,
        privilege: login.privilege,
        long_password: login.password.expose().len() > 16,
        has_kg: login.kg.is_some(),
    }
}

fn random<const N: usize>() -> Result<[u8; N], IpmiError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(IpmiError::Random)?;
    Ok(bytes)
}

/// Zero means "no session" on the wire.
fn session_id() -> Result<u32, IpmiError> {
    random().map(|bytes| u32::from_le_bytes(bytes).max(1))
}

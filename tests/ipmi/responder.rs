//! A BMC on loopback that speaks cipher suites 17 and 3, with faults on demand. One thread, one
//! session at a time, gone when dropped.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::wire::{self, Suite};

/// How this BMC behaves.
#[derive(Debug, Clone)]
pub struct Behaviour {
    pub suites: Vec<Suite>,
    /// Answers a request for suite 17 with the algorithms of suite 3.
    pub downgrades: bool,
    /// Says nothing to a request for a suite that it does not have.
    pub ignores_unknown_suites: bool,
    pub ipmi_2: bool,
    pub kg: Option<Vec<u8>>,
    /// Highest role that session setup admits, and that Set Session Privilege Level admits.
    pub role_limit: u8,
    pub privilege_limit: u8,
    /// Loses every other datagram that comes in.
    pub loses_requests: bool,
    /// Loses every other datagram that goes out.
    pub loses_answers: bool,
    pub answers_twice: bool,
    /// Answers the first RAKP 1 only when its repetition is in, with a new challenge each.
    pub late_challenge: bool,
    pub spoils_codes: bool,
    /// Says "node busy" to this many commands.
    pub busy: u32,
    /// Gives event log entries in pieces of at most 8 bytes.
    pub log_in_pieces: bool,
    pub has_log: bool,
    pub sessions_taken: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            suites: vec![Suite::Seventeen, Suite::Three],
            downgrades: false,
            ignores_unknown_suites: false,
            ipmi_2: true,
            kg: None,
            role_limit: 4,
            privilege_limit: 4,
            loses_requests: false,
            loses_answers: false,
            answers_twice: false,
            late_challenge: false,
            spoils_codes: false,
            busy: 0,
            log_in_pieces: false,
            has_log: true,
            sessions_taken: false,
        }
    }
}

/// What the BMC holds, for tests to look at.
#[derive(Debug, Default)]
pub struct State {
    pub on: bool,
    pub chassis_controls: Vec<u8>,
    pub boot_options: Vec<Vec<u8>>,
    pub log: Vec<[u8; 16]>,
    /// Get SEL Entry commands carried out.
    pub log_reads: u32,
    pub suite: Option<Suite>,
    pub role: u8,
    pub opened: u32,
    pub closed: u32,
    session: Option<Session>,
    held: Vec<Vec<u8>>,
    last_answer: Option<(u8, Vec<u8>)>,
    challenges: u8,
    busy_given: u32,
    datagrams_in: u32,
    datagrams_out: u32,
    stop: bool,
}

#[derive(Debug, Clone)]
struct Session {
    suite: Suite,
    console: [u8; 4],
    console_random: Vec<u8>,
    random: [u8; 16],
    identity: Vec<u8>,
    /// K1 and K2, once the session is active.
    keys: Option<(Vec<u8>, Vec<u8>)>,
    sequence: u32,
}

const SESSION: [u8; 4] = 0x0BAD_CAFE_u32.to_le_bytes();
const GUID: [u8; 16] = *b"leaseless-tests!";
const USER: &[u8] = b"admin";
const PASSWORD: &[u8] = b"secret";

pub struct Responder {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl Responder {
    pub fn start(behaviour: Behaviour) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let bmc = Bmc { socket, behaviour, state: Arc::clone(&state) };
        let thread = Some(std::thread::spawn(move || bmc.run()));
        Self { address, state, thread }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// As a BMC that restarts.
    pub fn forget_session(&self) {
        self.state().session = None;
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        let wake = UdpSocket::bind("127.0.0.1:0").unwrap();
        wake.send_to(&[], self.address).unwrap();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the responder panicked");
        }
    }
}

struct Bmc {
    socket: UdpSocket,
    behaviour: Behaviour,
    state: Arc<Mutex<State>>,
}

impl Bmc {
    fn run(&self) {
        let mut buffer = [0; 2048];
        loop {
            let (length, peer) = self.socket.recv_from(&mut buffer).unwrap();
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.stop {
                return;
            }
            state.datagrams_in += 1;
            if self.behaviour.loses_requests && state.datagrams_in % 2 == 1 {
                continue;
            }
            for answer in self.answers(&mut state, &buffer[..length]) {
                state.datagrams_out += 1;
                if self.behaviour.loses_answers && state.datagrams_out % 2 == 1 {
                    continue;
                }
                for _ in 0..=u32::from(self.behaviour.answers_twice) {
                    self.socket.send_to(&answer, peer).unwrap();
                }
            }
        }
    }

    fn answers(&self, state: &mut State, datagram: &[u8]) -> Vec<Vec<u8>> {
        match datagram[4] {
            0 => {
                let message = &datagram[14..];
                let flags = if self.behaviour.ipmi_2 { 0x02 } else { 0x00 };
                let kg = u8::from(self.behaviour.kg.is_some()) << 5;
                let data = [0, 1, 0x80, kg | 4, flags, 0, 0, 0, 0];
                let answer = wire::answer(message[1] >> 2, message[4], message[5], &data);
                let header = [6, 0, 0xFF, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                let length = [u8::try_from(answer.len()).unwrap()];
                vec![[header.as_slice(), &length, &answer].concat()]
            }
            _ => {
                let payload = &datagram[16..];
                match datagram[5] {
                    0x10 => self.open_session(state, payload),
                    0x12 => self.rakp1(state, payload),
                    0x14 => self.rakp3(state, payload),
                    0xC0 => self.message(state, datagram),
                    other => panic!("payload type {other:#x}"),
                }
            }
        }
    }

    fn open_session(&self, state: &mut State, payload: &[u8]) -> Vec<Vec<u8>> {
        let asked = [payload[12], payload[20], payload[28]];
        let refusal =
            |status| [payload[0], status, 0, 0, payload[4], payload[5], payload[6], payload[7]];
        let mut suite = self.behaviour.suites.iter().find(|suite| suite.algorithms() == asked);
        if self.behaviour.downgrades {
            suite = Some(&Suite::Three);
        }
        let Some(suite) = suite.copied() else {
            let refused = wire::packet(0x11, 0, 0, &refusal(0x11));
            return if self.behaviour.ignores_unknown_suites { vec![] } else { vec![refused] };
        };
        if self.behaviour.sessions_taken {
            return vec![wire::packet(0x11, 0, 0, &refusal(0x01))];
        }
        let console = payload[4..8].try_into().unwrap();
        state.last_answer = None;
        state.session = Some(Session {
            suite,
            console,
            console_random: vec![],
            random: [0; 16],
            identity: vec![],
            keys: None,
            sequence: 0,
        });
        let mut answer = [[payload[0], 0, 4, 0].as_slice(), &console, &SESSION].concat();
        for (kind, number) in (0..).zip(suite.algorithms()) {
            answer.extend([kind, 0, 0, 8, number, 0, 0, 0]);
        }
        vec![wire::packet(0x11, 0, 0, &answer)]
    }

    fn rakp1(&self, state: &mut State, payload: &[u8]) -> Vec<Vec<u8>> {
        state.challenges += 1;
        let random = [state.challenges; 16];
        let Some(session) = &mut state.session else { return vec![] };
        assert_eq!(payload[4..8], SESSION);
        session.console_random = payload[8..24].to_vec();
        session.random = random;
        let (role, name) = (payload[24], &payload[28..]);
        session.identity = [&[role, payload[27]], name].concat();
        state.role = role;
        let status = match () {
            () if name != USER => 0x0D,
            () if role & 0xF > self.behaviour.role_limit => 0x0A,
            () => 0,
        };
        let mut answer = [[payload[0], status, 0, 0].as_slice(), &session.console].concat();
        if status == 0 {
            let covered: [&[u8]; 6] = [
                &session.console,
                &SESSION,
                &session.console_random,
                &random,
                &GUID,
                &session.identity,
            ];
            let code = session.suite.hmac(PASSWORD, &covered);
            answer.extend([random.as_slice(), &GUID, &code].concat());
        }
        state.held.push(wire::packet(0x13, 0, 0, &answer));
        if self.behaviour.late_challenge && state.challenges == 1 {
            return vec![];
        }
        std::mem::take(&mut state.held)
    }

    fn rakp3(&self, state: &mut State, payload: &[u8]) -> Vec<Vec<u8>> {
        let Some(session) = &mut state.session else { return vec![] };
        if payload[1] != 0 {
            state.session = None;
            return vec![];
        }
        let covered: [&[u8]; 3] = [&session.random, &session.console, &session.identity];
        if payload[8..] != session.suite.hmac(PASSWORD, &covered) {
            let refusal = [[payload[0], 0x0F, 0, 0].as_slice(), &session.console].concat();
            state.session = None;
            return vec![wire::packet(0x15, 0, 0, &refusal)];
        }
        let suite = session.suite;
        let key = self.behaviour.kg.as_deref().unwrap_or(PASSWORD);
        let covered: [&[u8]; 3] = [&session.console_random, &session.random, &session.identity];
        let sik = suite.hmac(key, &covered);
        let code = suite.code(&sik, &[&session.console_random, &SESSION, &GUID]);
        if session.keys.is_none() {
            state.opened += 1;
        }
        session.keys = Some((suite.hmac(&sik, &[&[1; 20]]), suite.hmac(&sik, &[&[2; 20]])));
        state.suite = Some(suite);
        let answer = [[payload[0], 0, 0, 0].as_slice(), &session.console, &code].concat();
        vec![wire::packet(0x15, 0, 0, &answer)]
    }

    fn message(&self, state: &mut State, datagram: &[u8]) -> Vec<Vec<u8>> {
        let Some(mut session) = state.session.clone() else { return vec![] };
        let Some((k1, k2)) = session.keys.clone() else { return vec![] };
        let (signed, code) = datagram.split_at(datagram.len() - session.suite.code_length());
        assert_eq!(code, session.suite.code(&k1, &[&signed[4..]]), "the packet's code is wrong");
        let length = usize::from(u16::from_le_bytes([datagram[14], datagram[15]]));
        let message = wire::decrypt(&k2, &datagram[16..16 + length]);
        let (netfn, number, command) = (message[1] >> 2, message[4], message[5]);
        // A repetition has the number of the request that was carried out.
        let data = match &state.last_answer {
            Some((last, data)) if *last == number => data.clone(),
            _ => self.carry_out(state, (netfn, command), &message[6..message.len() - 1]),
        };
        state.last_answer = Some((number, data.clone()));
        session.sequence += 1;
        let sealed = wire::encrypt(&k2, &wire::answer(netfn, number, command, &data));
        let console = u32::from_le_bytes(session.console);
        let packet = wire::packet(0xC0, console, session.sequence, &sealed);
        let mut packet = wire::sign(session.suite, &k1, packet);
        if self.behaviour.spoils_codes {
            *packet.last_mut().unwrap() ^= 1;
        }
        if (netfn, command) == (6, 0x3C) {
            state.closed += 1;
            state.session = None;
        } else {
            state.session = Some(session);
        }
        vec![packet]
    }

    /// Completion code and data.
    fn carry_out(&self, state: &mut State, command: (u8, u8), data: &[u8]) -> Vec<u8> {
        if command.0 == 0x0A && state.busy_given < self.behaviour.busy {
            state.busy_given += 1;
            return vec![0xC0];
        }
        if command.0 == 0x0A && !self.behaviour.has_log {
            return vec![0xC1];
        }
        match (command, data) {
            ((6, 0x3B), [level]) if *level > self.behaviour.privilege_limit => vec![0x81],
            ((6, 0x3B), [level]) => vec![0, *level],
            ((6, 0x3C), _) => vec![0],
            ((6, 0x01), []) => vec![0, 0x20, 1, 2, 0, 2, 0x9F, 0x91, 0x12, 0, 2, 0x0F],
            ((0, 0x01), []) => vec![0, u8::from(state.on), 0, 0],
            ((0, 0x02), [action]) => {
                state.chassis_controls.push(*action);
                match action {
                    0 | 5 => state.on = false,
                    _ => state.on = true,
                }
                vec![0]
            }
            ((0, 0x08), options) => {
                state.boot_options.push(options.to_vec());
                vec![if options[0] == 3 { 0x80 } else { 0 }]
            }
            ((0, 0x09), [5, ..]) => {
                let last = state.boot_options.iter().rev().find(|options| options[0] == 5);
                let flags = last.map_or(&[0; 5][..], |options| &options[1..]);
                [&[0, 1, 5], flags].concat()
            }
            ((0x0A, 0x40), []) => {
                let [low, high] = u16::try_from(state.log.len()).unwrap().to_le_bytes();
                vec![0, 0x51, low, high, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 2]
            }
            ((0x0A, 0x42), []) => vec![0, 0x34, 0x12],
            ((0x0A, 0x43), [r0, r1, low, high, offset, length]) => {
                state.log_reads += 1;
                let id = u16::from_le_bytes([*low, *high]);
                let place = usize::from(id.saturating_sub(1));
                let Some(record) = state.log.get(place) else { return vec![0xCB] };
                if self.behaviour.log_in_pieces && *length > 8 {
                    return vec![0xCA];
                }
                if self.behaviour.log_in_pieces && [*r0, *r1] != [0x34, 0x12] {
                    return vec![0xC5];
                }
                let is_last = place + 1 == state.log.len();
                let next = if is_last { 0xFFFF } else { u16::try_from(place + 2).unwrap() };
                let end = usize::from(*offset) + usize::from(*length);
                let bytes = &record[usize::from(*offset)..end.min(16)];
                [[0].as_slice(), &next.to_le_bytes(), bytes].concat()
            }
            _ => vec![0xC1],
        }
    }
}

//! IPMI over LAN against OpenIPMI's `ipmi_sim` and ipmitool, and against a responder of our own
//! for what no simulator has: cipher suite 17, faults, refusals.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, outside #[test]")]

mod responder;
mod wire;

mod faults;
mod login;
mod simulator;
mod suites;

use std::time::Duration;

use leaseless::bmc::ipmi::{Ipmi, IpmiError, Login, Patience};
use leaseless::types::Secret;

use responder::Responder;

/// Short, for loopback; long enough for a busy machine.
const PATIENCE: Patience =
    Patience { retransmit: Duration::from_millis(40), request: Duration::from_secs(5) };
/// For answers that never come.
const IMPATIENCE: Patience =
    Patience { retransmit: Duration::from_millis(20), request: Duration::from_millis(200) };

fn admin() -> Login {
    Login::new("admin", Secret::new("secret"))
}

async fn connect(responder: &Responder, login: Login) -> Result<Ipmi, IpmiError> {
    Ipmi::connect_with("127.0.0.1", responder.port(), login, PATIENCE).await
}

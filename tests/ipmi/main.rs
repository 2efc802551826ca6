//! IPMI over LAN against OpenIPMI's `ipmi_sim` and ipmitool, and against a responder of our own
//! for what no simulator has: cipher suite 17, faults, refusals.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, outside #[test]")]

#[expect(dead_code, reason = "no machine in QEMU here")]
mod openipmi;
mod responder;
mod wire;

mod faults;
mod login;
mod simulator;
mod suites;

use std::time::Duration;

use leaseless::bmc::ipmi::{Ipmi, IpmiError, Login, Patience};

use openipmi::{PATIENCE, admin};
use responder::Responder;

/// For answers that never come.
const IMPATIENCE: Patience =
    Patience { retransmit: Duration::from_millis(20), request: Duration::from_millis(200) };

async fn connect(responder: &Responder, login: Login) -> Result<Ipmi, IpmiError> {
    Ipmi::connect_with("127.0.0.1", responder.port(), login, PATIENCE).await
}

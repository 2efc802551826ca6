//! Layer 1: from the network that is to the network that should be: `current × desired → ordered
//! operations`, and the check that it came out so. Pure; `sys` performs, `agent` drives.
//!
//! [`resolve`] finds the machine's NICs for the links of the data, [`diff`] orders what must
//! change, [`Host::apply`] is what the kernel does for each operation. Verification is `diff`
//! again, on a fresh snapshot: nothing may be left.
//!
//! # Decisions
//!
//! * `diff` runs each operation on its own copy of the host as it goes, so that side effects (a
//!   link that goes down loses its routes, a bond that goes takes its VLANs) are planned for.
//! * Whatever drifts on a bond, but for its primary, MAC and MTU, means rebuilding it: half of the
//!   options change only while it is down or empty, and which half depends on the kernel.
//! * Everything goes by device name. Indexes exist only after creation, and a plan is for people
//!   too.

pub mod current;
mod desired;
mod diff;
mod kernel;
mod names;
mod op;
mod resolve;

#[cfg(test)]
mod tests;

pub use current::Host;
pub use desired::{Automatic, Desired, Ipv6Wanted, Lease, Wanted, WantedKind, WantedRoute};
pub use diff::diff;
pub use op::{Ipv6Setting, Op, Plan};
pub use resolve::{Missing, Policy, Problem, Resolved, resolve};

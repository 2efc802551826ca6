//! Layer 1: OpenStack network data (`network_data.json`) into one normal form, and out of it.
//!
//! Pure: text in, values or every error at once out. Not here: whether a NIC exists (`netplan`).

pub mod model;
mod parse;
mod problem;
pub mod render;
pub mod show;
mod target;

pub use parse::{MAX_BYTES, Parsed, parse};
pub use problem::{Problem, Severity};
pub use target::{Target, check_for};

//! Layer 1: which address belongs to whom. One allocator for every claim API, so no address can
//! be issued twice by two of them.
//!
//! Pure: claims and what is already assigned go in, decisions come out. Not here: objects, names
//! and conditions of an API.

mod allocator;
pub mod draw;
mod free;
mod pool;

pub use allocator::{Allocation, Allocator, Claim, Conflict, Owner, Refusal};
pub use pool::{Pool, PoolProblem, PoolSpec, Range, RangeSpec, Strategy};

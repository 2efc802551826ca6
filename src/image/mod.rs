//! Layers 1 and 3: boot media.
//!
//! Pure writers: [`segment`] (the initrd segment), [`overlay`] (what one host changes in the base
//! ISO), [`range`] (RFC 9110 ranges), [`config_drive`] (an ISO without a kernel). Beside them the
//! outside world: `build` (the recipe), `base` (the built image on disk), `composite` (base and
//! overlay read as one) and `serve` (HTTP).

pub mod config_drive;
mod iso9660;
pub mod manifest;
pub mod overlay;
pub mod range;
pub mod segment;

#[cfg(feature = "management")]
pub mod base;
#[cfg(feature = "management")]
pub mod build;
#[cfg(feature = "management")]
pub mod composite;
#[cfg(feature = "management")]
pub mod serve;

#[cfg(test)]
mod tests;

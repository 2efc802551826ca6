//! Layer 3: the custom resources as Rust types, from which their CRDs are made.
//! Not here: what is done about them (`controller`), how an API is reached (`kube`).

pub mod ipam;
mod ipam_schema;

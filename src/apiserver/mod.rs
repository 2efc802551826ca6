//! Layer 3: the embedded Kubernetes API: one tower service over SQLite, for one machine without a
//! cluster. Not here: which custom resources there are (`cluster`), who uses them (`controller`).

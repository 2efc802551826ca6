//! Layer 1: the life of a host as a pure machine: state and event in, state and actions out.
//! Not here: who performs the actions and keeps the outbox (`controller`).

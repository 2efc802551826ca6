//! Layer 4, management side: serves the agent API and drives BMCs. Never imports `agent`.

pub mod agent_api;
pub mod authority;
pub mod context;
pub mod enrolment;
pub mod inspect;

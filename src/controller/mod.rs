//! Layer 4, management side: serves the agent API and drives BMCs. Never imports `agent`.

//! Layer 1: from the network that is to the network that should be: `current × desired → ordered
//! operations`, and the check that it came out so. Pure; `sys` performs, `agent` drives.

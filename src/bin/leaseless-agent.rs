//! The node side: see `leaseless-agent --help`.

fn main() {}

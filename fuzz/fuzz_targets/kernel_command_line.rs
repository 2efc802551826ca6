//! Any text is a kernel command line, and the last word of a name wins.
#![no_main]

use leaseless::agent::kernel_line::KernelLine;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let line = KernelLine::parse(text);
    let _ = (line.get("ir_pub_id"), line.module_parameters("ipmi_si"), line.blacklists("bonding"));
    let quotes_are_closed = text.matches('"').count() % 2 == 0;
    if quotes_are_closed {
        let longer = KernelLine::parse(&format!("{text} ir-pub-id=\"a b\""));
        assert_eq!(longer.get("ir_pub_id"), Some("a b"));
    }
});

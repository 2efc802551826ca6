//! Any text: parsing ends, reports a problem exactly when there are no data, and what it accepts
//! survives every rendering, and OpenStack's and back unchanged.

#![no_main]

use leaseless::netdata::{Severity, Target, check_for, parse, render, show};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let parsed = parse(text);
    let errors = parsed.problems.iter().any(|problem| problem.severity == Severity::Error);
    assert_eq!(parsed.data.is_none(), errors);
    for target in Target::ALL {
        let _ = check_for(text, target);
    }
    let Some(data) = parsed.data else { return };
    let _ = (show::text(&data), show::normal(&data), show::mermaid(&data), show::svg(&data));
    let _ = (render::networkd(&data), render::nmstate(&data));
    let again = parse(&render::openstack(&data).to_string());
    assert_eq!(again.data.as_ref(), Some(&data), "{:#?}", again.problems);
});

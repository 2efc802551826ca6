//! Rendering and parsing again loses nothing; parsing never panics.

mod netdata_generator;

use leaseless::netdata::{Severity, parse, render};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn parsing_what_was_rendered_gives_the_same_normal_form(
        data in netdata_generator::network_data()
    ) {
        let text = render::openstack(&data).to_string();
        let parsed = parse(&text);
        let errors: Vec<String> = parsed
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .map(ToString::to_string)
            .collect();
        prop_assert!(errors.is_empty(), "{text}\n{errors:#?}");
        prop_assert_eq!(parsed.data, Some(data));
    }
}

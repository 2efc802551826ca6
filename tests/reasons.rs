//! The page that explains the reasons of failure has every number.

use leaseless::types::reason;

#[test]
fn the_page_explains_every_number_and_no_other() {
    let page = include_str!("../docs/reasons.md");
    for code in 1..=99 {
        let explained = page.contains(&format!("\n| LL-{code:02} |"));
        assert_eq!(explained, reason::title(code).is_some(), "LL-{code:02}");
    }
}

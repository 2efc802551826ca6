//! Which `If-Match` values to try, in which order. BMCs disagree on what an ETag is.

use super::quirks::IfMatch;

/// Values for one PATCH, first to last; `None` means no header. After a 412 comes the next.
pub(super) fn ladder(etag: Option<&str>, if_match: IfMatch) -> Vec<Option<String>> {
    let etag = etag.map(str::trim).filter(|etag| !is_blank(etag));
    let mut rungs: Vec<Option<String>> = match (if_match, etag) {
        (IfMatch::Never, _) => Vec::new(),
        (IfMatch::Mandatory, None) => vec![Some("*".to_owned())],
        (IfMatch::WhenKnown, None) => Vec::new(),
        (IfMatch::WhenKnown | IfMatch::Mandatory, Some(etag)) => {
            let strong = etag.strip_prefix("W/").unwrap_or(etag);
            // A proxy in the BMC compresses and marks the tag it passes on.
            let plain = strong.replace("-gzip\"", "\"");
            [etag.to_owned(), strong.to_owned(), plain].map(Some).to_vec()
        }
    };
    if if_match != IfMatch::Mandatory {
        rungs.push(None);
    }
    rungs.dedup();
    rungs
}

/// `""`, `W/""` and nothing: no tag at all.
fn is_blank(etag: &str) -> bool {
    etag.strip_prefix("W/").unwrap_or(etag).trim_matches('"').is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weak_tag_is_tried_as_it_is_then_strong_then_not_at_all() {
        for (etag, if_match, rungs) in [
            (Some("W/\"x\""), IfMatch::WhenKnown, vec!["W/\"x\"", "\"x\"", ""]),
            (Some("\"x\""), IfMatch::WhenKnown, vec!["\"x\"", ""]),
            (Some("\"x-gzip\""), IfMatch::WhenKnown, vec!["\"x-gzip\"", "\"x\"", ""]),
            (Some("W/\"\""), IfMatch::WhenKnown, vec![""]),
            (Some(""), IfMatch::WhenKnown, vec![""]),
            (None, IfMatch::WhenKnown, vec![""]),
            (Some("\"x\""), IfMatch::Mandatory, vec!["\"x\""]),
            (None, IfMatch::Mandatory, vec!["*"]),
            (Some("\"x\""), IfMatch::Never, vec![""]),
        ] {
            let got: Vec<String> =
                ladder(etag, if_match).into_iter().map(Option::unwrap_or_default).collect();
            assert_eq!(got, rungs, "{etag:?} {if_match:?}");
        }
    }
}

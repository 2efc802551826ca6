//! What is wrong with a document: one [`Problem`] per field, with the value and the right form.
//!
//! Not an `Error`: a document has many problems, and all are reported at once.

use std::fmt;

use serde::Serialize;

/// Longest value that a problem quotes, in characters.
const VALUE_LIMIT: usize = 80;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document can't be used.
    Error,
    /// It can be used, and does perhaps not mean what its author thinks.
    Warning,
}

/// One thing wrong in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Whether the document can be used all the same.
    pub severity: Severity,
    /// Where: `links[0].ethernet_mac_address`; `$` is the whole document.
    pub path: String,
    /// The value found there; `None` where there is none. Cut after 80 characters.
    pub value: Option<String>,
    /// What is wrong with it.
    pub message: String,
    /// What to write instead.
    pub fix: String,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

impl fmt::Display for Problem {
    /// One line: `error: links[0].mtu: "1500.5": not a whole number; write 68 to 65535`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.severity, self.path)?;
        if let Some(value) = &self.value {
            write!(f, "{value:?}: ")?;
        }
        write!(f, "{}; {}", self.message, self.fix)
    }
}

/// The problems found so far, in the order of the document's sections.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

/// Says that a value is unusable and that a [`Problem`] tells why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reported;

impl Problems {
    /// Reports something that makes the document unusable.
    pub(crate) fn error(
        &mut self,
        path: impl Into<String>,
        value: Option<String>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Reported {
        self.push(Severity::Error, path.into(), value, message.into(), fix.into());
        Reported
    }

    /// Reports something that its author should look at.
    pub(crate) fn warning(
        &mut self,
        path: impl Into<String>,
        value: Option<String>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.push(Severity::Warning, path.into(), value, message.into(), fix.into());
    }

    /// Whether any error was reported.
    pub(crate) fn any_error(&self) -> bool {
        self.0.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// The list, errors before warnings, otherwise in the order of finding.
    pub(crate) fn into_vec(mut self) -> Vec<Problem> {
        self.0.sort_by_key(|problem| problem.severity);
        self.0
    }

    fn push(
        &mut self,
        severity: Severity,
        path: String,
        value: Option<String>,
        message: String,
        fix: String,
    ) {
        let value = value.map(|text| cut(&text));
        self.0.push(Problem { severity, path, value, message, fix });
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The known word nearest to `word`, where one is near enough to be meant.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let allowed = (length / 3).clamp(1, 4);
    known
        .into_iter()
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= allowed)
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance of two short words; far apart when either is long.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().max(b.len()) > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_offered_and_a_far_one_not() {
        let known = ["ethernet_mac_address", "mtu", "type"];
        assert_eq!(did_you_mean("ethernet_mac_adress", known), Some("ethernet_mac_address"));
        assert_eq!(did_you_mean("MTU", known), Some("mtu"));
        assert_eq!(did_you_mean("colour", known), None);
        assert_eq!(did_you_mean(&"x".repeat(10_000), known), None);
    }

    #[test]
    fn errors_come_first_and_long_values_are_cut() {
        let mut problems = Problems::default();
        problems.warning("a", None, "odd", "look");
        problems.error("b", Some("é".repeat(100)), "bad", "write c");
        let list = problems.into_vec();
        assert_eq!((list[0].path.as_str(), list[1].path.as_str()), ("b", "a"));
        assert_eq!(list[0].value.as_ref().map(|value| value.chars().count()), Some(81));
    }
}

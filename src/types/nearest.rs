//! "Did you mean": the one of several words that a typing mistake was probably meant to be.

/// The word closest to `text`, if it is close enough to be meant: at most a third of its letters
/// differ.
#[must_use]
pub fn nearest<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let best = words.into_iter().map(|word| (distance(text, word), word)).min_by_key(|(d, _)| *d);
    best.filter(|(distance, word)| *distance * 3 <= word.chars().count()).map(|(_, word)| word)
}

/// Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_does_not() {
        let words = ["redfish", "redfish+http", "ipmi"];
        assert_eq!(nearest("redfsh", words), Some("redfish"));
        assert_eq!(nearest("ipmj", words), Some("ipmi"));
        assert_eq!(nearest("telnet", words), None);
    }
}

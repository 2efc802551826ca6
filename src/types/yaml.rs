//! YAML that every reader takes as it is meant. Not a YAML library: `serde_yaml_ng` writes it.

use serde::Serialize;
use serde_yaml_ng::{Error, Value};

/// Stands in front of a text that must be quoted; a control character, so the writer quotes it.
const QUOTE: char = '\0';

/// Renders `value`. YAML 1.1, which PyYAML and Ansible read, has numbers to the base of 60: to
/// them a MAC address of digits alone is an integer and `0000:00:03.0` is 3.0. Such texts are
/// quoted; the writer, which knows YAML 1.2, leaves them bare.
///
/// # Errors
/// Values that YAML can't hold.
pub fn render(value: &impl Serialize) -> Result<String, Error> {
    let mut value = serde_yaml_ng::to_value(value)?;
    mark(&mut value);
    Ok(serde_yaml_ng::to_string(&value)?.replace("\"\\0", "\""))
}

fn mark(value: &mut Value) {
    match value {
        Value::String(text) if is_sexagesimal(text) => text.insert(0, QUOTE),
        Value::Sequence(items) => items.iter_mut().for_each(mark),
        Value::Mapping(pairs) => pairs.iter_mut().for_each(|(_, value)| mark(value)),
        Value::Tagged(tagged) => mark(&mut tagged.value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Digits and colons, perhaps with a point: <https://yaml.org/type/int.html>, `float.html`.
fn is_sexagesimal(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['-', '+']);
    unsigned.starts_with(|c: char| c.is_ascii_digit())
        && unsigned.contains(':')
        && unsigned.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.' | '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_yaml_1_1_takes_for_numbers_are_quoted() {
        let value = serde_json::json!({
            "mac": "52:54:00:12:34:56",
            "pci": "0000:00:03.0",
            "list": [{ "hctl": "0:0:0:0" }],
            "plain": "52:54:00:ab:00:01",
            "time": 60,
        });
        let text = render(&value).unwrap();
        for line in [
            "mac: \"52:54:00:12:34:56\"",
            "pci: \"0000:00:03.0\"",
            "- hctl: \"0:0:0:0\"",
            "plain: 52:54:00:ab:00:01",
            "time: 60",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
        let back: serde_json::Value = serde_yaml_ng::from_str(&text).unwrap();
        assert_eq!(back, value);
    }
}

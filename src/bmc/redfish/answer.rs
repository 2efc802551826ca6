//! What a BMC says when it refuses: status, and the messages of `@Message.ExtendedInfo` (DSP0266
//! §13.8) in every shape that BMCs give them.

use std::fmt;

use serde_json::Value;

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Messages, most specific first; empty when the body had none.
    pub messages: Vec<Message>,
}

/// One message of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// `MessageId`, such as `Base.1.5.ActionParameterMissing`.
    pub id: String,
    /// Its text; empty where the BMC gave none.
    pub text: String,
    /// What it is about: `MessageArgs` and `RelatedProperties`, without `#/`.
    pub about: Vec<String>,
}

impl Answer {
    /// Reads the body of a refusal.
    pub(super) fn read(status: u16, body: &Value) -> Self {
        // Most put it under `error`; some forget that.
        let error = body.get("error").unwrap_or(body);
        let mut messages: Vec<Message> = match error.get("@Message.ExtendedInfo") {
            Some(Value::Array(list)) => list.iter().filter_map(message).collect(),
            Some(single) => message(single).into_iter().collect(),
            None => Vec::new(),
        };
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
        // Not JSON at all: what it said, as it said it.
        if let Some(text) = error.as_str() {
            let text = text.to_owned();
            return Self {
                status,
                messages: vec![Message { id: String::new(), text, about: Vec::new() }],
            };
        }
        let outer = Message {
            id: text("code").to_owned(),
            text: text("message").to_owned(),
            about: Vec::new(),
        };
        let is_said = messages.iter().any(|m| !m.text.is_empty() || !m.is_general());
        if !(outer.text.is_empty() || is_said) {
            messages.insert(0, outer);
        }
        Self { status, messages }
    }

    /// What the messages of a task say, on one line.
    pub(super) fn messages_of(task: &Value) -> String {
        let list = task.get("Messages").and_then(Value::as_array);
        let said: Vec<String> =
            list.into_iter().flatten().filter_map(message).map(|m| m.to_string()).collect();
        if said.is_empty() { "it says nothing more".to_owned() } else { said.join("; ") }
    }

    /// Whether a message's id contains `marker`, such as `SYS518`.
    #[must_use]
    pub fn has_id(&self, marker: &str) -> bool {
        self.messages.iter().any(|message| message.id.contains(marker))
    }

    /// Whether any message is about this property, in its arguments or its text.
    #[must_use]
    pub fn mentions(&self, property: &str) -> bool {
        self.messages.iter().any(|message| {
            message.about.iter().any(|about| about == property) || message.text.contains(property)
        })
    }
}

fn message(value: &Value) -> Option<Message> {
    if let Some(text) = value.as_str() {
        return Some(Message { id: String::new(), text: text.to_owned(), about: Vec::new() });
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let about = ["MessageArgs", "RelatedProperties"]
        .into_iter()
        .filter_map(|key| value.get(key)?.as_array())
        .flatten()
        .filter_map(Value::as_str)
        .map(|about| about.trim_start_matches(['#', '/']).to_owned());
    let about: Vec<String> = about.collect();
    value.is_object().then(|| Message { id: text("MessageId"), text: text("Message"), about })
}

impl Message {
    /// Says no more than "an error".
    fn is_general(&self) -> bool {
        self.id.is_empty()
            || self.id.ends_with(".GeneralError")
            || self.id.ends_with(".ExtendedInfo")
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Texts come from the BMC: one line, bounded.
        let text: String = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = text.chars().filter(|c| !c.is_control()).take(400).collect();
        match (text.is_empty(), self.id.is_empty()) {
            (false, true) => write!(f, "{text}"),
            (false, false) => write!(f, "{text} [{}]", self.id),
            (true, _) if self.about.is_empty() => f.write_str(&self.id),
            (true, _) => write!(f, "{} ({})", self.id, self.about.join(", ")),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = reqwest::StatusCode::from_u16(self.status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or("no reason");
        write!(f, "{} {reason}", self.status)?;
        let mut said: Vec<String> = Vec::new();
        for message in &self.messages {
            let text = message.to_string();
            if !text.is_empty() && !said.contains(&text) {
                said.push(text);
            }
        }
        for (index, text) in said.iter().take(5).enumerate() {
            write!(f, "{}{text}", if index == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_parameter_is_found_in_every_shape_of_a_message() {
        for body in [
            json!({"error": {"@Message.ExtendedInfo": [
                {"MessageId": "Base.1.5.ActionParameterMissing",
                 "RelatedProperties": ["#/TransferProtocolType"]}]}}),
            json!({"error": {"@Message.ExtendedInfo": [
                {"MessageId": "Base.1.12.X", "RelatedProperties": ["/TransferProtocolType"]}]}}),
            json!({"error": {"@Message.ExtendedInfo":
                {"MessageId": "Base.1.5.X", "MessageArgs": ["Insert", "TransferProtocolType"]}}}),
            json!({"error": {"code": "Base.1.4.0.GeneralError", "message": "See.",
                "@Message.ExtendedInfo": [{"MessageId": "Base.1.4.0.GeneralError",
                "Message": "'TransferProtocolType' property is missing."}]}}),
            json!({"error": {"message": "no TransferProtocolType given"}}),
            json!({"@Message.ExtendedInfo": ["TransferProtocolType?"]}),
        ] {
            let answer = Answer::read(400, &body);
            assert!(answer.mentions("TransferProtocolType"), "{body}");
            assert!(!answer.mentions("UserName"), "{body}");
        }
    }

    #[test]
    fn what_is_printed_is_what_the_bmc_said_once_and_on_one_line() {
        let body = json!({"error": {"code": "Base.1.2.GeneralError", "message": "A general error.",
            "@Message.ExtendedInfo": [
                {"MessageId": "IDRAC.1.6.SYS446", "Message": "Internal\n error."},
                {"MessageId": "IDRAC.1.6.SYS446", "Message": "Internal\n error."},
                {"MessageId": "iLO.2.X", "MessageArgs": ["BootSourceOverrideTarget"]}]}});
        assert_eq!(
            Answer::read(500, &body).to_string(),
            "500 Internal Server Error: Internal error. [IDRAC.1.6.SYS446]; iLO.2.X \
             (BootSourceOverrideTarget)"
        );
    }

    #[test]
    fn the_outer_message_counts_when_the_inner_ones_are_empty() {
        let body = json!({"error": {"code": "Base.1.0.GeneralError", "message": "got error 404",
            "@Message.ExtendedInfo": [{"MessageId": "Base.1.0.GeneralError"}]}});
        let printed = Answer::read(400, &body).to_string();
        assert!(printed.starts_with("400 Bad Request: got error 404"), "{printed}");
        assert_eq!(Answer::read(404, &Value::Null).to_string(), "404 Not Found");
    }
}

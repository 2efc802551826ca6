//! JSON and YAML into one tree, bounded in size, depth and alias expansion.
//!
//! `serde_json::Value` would keep the last of two equal keys in silence, and YAML aliases could
//! grow a small text into gigabytes; this tree keeps every key and counts every node.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Longest document, in bytes: a Kubernetes Secret holds at most 1 MiB.
pub const MAX_BYTES: usize = 1 << 20;
/// Most values in a document, aliases expanded.
const MAX_NODES: usize = 200_000;
/// Deepest nesting; the format needs 6.
const MAX_DEPTH: usize = 32;
/// Most documents in one YAML stream.
const MAX_DOCUMENTS: usize = 64;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    /// What the value is called in a message.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }

    /// The value as a message quotes it; lists and objects are only named.
    pub(crate) fn quoted(&self) -> Option<String> {
        match self {
            Self::Null => Some("null".to_owned()),
            Self::Bool(value) => Some(value.to_string()),
            Self::Integer(value) => Some(value.to_string()),
            Self::Float(value) => Some(value.to_string()),
            Self::Text(text) => Some(text.clone()),
            Self::List(items) => Some(format!("[{} items]", items.len())),
            Self::Map(fields) => Some(format!("{{{} keys}}", fields.len())),
        }
    }

    /// Null, or the empty text that producers write for "unset".
    pub(crate) fn is_unset(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) => text.trim().is_empty(),
            Self::Bool(_) | Self::Integer(_) | Self::Float(_) | Self::List(_) | Self::Map(_) => {
                false
            }
        }
    }
}

/// Why a text is neither JSON nor YAML that we would read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SyntaxError {
    #[error("the document has {0} bytes, more than {MAX_BYTES}")]
    TooLong(usize),
    #[error("the document is empty")]
    Empty,
    #[error("not JSON: {0}")]
    Json(serde_json::Error),
    #[error("not YAML: {0}")]
    Yaml(serde_yaml_ng::Error),
    #[error("the YAML stream has more than {MAX_DOCUMENTS} documents")]
    TooManyDocuments,
}

/// Reads every document of a text: one of JSON, one or more of YAML.
pub(crate) fn read(text: &str) -> Result<Vec<Node>, SyntaxError> {
    if text.len() > MAX_BYTES {
        return Err(SyntaxError::TooLong(text.len()));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.trim_start().starts_with(['{', '[']) {
        return read_yaml(text);
    }
    // YAML's flow style looks like JSON, with bare keys.
    read_json(text).map(|node| vec![node]).or_else(|error| {
        let error = SyntaxError::Json(error);
        read_yaml(text).map_err(|_| error)
    })
}

fn read_json(text: &str) -> Result<Node, serde_json::Error> {
    let budget = Cell::new(MAX_NODES);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let node = Seed { budget: &budget, depth: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(node)
}

fn read_yaml(text: &str) -> Result<Vec<Node>, SyntaxError> {
    let budget = Cell::new(MAX_NODES);
    let mut documents = Vec::new();
    for deserializer in serde_yaml_ng::Deserializer::from_str(text) {
        if documents.len() == MAX_DOCUMENTS {
            return Err(SyntaxError::TooManyDocuments);
        }
        let seed = Seed { budget: &budget, depth: 0 };
        documents.push(seed.deserialize(deserializer).map_err(SyntaxError::Yaml)?);
    }
    // `---` before the only document, or a comment after the last, is no document.
    documents.retain(|node| *node != Node::Null);
    if documents.is_empty() { Err(SyntaxError::Empty) } else { Ok(documents) }
}

#[derive(Clone, Copy)]
struct Seed<'b> {
    budget: &'b Cell<usize>,
    depth: usize,
}

impl<'b> Seed<'b> {
    fn below<E: Error>(self) -> Result<Seed<'b>, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Seed { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        let left = self.budget.get().checked_sub(1);
        self.budget.set(left.ok_or_else(|| {
            D::Error::custom(format!("more than {MAX_NODES} values, aliases expanded"))
        })?);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain value without a tag")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Node, E> {
        Ok(Node::Integer(value))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Node, E> {
        i128::try_from(value).map(Node::Integer).map_err(|_| E::custom("number out of range"))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let below = self.below()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(below)? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let below = self.below()?;
        let mut fields = Vec::new();
        while let Some(Key(key)) = access.next_key()? {
            fields.push((key, access.next_value_seed(below)?));
        }
        Ok(Node::Map(merge(fields)))
    }
}

/// A key: YAML lets it be a number or a boolean, which we read as its text.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text as key")
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Key, E> {
                Ok(Key(value.to_owned()))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Key, E> {
                Ok(Key(value.to_string()))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Key, E> {
                Ok(Key(value.to_string()))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Key, E> {
                Ok(Key(value.to_string()))
            }
        }
        deserializer.deserialize_any(KeyVisitor)
    }
}

/// YAML 1.1's merge key `<<`, which Kubernetes' YAML reader honours: own keys win.
fn merge(mut fields: Vec<(String, Node)>) -> Vec<(String, Node)> {
    let Some(position) = fields.iter().position(|(key, _)| key == "<<") else { return fields };
    let sources = match fields[position].1.clone() {
        Node::Map(source) => vec![source],
        Node::List(items) => items
            .into_iter()
            .filter_map(|item| if let Node::Map(source) = item { Some(source) } else { None })
            .collect(),
        Node::Null | Node::Bool(_) | Node::Integer(_) | Node::Float(_) | Node::Text(_) => {
            return fields;
        }
    };
    fields.remove(position);
    let mut seen: HashSet<String> = fields.iter().map(|(key, _)| key.clone()).collect();
    let inherited = sources.into_iter().flatten().filter(|(key, _)| seen.insert(key.clone()));
    fields.extend(inherited);
    fields
}

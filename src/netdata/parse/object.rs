//! Typed reading of one object: each getter answers `Ok(None)` for an unset field and has
//! reported the problem when it answers [`Reported`].

use std::collections::HashSet;
use std::ops::RangeInclusive;

use crate::netdata::problem::{Problems, Reported, did_you_mean};
use crate::types::Mac;

use super::node::Node;

/// Most items of a list: links, networks, routes, servers.
const MAX_ITEMS: usize = 1024;

/// One object of the document with its path.
#[derive(Debug, Clone)]
pub(crate) struct Object<'a> {
    path: String,
    fields: &'a [(String, Node)],
}

/// A field that may be unset, or unusable and reported.
pub(crate) type Field<T> = Result<Option<T>, Reported>;

impl<'a> Object<'a> {
    /// Takes `node` at `path` as an object; reports anything else, and keys that stand twice.
    pub(crate) fn new(
        node: &'a Node,
        path: impl Into<String>,
        problems: &mut Problems,
    ) -> Result<Self, Reported> {
        let path = path.into();
        let Node::Map(fields) = node else {
            let message = format!("{} where an object belongs", node.kind());
            return Err(problems.error(path, node.quoted(), message, "write key: value pairs"));
        };
        let object = Self { path, fields };
        let mut seen = HashSet::new();
        for (key, _) in fields {
            if !seen.insert(key) {
                let path = object.at(key);
                problems.error(path, None, "the key stands twice", "keep one of them");
            }
        }
        Ok(object)
    }

    /// The object's own path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The path of a field.
    pub(crate) fn at(&self, key: &str) -> String {
        if self.path == "$" { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A field that is set: null and the empty text count as unset.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Node> {
        self.raw(key).filter(|node| !node.is_unset())
    }

    /// A field as it stands, null included.
    pub(crate) fn raw(&self, key: &str) -> Option<&'a Node> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// All keys, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.fields.iter().map(|(key, _)| key.as_str())
    }

    /// Warns of keys that nobody reads.
    pub(crate) fn warn_unknown(&self, known: &[&[&str]], problems: &mut Problems) {
        let all = || known.iter().copied().flatten().copied();
        for key in self.keys().filter(|key| !all().any(|known| known == *key)) {
            let fix = match did_you_mean(key, all()) {
                Some(near) => format!("did you mean {near}?"),
                None => "remove it, nothing reads it".to_owned(),
            };
            let value = self.raw(key).and_then(Node::quoted);
            problems.warning(self.at(key), value, "unknown key, ignored", fix);
        }
    }

    /// A text; a number is taken as its digits, since YAML types bare words.
    pub(crate) fn text(&self, key: &str, problems: &mut Problems) -> Field<String> {
        let Some(node) = self.get(key) else { return Ok(None) };
        match node {
            Node::Text(text) => Ok(Some(text.trim().to_owned())),
            Node::Integer(number) => Ok(Some(number.to_string())),
            Node::Float(number) => Ok(Some(number.to_string())),
            Node::Null | Node::Bool(_) | Node::List(_) | Node::Map(_) => {
                let message = format!("{} where a text belongs", node.kind());
                Err(problems.error(self.at(key), node.quoted(), message, "write a text"))
            }
        }
    }

    /// A whole number in `range`, as a number or as its digits.
    pub(crate) fn integer<T>(
        &self,
        key: &str,
        range: RangeInclusive<u32>,
        problems: &mut Problems,
    ) -> Field<T>
    where
        T: TryFrom<u32>,
    {
        let Some(node) = self.get(key) else { return Ok(None) };
        let found = whole(node).and_then(|number| u32::try_from(number).ok());
        match found.filter(|number| range.contains(number)).map(T::try_from) {
            Some(Ok(number)) => Ok(Some(number)),
            Some(Err(_)) | None => {
                let message = match whole(node) {
                    Some(_) => "out of range",
                    None => "not a whole number",
                };
                let fix = format!("write {} to {}", range.start(), range.end());
                Err(problems.error(self.at(key), node.quoted(), message, fix))
            }
        }
    }

    /// A MAC address: any case, separators `:`, `-`, `.` or none; 20-byte InfiniBand addresses
    /// are taken in their 6-byte form.
    pub(crate) fn mac(&self, key: &str, problems: &mut Problems) -> Field<Mac> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let text = match node {
            Node::Text(text) => text.trim().to_owned(),
            Node::Integer(number) => number.to_string(),
            Node::Null | Node::Bool(_) | Node::Float(_) | Node::List(_) | Node::Map(_) => {
                let message = format!("{} where a MAC address belongs", node.kind());
                let fix = "write six hex bytes in quotes, such as \"52:54:00:12:34:56\"";
                return Err(problems.error(self.at(key), node.quoted(), message, fix));
            }
        };
        if let Some(short) = infiniband_short(&text) {
            let message = "a 20-byte InfiniBand address: Ironic's schema refuses it";
            problems.warning(self.at(key), Some(text), message, format!("write {short}"));
            return Ok(Some(short));
        }
        match text.parse::<Mac>() {
            Ok(mac) if mac.is_zero() => {
                let fix = "write the address of the NIC";
                Err(problems.error(self.at(key), Some(text), "all zero: no NIC has it", fix))
            }
            Ok(mac) => Ok(Some(mac)),
            Err(_) => {
                let fix = "write six hex bytes such as 52:54:00:12:34:56";
                Err(problems.error(self.at(key), Some(text), "not a MAC address", fix))
            }
        }
    }

    /// A list of objects; null and absent are empty. Items that are no objects are reported.
    pub(crate) fn objects(&self, key: &str, problems: &mut Problems) -> Vec<Object<'a>> {
        let items = self.list(key, problems);
        let path = self.at(key);
        items
            .iter()
            .enumerate()
            .filter_map(|(index, node)| {
                Object::new(node, format!("{path}[{index}]"), problems).ok()
            })
            .collect()
    }

    /// A list; null and absent are empty.
    pub(crate) fn list(&self, key: &str, problems: &mut Problems) -> &'a [Node] {
        match self.get(key) {
            None => &[],
            Some(Node::List(items)) if items.len() <= MAX_ITEMS => items,
            Some(Node::List(items)) => {
                let message = format!("{} items, more than {MAX_ITEMS}", items.len());
                problems.error(self.at(key), None, message, "no host has so many: remove some");
                &[]
            }
            Some(node) => {
                let message = format!("{} where a list belongs", node.kind());
                problems.error(self.at(key), node.quoted(), message, "write a list");
                &[]
            }
        }
    }

    /// Texts: a list of them, or one text with items parted by blanks or commas. Each with its
    /// path.
    pub(crate) fn texts(&self, key: &str, problems: &mut Problems) -> Vec<(String, String)> {
        let path = self.at(key);
        match self.get(key) {
            Some(Node::Text(text)) => text
                .split([' ', ',', '\t', '\n'])
                .filter(|word| !word.is_empty())
                .map(|word| (path.clone(), word.to_owned()))
                .collect(),
            Some(Node::Integer(number)) => vec![(path, number.to_string())],
            _ => {
                let mut texts = Vec::new();
                for (index, item) in self.list(key, problems).iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    match item {
                        Node::Text(text) => texts.push((path, text.trim().to_owned())),
                        Node::Integer(number) => texts.push((path, number.to_string())),
                        other => {
                            let message = format!("{} where a text belongs", other.kind());
                            problems.error(path, other.quoted(), message, "write a text");
                        }
                    }
                }
                texts
            }
        }
    }

    /// Insists on a field: reports it missing unless it was reported already.
    pub(crate) fn need<T>(
        &self,
        key: &str,
        field: Field<T>,
        fix: &str,
        problems: &mut Problems,
    ) -> Result<T, Reported> {
        field?.ok_or_else(|| {
            let value = self.raw(key).and_then(Node::quoted);
            problems.error(self.at(key), value, "missing", fix)
        })
    }
}

/// A whole number: JSON's `1500.0` is one too.
pub(crate) fn whole(node: &Node) -> Option<i128> {
    match node {
        Node::Integer(number) => Some(*number),
        #[expect(clippy::cast_possible_truncation, reason = "whole and far inside i128")]
        Node::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            Some(*number as i128)
        }
        Node::Text(text) => {
            let text = text.trim();
            text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
        }
        Node::Float(_) | Node::Null | Node::Bool(_) | Node::List(_) | Node::Map(_) => None,
    }
}

/// Bytes 12-14 and 17-19 of a 20-byte IPoIB address: the form that OpenStack uses.
fn infiniband_short(text: &str) -> Option<Mac> {
    let bytes: Option<Vec<u8>> = text
        .split([':', '-'])
        .map(|pair| {
            let is_hex = pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit());
            is_hex.then(|| u8::from_str_radix(pair, 16).ok())?
        })
        .collect();
    let bytes = bytes.filter(|bytes| bytes.len() == 20)?;
    Mac::from_slice(&[&bytes[12..15], &bytes[17..20]].concat())
}

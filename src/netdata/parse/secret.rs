//! Whole Kubernetes Secrets: finds the network data in one, as the baremetal-operator does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::netdata::problem::{Problems, Reported};

use super::node::{self, Node};
use super::object::Object;

/// Keys that hold network data, in the operator's order.
const KEYS: [&str; 2] = ["networkData", "value"];

/// The network data of a text: the document itself, or the one inside a Secret. Of a stream of
/// manifests, the only Secret that holds network data.
pub(super) fn find(text: &str, problems: &mut Problems) -> Result<Node, Reported> {
    let documents = read(text, "$", problems)?;
    let document = pick(documents, problems)?;
    if kind(&document).is_none() {
        return Ok(document);
    }
    let (path, inner) = open(&document, problems)?;
    let mut documents = read(&inner, &path, problems)?;
    match documents.pop() {
        Some(document) if documents.is_empty() => Ok(document),
        _ => Err(several(&path, problems)),
    }
}

fn read(text: &str, path: &str, problems: &mut Problems) -> Result<Vec<Node>, Reported> {
    node::read(text).map_err(|error| {
        let fix = "write network data as JSON or YAML";
        problems.error(path, None, error.to_string(), fix)
    })
}

fn pick(mut documents: Vec<Node>, problems: &mut Problems) -> Result<Node, Reported> {
    if documents.len() > 1 {
        documents.retain(|document| kind(document) == Some("Secret"));
    }
    match documents.pop() {
        Some(document) if documents.is_empty() => Ok(document),
        _ => Err(several("$", problems)),
    }
}

fn several(path: &str, problems: &mut Problems) -> Reported {
    let message = "several documents, and not exactly one Secret among them";
    problems.error(path, None, message, "give one document")
}

/// `kind` of a Kubernetes object.
fn kind(document: &Node) -> Option<&str> {
    let Node::Map(fields) = document else { return None };
    fields.iter().find_map(|(key, node)| match node {
        Node::Text(text) if key == "kind" => Some(text.as_str()),
        _ => None,
    })
}

/// The text inside a Secret, with its path.
fn open(manifest: &Node, problems: &mut Problems) -> Result<(String, String), Reported> {
    let manifest = Object::new(manifest, "$", problems)?;
    match manifest.get("kind") {
        Some(Node::Text(kind)) if kind == "Secret" => {}
        other => {
            let fix = "give the Secret that it refers to, or the network data itself";
            let value = other.and_then(Node::quoted);
            return Err(problems.error("kind", value, "not a Secret", fix));
        }
    }
    for key in KEYS {
        // The API server lets stringData win over data.
        for section in ["stringData", "data"] {
            let Some(fields) = manifest.get(section) else { continue };
            let fields = Object::new(fields, section, problems)?;
            if fields.raw(key).is_some() {
                return decode(&fields, section, key, problems);
            }
        }
    }
    let found = keys_of(&manifest);
    let message = match found.as_slice() {
        [] => "the Secret holds nothing".to_owned(),
        keys => format!("the Secret has neither networkData nor value, only {}", keys.join(", ")),
    };
    Err(problems.error("stringData", None, message, "put the document under networkData"))
}

fn keys_of(manifest: &Object<'_>) -> Vec<String> {
    let mut keys = Vec::new();
    for section in ["stringData", "data"] {
        if let Some(Node::Map(fields)) = manifest.get(section) {
            keys.extend(fields.iter().take(16).map(|(key, _)| key.clone()));
        }
    }
    keys
}

fn decode(
    fields: &Object<'_>,
    section: &str,
    key: &str,
    problems: &mut Problems,
) -> Result<(String, String), Reported> {
    let path = fields.at(key);
    let Some(Node::Text(text)) = fields.get(key) else {
        let message = match fields.raw(key) {
            Some(node) if !node.is_unset() => format!("{} where a text belongs", node.kind()),
            Some(_) | None => "empty".to_owned(),
        };
        return Err(problems.error(path, None, message, "write the document as a text block (|)"));
    };
    if section == "stringData" {
        return Ok((path, text.clone()));
    }
    let compact: String = text.split_ascii_whitespace().collect();
    let text = STANDARD.decode(compact).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(|text| (path.clone(), text)).ok_or_else(|| {
        let fix = "encode the document as base64, or use stringData";
        problems.error(path, None, "not the base64 of a text", fix)
    })
}

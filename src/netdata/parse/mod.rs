//! Text into [`NetworkData`]: read, resolve references, check the whole, settle routes and DNS.
//!
//! Every step reports into one list and goes on, so that all errors come at once.

mod assemble;
mod bond;
pub(crate) mod bond_words;
mod check_links;
mod check_networks;
mod links;
mod networks;
pub(crate) mod node;
pub(crate) mod object;
mod prefix;
mod refs;
mod routes;
mod secret;
mod services;
mod settle;
#[cfg(test)]
mod tests;

pub use node::MAX_BYTES;

use super::model::NetworkData;
use super::problem::{Problem, Problems, Reported, did_you_mean};
use node::Node;
use object::Object;

const KEYS: [&str; 3] = ["links", "networks", "services"];

/// What became of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The normal form; `None` exactly when a problem is an error.
    pub data: Option<NetworkData>,
    /// Everything found, errors first.
    pub problems: Vec<Problem>,
}

/// Reads network data from JSON, YAML, or a Kubernetes Secret with either inside (key
/// `networkData`, else `value`). At most [`MAX_BYTES`].
///
/// Takes what Nova, Ironic, Cluster API Provider Metal3 and people write; `docs/network-data.md`
/// says what that is.
#[must_use]
pub fn parse(text: &str) -> Parsed {
    let mut problems = Problems::default();
    let data = secret::find(text, &mut problems)
        .and_then(|document| read(&document, &mut problems))
        .ok()
        .filter(|_| !problems.any_error());
    Parsed { data, problems: problems.into_vec() }
}

/// The document as a tree, for checks of what is written rather than what is meant.
pub(crate) fn tree(text: &str) -> Option<Node> {
    secret::find(text, &mut Problems::default()).ok()
}

fn read(document: &Node, problems: &mut Problems) -> Result<NetworkData, Reported> {
    let document = Object::new(document, "$", problems)?;
    recognise(&document, problems)?;
    document.warn_unknown(&[&KEYS], problems);
    let drafts = links::read(&document, problems);
    let table = refs::LinkTable::new(&drafts, problems);
    let links = assemble::links(&drafts, &table, problems);
    check_links::check(&links, problems);
    let networks = networks::read(&document, &table, problems);
    check_networks::check(&links, &networks, problems);
    let dns = services::of_document(&document, problems);
    let links = links.into_iter().map(|placed| placed.link).collect();
    Ok(settle::settle(links, networks, dns, problems))
}

/// Refuses documents of another format by its name.
fn recognise(document: &Object<'_>, problems: &mut Problems) -> Result<(), Reported> {
    if document.keys().any(|key| KEYS.contains(&key)) {
        return Ok(());
    }
    let has = |key| document.raw(key).is_some();
    let (message, fix) = if has("interfaces") || has("dns-resolver") {
        ("nmstate, not OpenStack network data", "write links, networks and services")
    } else if has("network") || has("ethernets") {
        ("netplan, not OpenStack network data", "write links, networks and services")
    } else if has("network_data") {
        ("network data one level too deep", "give what stands under network_data")
    } else {
        ("no links, networks or services: not network data", "write links and networks")
    };
    let near = document.keys().find_map(|key| did_you_mean(key, KEYS).map(|near| (key, near)));
    let fix = match near {
        Some((key, near)) => format!("{key}: did you mean {near}?"),
        None => fix.to_owned(),
    };
    Err(problems.error("$", None, message, fix))
}

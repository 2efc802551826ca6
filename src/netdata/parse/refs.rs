//! References between links and from networks to links: by id, then by unique name.

use std::collections::HashMap;

use crate::netdata::model::LinkRef;
use crate::netdata::problem::{Problems, did_you_mean};

use super::links::LinkDraft;

/// Most ids that an error lists.
const LISTED: usize = 8;

/// A reference as it was written.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    pub(super) path: String,
    pub(super) text: String,
}

/// Whether naming a link by its `name` deserves a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByName {
    /// The format wants an id here.
    Warned,
    /// Linux wants a device name here, as for a bond's primary.
    Usual,
}

/// Ids and names of the document's links.
#[derive(Debug)]
pub(super) struct LinkTable<'a> {
    ids: HashMap<&'a str, usize>,
    names: HashMap<&'a str, Vec<usize>>,
    order: Vec<&'a str>,
}

impl<'a> LinkTable<'a> {
    /// Collects ids and names; reports an id that stands twice.
    pub(super) fn new(links: &'a [LinkDraft], problems: &mut Problems) -> Self {
        let mut table = Self { ids: HashMap::new(), names: HashMap::new(), order: Vec::new() };
        for (index, link) in links.iter().enumerate() {
            if let Some(label) = &link.label {
                table.names.entry(label).or_default().push(index);
            }
            let Some(id) = &link.id else { continue };
            if let Some(first) = table.ids.get(id.as_str()) {
                let message = format!("{} has the same id", links[*first].path);
                let fix = "give each link an id of its own";
                problems.error(format!("{}.id", link.path), Some(id.clone()), message, fix);
            } else {
                table.ids.insert(id, index);
                table.order.push(id);
            }
        }
        table
    }

    /// The link that a reference means; reports one that means none, or several.
    pub(super) fn resolve(
        &self,
        reference: &Reference,
        by_name: ByName,
        problems: &mut Problems,
    ) -> Option<LinkRef> {
        let Reference { path, text } = reference;
        if let Some(index) = self.ids.get(text.as_str()) {
            return Some(LinkRef(*index));
        }
        match self.names.get(text.as_str()).map(Vec::as_slice) {
            Some([index]) => {
                if by_name == ByName::Warned {
                    let message = "the name of a link, where its id belongs";
                    let fix = "write the id: cloud-init and glean fail on a name";
                    problems.warning(path, Some(text.clone()), message, fix);
                }
                Some(LinkRef(*index))
            }
            Some(several) => {
                let message = format!("{} links have this name", several.len());
                problems.error(path, Some(text.clone()), message, "write the id of one");
                None
            }
            None => {
                problems.error(path, Some(text.clone()), "no link has this id", self.advice(text));
                None
            }
        }
    }

    fn advice(&self, text: &str) -> String {
        if let Some(near) = did_you_mean(text, self.order.iter().copied()) {
            return format!("did you mean {near}?");
        }
        match self.order.as_slice() {
            [] => "add the link to links".to_owned(),
            ids if ids.len() <= LISTED => format!("write one of {}", ids.join(", ")),
            ids => {
                format!("write one of {} and {} more", ids[..LISTED].join(", "), ids.len() - LISTED)
            }
        }
    }
}

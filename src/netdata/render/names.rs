//! Names of the devices that a configuration creates.

use std::collections::HashSet;

use crate::netdata::model::{Link, LinkKind, NetworkData};
use crate::types::IfName;

/// A device name for each bond and VLAN, in the order of the links; NICs keep the kernel's, so
/// theirs only names them inside the configuration. All are unique.
pub(super) fn device_names(data: &NetworkData) -> Vec<String> {
    let given: Vec<Option<String>> = data.links.iter().map(given_name).collect();
    let mut taken: HashSet<String> = given.iter().flatten().cloned().collect();
    let mut names = Vec::with_capacity(data.links.len());
    for (link, given) in data.links.iter().zip(given) {
        let name = given.unwrap_or_else(|| {
            let usable = |id: &str| id.parse::<IfName>().is_ok() && id.bytes().all(is_plain);
            let own = Some(&link.id).filter(|id| usable(id) && !taken.contains(*id));
            own.cloned().unwrap_or_else(|| numbered(link, &taken))
        });
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// The wanted name, unless a configuration format would read a pattern or specifier in it.
fn given_name(link: &Link) -> Option<String> {
    let name = link.name.as_ref().map(IfName::as_str)?;
    name.bytes().all(is_plain).then(|| name.to_owned())
}

/// What no file name, unit or YAML needs to quote.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

fn numbered(link: &Link, taken: &HashSet<String>) -> String {
    let (first, stem) = match &link.kind {
        LinkKind::Ethernet { .. } => (None, "nic".to_owned()),
        LinkKind::Bond(_) => (None, "bond".to_owned()),
        LinkKind::Vlan { id, .. } => (Some(format!("vlan{id}")), format!("vlan{id}_")),
    };
    let numbers = (0..=taken.len()).map(|number| format!("{stem}{number}"));
    let free = first.into_iter().chain(numbers).find(|name| !taken.contains(name));
    free.expect("one of more names than are taken is free")
}

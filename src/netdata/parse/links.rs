//! `links[]`: NICs, bonds and VLANs, references still as text.

use crate::netdata::model::{BondMode, BondOptions};
use crate::netdata::problem::{Problems, Reported, did_you_mean};
use crate::types::{IfName, Mac, VlanId};

use super::bond;
use super::node::Node;
use super::object::{Field, Object};
use super::refs::Reference;

/// Types that Ironic's schema knows; all mean "a NIC with this MAC".
const NIC_TYPES: [&str; 9] =
    ["phy", "vif", "ovs", "bridge", "tap", "dvs", "hw_veb", "hyperv", "vhostuser"];
/// Types that cloud-init takes for a NIC besides.
const FOREIGN_NIC_TYPES: [&str; 3] = ["ethernet", "bgpovs", "cascading"];

const COMMON_KEYS: [&str; 7] =
    ["id", "name", "type", "mtu", "mtu_unset", "vif_id", "ethernet_mac_address"];
const VLAN_KEYS: [&str; 4] = ["vlan_link", "vlan_id", "vlan_mac_address", "vlan_mode"];

/// A link as it was read: what is `None` was unset, or reported.
#[derive(Debug)]
pub(super) struct LinkDraft {
    pub(super) path: String,
    pub(super) id: Option<String>,
    /// `name` as written: references may use it even where Linux would not take it.
    pub(super) label: Option<String>,
    pub(super) name: Option<IfName>,
    pub(super) mac: Option<Mac>,
    pub(super) mtu: Option<u32>,
    pub(super) kind: KindDraft,
}

/// A link's kind, references unresolved.
#[derive(Debug)]
pub(super) enum KindDraft {
    Ethernet {
        hint: &'static str,
    },
    Bond(Box<BondDraft>),
    Vlan {
        parent: Option<Reference>,
        id: Option<VlanId>,
    },
    /// Its type was reported.
    Broken,
}

/// A bond, references unresolved.
#[derive(Debug)]
pub(super) struct BondDraft {
    pub(super) mode: BondMode,
    pub(super) members: Vec<Reference>,
    pub(super) primary: Option<Reference>,
    pub(super) options: BondOptions,
}

/// Reads every link.
pub(super) fn read(document: &Object<'_>, problems: &mut Problems) -> Vec<LinkDraft> {
    let links = document.objects("links", problems);
    links.iter().map(|link| read_link(link, problems)).collect()
}

fn read_link(link: &Object<'_>, problems: &mut Problems) -> LinkDraft {
    let id = link.text("id", problems);
    let id = link.need("id", id, "give the link an id that networks can refer to", problems).ok();
    let label = link.text("name", problems).ok().flatten();
    let kind = read_kind(link, problems);
    LinkDraft {
        path: link.path().to_owned(),
        id,
        name: label.as_deref().and_then(|label| read_name(link, label, problems)),
        label,
        mac: read_mac(link, &kind, problems),
        mtu: read_mtu(link, problems).ok().flatten(),
        kind,
    }
}

fn read_name(link: &Object<'_>, label: &str, problems: &mut Problems) -> Option<IfName> {
    let name = label.parse::<IfName>();
    if name.is_err() {
        let message = "not a name that Linux takes, so the device keeps another";
        let fix = "write 1 to 15 letters, digits, '.', '-' or '_', or leave it out";
        problems.warning(link.at("name"), Some(label.to_owned()), message, fix);
    }
    name.ok()
}

fn read_mtu(link: &Object<'_>, problems: &mut Problems) -> Field<u32> {
    let mtu = link.integer("mtu", 68..=65535, problems)?;
    // Our own rendering writes the default that Ironic insists on, and says so.
    Ok(mtu.filter(|_| link.raw("mtu_unset") != Some(&Node::Bool(true))))
}

fn read_kind(link: &Object<'_>, problems: &mut Problems) -> KindDraft {
    match link_type(link, problems) {
        Err(Reported) => KindDraft::Broken,
        Ok(LinkType::Nic(hint)) => {
            warn_unknown(link, &[&COMMON_KEYS], problems);
            KindDraft::Ethernet { hint }
        }
        Ok(LinkType::Bond) => {
            let bond_keys: Vec<&str> = link.keys().filter(|key| key.starts_with("bond_")).collect();
            link.warn_unknown(&[&COMMON_KEYS, &bond_keys], problems);
            KindDraft::Bond(Box::new(bond::read(link, problems)))
        }
        Ok(LinkType::Vlan) => {
            link.warn_unknown(&[&COMMON_KEYS, &VLAN_KEYS], problems);
            read_vlan(link, problems)
        }
    }
}

/// Ironic's regeneration of network data leaves `bond_links` on plain NICs.
fn warn_unknown(link: &Object<'_>, known: &[&[&str]], problems: &mut Problems) {
    let misplaced: Vec<&str> = link.keys().filter(|key| belongs_to_master(key)).collect();
    for key in &misplaced {
        let fix = match key.starts_with("bond_") {
            true => "remove it, or write type bond",
            false => "remove it, or write type vlan",
        };
        let value = link.raw(key).and_then(Node::quoted);
        problems.warning(link.at(key), value, "ignored: the link is a NIC", fix);
    }
    link.warn_unknown(&[known, &[&misplaced]].concat(), problems);
}

fn belongs_to_master(key: &str) -> bool {
    key.starts_with("bond_") || VLAN_KEYS.contains(&key)
}

enum LinkType {
    Nic(&'static str),
    Bond,
    Vlan,
}

fn link_type(link: &Object<'_>, problems: &mut Problems) -> Result<LinkType, Reported> {
    if link.raw("type") == Some(&Node::Null) {
        return Ok(LinkType::Nic("phy"));
    }
    let text = link.text("type", problems);
    let text = link.need("type", text, "write phy for a NIC, bond or vlan", problems)?;
    let word = text.to_lowercase();
    match word.as_str() {
        "bond" => return Ok(LinkType::Bond),
        "vlan" => return Ok(LinkType::Vlan),
        _ => {}
    }
    if let Some(hint) = NIC_TYPES.into_iter().find(|known| *known == word) {
        return Ok(LinkType::Nic(hint));
    }
    if FOREIGN_NIC_TYPES.contains(&word.as_str()) {
        return Ok(LinkType::Nic("phy"));
    }
    let near = did_you_mean(&word, ["bond", "vlan"].into_iter().chain(NIC_TYPES));
    if matches!(near, Some("bond" | "vlan")) || link.keys().any(belongs_to_master) {
        let fix = format!("write {}", near.unwrap_or("phy, bond or vlan"));
        return Err(problems.error(link.at("type"), Some(text), "not a type of link", fix));
    }
    let message = "not a type of link; taken as a NIC";
    problems.warning(link.at("type"), Some(text), message, "write phy");
    Ok(LinkType::Nic("phy"))
}

fn read_vlan(link: &Object<'_>, problems: &mut Problems) -> KindDraft {
    let parent = link.text("vlan_link", problems);
    let parent = link.need("vlan_link", parent, "write the id of the link below", problems);
    let id = link.integer::<u16>("vlan_id", 1..=4094, problems);
    let id = link.need("vlan_id", id, "write 1 to 4094", problems);
    KindDraft::Vlan {
        parent: parent.ok().map(|text| Reference { path: link.at("vlan_link"), text }),
        id: id.ok().and_then(|id| VlanId::try_from(id).ok()),
    }
}

fn read_mac(link: &Object<'_>, kind: &KindDraft, problems: &mut Problems) -> Option<Mac> {
    const KEY: &str = "ethernet_mac_address";
    match kind {
        KindDraft::Ethernet { .. } => {
            let mac = link.mac(KEY, problems);
            let fix = "write the NIC's MAC address: it is the only thing that names a NIC";
            let mac = link.need(KEY, mac, fix, problems).ok()?;
            if mac.is_multicast() {
                let message = "has the group bit set: no NIC has such an address";
                let fix = "write the NIC's address";
                problems.warning(link.at(KEY), Some(mac.to_string()), message, fix);
            }
            Some(mac)
        }
        KindDraft::Bond(_) => unicast(link, KEY, problems),
        KindDraft::Vlan { .. } => {
            let own = unicast(link, "vlan_mac_address", problems);
            let other = unicast(link, KEY, problems);
            if let (Some(own), Some(other)) = (own, other)
                && own != other
            {
                let message = format!("differs from vlan_mac_address {own}, which counts");
                let fix = "remove it: a VLAN's address is vlan_mac_address";
                problems.warning(link.at(KEY), Some(other.to_string()), message, fix);
            }
            own.or(other)
        }
        KindDraft::Broken => None,
    }
}

/// An address to set: the kernel refuses a group address (`is_valid_ether_addr`).
fn unicast(link: &Object<'_>, key: &str, problems: &mut Problems) -> Option<Mac> {
    let mac = link.mac(key, problems).ok().flatten()?;
    if mac.is_multicast() {
        let message = "has the group bit set: the kernel refuses it";
        let fix = "write an address whose first byte is even";
        problems.error(link.at(key), Some(mac.to_string()), message, fix);
        return None;
    }
    Some(mac)
}

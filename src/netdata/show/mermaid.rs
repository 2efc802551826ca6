//! A Mermaid flowchart, for Markdown that draws it (GitHub, GitLab).

use std::fmt::Write as _;

use crate::netdata::model::{LinkKind, LinkRef, NetworkData};

use super::{labels, members};

const CLASSES: &str = "  classDef nic fill:#dbeafe,stroke:#1d4ed8,color:#111
  classDef bond fill:#ede9fe,stroke:#6d28d9,color:#111
  classDef vlan fill:#ffedd5,stroke:#c2410c,color:#111
  classDef net fill:#dcfce7,stroke:#15803d,color:#111
";

/// Draws links and networks from left to right: what is below stands left.
#[must_use]
pub fn mermaid(data: &NetworkData) -> String {
    let mut out = String::from("flowchart LR\n");
    for index in 0..data.links.len() {
        node_of_link(data, LinkRef(index), &mut out);
    }
    for (index, network) in data.networks.iter().enumerate() {
        let mut lines = vec![labels::address(network)];
        lines.extend(network.routes.iter().map(labels::route));
        lines.extend(labels::dns(&network.dns));
        writeln!(out, "  N{index}[\"{}\"]:::net", join(&lines)).ok();
        writeln!(out, "  L{} --> N{index}", network.link.0).ok();
    }
    let dns = labels::dns(&data.dns);
    if !dns.is_empty() {
        writeln!(out, "  D[\"{}\"]:::net", join(&dns)).ok();
    }
    out + CLASSES
}

fn node_of_link(data: &NetworkData, link: LinkRef, out: &mut String) {
    let class = match data.links[link.0].kind {
        LinkKind::Ethernet { .. } => "nic",
        LinkKind::Bond(_) => "bond",
        LinkKind::Vlan { .. } => "vlan",
    };
    let mut lines = vec![labels::link_name(data, link), labels::link_kind(data, link)];
    lines.extend(labels::link_details(data, link));
    writeln!(out, "  L{}[\"{}\"]:::{class}", link.0, join(&lines)).ok();
    for member in members(data, link) {
        writeln!(out, "  L{} --> L{}", member.0, link.0).ok();
    }
    if let Some(parent) = super::on(data, link) {
        writeln!(out, "  L{} --> L{}", parent.0, link.0).ok();
    }
}

fn join(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
    lines.join("<br>")
}

/// Mermaid reads `#name;` and `#number;` entities inside quotes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_control()) {
        match c {
            '"' | '<' | '>' | '&' | '#' | '`' | '\\' => {
                write!(out, "#{};", u32::from(c)).ok();
            }
            other => out.push(other),
        }
    }
    out
}

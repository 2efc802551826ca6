//! A tree for the terminal.

use std::fmt::Write as _;

use crate::netdata::model::{LinkRef, NetworkData};

use super::{labels, members, stacks};

/// Draws links, what is on them, and the document's DNS, one line each.
#[must_use]
pub fn text(data: &NetworkData) -> String {
    let mut tree = Tree { data, out: String::new() };
    for (root, vlans) in stacks(data) {
        tree.link(root, 0);
        for member in members(data, root) {
            tree.line(1, &format!("member {}", tree.summary(*member)));
        }
        tree.networks(root, 1);
        for vlan in vlans {
            tree.link(vlan, 1);
            tree.networks(vlan, 2);
        }
    }
    for line in labels::dns(&data.dns) {
        tree.line(0, &line);
    }
    tree.out
}

struct Tree<'d> {
    data: &'d NetworkData,
    out: String,
}

impl Tree<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        // Ids come from outside: no control character may reach the terminal.
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        writeln!(self.out, "{:1$}{text}", "", depth * 2).ok();
    }

    fn link(&mut self, link: LinkRef, depth: usize) {
        let line = self.summary(link);
        self.line(depth, &line);
    }

    fn summary(&self, link: LinkRef) -> String {
        let mut words =
            vec![labels::link_name(self.data, link), labels::link_kind(self.data, link)];
        words.extend(labels::link_details(self.data, link));
        words.join("  ")
    }

    fn networks(&mut self, link: LinkRef, depth: usize) {
        let data = self.data;
        for network in data.networks.iter().filter(|network| network.link == link) {
            self.line(depth, &labels::address(network));
            for route in &network.routes {
                self.line(depth + 1, &labels::route(route));
            }
            for line in labels::dns(&network.dns) {
                self.line(depth + 1, &line);
            }
        }
    }
}

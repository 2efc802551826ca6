//! A picture that reads at a glance: NICs on the left, then bonds, VLANs, and what is configured
//! on them, each stack of links a band of its own.

use std::fmt::Write as _;

use crate::netdata::model::{LinkKind, LinkRef, Network, NetworkData};

use super::{labels, members, stacks};

const MARGIN: f32 = 24.0;
const COLUMN_GAP: f32 = 56.0;
const BOX_GAP: f32 = 14.0;
const STACK_GAP: f32 = 30.0;
const LINE: f32 = 18.0;
const PADDING: f32 = 11.0;
/// Average advance of the font, in pixels; boxes are sized by it.
const ADVANCE: f32 = 7.2;
const MIN_WIDTH: f32 = 120.0;

/// Columns from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Nic,
    Bond,
    Vlan,
    Network,
}

const COLUMNS: [Column; 4] = [Column::Nic, Column::Bond, Column::Vlan, Column::Network];

impl Column {
    fn class(self) -> &'static str {
        match self {
            Self::Nic => "nic",
            Self::Bond => "bond",
            Self::Vlan => "vlan",
            Self::Network => "net",
        }
    }
}

/// A box with its place; `x` comes last, when all widths are known.
#[derive(Debug)]
struct Card {
    column: Column,
    lines: Vec<String>,
    y: f32,
}

impl Card {
    fn height(&self) -> f32 {
        height(&self.lines)
    }

    fn middle(&self) -> f32 {
        self.y + self.height() / 2.0
    }
}

fn height(lines: &[String]) -> f32 {
    lines.len() as f32 * LINE + 2.0 * PADDING - 4.0
}

/// Draws the document.
#[must_use]
pub fn svg(data: &NetworkData) -> String {
    let mut drawing = Drawing { data, cards: Vec::new(), edges: Vec::new() };
    let mut y = MARGIN;
    for (root, vlans) in stacks(data) {
        y = drawing.stack(root, &vlans, y) + STACK_GAP;
    }
    drawing.render(y - STACK_GAP + MARGIN)
}

struct Drawing<'d> {
    data: &'d NetworkData,
    cards: Vec<Card>,
    /// Indices of cards, left and right.
    edges: Vec<(usize, usize)>,
}

impl Drawing<'_> {
    /// Places a NIC or bond with everything on it from `top` on; answers with the bottom.
    fn stack(&mut self, root: LinkRef, vlans: &[LinkRef], top: f32) -> f32 {
        let data = self.data;
        let members: Vec<Vec<String>> =
            members(data, root).iter().map(|member| link_lines(data, *member)).collect();
        let root_lines = link_lines(data, root);
        let own = self.networks(root);
        let on_vlans: Vec<(Vec<String>, Vec<Vec<String>>)> =
            vlans.iter().map(|vlan| (link_lines(data, *vlan), self.networks(*vlan))).collect();

        let mut right: Vec<f32> = own.iter().map(|lines| height(lines)).collect();
        right.extend(on_vlans.iter().map(|(lines, on)| height(lines).max(total(on))));
        let right_total: f32 = spaced(&right);
        let whole = right_total.max(total(&members)).max(height(&root_lines));

        let root_card = self.card(column(data, root), root_lines, top, whole);
        let mut y = top + (whole - total(&members)) / 2.0;
        for lines in members {
            let tall = height(&lines);
            let member = self.card(Column::Nic, lines, y, tall);
            self.edges.push((member, root_card));
            y += tall + BOX_GAP;
        }
        let mut y = top + (whole - right_total) / 2.0;
        for lines in own {
            y = self.leaf(root_card, lines, y);
        }
        for (lines, on) in on_vlans {
            let block = height(&lines).max(total(&on));
            let vlan = self.card(Column::Vlan, lines, y, block);
            self.edges.push((root_card, vlan));
            let mut leaf = y + (block - total(&on)) / 2.0;
            for lines in on {
                leaf = self.leaf(vlan, lines, leaf);
            }
            y += block + BOX_GAP;
        }
        top + whole
    }

    /// Adds a box in the middle of a span.
    fn card(&mut self, column: Column, lines: Vec<String>, top: f32, span: f32) -> usize {
        let y = top + (span - height(&lines)) / 2.0;
        self.cards.push(Card { column, lines, y });
        self.cards.len() - 1
    }

    /// Adds a network at `y`; answers where the next one goes.
    fn leaf(&mut self, link: usize, lines: Vec<String>, y: f32) -> f32 {
        let tall = height(&lines);
        let card = self.card(Column::Network, lines, y, tall);
        self.edges.push((link, card));
        y + tall + BOX_GAP
    }

    fn networks(&self, link: LinkRef) -> Vec<Vec<String>> {
        let on = self.data.networks.iter().filter(|network| network.link == link);
        on.map(network_lines).collect()
    }

    fn render(&self, bottom: f32) -> String {
        let places = self.places();
        let right = places.iter().map(|(_, x, width)| x + width).fold(MARGIN, f32::max);
        let dns = labels::dns(&self.data.dns);
        let footer = if dns.is_empty() { 0.0 } else { height(&dns) + MARGIN };
        let empty = self.cards.is_empty() && dns.is_empty();
        let dns_width = widest([dns.as_slice()]);
        let width = (right + MARGIN).max(MARGIN + dns_width + MARGIN);
        let height = if empty { 80.0 } else { bottom.max(MARGIN) + footer };
        let mut out = head(width, height);
        if empty {
            writeln!(out, "<text x=\"{MARGIN}\" y=\"44\">no links, no networks</text>").ok();
        }
        for (left, right) in &self.edges {
            self.edge(*left, *right, &places, &mut out);
        }
        for card in &self.cards {
            let (x, width) = place(&places, card.column);
            draw(card.column.class(), &card.lines, (x, card.y), width, &mut out);
        }
        if !dns.is_empty() {
            draw("net", &dns, (MARGIN, bottom.max(MARGIN)), dns_width, &mut out);
        }
        out + "</svg>\n"
    }

    /// Columns in use, with left edge and width.
    fn places(&self) -> Vec<(Column, f32, f32)> {
        let mut x = MARGIN;
        let mut places = Vec::new();
        for column in COLUMNS {
            let cards = self.cards.iter().filter(|card| card.column == column);
            let lines: Vec<&[String]> = cards.map(|card| card.lines.as_slice()).collect();
            if lines.is_empty() {
                continue;
            }
            let width = widest(lines);
            places.push((column, x, width));
            x += width + COLUMN_GAP;
        }
        places
    }

    fn edge(&self, left: usize, right: usize, places: &[(Column, f32, f32)], out: &mut String) {
        let (from, to) = (&self.cards[left], &self.cards[right]);
        let (x, width) = place(places, from.column);
        let (x1, y1) = (x + width, from.middle());
        let (x2, y2) = (place(places, to.column).0, to.middle());
        // The bend is in the first gap: further right, at the height of the target, no box of
        // this stack is in the way.
        let (bend, level) = (x1 + COLUMN_GAP / 2.0, x1 + COLUMN_GAP);
        writeln!(
            out,
            "<path d=\"M{x1:.0} {y1:.0} C{bend:.0} {y1:.0} {bend:.0} {y2:.0} {level:.0} {y2:.0} \
             H{x2:.0}\"/>"
        )
        .ok();
    }
}

fn place(places: &[(Column, f32, f32)], wanted: Column) -> (f32, f32) {
    let found = places.iter().find(|(column, _, _)| *column == wanted);
    found.map_or((MARGIN, MIN_WIDTH), |(_, x, width)| (*x, *width))
}

fn column(data: &NetworkData, link: LinkRef) -> Column {
    match data.links[link.0].kind {
        LinkKind::Ethernet { .. } => Column::Nic,
        LinkKind::Bond(_) => Column::Bond,
        LinkKind::Vlan { .. } => Column::Vlan,
    }
}

fn link_lines(data: &NetworkData, link: LinkRef) -> Vec<String> {
    let mut lines = vec![labels::link_name(data, link), labels::link_kind(data, link)];
    lines.extend(labels::link_details(data, link));
    lines
}

fn network_lines(network: &Network) -> Vec<String> {
    let mut lines = vec![labels::address(network)];
    lines.extend(network.routes.iter().map(labels::route));
    lines.extend(labels::dns(&network.dns));
    lines
}

/// Height of boxes one below the other.
fn total(boxes: &[Vec<String>]) -> f32 {
    let heights: Vec<f32> = boxes.iter().map(|lines| height(lines)).collect();
    spaced(&heights)
}

fn spaced(heights: &[f32]) -> f32 {
    heights.iter().sum::<f32>() + BOX_GAP * heights.len().saturating_sub(1) as f32
}

fn widest<'a>(boxes: impl IntoIterator<Item = &'a [String]>) -> f32 {
    let longest = boxes.into_iter().flatten().map(|line| line.chars().count()).max();
    (longest.unwrap_or(0) as f32 * ADVANCE + 2.0 * PADDING).max(MIN_WIDTH)
}

fn head(width: f32, height: f32) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', monospace\" font-size=\"12\">\n\
         <style>text {{ fill: #111827 }} .head {{ font-weight: bold }} \
         path {{ fill: none; stroke: #6b7280; stroke-width: 1.5 }} rect {{ stroke-width: 1.2 }} \
         .nic {{ fill: #dbeafe; stroke: #1d4ed8 }} .bond {{ fill: #ede9fe; stroke: #6d28d9 }} \
         .vlan {{ fill: #ffedd5; stroke: #c2410c }} .net {{ fill: #dcfce7; stroke: #15803d }}\
         </style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    )
}

fn draw(class: &str, lines: &[String], (x, y): (f32, f32), width: f32, out: &mut String) {
    let tall = height(lines);
    writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" \
         height=\"{tall:.0}\" rx=\"6\"/>"
    )
    .ok();
    for (index, line) in lines.iter().enumerate() {
        let baseline = y + PADDING + 10.0 + LINE * index as f32;
        let head = if index == 0 { " class=\"head\"" } else { "" };
        let (x, text) = (x + PADDING, escape(line));
        writeln!(out, "<text{head} x=\"{x:.0}\" y=\"{baseline:.0}\">{text}</text>").ok();
    }
}

/// For XML, which has no place for control characters.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

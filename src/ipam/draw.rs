//! A pool as a picture: one strip a range, darker where more of it is held.

use std::fmt::Write;
use std::net::IpAddr;

use super::Allocator;
use super::pool::{Range, from_number, to_number};

/// Cells of a strip; a range with fewer addresses gets one cell each.
const CELLS: u128 = 64;

/// One cell: a run of neighbouring addresses.
struct Cell {
    first: IpAddr,
    last: IpAddr,
    size: u128,
    held: u128,
    reserved: u128,
}

impl Cell {
    /// Share of what can be handed out that is held, 0 to 4; `None` where nothing can be.
    fn shade(&self) -> Option<usize> {
        let usable = self.size - self.reserved;
        let quarters = (self.held * 4).div_ceil(usable.max(1)).min(4);
        (usable > 0 || self.held > 0).then(|| usize::try_from(quarters).unwrap_or(4))
    }
}

/// The pool in text: counts, then a strip for each range (`x` reserved, `·` free, `░▒▓█` held).
#[must_use]
pub fn text(name: &str, state: &Allocator) -> String {
    let mut out = format!("{name}: {}\n", counts(state));
    for range in &state.pool().ranges {
        let strip: String = cells(range, state)
            .iter()
            .map(|cell| cell.shade().map_or('x', |shade| ['·', '░', '▒', '▓', '█'][shade]))
            .collect();
        writeln!(out, "  {}-{}/{}  {strip}", range.first, range.last, range.prefix)
            .expect("writing to a string can't fail");
    }
    for (address, owner) in state.held() {
        writeln!(out, "  {address}  {}/{} ({})", owner.namespace, owner.name, owner.kind)
            .expect("writing to a string can't fail");
    }
    out
}

/// The same as SVG; each cell says on hover which addresses it stands for.
#[must_use]
pub fn svg(name: &str, state: &Allocator) -> String {
    const SIDE: usize = 12;
    const ROW: usize = 44;
    const SHADES: [&str; 5] = ["#e8f1ea", "#b5d8be", "#7fbd8f", "#3f9d5c", "#0d7333"];
    let ranges = &state.pool().ranges;
    let (width, height) = (64 * SIDE + 32, 48 + ranges.len() * ROW);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"16\" y=\"26\">{}: {}</text>\n",
        escape(name),
        counts(state)
    );
    for (row, range) in ranges.iter().enumerate() {
        let y = 58 + row * ROW;
        writeln!(
            out,
            "<text x=\"16\" y=\"{y}\" fill=\"#555\">{}-{}/{}</text>",
            range.first, range.last, range.prefix
        )
        .expect("writing to a string can't fail");
        for (column, cell) in cells(range, state).iter().enumerate() {
            let fill = cell.shade().map_or("#c9c9c9", |shade| SHADES[shade]);
            writeln!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{w}\" height=\"{w}\" fill=\"{fill}\">\
                 <title>{}-{}: {} held, {} reserved, {} in all</title></rect>",
                16 + column * SIDE,
                y + 6,
                cell.first,
                cell.last,
                cell.held,
                cell.reserved,
                cell.size,
                w = SIDE - 1
            )
            .expect("writing to a string can't fail");
        }
    }
    out + "</svg>\n"
}

fn counts(state: &Allocator) -> String {
    format!("{} in all, {} held, {} free", state.total(), state.used(), state.free())
}

fn cells(range: &Range, state: &Allocator) -> Vec<Cell> {
    let (first, last) = (to_number(range.first), to_number(range.last));
    let size = (last - first + 1).div_ceil(CELLS);
    let v4 = range.first.is_ipv4();
    let held: Vec<u128> = state
        .held()
        .filter(|(address, _)| range.contains(*address))
        .map(|(address, _)| to_number(address))
        .collect();
    (0..CELLS)
        .map(|index| first + index * size)
        .take_while(|start| *start <= last)
        .map(|start| {
            let end = last.min(start + size - 1);
            let inside = |number: &u128| (start..=end).contains(number);
            Cell {
                first: from_number(start, v4),
                last: from_number(end, v4),
                size: end - start + 1,
                held: held.iter().filter(|number| inside(number)).count() as u128,
                reserved: state.reserved_within(range, start, end),
            }
        })
        .collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::{Owner, Pool, PoolSpec};
    use super::*;

    fn state() -> Allocator {
        let spec: PoolSpec = serde_yaml_ng::from_str(
            "{pools: [{subnet: 192.0.2.0/29, gateway: 192.0.2.1}, {subnet: '2001:db8::/64'}]}",
        )
        .unwrap();
        let owner = Owner {
            kind: "IPClaim".into(),
            namespace: "infra".into(),
            name: "a<b".into(),
            uid: String::new(),
        };
        Allocator::new(Pool::new(&spec).unwrap(), [(owner, "192.0.2.4".parse().unwrap())]).0
    }

    #[test]
    fn the_text_shows_counts_strips_and_holders() {
        let text = text("infra/p", &state());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("infra/p: ") && lines[0].contains(" 1 held, "), "{text}");
        assert_eq!(lines[1], "  192.0.2.1-192.0.2.6/29  x··█··");
        assert!(lines[2].ends_with(&"·".repeat(64)), "{text}");
        assert_eq!(lines[3], "  192.0.2.4  infra/a<b (IPClaim)");
    }

    #[test]
    fn the_svg_is_one_document_with_a_cell_for_each_strip_character() {
        let svg = svg("a & b", &state());
        assert!(svg.contains("a &amp; b: "));
        assert_eq!(svg.matches("<title>").count(), 6 + 64);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }
}

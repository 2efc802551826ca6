//! Which kernel modules a device needs, and in which order: `modules.alias`, `modules.dep` and
//! `modules.softdep` of `depmod(8)`. Pure; `coldplug` reads the files and loads.

use std::collections::{BTreeMap, BTreeSet};

/// The three files of one `/lib/modules/<release>`, read.
#[derive(Debug, Default)]
pub struct ModuleIndex {
    /// Pattern and module name, in the file's order.
    aliases: Vec<(String, String)>,
    modules: BTreeMap<String, Module>,
}

/// One module.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Name as the kernel has it: underscores only.
    pub name: String,
    /// Path below `/lib/modules/<release>`.
    pub path: String,
    needs: Vec<String>,
    before: Vec<String>,
    after: Vec<String>,
}

impl ModuleIndex {
    /// Reads the text of the three files; lines that are none of theirs are skipped.
    #[must_use]
    pub fn parse(alias: &str, dep: &str, softdep: &str) -> Self {
        let mut modules: BTreeMap<String, Module> = dep
            .lines()
            .filter_map(module_line)
            .map(|module| (module.name.clone(), module))
            .collect();
        for (name, before, after) in softdep.lines().filter_map(softdep_line) {
            if let Some(module) = modules.get_mut(&name) {
                (module.before, module.after) = (before, after);
            }
        }
        let aliases = alias
            .lines()
            .filter_map(|line| {
                let mut words = line.strip_prefix("alias ")?.split_ascii_whitespace();
                Some((words.next()?.to_owned(), plain(words.next()?)))
            })
            .collect();
        Self { aliases, modules }
    }

    /// Names of every module that drives a device with this `modalias`, in the file's order.
    #[must_use]
    pub fn matching(&self, modalias: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for (pattern, name) in &self.aliases {
            if !found.contains(&name.as_str()) && glob(pattern.as_bytes(), modalias.as_bytes()) {
                found.push(name);
            }
        }
        found
    }

    /// `name` and everything it needs, in the order of loading. A soft dependency may be an alias
    /// (`crc32c`) and may be missing. Empty for a module that is not there.
    #[must_use]
    pub fn load_order(&self, name: &str) -> Vec<&Module> {
        let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
        self.visit(&plain(name), &mut seen, &mut order);
        order
    }

    fn visit<'a>(&'a self, name: &str, seen: &mut BTreeSet<&'a str>, order: &mut Vec<&'a Module>) {
        let Some(module) = self.modules.get(name) else {
            for behind in self.matching(name) {
                // An alias of an alias is nothing that depmod writes.
                if self.modules.contains_key(behind) {
                    self.visit(behind, seen, order);
                }
            }
            return;
        };
        if !seen.insert(&module.name) {
            return;
        }
        for below in module.before.iter().chain(&module.needs) {
            self.visit(below, seen, order);
        }
        order.push(module);
        for beside in &module.after {
            self.visit(beside, seen, order);
        }
    }
}

/// `kernel/drivers/net/bonding/bonding.ko: kernel/net/tls/tls.ko`
fn module_line(line: &str) -> Option<Module> {
    let (path, needs) = line.split_once(':')?;
    Some(Module {
        name: name_of(path)?,
        path: path.to_owned(),
        needs: needs.split_ascii_whitespace().filter_map(name_of).collect(),
        ..Module::default()
    })
}

/// `softdep libcrc32c pre: crc32c post: x`
fn softdep_line(line: &str) -> Option<(String, Vec<String>, Vec<String>)> {
    let mut words = line.strip_prefix("softdep ")?.split_ascii_whitespace();
    let name = plain(words.next()?);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut pre = true;
    for word in words {
        match word {
            "pre:" => pre = true,
            "post:" => pre = false,
            other if pre => before.push(plain(other)),
            other => after.push(plain(other)),
        }
    }
    Some((name, before, after))
}

/// The kernel's name of the module in a file; `None` where the file is no plain module.
fn name_of(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    file.strip_suffix(".ko").map(plain)
}

fn plain(name: &str) -> String {
    name.replace('-', "_")
}

/// `fnmatch(3)` without flags, for `*`, `?` and `[…]`: what `depmod` writes. A class that never
/// closes is a literal bracket.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
                continue;
            }
            Some(b'[') => class(&pattern[p..], text[t]),
            Some(b'?') => Some(1),
            Some(byte) => (*byte == text[t]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(width), _) => (p, t) = (p + width, t + 1),
            // Let the last star swallow one byte more.
            (None, Some((at, from))) => {
                star = Some((at, from + 1));
                (p, t) = (at + 1, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Width of the class that `pattern` starts with, if `byte` is in it.
fn class(pattern: &[u8], byte: u8) -> Option<usize> {
    let Some(end) = pattern.iter().skip(2).position(|b| *b == b']').map(|at| at + 2) else {
        return (byte == b'[').then_some(1);
    };
    let (negated, members) = match &pattern[1..end] {
        [b'!' | b'^', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let mut found = false;
    let mut rest = members;
    while let [first, tail @ ..] = rest {
        if let [b'-', last, after @ ..] = tail {
            found |= (*first..=*last).contains(&byte);
            rest = after;
        } else {
            found |= *first == byte;
            rest = tail;
        }
    }
    (found != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIAS: &str = "\
# Aliases extracted from modules themselves.
alias pci:v00008086d000010D3sv*sd*bc*sc*i* e1000e
alias pci:v00008086d00001533sv*sd*bc*sc*i* igb
alias pci:v*d*sv*sd*bc01sc06i01* ahci
alias usb:v0781p0002d000[0-8]dc*dsc*dp*ic*isc*ip*in* ums-sandisk
alias crc32c crc32c_generic
alias crc32c crc32c_intel
";
    const DEP: &str = "\
kernel/drivers/net/ethernet/intel/e1000e/e1000e.ko: kernel/drivers/pps/pps_core.ko kernel/drivers/ptp/ptp.ko
kernel/drivers/ptp/ptp.ko: kernel/drivers/pps/pps_core.ko
kernel/drivers/pps/pps_core.ko:
kernel/lib/libcrc32c.ko:
kernel/crypto/crc32c_generic.ko:
kernel/drivers/usb/storage/ums-sandisk.ko: kernel/drivers/usb/storage/usb-storage.ko
kernel/drivers/usb/storage/usb-storage.ko:
kernel/a.ko: kernel/b.ko
kernel/b.ko: kernel/a.ko
";
    const SOFTDEP: &str = "softdep libcrc32c pre: crc32c\nsoftdep e1000e post: libcrc32c missing\n";

    fn index() -> ModuleIndex {
        ModuleIndex::parse(ALIAS, DEP, SOFTDEP)
    }

    fn order(name: &str) -> Vec<String> {
        index().load_order(name).into_iter().map(|module| module.name.clone()).collect()
    }

    #[test]
    fn a_device_finds_its_driver() {
        let matching = |modalias| index().matching(modalias).join(" ");
        assert_eq!(matching("pci:v00008086d000010D3sv00008086sd0000A01Fbc02sc00i00"), "e1000e");
        assert_eq!(matching("pci:v00001B4Bd00009235sv00001B4Bsd00009235bc01sc06i01"), "ahci");
        assert_eq!(matching("pci:v00001234d00001111sv0sd0bc03sc00i00"), "");
        assert_eq!(matching("usb:v0781p0002d0009dc00dsc00dp00ic08isc06ip50in00"), "");
        assert_eq!(matching("usb:v0781p0002d0008dc00dsc00dp00ic08isc06ip50in00"), "ums_sandisk");
    }

    #[test]
    fn what_a_module_needs_comes_before_it_and_once() {
        assert_eq!(
            order("e1000e"),
            ["pps_core", "ptp", "e1000e", "crc32c_generic", "libcrc32c"],
            "soft dependencies are resolved through aliases, and may be missing"
        );
        assert_eq!(order("ums-sandisk"), ["usb_storage", "ums_sandisk"]);
    }

    #[test]
    fn a_circle_ends_and_an_unknown_module_is_nothing() {
        assert_eq!(order("a"), ["b", "a"]);
        assert_eq!(order("bonding"), [""; 0]);
    }

    #[test]
    fn globs_match_as_fnmatch_does() {
        for (pattern, text, matches) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[0-9A-F]x", "Bx", true),
            ("[!0-9]x", "5x", false),
            ("[abc", "[abc", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xbxa", false),
            ("[]]", "]", true),
            ("[a-]", "-", true),
        ] {
            assert_eq!(glob(pattern.as_bytes(), text.as_bytes()), matches, "{pattern} {text}");
        }
    }
}

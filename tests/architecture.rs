//! Layers point down: reads the source and fails on an import that does not, and on anything
//! impure in a pure layer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Which module may import which. What is missing here fails too: a new module states its place.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("netdata", &["types"]),
    ("netplan", &["types", "netdata"]),
    ("ipam", &["types"]),
    ("provision", &["types"]),
    ("cluster", &["types", "netdata", "ipam", "provision"]),
    ("apiserver", &["types"]),
    ("image", &["types"]),
    ("bmc", &["types"]),
    ("sys", &["types", "netdata", "netplan"]),
    ("agent", &["types", "netdata", "netplan", "sys"]),
    (
        "controller",
        &["types", "netdata", "ipam", "provision", "image", "bmc", "sys", "cluster", "apiserver"],
    ),
    (
        "cli",
        &[
            "types",
            "netdata",
            "netplan",
            "ipam",
            "provision",
            "image",
            "bmc",
            "sys",
            "agent",
            "cluster",
            "apiserver",
            "controller",
        ],
    ),
];

/// Pure modules: paths below `src/`, a folder or a file.
const PURE: &[&str] = &[
    "types",
    "netdata",
    "netplan",
    "ipam",
    "provision",
    "apiserver/schema",
    "apiserver/openapi",
    "apiserver/patch",
    "apiserver/apply",
    "apiserver/table",
    "agent/kernel_line.rs",
    "agent/medium.rs",
    "agent/modules.rs",
    "agent/segment.rs",
    "image/config_drive.rs",
    "image/iso9660",
    "image/manifest.rs",
    "image/overlay.rs",
    "image/range.rs",
    "image/segment.rs",
];

/// What a pure module never says outside its tests.
const IMPURE: &[&str] = &[
    "async ",
    ".await",
    "tokio",
    "std::fs",
    "std::env",
    "std::net::Tcp",
    "std::net::Udp",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant::now",
    "now_utc",
    "getrandom",
    "tracing::",
];

/// Third-party wire types, and the only folders that may name them.
const ADAPTERS: &[(&str, &[&str])] = &[
    ("ipmi_rs", &["bmc/ipmi", "sys"]),
    ("netlink_packet", &["sys"]),
    ("rtnetlink", &["sys"]),
    ("reqwest", &["bmc/redfish", "agent/controller_client"]),
    ("hyper", &["image/serve", "controller/agent_api", "apiserver"]),
    ("axum", &["controller"]),
    ("rusqlite", &["apiserver"]),
    ("cel::", &["apiserver/schema"]),
    ("kube::", &["cluster", "controller", "apiserver", "cli"]),
    ("rcgen", &["controller/authority"]),
];

fn source() -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut files = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("src is readable") {
            let path = entry.expect("src is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("source is text");
                files
                    .insert(path.strip_prefix(&root).expect("it was found there").to_owned(), text);
            }
        }
    }
    files
}

/// The code of a file without its comments and its in-file tests.
fn code(text: &str) -> String {
    let body = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = body.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

fn is_test_file(path: &Path) -> bool {
    let tests = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs" || part == "sim.rs";
    path.iter().any(tests)
}

fn top(path: &Path) -> String {
    let first = path.iter().next().unwrap_or_default();
    Path::new(first).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The top modules that `code` names after `crate::`, nested imports included.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            for letter in list.chars() {
                match letter {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 && (letter.is_alphanumeric() || letter == '_') {
                    word.push(letter);
                } else if !word.is_empty() {
                    found.push(std::mem::take(&mut word));
                }
            }
            found.push(word);
        } else {
            found.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    found
}

#[test]
fn no_module_imports_upward() {
    let known: Vec<&str> = MAY_IMPORT.iter().map(|(module, _)| *module).collect();
    let mut wrong = Vec::new();
    for (path, text) in source() {
        let module = top(&path);
        if ["main", "lib", "bin"].contains(&module.as_str()) || is_test_file(&path) {
            continue;
        }
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!("{}: module {module} has no place in the table", path.display()));
            continue;
        };
        for import in imports(&code(&text)) {
            let other = known.contains(&import.as_str()) && import != module;
            if other && !allowed.contains(&import.as_str()) {
                wrong.push(format!("{}: {module} must not import {import}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pure_layers_have_no_clock_randomness_or_io() {
    let mut wrong = Vec::new();
    for (path, text) in source() {
        if !PURE.iter().any(|pure| path.starts_with(pure)) || is_test_file(&path) {
            continue;
        }
        let code = code(&text);
        for word in IMPURE.iter().filter(|word| code.contains(**word)) {
            wrong.push(format!("{}: {word}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn third_party_wire_types_stay_in_their_adapters() {
    let mut wrong = Vec::new();
    for (path, text) in source() {
        let code = code(&text);
        for (krate, homes) in ADAPTERS {
            let named = code.contains(&format!("{krate}::"));
            if named && !homes.iter().any(|home| at_home(&path, home)) && !is_test_file(&path) {
                wrong.push(format!("{}: {krate}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a file is `home`, or lies in it.
fn at_home(path: &Path, home: &str) -> bool {
    path.starts_with(home) || path == Path::new(&format!("{home}.rs"))
}

#[test]
fn the_reader_of_imports_sees_every_form() {
    let read = |code| imports(code).into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>();
    assert_eq!(read("use crate::sys::mount;"), ["sys"]);
    assert_eq!(read("use crate::{sys::{mount, reboot}, types};"), ["sys", "types"]);
    assert_eq!(read("let x = crate::agent::run();"), ["agent"]);
}

//! `leaseless ipam`: address pools, checked and drawn from manifests.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;
use serde_json::Value;

use super::CliError;
use crate::ipam::{Allocator, Owner, Pool, PoolSpec, draw};

/// Check and draw address pools
#[derive(Debug, Args)]
pub struct IpamArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Draw the pools in manifests, with the addresses in them (kubectl get ippools,ipaddresses -o yaml)
    Show(ShowArgs),
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// YAML or JSON: IPPool and IPAddress objects, lists of them, any other kind is passed over
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Format of the picture
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Svg,
}

/// Namespace and name.
type Key = (String, String);

#[derive(Debug, Default)]
struct Found {
    pools: BTreeMap<Key, PoolSpec>,
    assigned: BTreeMap<Key, Vec<(Owner, IpAddr)>>,
    problems: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// Usage where a manifest is wrong, every problem at once.
pub fn run(args: &IpamArgs) -> Result<(), CliError> {
    match &args.verb {
        Verb::Show(args) => show(args),
    }
}

fn show(args: &ShowArgs) -> Result<(), CliError> {
    let mut found = Found::default();
    for file in &args.files {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("reading {} failed", file.display()))
            .map_err(CliError::Usage)?;
        found.read(&file.display().to_string(), &text);
    }
    let drawn = found.draw(args.format);
    if !found.problems.is_empty() {
        return Err(CliError::Usage(anyhow!("{}", found.problems.join("\n  "))));
    }
    print!("{drawn}");
    Ok(())
}

impl Found {
    fn read(&mut self, file: &str, text: &str) {
        for (index, document) in serde_yaml_ng::Deserializer::from_str(text).enumerate() {
            match Value::deserialize(document) {
                Ok(Value::Null) => {}
                Ok(object) => self.take(&format!("{file}: document {}", index + 1), &object),
                Err(error) => {
                    self.problems.push(format!("{file}: {error}"));
                    return;
                }
            }
        }
    }

    fn take(&mut self, at: &str, object: &Value) {
        if let Some(items) = object["items"].as_array() {
            for (index, item) in items.iter().enumerate() {
                self.take(&format!("{at}, items[{index}]"), item);
            }
            return;
        }
        let group = object["apiVersion"].as_str().and_then(|version| version.split('/').next());
        match (group, object["kind"].as_str()) {
            (Some("ipam.metal3.io"), Some("IPPool")) => self.take_pool(at, object),
            (Some("ipam.metal3.io"), Some("IPAddress")) => {
                self.take_address(
                    at,
                    object,
                    "/spec/pool",
                    "/spec/claim",
                    "IPClaim.ipam.metal3.io",
                );
            }
            (Some("ipam.cluster.x-k8s.io"), Some("IPAddress")) => self.take_address(
                at,
                object,
                "/spec/poolRef",
                "/spec/claimRef",
                "IPAddressClaim.ipam.cluster.x-k8s.io",
            ),
            _ => {}
        }
    }

    fn take_pool(&mut self, at: &str, object: &Value) {
        match PoolSpec::deserialize(&object["spec"]) {
            Ok(spec) => {
                self.pools.insert(key(object), spec);
            }
            Err(error) => self.problems.push(format!("{at}: spec: {error}")),
        }
    }

    fn take_address(&mut self, at: &str, object: &Value, pool: &str, claim: &str, kind: &str) {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let address = text("/spec/address");
        let Ok(address) = address.parse() else {
            self.problems.push(format!("{at}: spec.address: {address:?} is no IP address"));
            return;
        };
        let (namespace, _) = key(object);
        let owner = Owner {
            kind: kind.to_owned(),
            namespace: namespace.clone(),
            name: text(&format!("{claim}/name")).to_owned(),
            uid: text(&format!("{claim}/uid")).to_owned(),
        };
        let pool = (namespace, text(&format!("{pool}/name")).to_owned());
        self.assigned.entry(pool).or_default().push((owner, address));
    }

    fn draw(&mut self, format: Format) -> String {
        let mut drawn = String::new();
        for (key, spec) in &self.pools {
            let name = format!("{}/{}", key.0, key.1);
            let pool = match Pool::new(spec) {
                Ok(pool) => pool,
                Err(problems) => {
                    self.problems
                        .extend(problems.iter().map(|problem| format!("{name}: {problem}")));
                    continue;
                }
            };
            let assigned = self.assigned.remove(key).unwrap_or_default();
            let (state, conflicts) = Allocator::new(pool, assigned);
            self.problems.extend(conflicts.iter().map(|conflict| {
                format!(
                    "{name}: {} has two owners, {} and {}",
                    conflict.address, conflict.kept_by.name, conflict.lost_by.name
                )
            }));
            drawn += &match format {
                Format::Text => draw::text(&name, &state),
                Format::Svg => draw::svg(&name, &state),
            };
        }
        if self.pools.is_empty() && self.problems.is_empty() {
            self.problems.push("no IPPool in these files".to_owned());
        }
        drawn
    }
}

fn key(object: &Value) -> Key {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: &str = "
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {namespace: infra, name: p}
spec: {namePrefix: p, pools: [{subnet: 192.0.2.0/29, gateway: 192.0.2.1}]}
";

    fn address(name: &str, claim: &str) -> String {
        format!(
            "---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPAddress
metadata: {{namespace: infra, name: {name}}}
spec: {{address: 192.0.2.3, pool: {{name: p}}, claim: {{name: {claim}}}}}
"
        )
    }

    fn drawn(text: &str) -> (String, Vec<String>) {
        let mut found = Found::default();
        found.read("f", text);
        (found.draw(Format::Text), found.problems)
    }

    #[test]
    fn a_pool_is_drawn_with_the_addresses_of_its_namespace() {
        let other = address("o", "elsewhere").replace("infra", "other");
        let (text, problems) = drawn(&(POOL.to_owned() + &address("a", "c") + &other));
        assert_eq!(problems, Vec::<String>::new());
        assert!(text.starts_with("infra/p: 5 in all, 1 held, 4 free\n"), "{text}");
        assert!(text.contains("192.0.2.3  infra/c (IPClaim.ipam.metal3.io)"), "{text}");
    }

    #[test]
    fn an_address_with_two_owners_is_an_error() {
        let (_, problems) = drawn(&(POOL.to_owned() + &address("a", "c") + &address("b", "d")));
        assert_eq!(problems, ["infra/p: 192.0.2.3 has two owners, c and d"]);
    }

    #[test]
    fn wrong_manifests_name_the_document_and_the_field() {
        let bad = POOL.replace("192.0.2.0/29", "192.0.2.0/99");
        let (_, problems) = drawn(&bad);
        assert!(problems[0].starts_with("f: document 1: spec: "), "{problems:?}");
        assert_eq!(drawn("kind: Secret").1, ["no IPPool in these files"]);
    }
}

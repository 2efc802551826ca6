//! `leaseless-agent plan` and `apply`: the network half by itself, on any Linux host.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::network::{self, Options, Outcome};
use crate::netdata::{self, model::NetworkData};
use crate::netplan::{Plan, Policy, Resolved, diff, resolve};
use crate::sys::netlink::Netlink;
use crate::sys::resolv;
use crate::types::reason::Failure;

/// Exit code for bad input (`EX_USAGE`).
const BAD_INPUT: u8 = 64;

/// Print the operations that would make the network what the data says, and perform none
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    common: Common,
}

/// Make the network what the data says, verify it, and say what came of it
#[derive(Debug, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    common: Common,
    /// The longest wait, in seconds, for each of: NICs that are not there yet, carrier, a LACP
    /// partner, an address from a router or DHCP server
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Leave resolv.conf as it is
    #[arg(long)]
    keep_dns: bool,
}

#[derive(Debug, Args)]
struct Common {
    /// Network data: JSON or YAML
    #[arg(long, value_name = "FILE")]
    network_data: PathBuf,
    /// Let networks that need DHCP use a client instead of refusing them
    #[arg(long)]
    allow_dhcp: bool,
    /// Bring NICs up that the data does not list, without addresses
    #[arg(long)]
    own_machine: bool,
    /// Where DNS servers go
    #[arg(long, value_name = "FILE", default_value = "/etc/resolv.conf")]
    resolv_conf: PathBuf,
    /// Form of what is printed
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// Runs `plan`. Exit code 1 when something does not resolve; what does is printed.
///
/// # Errors
/// When the file or the kernel can't be read.
pub async fn plan(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    let common = &args.common;
    let Some(data) = read(&common.network_data)? else { return Ok(ExitCode::from(BAD_INPUT)) };
    let netlink = Netlink::open().context("no netlink socket")?;
    let host = netlink.snapshot().await.context("the network can't be looked at")?;
    let policy = Policy { allow_dhcp: common.allow_dhcp, own_machine: common.own_machine };
    let resolved = resolve(&data, &host, &policy);
    let plan = diff(&host, &resolved.desired);
    let dns = resolv::render(&resolved.desired.dns).filter(|text| {
        std::fs::read_to_string(&common.resolv_conf).map_or(true, |current| current != *text)
    });
    match common.output {
        Output::Text => print_plan(&plan, &resolved, dns.as_deref(), &common.resolv_conf),
        Output::Json => println!("{:#}", plan_json(&plan, &resolved, dns.as_deref())),
    }
    Ok(code(&resolved.failures()))
}

/// Runs `apply`. Exit code 1 when anything did not work.
///
/// # Errors
/// When the file can't be read.
pub async fn apply(args: &ApplyArgs) -> anyhow::Result<ExitCode> {
    let common = &args.common;
    let Some(data) = read(&common.network_data)? else { return Ok(ExitCode::from(BAD_INPUT)) };
    let outcome =
        network::bring_up(&data, &options(args), &mut |step| tracing::info!("{step}")).await;
    match common.output {
        Output::Text => print_outcome(&outcome),
        Output::Json => println!("{:#}", outcome_json(&outcome)),
    }
    Ok(code(&outcome.failures))
}

fn options(args: &ApplyArgs) -> Options {
    let longest = args.timeout.map(Duration::from_secs);
    let capped = |wait: Duration| longest.unwrap_or(wait);
    let defaults = Options::default();
    Options {
        late_nic_wait: capped(defaults.late_nic_wait),
        carrier_wait: capped(defaults.carrier_wait),
        lacp_wait: capped(defaults.lacp_wait),
        address_wait: capped(defaults.address_wait),
        allow_dhcp: args.common.allow_dhcp,
        own_machine: args.common.own_machine,
        resolv_conf: (!args.keep_dns).then(|| args.common.resolv_conf.clone()),
    }
}

/// The data, or `None` after every problem was said.
fn read(path: &Path) -> anyhow::Result<Option<NetworkData>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} can't be read", path.display()))?;
    let parsed = netdata::parse(&text);
    for problem in &parsed.problems {
        eprintln!("{}: {problem}", path.display());
    }
    Ok(parsed.data)
}

fn print_plan(plan: &Plan, resolved: &Resolved, dns: Option<&str>, resolv_conf: &Path) {
    for note in &resolved.notes {
        eprintln!("note: {note}");
    }
    for problem in &resolved.problems {
        eprintln!("{}: {}", problem.failure, problem.detail);
    }
    for failure in resolved.failures() {
        if let Failure::MacNotFound { .. } = failure {
            eprintln!("{failure}");
        }
    }
    for op in &plan.0 {
        println!("{op}");
    }
    if let Some(text) = dns {
        println!("cat > {} <<EOF\n{text}EOF", resolv_conf.display());
    }
    if plan.is_empty() && dns.is_none() {
        println!("nothing to change");
    }
}

fn plan_json(plan: &Plan, resolved: &Resolved, dns: Option<&str>) -> Value {
    let operations = plan.0.iter().map(|op| json!({"link": op.link(), "command": op.to_string()}));
    let problems = resolved
        .problems
        .iter()
        .map(|problem| json!({"failure": problem.failure, "detail": problem.detail}));
    let missing: Vec<_> = resolved.missing.iter().map(|missing| missing.mac).collect();
    json!({
        "operations": operations.collect::<Value>(),
        "resolv_conf": dns,
        "missing": missing,
        "present": resolved.present,
        "problems": problems.collect::<Value>(),
        "notes": resolved.notes,
    })
}

fn print_outcome(outcome: &Outcome) {
    for known in &outcome.addresses {
        println!("{} {} {}", known.link, known.mac, known.address);
    }
    for failure in &outcome.failures {
        eprintln!("{failure}");
    }
    match outcome.changes {
        0 => println!("nothing to change"),
        count => println!("{count} changes"),
    }
}

fn outcome_json(outcome: &Outcome) -> Value {
    let addresses = outcome
        .addresses
        .iter()
        .map(|known| json!({"link": known.link, "mac": known.mac, "address": known.address}));
    let failures = outcome.failures.iter().map(
        |failure| json!({"code": failure.code(), "text": failure.to_string(), "failure": failure}),
    );
    json!({
        "changes": outcome.changes,
        "addresses": addresses.collect::<Value>(),
        "failures": failures.collect::<Value>(),
    })
}

fn code(failures: &[Failure]) -> ExitCode {
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

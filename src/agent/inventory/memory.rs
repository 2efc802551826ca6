//! Memory and NUMA nodes, from procfs, sysfs and SMBIOS.

use std::collections::BTreeMap;

use super::cpu::is_cpu;
use super::model::{Memory, NumaNode, Problem};
use super::smbios::Smbios;
use crate::sys::sysfs::Root;

const BLOCKS: &str = "sys/devices/system/memory";
const NODES: &str = "sys/devices/system/node";

pub(super) fn collect(root: &Root, smbios: &Smbios, problems: &mut Vec<Problem>) -> Memory {
    let total_bytes = root.lines("proc/meminfo").ok().and_then(|text| kib_of(&text, "MemTotal:"));
    if total_bytes.is_none() {
        problems.push(Problem::Memory("/proc/meminfo has no MemTotal".to_owned()));
    }
    let installed_mib = smbios.memory_mib();
    let blocks_mib = blocks_mib(root);
    Memory { total_bytes: total_bytes.unwrap_or(0) * 1024, installed_mib, blocks_mib }
}

/// The number behind `key` in the form of `/proc/meminfo`, in KiB.
fn kib_of(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.split_once(key))?.1;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Memory blocks times their size (hexadecimal, bytes): the firmware's holes and reserved parts
/// are in it, as they are in modules.
fn blocks_mib(root: &Root) -> Option<u64> {
    let size = root.text(format!("{BLOCKS}/block_size_bytes"))?;
    let size = u64::from_str_radix(size.trim_start_matches("0x"), 16).ok()?;
    let is_block = |name: &String| {
        name.strip_prefix("memory").is_some_and(|n| n.parse::<u64>().is_ok())
            && root.text(format!("{BLOCKS}/{name}/state")).as_deref() != Some("offline")
    };
    let count = root.names(BLOCKS).into_iter().filter(is_block).count();
    let bytes = size.saturating_mul(u64::try_from(count).ok()?);
    (bytes > 0).then_some(bytes >> 20)
}

pub(super) fn numa_nodes(root: &Root) -> Vec<NumaNode> {
    let nodes = root.names(NODES).into_iter();
    nodes.filter_map(|name| node(root, &name, name.strip_prefix("node")?.parse().ok()?)).collect()
}

fn node(root: &Root, name: &str, id: u32) -> Option<NumaNode> {
    let text = root.lines(format!("{NODES}/{name}/meminfo")).ok()?;
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in root.names(format!("{NODES}/{name}")).iter().filter(|cpu| is_cpu(cpu)) {
        let core = root.number(format!("{NODES}/{name}/{cpu}/topology/core_id"));
        let thread = cpu.strip_prefix("cpu").and_then(|number| number.parse().ok());
        if let (Some(core), Some(thread)) = (core, thread) {
            cores.entry(core).or_default().push(thread);
        }
    }
    let cores = cores.into_iter().collect();
    Some(NumaNode { id, memory_kib: kib_of(&text, "MemTotal:")?, cores })
}

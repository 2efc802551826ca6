//! Processors from `/proc/cpuinfo`, cpufreq and the CPU topology in sysfs.

use std::collections::BTreeSet;

use super::model::{Cpu, Problem};
use super::smbios::Smbios;
use crate::sys::sysfs::Root;

const CPUINFO: &str = "proc/cpuinfo";
const CPUS: &str = "sys/devices/system/cpu";

pub(super) fn collect(root: &Root, smbios: &Smbios, problems: &mut Vec<Problem>) -> Cpu {
    let text = root.lines(CPUINFO).unwrap_or_else(|error| {
        problems.push(Problem::Cpu(format!("/{CPUINFO}: {error}")));
        String::new()
    });
    let info = CpuInfo::parse(&text);
    let cpus: Vec<String> = root.names(CPUS).into_iter().filter(|name| is_cpu(name)).collect();
    let packages: BTreeSet<String> = cpus
        .iter()
        .filter_map(|cpu| root.text(format!("{CPUS}/{cpu}/topology/physical_package_id")))
        .collect();
    let fastest_khz = cpus
        .iter()
        .filter_map(|cpu| root.number(format!("{CPUS}/{cpu}/cpufreq/cpuinfo_max_freq")))
        .fold(0.0, f64::max);
    let sockets = if packages.is_empty() { info.packages } else { packages.len() };
    Cpu {
        architecture: architecture(root),
        max_mhz: Some(fastest_khz / 1000.0).filter(|mhz| *mhz > 0.0).or(info.mhz),
        // The kernel has no model names on Arm servers; the firmware does.
        model: info.model.or_else(|| smbios.processors.iter().find_map(|cpu| cpu.version.clone())),
        threads: u32::try_from(info.threads).unwrap_or(u32::MAX),
        sockets: u32::try_from(sockets).unwrap_or(u32::MAX),
        flags: info.flags,
    }
}

/// `cpu0`, not `cpufreq`.
pub(super) fn is_cpu(name: &str) -> bool {
    name.strip_prefix("cpu")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Kernels before 6.1 do not say; this program runs on what it was built for.
fn architecture(root: &Root) -> String {
    root.text("proc/sys/kernel/arch").unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// What `/proc/cpuinfo` says on x86, Arm, POWER and s390.
#[derive(Debug, Default, PartialEq)]
struct CpuInfo {
    threads: usize,
    packages: usize,
    model: Option<String>,
    mhz: Option<f64>,
    flags: Vec<String>,
}

impl CpuInfo {
    fn parse(text: &str) -> Self {
        let mut info = Self::default();
        let mut packages = BTreeSet::new();
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match key.trim() {
                "processor" => info.threads += 1,
                "physical id" => {
                    packages.insert(value);
                }
                "model name" | "cpu" | "Model" if info.model.is_none() && !value.is_empty() => {
                    info.model = Some(value.split_whitespace().collect::<Vec<_>>().join(" "));
                }
                "cpu MHz" | "clock" => {
                    let mhz: Option<f64> = value.trim_end_matches("MHz").parse().ok();
                    info.mhz = [info.mhz, mhz].into_iter().flatten().reduce(f64::max);
                }
                "flags" | "Features" | "features" if info.flags.is_empty() => {
                    info.flags = value.split_whitespace().map(ToOwned::to_owned).collect();
                }
                _ => {}
            }
        }
        info.packages = packages.len().max(usize::from(info.threads > 0));
        info.mhz = info.model.as_deref().and_then(nominal_mhz).or(info.mhz);
        info
    }
}

/// Intel writes the nominal clock into the model name: `… CPU E5-2650 v2 @ 2.60GHz`. `cpu MHz` is
/// only what the clock was when somebody looked.
fn nominal_mhz(model: &str) -> Option<f64> {
    let (_, clock) = model.rsplit_once('@')?;
    let clock = clock.trim();
    let ghz = clock.strip_suffix("GHz").and_then(|number| number.trim().parse::<f64>().ok());
    ghz.map(|ghz| (ghz * 1000.0).round())
}

//! Looks at the hardware of the host that the agent runs on, and says it in Metal3's words
//! ([`hardware_details`]) and in Ironic's ([`ironic`]). Runs no other program.
//!
//! [`observe()`] asks the kernel and the BMC what no file says; [`collect`] puts that together with
//! what files say. A part that can't be read is left out and listed, never guessed.

pub mod boot;
pub mod by_path;
pub mod cpu;
pub mod disk_identity;
pub mod disks;
pub mod hardware_details;
pub mod ironic;
pub mod lldp;
pub mod lldp_listener;
pub mod memory;
pub mod model;
pub mod nics;
pub mod observe;
pub mod pci;
pub mod smbios;

pub use model::{Inventory, Problem};
pub use observe::{Observed, PortFacts, observe};

use crate::sys::sysfs::Root;

/// Everything that the files below `root` and `observed` say of the hardware, and what could not
/// be read.
#[must_use]
pub fn collect(root: &Root, observed: &Observed) -> (Inventory, Vec<Problem>) {
    let mut problems = observed.problems.clone();
    let smbios = read_smbios(root, &mut problems);
    let inventory = Inventory {
        nics: nics::collect(root, observed, &mut problems),
        cpu: cpu::collect(root, &smbios, &mut problems),
        disks: disks::collect(root, &mut problems),
        memory: memory::collect(root, &smbios, &mut problems),
        numa: memory::numa_nodes(root),
        bmc: observed.bmc,
        boot: boot::collect(root),
        hostname: root
            .text("proc/sys/kernel/hostname")
            // What the kernel says until somebody names the host.
            .filter(|name| name != "(none)")
            .unwrap_or_default(),
        pci: pci::pci_devices(root),
        usb: pci::usb_devices(root),
        smbios,
    };
    (inventory, problems)
}

fn read_smbios(root: &Root, problems: &mut Vec<Problem>) -> smbios::Smbios {
    const TABLE: &str = "sys/firmware/dmi/tables/DMI";
    const ENTRY: &str = "sys/firmware/dmi/tables/smbios_entry_point";
    let table = match root.bytes(TABLE) {
        Ok(table) => table,
        Err(error) => {
            problems.push(Problem::Smbios(format!(
                "no vendor, serial number, firmware or memory modules: /{TABLE}: {error}"
            )));
            return smbios::Smbios::default();
        }
    };
    let version = root.bytes(ENTRY).ok().and_then(|bytes| smbios::Version::of_entry_point(&bytes));
    let smbios = smbios::Smbios::parse(&table, version.unwrap_or_default());
    problems.extend(smbios.broken.map(|error| Problem::Smbios(error.to_string())));
    smbios
}

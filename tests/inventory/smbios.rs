//! Real tables against dmidecode's reading of them; made-up tables for what those lack; noise.

use leaseless::agent::inventory::smbios::{Smbios, TableError, Version};
use proptest::prelude::*;

use crate::samples;

/// One structure of dmidecode's text: its type, and what stands in front of and behind each colon.
struct Block {
    kind: u8,
    lines: Vec<(String, String)>,
}

impl Block {
    fn get(&self, key: &str) -> Option<&str> {
        self.lines.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// A text that says something.
    fn text(&self, key: &str) -> Option<String> {
        let value = self.get(key)?;
        let placeholder = [
            "to be filled by o.e.m.",
            "default string",
            "not specified",
            "0123456789",
            "unknown",
            "none",
            "",
        ];
        (!placeholder.contains(&value.to_lowercase().as_str())).then(|| value.to_owned())
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.split_whitespace().next()?.parse().ok()
    }

    /// A size such as `16 GB`, in KiB.
    fn kib(&self, key: &str) -> Option<u64> {
        let unit = self.get(key)?.split_whitespace().nth(1)?;
        let shift = match unit {
            "kB" => 0,
            "MB" => 10,
            "GB" => 20,
            "TB" => 30,
            _ => return None,
        };
        self.number::<u64>(key).map(|number| number << shift)
    }
}

fn dmidecode(text: &str) -> Vec<Block> {
    let blocks = text.split("\n\n").filter(|block| block.trim_start().starts_with("Handle 0x"));
    blocks
        .map(|block| {
            let kind = block.split("DMI type ").nth(1).unwrap().split(',').next().unwrap();
            let lines = block.lines().filter_map(|line| line.strip_prefix('\t'));
            let pairs = lines.filter(|line| !line.starts_with('\t')).filter_map(|line| {
                let (key, value) = line.split_once(':')?;
                Some((key.to_owned(), value.trim().to_owned()))
            });
            Block { kind: kind.parse().unwrap(), lines: pairs.collect() }
        })
        .collect()
}

#[test]
fn every_real_table_reads_as_dmidecode_reads_it() {
    for path in samples::files("smbios", "dmi") {
        let name = samples::stem(&path);
        let table = std::fs::read(&path).unwrap();
        let text = std::fs::read_to_string(path.with_extension("dmidecode.txt")).unwrap();
        let blocks = dmidecode(&text);
        let found = Smbios::parse(&table, Version(3, 0));
        let first = |kind: u8| blocks.iter().find(|block| block.kind == kind);
        let text = |kind: u8, key: &str| first(kind).and_then(|block| block.text(key));

        assert_eq!(found.bios.vendor, text(0, "Vendor"), "{name}");
        assert_eq!(found.bios.version, text(0, "Version"), "{name}");
        assert_eq!(found.bios.date, text(0, "Release Date"), "{name}");
        assert_eq!(found.system.manufacturer, text(1, "Manufacturer"), "{name}");
        assert_eq!(found.system.product, text(1, "Product Name"), "{name}");
        assert_eq!(found.system.version, text(1, "Version"), "{name}");
        assert_eq!(found.system.serial, text(1, "Serial Number"), "{name}");
        assert_eq!(found.system.uuid, text(1, "UUID"), "{name}");
        assert_eq!(found.system.sku, text(1, "SKU Number"), "{name}");
        assert_eq!(found.system.family, text(1, "Family"), "{name}");
        for (kind, identity) in [(2, &found.board), (3, &found.chassis)] {
            assert_eq!(identity.manufacturer, text(kind, "Manufacturer"), "{name}");
            assert_eq!(identity.product, text(kind, "Product Name"), "{name}");
            assert_eq!(identity.version, text(kind, "Version"), "{name}");
            assert_eq!(identity.serial, text(kind, "Serial Number"), "{name}");
            assert_eq!(identity.asset_tag, text(kind, "Asset Tag"), "{name}");
        }
        assert_processors(name, &blocks, &found);
        assert_memory(name, &blocks, &found);
    }
}

fn assert_processors(name: &str, blocks: &[Block], found: &Smbios) {
    let expected: Vec<&Block> = blocks.iter().filter(|block| block.kind == 4).collect();
    assert_eq!(found.processors.len(), expected.len(), "{name}");
    for (cpu, block) in found.processors.iter().zip(expected) {
        assert_eq!(cpu.socket, block.text("Socket Designation"), "{name}");
        assert_eq!(cpu.manufacturer, block.text("Manufacturer"), "{name}");
        assert_eq!(cpu.version, block.text("Version"), "{name}");
        assert_eq!(cpu.max_speed_mhz, block.number("Max Speed"), "{name}");
        assert_eq!(cpu.current_speed_mhz, block.number("Current Speed"), "{name}");
        assert_eq!(cpu.cores, block.number("Core Count"), "{name}");
        assert_eq!(cpu.threads, block.number("Thread Count"), "{name}");
        let populated = block.get("Status").unwrap().starts_with("Populated");
        assert_eq!(cpu.populated, populated, "{name}");
    }
}

fn assert_memory(name: &str, blocks: &[Block], found: &Smbios) {
    let arrays: Vec<Option<u16>> = blocks
        .iter()
        .filter(|block| block.kind == 16)
        .map(|block| block.number("Number Of Devices"))
        .collect();
    let slots: Vec<_> = found.memory_arrays.iter().map(|array| Some(array.slots)).collect();
    assert_eq!(slots, arrays, "{name}");
    let expected: Vec<&Block> = blocks.iter().filter(|block| block.kind == 17).collect();
    assert_eq!(found.memory_devices.len(), expected.len(), "{name}");
    for (device, block) in found.memory_devices.iter().zip(&expected) {
        assert_eq!(device.size_kib, block.kib("Size"), "{name}");
        assert_eq!(device.locator, block.text("Locator"), "{name}");
        assert_eq!(device.bank, block.text("Bank Locator"), "{name}");
        // Of an empty slot dmidecode prints no more.
        if device.size_kib.is_some() {
            assert_eq!(device.speed_mts, block.number("Speed"), "{name}");
            assert_eq!(device.manufacturer, block.text("Manufacturer"), "{name}");
            assert_eq!(device.serial, block.text("Serial Number"), "{name}");
            assert_eq!(device.part, block.text("Part Number"), "{name}");
        }
    }
    let total: u64 = expected.iter().filter_map(|block| block.kib("Size")).sum();
    assert_eq!(found.memory_mib(), (total > 0).then_some(total / 1024), "{name}");
}

#[test]
fn only_the_table_that_is_broken_says_so_and_its_five_good_structures_stay() {
    for path in samples::files("smbios", "dmi") {
        let found = Smbios::parse(&std::fs::read(&path).unwrap(), Version(3, 0));
        if samples::stem(&path) == "hyperv" {
            assert!(matches!(found.broken, Some(TableError::Length { length: 0, .. })));
            assert_eq!(found.system.product.as_deref(), Some("Virtual Machine"));
            assert_eq!(found.chassis.manufacturer.as_deref(), Some("Microsoft Corporation"));
        } else {
            assert_eq!(found.broken, None, "{}", path.display());
        }
    }
}

/// A table, structure by structure.
#[derive(Default)]
pub(crate) struct Table(Vec<u8>);

impl Table {
    /// A structure of this type and handle: what follows its header, and its strings.
    pub(crate) fn with(mut self, kind: u8, handle: u16, body: &[u8], strings: &[&str]) -> Self {
        self.0.extend([kind, u8::try_from(body.len() + 4).unwrap()]);
        self.0.extend(handle.to_le_bytes());
        self.0.extend(body);
        for string in strings {
            self.0.extend(string.bytes().chain([0]));
        }
        self.0.extend(if strings.is_empty() { &[0, 0][..] } else { &[0] });
        self
    }

    /// A Physical Memory Array.
    pub(crate) fn array(self, handle: u16, usage: u8) -> Self {
        self.with(16, handle, &[3, usage, 3, 0, 0, 0, 0, 0xFE, 0xFF, 4, 0], &[])
    }

    /// A Memory Device of version 2.7.
    pub(crate) fn module(self, array: u16, size: u16, extended: u32) -> Self {
        let mut body = vec![0; 0x22 - 4];
        body[0..2].copy_from_slice(&array.to_le_bytes());
        body[0x0C - 4..0x0E - 4].copy_from_slice(&size.to_le_bytes());
        body[0x1C - 4..0x20 - 4].copy_from_slice(&extended.to_le_bytes());
        self.with(17, 0x1100, &body, &[])
    }

    pub(crate) fn end(self) -> Vec<u8> {
        self.with(127, 0xFEFF, &[], &[]).0
    }
}

fn parse(table: Table) -> Smbios {
    Smbios::parse(&table.end(), Version(3, 0))
}

#[test]
fn memory_is_what_is_in_the_slots_of_system_memory() {
    for (modules, mib) in [
        (vec![(0x10, 0x4000, 0), (0x10, 0, 0), (0x10, 0xFFFF, 0)], Some(16_384)),
        // Bit 15: KiB.
        (vec![(0x10, 0x8000 | 0x4000, 0)], Some(16)),
        // 0x7FFF: the extended size, in MiB, without its reserved bit.
        (vec![(0x10, 0x7FFF, 0x8000_0000 | 131_072)], Some(131_072)),
        (vec![(0x10, 0x7FFF, 0)], None),
        // A second array of system memory, and one of flash.
        (vec![(0x10, 1024, 0), (0x20, 2048, 0), (0x30, 16, 0)], Some(3072)),
        // An array that the table does not have.
        (vec![(0x99, 512, 0)], Some(512)),
        (vec![], None),
    ] {
        let mut table = Table::default().array(0x10, 3).array(0x20, 3).array(0x30, 5);
        for (array, size, extended) in &modules {
            table = table.module(*array, *size, *extended);
        }
        assert_eq!(parse(table).memory_mib(), mib, "{modules:x?}");
    }
}

#[test]
fn persistent_memory_counts_with_its_volatile_part_only() {
    let module = |technology: u8, volatile: u64| {
        let mut body = vec![0; 0x54 - 4];
        body[0..2].copy_from_slice(&0x10u16.to_le_bytes());
        body[0x0C - 4..0x0E - 4].copy_from_slice(&0x4000u16.to_le_bytes());
        body[0x28 - 4] = technology;
        body[0x3C - 4..0x44 - 4].copy_from_slice(&volatile.to_le_bytes());
        let table = Table::default().array(0x10, 3).with(17, 0x1100, &body, &[]);
        parse(table).memory_mib()
    };
    const DRAM: u8 = 3;
    const OPTANE: u8 = 7;
    assert_eq!(module(OPTANE, 0), None);
    assert_eq!(module(OPTANE, 4 << 30), Some(4096));
    assert_eq!(module(DRAM, 16 << 30), Some(16_384));
    // Firmware that does not fill it in.
    assert_eq!(module(DRAM, 0), Some(16_384));
    assert_eq!(module(DRAM, u64::MAX), Some(16_384));
}

#[test]
fn a_uuid_is_turned_round_from_version_2_6_on() {
    let mut body = vec![0; 21];
    body[4..20].copy_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    let table = Table::default().with(1, 1, &body, &[]).end();
    let uuid = |version| Smbios::parse(&table, version).system.uuid.unwrap();
    assert_eq!(uuid(Version(2, 5)), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    assert_eq!(uuid(Version(2, 6)), "03020100-0504-0706-0809-0a0b0c0d0e0f");
    for blank in [0, 0xFF] {
        body[4..20].fill(blank);
        let table = Table::default().with(1, 1, &body, &[]).end();
        assert_eq!(Smbios::parse(&table, Version(3, 0)).system.uuid, None);
    }
}

#[test]
fn an_entry_point_gives_its_version() {
    let version = |bytes: &[u8]| Version::of_entry_point(bytes);
    assert_eq!(version(b"_SM3_\x00\x18\x03\x05\x00rest"), Some(Version(3, 5)));
    assert_eq!(version(b"_SM_\x00\x1f\x02\x08rest"), Some(Version(2, 8)));
    assert_eq!(version(b"_DMI_\x00\x1f\x02\x08"), None);
    assert_eq!(version(b"_SM_"), None);
}

#[test]
fn a_cut_off_table_keeps_what_came_before() {
    let whole = Table::default()
        .with(1, 1, &[1, 2, 0, 0], &["Example Corp", "Server 9"])
        .array(0x10, 3)
        .module(0x10, 1024, 0)
        .end();
    for length in 31..whole.len() {
        let found = Smbios::parse(&whole[..length], Version(3, 0));
        assert_eq!(found.system.product.as_deref(), Some("Server 9"), "{length}");
    }
    let found = Smbios::parse(&whole[..40], Version(3, 0));
    assert!(matches!(found.broken, Some(TableError::Truncated { .. })), "{:?}", found.broken);
}

#[test]
fn a_string_number_past_the_last_string_is_no_text() {
    let found = parse(Table::default().with(1, 1, &[9, 2, 0, 0], &["Example Corp", "Server 9"]));
    assert_eq!(found.system.manufacturer, None);
    assert_eq!(found.system.product.as_deref(), Some("Server 9"));
}

proptest! {
    #[test]
    fn noise_never_panics_and_always_ends(table: Vec<u8>) {
        let _ = Smbios::parse(&table, Version::default());
    }

    #[test]
    fn a_real_form_with_noise_in_it_never_panics(
        structures in prop::collection::vec((0u8..20, prop::collection::vec(any::<u8>(), 0..96)), 0..12),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let table = structures.iter().fold(Table::default(), |table, (kind, body)| {
            table.with(*kind, 7, body, &["text"])
        });
        let mut bytes = table.end();
        for (place, value) in flips {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let _ = Smbios::parse(&bytes, Version(3, 0)).memory_mib();
    }
}

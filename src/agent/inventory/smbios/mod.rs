//! Reads SMBIOS tables (DMTF DSP0134, 2.0 to 3.7) from their bytes. Pure; it does not trust a
//! single length in them: firmware gets them wrong, and a broken table still says whose it is.

mod structure;

use structure::Structure;
pub use structure::TableError;

/// What a table says of the things that an inventory needs. Texts are without blanks around, and
/// without vendors' placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Smbios {
    /// Type 0.
    pub bios: Bios,
    /// Type 1.
    pub system: System,
    /// Type 2, the first one.
    pub board: Identity,
    /// Type 3, the first one.
    pub chassis: Identity,
    /// Type 4, in the table's order.
    pub processors: Vec<Processor>,
    /// Type 16.
    pub memory_arrays: Vec<MemoryArray>,
    /// Type 17, empty slots included.
    pub memory_devices: Vec<MemoryDevice>,
    /// Where the table is broken; everything above comes from before that.
    pub broken: Option<TableError>,
}

/// BIOS Information.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bios {
    /// Vendor.
    pub vendor: Option<String>,
    /// Version.
    pub version: Option<String>,
    /// Release date, `MM/DD/YYYY` or, in tables before 2.3, `MM/DD/YY`.
    pub date: Option<String>,
}

/// System Information.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct System {
    /// Manufacturer.
    pub manufacturer: Option<String>,
    /// Product name.
    pub product: Option<String>,
    /// Version.
    pub version: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// UUID as Linux, dmidecode and Redfish spell it.
    pub uuid: Option<String>,
    /// Stock keeping unit.
    pub sku: Option<String>,
    /// Family.
    pub family: Option<String>,
}

/// Base Board or Chassis Information.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Manufacturer.
    pub manufacturer: Option<String>,
    /// Product name; a chassis has none.
    pub product: Option<String>,
    /// Version.
    pub version: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Asset tag.
    pub asset_tag: Option<String>,
}

/// Processor Information.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Processor {
    /// Socket designation.
    pub socket: Option<String>,
    /// Whether there is a processor in the socket.
    pub populated: bool,
    /// Manufacturer.
    pub manufacturer: Option<String>,
    /// Version: the model name.
    pub version: Option<String>,
    /// The fastest that the *socket* supports, in MHz.
    pub max_speed_mhz: Option<u16>,
    /// At boot, in MHz.
    pub current_speed_mhz: Option<u16>,
    /// Cores.
    pub cores: Option<u16>,
    /// Threads.
    pub threads: Option<u16>,
}

/// Physical Memory Array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryArray {
    /// Its handle, which its devices point to.
    pub handle: u16,
    /// Whether it is system memory, rather than video, flash or cache memory.
    pub is_system_memory: bool,
    /// Number of slots.
    pub slots: u16,
}

/// Memory Device: one slot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryDevice {
    /// Handle of its array.
    pub array: u16,
    /// What is in it, in KiB; `None` when the slot is empty or the firmware does not know.
    pub size_kib: Option<u64>,
    /// The part of it that is memory rather than storage, in KiB, where the firmware tells them
    /// apart (3.2 and later).
    pub volatile_kib: Option<u64>,
    /// Device locator, such as `DIMM_A1`.
    pub locator: Option<String>,
    /// Bank locator.
    pub bank: Option<String>,
    /// Speed, in MT/s.
    pub speed_mts: Option<u32>,
    /// Manufacturer.
    pub manufacturer: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Part number.
    pub part: Option<String>,
}

/// Version of the specification that a table follows: major, minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u8, pub u8);

impl Version {
    /// From an entry point as `/sys/firmware/dmi/tables/smbios_entry_point` has it (5.2).
    #[must_use]
    pub fn of_entry_point(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'_', b'S', b'M', b'3', b'_', _, _, major, minor, ..]
            | [b'_', b'S', b'M', b'_', _, _, major, minor, ..] => Some(Self(*major, *minor)),
            _ => None,
        }
    }
}

impl Default for Version {
    /// What firmware of the last fifteen years is at least as new as.
    fn default() -> Self {
        Self(2, 6)
    }
}

impl Smbios {
    /// Reads the structures, as `/sys/firmware/dmi/tables/DMI` has them, until the end-of-table
    /// structure, the end of the bytes, or the first structure that can't be right.
    #[must_use]
    pub fn parse(table: &[u8], version: Version) -> Self {
        let mut found = Self::default();
        let mut seen = Seen { version, ..Seen::default() };
        for structure in structure::walk(table) {
            match structure {
                Ok(structure) => found.take(&structure, &mut seen),
                Err(error) => found.broken = Some(error),
            }
        }
        found
    }

    /// Installed system memory in MiB: what is in the slots of arrays that are system memory.
    /// `None` where the table has no filled slot.
    #[must_use]
    pub fn memory_mib(&self) -> Option<u64> {
        let is_other = |handle: u16| {
            self.memory_arrays.iter().any(|array| array.handle == handle && !array.is_system_memory)
        };
        let kib = self
            .memory_devices
            .iter()
            .filter(|device| !is_other(device.array))
            .filter_map(|device| device.volatile_kib.or(device.size_kib))
            .fold(0u64, u64::saturating_add);
        (kib > 0).then_some(kib / 1024)
    }

    fn take(&mut self, structure: &Structure<'_>, seen: &mut Seen) {
        match structure.kind {
            0 if !std::mem::replace(&mut seen.bios, true) => self.bios = bios(structure),
            1 if !std::mem::replace(&mut seen.system, true) => {
                self.system = system(structure, seen.version);
            }
            2 if !std::mem::replace(&mut seen.board, true) => self.board = board(structure),
            3 if !std::mem::replace(&mut seen.chassis, true) => self.chassis = chassis(structure),
            4 => self.processors.push(processor(structure)),
            16 => self.memory_arrays.extend(memory_array(structure)),
            17 => self.memory_devices.extend(memory_device(structure)),
            _ => {}
        }
    }
}

/// Types of which the first structure counts.
#[derive(Default)]
struct Seen {
    version: Version,
    bios: bool,
    system: bool,
    board: bool,
    chassis: bool,
}

fn bios(structure: &Structure<'_>) -> Bios {
    Bios { vendor: structure.text(0x04), version: structure.text(0x05), date: structure.text(0x08) }
}

fn system(structure: &Structure<'_>, version: Version) -> System {
    System {
        manufacturer: structure.text(0x04),
        product: structure.text(0x05),
        version: structure.text(0x06),
        serial: structure.text(0x07),
        uuid: structure.array(0x08).and_then(|bytes| uuid(&bytes, version)),
        sku: structure.text(0x19),
        family: structure.text(0x1A),
    }
}

fn board(structure: &Structure<'_>) -> Identity {
    Identity {
        manufacturer: structure.text(0x04),
        product: structure.text(0x05),
        version: structure.text(0x06),
        serial: structure.text(0x07),
        asset_tag: structure.text(0x08),
    }
}

fn chassis(structure: &Structure<'_>) -> Identity {
    Identity {
        manufacturer: structure.text(0x04),
        product: None,
        version: structure.text(0x06),
        serial: structure.text(0x07),
        asset_tag: structure.text(0x08),
    }
}

fn processor(structure: &Structure<'_>) -> Processor {
    let count = |byte: usize, word: usize| match structure.byte(byte)? {
        0 => None,
        0xFF => structure.word(word).filter(|count| !matches!(count, 0 | 0xFFFF)),
        count => Some(u16::from(count)),
    };
    let known = |offset: usize| structure.word(offset).filter(|speed| *speed != 0);
    Processor {
        socket: structure.text(0x04),
        // Bit 6 of Status: CPU Socket Populated.
        populated: structure.byte(0x18).is_some_and(|status| status >> 6 & 1 == 1),
        manufacturer: structure.text(0x07),
        version: structure.text(0x10),
        max_speed_mhz: known(0x14),
        current_speed_mhz: known(0x16),
        cores: count(0x23, 0x2A),
        threads: count(0x25, 0x2E),
    }
}

fn memory_array(structure: &Structure<'_>) -> Option<MemoryArray> {
    /// Table 73, Use: 3 is system memory; 1 and 2 are "other" and "unknown".
    const NOT_SYSTEM: std::ops::RangeInclusive<u8> = 4..=7;
    Some(MemoryArray {
        handle: structure.handle,
        is_system_memory: !NOT_SYSTEM.contains(&structure.byte(0x05)?),
        slots: structure.word(0x0D).unwrap_or(0),
    })
}

fn memory_device(structure: &Structure<'_>) -> Option<MemoryDevice> {
    Some(MemoryDevice {
        array: structure.word(0x04)?,
        size_kib: memory_size(structure),
        // Bytes; all ones is "unknown". Intel Optane modules have 0 here.
        volatile_kib: structure
            .quad(0x3C)
            .filter(|bytes| *bytes != u64::MAX)
            .map(|bytes| bytes / 1024)
            .filter(|kib| *kib > 0 || is_storage(structure)),
        locator: structure.text(0x10),
        bank: structure.text(0x11),
        speed_mts: match structure.word(0x15) {
            None | Some(0) => None,
            Some(0xFFFF) => structure.dword(0x54).map(|speed| speed & 0x7FFF_FFFF),
            Some(speed) => Some(u32::from(speed)),
        },
        manufacturer: structure.text(0x17),
        serial: structure.text(0x18),
        part: structure.text(0x1A),
    })
}

/// Size, 7.18.4: 0 is an empty slot, 0xFFFF unknown, bit 15 says KiB instead of MiB, and 0x7FFF
/// sends the reader to Extended Size, in MiB.
fn memory_size(structure: &Structure<'_>) -> Option<u64> {
    match structure.word(0x0C)? {
        0 | 0xFFFF => None,
        0x7FFF => structure
            .dword(0x1C)
            .map(|mib| u64::from(mib & 0x7FFF_FFFF) * 1024)
            .filter(|kib| *kib > 0),
        size if size & 0x8000 != 0 => Some(u64::from(size & 0x7FFF)),
        size => Some(u64::from(size) * 1024),
    }
}

/// Memory Technology 4 to 7: NVDIMM-N, -F, -P, Intel Optane. A plain DRAM module whose firmware
/// writes 0 as its volatile size is still memory.
fn is_storage(structure: &Structure<'_>) -> bool {
    structure.byte(0x28).is_some_and(|technology| (4..=7).contains(&technology))
}

/// All zeros is "not set", all ones "not there". From 2.6 on the first three fields are
/// little-endian (7.2.1); before, the bytes were in the order of the text.
fn uuid(bytes: &[u8; 16], version: Version) -> Option<String> {
    const LITTLE: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    if bytes.iter().all(|byte| *byte == 0) || bytes.iter().all(|byte| *byte == 0xFF) {
        return None;
    }
    let mut text = String::with_capacity(36);
    for (place, little) in LITTLE.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let index = if version < Version(2, 6) { place } else { little };
        let byte = bytes[index];
        text.extend(
            [byte >> 4, byte & 15]
                .map(|nibble| char::from(b"0123456789abcdef"[usize::from(nibble)])),
        );
    }
    Some(text)
}

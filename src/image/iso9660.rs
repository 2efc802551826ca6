//! Writes small ISO 9660 volumes (ECMA-119) with Rock Ridge names (RRIP 1991A) and a Joliet tree,
//! so that Linux and Windows read the same long names. Pure: the same tree gives the same bytes.
//!
//! Not here: boot records, reading, directories of more than one block.

mod record;

use record::{Identity, Record, Stamp};

/// Bytes of a logical block.
pub(super) const BLOCK: usize = 2048;
/// Behind the system area (16 blocks): two descriptors, their end, then four path tables.
const PRIMARY: usize = 16;
const PATH_TABLES: usize = PRIMARY + 3;
const DIRECTORIES: usize = PATH_TABLES + 4;

/// A volume to write.
#[derive(Debug)]
pub(super) struct Volume<'a> {
    /// Volume identifier, at most 16 characters of ASCII: Joliet has room for no more.
    pub(super) label: &'a str,
    /// Publisher identifier, at most 64 characters of ASCII.
    pub(super) publisher: &'a str,
    /// Every date in the volume, seconds since the Unix epoch.
    pub(super) date: i64,
    /// The root first, then each directory behind its parent.
    pub(super) directories: &'a [Directory<'a>],
    /// Regular files.
    pub(super) files: &'a [File<'a>],
}

/// A directory. Names have at most 30 characters, of letters, digits, `_`, `-` and `.`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Directory<'a> {
    /// Name; that of the root is empty.
    pub(super) name: &'a str,
    /// Index of its parent; the root's is its own.
    pub(super) parent: usize,
}

/// A regular file.
#[derive(Debug, Clone, Copy)]
pub(super) struct File<'a> {
    /// Name, as of a directory.
    pub(super) name: &'a str,
    /// Index of its directory.
    pub(super) directory: usize,
    /// Content.
    pub(super) content: &'a [u8],
}

/// The two trees of the volume. They share the files' blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// ISO 9660 names, and Rock Ridge's beside them.
    Primary,
    /// UCS-2 names (Joliet Specification, level 3).
    Joliet,
}

/// The bytes of the volume, whole blocks.
pub(super) fn render(volume: &Volume<'_>) -> Vec<u8> {
    let writer = Writer { volume, stamp: Stamp::new(volume.date) };
    let mut out = vec![0; writer.first_block_of_files() * BLOCK];
    let mut extents = Vec::with_capacity(volume.files.len());
    for file in volume.files {
        extents.push(out.len() / BLOCK);
        out.extend_from_slice(file.content);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    let total = out.len() / BLOCK;
    let mut put = |block: usize, bytes: &[u8]| {
        out[block * BLOCK..block * BLOCK + bytes.len()].copy_from_slice(bytes);
    };
    for (at, kind) in [Kind::Primary, Kind::Joliet].into_iter().enumerate() {
        put(PRIMARY + at, &writer.descriptor(kind, total));
        let tables = writer.path_tables(kind);
        put(PATH_TABLES + 2 * at, &tables.little);
        put(PATH_TABLES + 2 * at + 1, &tables.big);
        for index in 0..volume.directories.len() {
            put(writer.directory_block(kind, index), &writer.directory(kind, index, &extents));
        }
    }
    // ECMA-119 §8.3: the end of the descriptors.
    put(PRIMARY + 2, b"\xFFCD001\x01");
    out
}

struct Writer<'a> {
    volume: &'a Volume<'a>,
    stamp: Stamp,
}

/// One path table in both byte orders.
struct PathTables {
    little: Vec<u8>,
    big: Vec<u8>,
}

impl Writer<'_> {
    fn directory_block(&self, kind: Kind, index: usize) -> usize {
        match kind {
            Kind::Primary => DIRECTORIES + index,
            Kind::Joliet => DIRECTORIES + self.volume.directories.len() + index,
        }
    }

    fn first_block_of_files(&self) -> usize {
        DIRECTORIES + 2 * self.volume.directories.len()
    }

    /// ECMA-119 §8.4 and §8.5.
    fn descriptor(&self, kind: Kind, total: usize) -> Vec<u8> {
        let mut out = vec![0; BLOCK];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        let text = |text: &str, width: usize| kind.text(text, width);
        let tables = PATH_TABLES + 2 * usize::from(kind == Kind::Joliet);
        let table_size = self.path_tables(kind).little.len();
        put(0, &[if kind == Kind::Primary { 1 } else { 2 }]);
        put(1, b"CD001\x01");
        put(8, &text("LINUX", 32));
        put(40, &text(self.volume.label, 32));
        put(80, &record::both32(total));
        if kind == Kind::Joliet {
            put(88, b"%/E");
        }
        put(120, &record::both16(1));
        put(124, &record::both16(1));
        put(128, &record::both16(BLOCK));
        put(132, &record::both32(table_size));
        put(140, &record::both32(tables)[..4]);
        put(148, &record::both32(tables + 1)[4..]);
        put(156, &self.record(Identity::This, self.directory_block(kind, 0)).render(&[]));
        put(190, &text("", 128));
        put(318, &text(self.volume.publisher, 128));
        put(446, &text("", 128));
        put(574, &text("LEASELESS", 128));
        put(702, &text("", 37));
        put(739, &text("", 37));
        put(776, &text("", 37));
        put(813, &self.stamp.digits());
        put(830, &self.stamp.digits());
        put(847, &record::NO_DATE);
        put(864, &record::NO_DATE);
        put(881, &[1]);
        out
    }

    /// ECMA-119 §9.4.
    fn path_tables(&self, kind: Kind) -> PathTables {
        let mut tables = PathTables { little: Vec::new(), big: Vec::new() };
        for (index, directory) in self.volume.directories.iter().enumerate() {
            let name = if index == 0 { vec![0] } else { kind.identifier(directory.name, false) };
            let extent = record::both32(self.directory_block(kind, index));
            let parent = record::both16(directory.parent + 1);
            for (table, extent, parent) in [
                (&mut tables.little, &extent[..4], &parent[..2]),
                (&mut tables.big, &extent[4..], &parent[2..]),
            ] {
                table.extend_from_slice(&[record::short(name.len()), 0]);
                table.extend_from_slice(extent);
                table.extend_from_slice(parent);
                table.extend_from_slice(&name);
                table.resize(table.len().next_multiple_of(2), 0);
            }
        }
        tables
    }

    /// The records of one directory, sorted by identifier (ECMA-119 §9.3).
    fn directory(&self, kind: Kind, index: usize, extents: &[usize]) -> Vec<u8> {
        let Volume { directories, files, .. } = self.volume;
        let rock_ridge = kind == Kind::Primary;
        let links = |of: usize| 2 + self.children(of).count();
        let mut out = Vec::with_capacity(BLOCK);
        let parent = directories[index].parent;
        for (identity, of) in [(Identity::This, index), (Identity::Parent, parent)] {
            let mut system_use = Vec::new();
            if rock_ridge {
                if index == 0 && identity == Identity::This {
                    system_use.extend_from_slice(record::SUSP_INDICATOR);
                }
                system_use.extend(self.stamp.posix(record::DIRECTORY_MODE, links(of)));
                if index == 0 && identity == Identity::This {
                    system_use.extend_from_slice(record::ROCK_RIDGE);
                }
            }
            out.extend(self.record(identity, self.directory_block(kind, of)).render(&system_use));
        }
        let mut named: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut add = |record: Record, identifier: Vec<u8>, name: &str, mode: u32, links: usize| {
            let mut system_use = Vec::new();
            if rock_ridge {
                system_use.extend(self.stamp.posix(mode, links));
                system_use.extend(record::name(name));
            }
            named.push((identifier, record.render(&system_use)));
        };
        for child in self.children(index) {
            let name = directories[child].name;
            let identifier = kind.identifier(name, false);
            let record =
                self.record(Identity::Name(identifier.clone()), self.directory_block(kind, child));
            add(record, identifier, name, record::DIRECTORY_MODE, links(child));
        }
        for (file, extent) in files.iter().zip(extents).filter(|(file, _)| file.directory == index)
        {
            let identifier = kind.identifier(file.name, true);
            let record = Record {
                identity: Identity::Name(identifier.clone()),
                block: *extent,
                size: file.content.len(),
                is_directory: false,
                stamp: self.stamp,
            };
            add(record, identifier, file.name, record::FILE_MODE, 1);
        }
        named.sort();
        out.extend(named.into_iter().flat_map(|(_, record)| record));
        out
    }

    fn children(&self, of: usize) -> impl Iterator<Item = usize> + '_ {
        let directories = self.volume.directories;
        (1..directories.len()).filter(move |child| directories[*child].parent == of)
    }

    fn record(&self, identity: Identity, block: usize) -> Record {
        Record { identity, block, size: BLOCK, is_directory: true, stamp: self.stamp }
    }
}

impl Kind {
    /// A descriptor's text field, padded with blanks.
    fn text(self, text: &str, width: usize) -> Vec<u8> {
        let mut out: Vec<u8> = match self {
            Self::Primary => text.bytes().collect(),
            Self::Joliet => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        };
        out.truncate(width);
        while out.len() < width {
            match self {
                Self::Joliet if width - out.len() > 1 => out.extend_from_slice(b"\0 "),
                Self::Joliet => out.push(0),
                Self::Primary => out.push(b' '),
            }
        }
        out
    }

    /// The identifier in a record: the name as it is in Joliet, where readers expect no
    /// version behind it, and in d-characters (ECMA-119 §7.5) in the primary tree.
    fn identifier(self, name: &str, is_file: bool) -> Vec<u8> {
        match self {
            Self::Joliet => name.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Self::Primary => name
                .bytes()
                .map(|byte| match byte.to_ascii_uppercase() {
                    kept @ (b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.') => kept,
                    _ => b'_',
                })
                // §7.5.1: a file's name has a dot, be there an extension or not.
                .chain((is_file && !name.contains('.')).then_some(b'.'))
                .chain(is_file.then_some(*b";1").into_iter().flatten())
                .collect(),
        }
    }
}

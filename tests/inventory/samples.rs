//! Inputs of real hardware, where somebody has them.

use std::path::PathBuf;

/// Files of one kind, by name; none, said loudly, where `LEASELESS_SAMPLES` is not set.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let Some(samples) = std::env::var_os("LEASELESS_SAMPLES") else {
        eprintln!("NOT TESTED: real {folder} samples need LEASELESS_SAMPLES");
        return Vec::new();
    };
    let folder = PathBuf::from(samples).join("inventory").join(folder);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no .{extension} in {}", folder.display());
    files
}

/// The name of a file without folder and extension.
pub(crate) fn stem(path: &std::path::Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap()
}

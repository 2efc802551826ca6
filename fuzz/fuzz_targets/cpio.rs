//! Any files into an initrd segment: the agent's reader finds each again.
#![no_main]

use leaseless::agent::segment::find;
use leaseless::image::segment::{SegmentFile, render};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|contents: Vec<&[u8]>| {
    let names: Vec<String> = (0..contents.len()).map(|index| format!("leaseless/{index}")).collect();
    let files: Vec<SegmentFile<'_>> = names
        .iter()
        .zip(&contents)
        .map(|(path, content)| SegmentFile { path, content })
        .collect();
    let (archive, places) = render(&files);
    assert_eq!(archive.len() % 4, 0);
    for (file, place) in files.iter().zip(places) {
        assert_eq!(&archive[place], file.content);
        assert_eq!(find(&archive, file.path), Some(file.content));
    }
});

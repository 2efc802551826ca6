//! Any `Range` header against any length: every part lies within and is not empty.
#![no_main]

use leaseless::image::range::Wanted;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u64, &str)| {
    let (length, header) = input;
    if let Wanted::Parts(parts) = Wanted::parse(header, length) {
        assert!(!parts.is_empty() && parts.len() <= 16);
        for part in &parts {
            assert!(part.start < part.end && part.end <= length);
        }
        let mut sorted = parts;
        sorted.sort_by_key(|part| part.start);
        assert!(sorted.windows(2).all(|pair| pair[0].end <= pair[1].start));
    }
});

use proptest::prelude::*;
use serde_json::json;

use super::super::tests::manifest_json;
use super::*;
use crate::types::Secret;

const SIZE: u64 = 10_000;

fn manifest() -> Manifest {
    Manifest::parse(manifest_json(1, 318, SIZE).as_bytes()).unwrap()
}

fn boot() -> BootConfig {
    BootConfig {
        version: 1,
        host_id: "h".to_owned(),
        controller_urls: vec!["https://192.0.2.1:8443".to_owned()],
        ca_pem: String::new(),
        token: Secret::new("hunter2"),
        issued_at: 1,
        allow_dhcp: false,
    }
}

fn publisher() -> PublisherId {
    "5D5AD6F0-3f6d-4b7c-a3a2-7b9d3a6b6a11".parse().unwrap()
}

fn compose(network_data: &Value, kernel_args: &str) -> Result<Overlay, OverlayError> {
    let publisher = publisher();
    let host = HostMedia {
        boot: &boot(),
        network_data,
        meta_data: &HostMedia::meta_data(&publisher),
        publisher: &publisher,
        kernel_args,
    };
    Overlay::compose(&manifest(), &host)
}

/// The whole ISO, on a base of dots.
fn materialise(overlay: &Overlay) -> Vec<u8> {
    let mut iso = vec![b'.'; usize::try_from(SIZE).unwrap()];
    for (at, bytes) in overlay.within(0..SIZE) {
        let at = usize::try_from(at).unwrap();
        iso[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    iso
}

#[test]
fn every_part_stands_in_its_extent() {
    let iso = materialise(&compose(&json!({"links": []}), "bonding.max_bonds=0").unwrap());
    let text = |from: usize, to: usize| std::str::from_utf8(&iso[from..to]).unwrap();
    assert_eq!(text(318, 356), "5d5ad6f0-3f6d-4b7c-a3a2-7b9d3a6b6a11..");
    let args = "ir_pub_id=5d5ad6f0-3f6d-4b7c-a3a2-7b9d3a6b6a11 bonding.max_bonds=0\n#..";
    assert_eq!(text(600, 600 + args.len()), args);
    assert_eq!(text(9000, 9000 + args.len()), args);
    assert_eq!(text(6000, 6015), "{\"links\":[]}\n..");
    let meta_data = "{\"uuid\":\"5d5ad6f0-3f6d-4b7c-a3a2-7b9d3a6b6a11\"}\n.";
    assert_eq!(text(8048, 8048 + meta_data.len()), meta_data);
    assert!(text(1000, 1110).starts_with("070701"));
    assert!(text(1000, 2000).contains("hunter2") && text(1000, 2000).contains("{\"links\":[]}\n"));
}

#[test]
fn what_does_not_fit_names_the_sizes() {
    let error = compose(&json!({"x": "y".repeat(2048)}), "").unwrap_err().to_string();
    assert_eq!(error, "network data takes 2057 bytes and the boot image has room for 2048");
    let error = compose(&json!({}), &"a".repeat(180)).unwrap_err().to_string();
    assert!(error.starts_with("the kernel line takes 229 bytes"), "{error}");
}

#[test]
fn a_kernel_argument_that_a_loader_would_change_is_refused() {
    for bad in ["a=\"b\"", "a;b", "a$b", "a\\b", "a#b", "ü", "a'b", "{a}", "a\0b"] {
        let error = compose(&json!({}), bad).unwrap_err();
        assert!(matches!(error, OverlayError::KernelArgument { .. }), "{bad}: {error}");
    }
    assert!(compose(&json!({}), "  console=ttyS1,115200n8  \n ipmi_si.trydefaults=1 ").is_ok());
}

#[test]
fn nothing_secret_is_printed() {
    assert!(!format!("{:?}", compose(&json!({}), "")).contains("hunter2"));
}

#[test]
fn a_publisher_id_is_a_uuid() {
    let random = PublisherId::from_random([0xFF; 16]);
    assert_eq!(random.as_str(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    assert_eq!(random.as_str().parse::<PublisherId>().unwrap(), random);
    for bad in [
        "",
        "5d5ad6f0",
        "5d5ad6f0-3f6d-4b7c-a3a2-7b9d3a6b6a1g",
        "5d5ad6f003f6d-4b7c-a3a2-7b9d3a6b6a1",
    ] {
        assert!(bad.parse::<PublisherId>().is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn any_span_is_that_slice_of_the_whole(start in 0..=SIZE, length in 0..=SIZE, pad in 0usize..1500) {
        let overlay = compose(&json!({"x": "y".repeat(pad)}), "a=b").unwrap();
        let whole = materialise(&overlay);
        let end = (start + length).min(SIZE);
        let mut read = vec![b'.'; usize::try_from(end - start).unwrap()];
        let mut last = start;
        for (at, bytes) in overlay.within(start..end) {
            prop_assert!(at >= last && !bytes.is_empty());
            last = at + bytes.len() as u64;
            prop_assert!(last <= end);
            let at = usize::try_from(at - start).unwrap();
            read[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        prop_assert_eq!(&read[..], &whole[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()]);
    }
}

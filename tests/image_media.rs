//! Media read by the tools of others: GNU cpio, isoinfo, xorriso, blkid.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use leaseless::image::config_drive::{ConfigDrive, ConfigDriveError};
use leaseless::image::overlay::PublisherId;
use leaseless::image::segment::{self, SegmentFile};
use serde_json::{Value, json};

const PUBLISHER: &str = "5d5ad6f0-3f6d-4b7c-a3a2-7b9d3a6b6a11";

/// What a program prints; `None`, said loudly, where it is not installed.
fn output(program: &str, arguments: &[&str], directory: &Path) -> Option<String> {
    let run =
        Command::new(program).args(arguments).current_dir(directory).stdin(Stdio::null()).output();
    let Ok(output) = run else {
        eprintln!("NOT CHECKED with {program}: it is not installed");
        return None;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program}: {}", text(&output.stderr));
    Some(text(&output.stdout))
}

fn drive(meta_data: &Value, user_data: Option<&[u8]>) -> Result<Vec<u8>, ConfigDriveError> {
    let drive = ConfigDrive {
        network_data: &json!({"links": [], "networks": []}),
        meta_data,
        user_data,
        publisher: &PUBLISHER.parse::<PublisherId>().unwrap(),
        date: 1_700_000_000,
    };
    drive.render()
}

#[test]
fn gnu_cpio_unpacks_the_segment() {
    let directory = tempfile::tempdir().unwrap();
    let files = [
        SegmentFile { path: "boot.json", content: b"{\"version\": 1}" },
        SegmentFile { path: "empty", content: b"" },
    ];
    fs::write(directory.path().join("host.img"), segment::render(&files).0).unwrap();
    let listed = output("cpio", &["-itF", "host.img"], directory.path());
    let Some(listed) = listed else { return };
    assert_eq!(listed, "boot.json\nempty\n");
    output("cpio", &["-idF", "host.img"], directory.path());
    let unpacked = fs::read_to_string(directory.path().join("boot.json")).unwrap();
    assert_eq!(unpacked, "{\"version\": 1}");
}

#[test]
fn other_readers_find_everything_on_a_config_drive() {
    let directory = tempfile::tempdir().unwrap();
    let user_data = "#cloud-config\n".repeat(500);
    let iso = drive(&json!({"uuid": "u"}), Some(user_data.as_bytes())).unwrap();
    fs::write(directory.path().join("cd.iso"), iso).unwrap();
    let at = directory.path();
    if let Some(about) = output("isoinfo", &["-d", "-i", "cd.iso"], at) {
        assert!(about.contains("Volume id: config-2\n"), "{about}");
        assert!(about.contains(&format!("Publisher id: {PUBLISHER}\n")), "{about}");
        assert!(about.contains("Joliet with UCS level 3 found"), "{about}");
        assert!(about.contains("Rock Ridge signatures version 1 found"), "{about}");
    }
    for names in ["-R", "-J"] {
        let file = ["-i", "cd.iso", names, "-x", "/openstack/latest/user_data"];
        if let Some(content) = output("isoinfo", &file, at) {
            assert_eq!(content, user_data, "{names}");
        }
        if let Some(listed) = output("isoinfo", &["-i", "cd.iso", names, "-f"], at) {
            let mut listed: Vec<&str> = listed.lines().collect();
            listed.sort_unstable();
            assert_eq!(
                listed,
                [
                    "/openstack",
                    "/openstack/latest",
                    "/openstack/latest/meta_data.json",
                    "/openstack/latest/network_data.json",
                    "/openstack/latest/user_data",
                ],
                "{names}"
            );
        }
    }
    let unpack = ["-osirrox", "on", "-indev", "cd.iso", "-extract", "/openstack/latest", "out"];
    if output("xorriso", &unpack, at).is_some() {
        let meta_data = fs::read_to_string(at.join("out/meta_data.json")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&meta_data).unwrap(), json!({"uuid": "u"}));
    }
    if let Some(about) = output("blkid", &["-p", "-o", "export", "cd.iso"], at) {
        assert!(about.contains("LABEL=config-2\n") && about.contains("TYPE=iso9660\n"), "{about}");
    }
}

#[test]
fn the_same_config_drive_has_the_same_bytes() {
    let once = || drive(&json!({"uuid": "u"}), None).unwrap();
    assert_eq!(once(), once());
}

#[test]
fn meta_data_that_cloud_init_refuses_is_refused_here() {
    for meta_data in [json!({}), json!({"uuid": 1}), json!([])] {
        let error = drive(&meta_data, None).unwrap_err();
        assert!(matches!(error, ConfigDriveError::NoUuid), "{error}");
    }
}

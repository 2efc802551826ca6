//! Disks: what counts as one, what it is called, who it is.

use leaseless::agent::inventory::disks::guess_root_disk;
use leaseless::agent::inventory::model::{Disk, Transport};
use leaseless::agent::inventory::{Observed, collect};

use crate::tree::Tree;

const PCI: &str = "pci0000:00/0000:00:1f.2";
const SECTORS: u64 = 20_000_000;

fn disks(tree: &Tree) -> Vec<Disk> {
    collect(&tree.root(), &Observed::default()).0.disks
}

fn only(tree: &Tree) -> Disk {
    let mut found = disks(tree);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

#[test]
fn a_sata_disk_has_udev_s_two_names_and_its_whole_model() {
    let tree = Tree::new();
    tree.pci(PCI).device(&format!("{PCI}/ata3"), "ata", "");
    tree.files("sys/class/ata_port/ata3", &[("port_no", "3")]);
    tree.scsi_disk(&format!("{PCI}/ata3"), "2:0:0:0", "sda");
    let device = "sys/block/sda/device";
    tree.files(device, &[("vendor", "ATA     "), ("model", "Example SSD 860 ")]);
    let mut designator = vec![2, 1, 0, 68];
    designator.extend(b"ATA     ");
    designator.extend(format!("{:<40}{:<20}", "Example SSD 860 EVO 1TB", "S3Z8NB0K").bytes());
    designator.extend([1, 3, 0, 8, 0x50, 0x02, 0x53, 0x8e, 0, 0, 0, 0x01]);
    let mut page = vec![0, 0x83, 0, u8::try_from(designator.len()).unwrap()];
    page.extend(designator);
    tree.file(&format!("{device}/vpd_pg83"), page);
    let disk = only(&tree);
    assert_eq!(disk.by_path, ["pci-0000:00:1f.2-ata-3.0", "pci-0000:00:1f.2-ata-3"]);
    assert_eq!(disk.hctl.as_deref(), Some("2:0:0:0"));
    assert_eq!(disk.vendor.as_deref(), Some("ATA"));
    assert_eq!(disk.model.as_deref(), Some("Example SSD 860 EVO 1TB"));
    assert_eq!(disk.serial.as_deref(), Some("S3Z8NB0K"));
    assert_eq!(disk.wwn.as_deref(), Some("0x5002538e00000001"));
    assert_eq!(disk.wwn_with_extension().as_deref(), Some("0x5002538e00000001"));
    assert_eq!(disk.transport, Some(Transport::Sata));
    assert_eq!(disk.size_bytes, SECTORS * 512);
    assert_eq!((disk.logical_sector, disk.physical_sector), (512, 4096));
}

#[test]
fn a_disk_behind_a_port_multiplier_is_named_by_its_bus() {
    let tree = Tree::new();
    tree.pci(PCI).device(&format!("{PCI}/ata1"), "ata", "");
    tree.files("sys/class/ata_port/ata1", &[("port_no", "1")]);
    tree.scsi_disk(&format!("{PCI}/ata1"), "0:2:0:0", "sda");
    assert_eq!(only(&tree).by_path[0], "pci-0000:00:1f.2-ata-1.2.0");
}

#[test]
fn a_scsi_disk_s_host_is_counted_from_its_controller_s_first() {
    let tree = Tree::new();
    tree.pci(PCI).device(&format!("{PCI}/host6"), "scsi", "scsi_host");
    tree.scsi_disk(PCI, "7:2:1:0", "sda");
    tree.file("sys/block/sda/device/vpd_pg80", b"\0\x80\0\x08 VOL0001");
    let mut page = vec![0, 0x83, 0, 20, 1, 3, 0, 16, 0x60];
    page.extend([0x05, 0x07, 0x6c, 0x0a, 0x81, 0x02, 0xb4, 1, 2, 3, 4, 5, 6, 7, 8]);
    tree.file("sys/block/sda/device/vpd_pg83", page);
    let disk = only(&tree);
    assert_eq!(disk.by_path, ["pci-0000:00:1f.2-scsi-1:2:1:0"]);
    assert_eq!(disk.serial.as_deref(), Some("VOL0001"));
    assert_eq!(disk.wwn.as_deref(), Some("0x6005076c0a8102b4"));
    assert_eq!(disk.wwn_extension.as_deref(), Some("0102030405060708"));
    let whole = "0x6005076c0a8102b40102030405060708";
    assert_eq!(disk.wwn_with_extension().as_deref(), Some(whole));
    assert_eq!(disk.transport, None);
}

#[test]
fn a_virtio_scsi_disk_is_called_as_in_ironic_s_own_ramdisk() {
    let tree = Tree::new();
    let virtio = "pci0000:00/0000:00:02.2/0000:03:00.0/virtio2";
    tree.pci("pci0000:00/0000:00:02.2/0000:03:00.0").device(virtio, "virtio", "");
    tree.scsi_disk(virtio, "0:0:0:0", "sda");
    let disk = only(&tree);
    assert_eq!(disk.by_path(), Some("/dev/disk/by-path/pci-0000:03:00.0-scsi-0:0:0:0".to_owned()));
    assert_eq!(disk.transport, None);
}

#[test]
fn a_virtio_disk_is_called_by_its_pci_function() {
    let tree = Tree::new();
    let virtio = "pci0000:00/0000:00:03.0/virtio1";
    tree.pci("pci0000:00/0000:00:03.0").device(virtio, "virtio", "").disk(virtio, "vda", SECTORS);
    tree.files("sys/block/vda", &[("serial", "root-01")]);
    tree.files(&format!("sys/devices/{virtio}"), &[("vendor", "0x1af4")]);
    let disk = only(&tree);
    assert_eq!(disk.by_path, ["pci-0000:00:03.0"]);
    assert_eq!(disk.serial.as_deref(), Some("root-01"));
    assert_eq!(disk.vendor.as_deref(), Some("0x1af4"));
    assert_eq!((disk.hctl, disk.transport), (None, Some(Transport::Virtio)));
}

#[test]
fn an_nvme_disk_has_its_controller_s_model_and_its_namespace_s_name() {
    let tree = Tree::new();
    let controller = "pci0000:00/0000:00:1d.0/0000:04:00.0/nvme/nvme0";
    tree.pci("pci0000:00/0000:00:1d.0/0000:04:00.0").device(controller, "nvme", "");
    tree.disk(controller, "nvme0n1", SECTORS);
    let strings = [("model", "Example NVMe 1TB     "), ("serial", "S4EV         ")];
    tree.files(&format!("sys/devices/{controller}"), &strings);
    tree.files("sys/block/nvme0n1", &[("nsid", "1"), ("wwid", "eui.0025385b71b00e1d")]);
    let disk = only(&tree);
    assert_eq!(disk.by_path, ["pci-0000:04:00.0-nvme-1"]);
    assert_eq!(disk.model.as_deref(), Some("Example NVMe 1TB"));
    assert_eq!(disk.serial.as_deref(), Some("S4EV"));
    assert_eq!(disk.wwn.as_deref(), Some("eui.0025385b71b00e1d"));
    assert_eq!(disk.transport, Some(Transport::Nvme));
}

#[test]
fn an_nvme_disk_with_several_controllers_is_listed_once_without_a_path() {
    let tree = Tree::new();
    let controller = "pci0000:00/0000:04:00.0/nvme/nvme0";
    tree.pci("pci0000:00/0000:04:00.0").device(controller, "nvme", "");
    tree.disk(controller, "nvme0c0n1", SECTORS).file("sys/block/nvme0c0n1/hidden", "1\n");
    let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
    tree.device(subsystem, "nvme-subsystem", "").disk(subsystem, "nvme0n1", SECTORS);
    tree.files("sys/block/nvme0n1", &[("nsid", "1")]);
    let disk = only(&tree);
    assert_eq!((disk.kernel_name.as_str(), disk.by_path.len()), ("nvme0n1", 0));
}

#[test]
fn a_usb_disk_is_named_by_its_ports() {
    let tree = Tree::new();
    let usb = "pci0000:00/0000:00:14.0/usb2/2-4/2-4.1/2-4.1:1.0";
    tree.pci("pci0000:00/0000:00:14.0");
    tree.device("pci0000:00/0000:00:14.0/usb2", "usb", "usb_device");
    tree.device("pci0000:00/0000:00:14.0/usb2/2-4", "usb", "usb_device");
    tree.device("pci0000:00/0000:00:14.0/usb2/2-4/2-4.1", "usb", "usb_device");
    tree.device(usb, "usb", "usb_interface");
    tree.scsi_disk(usb, "9:0:0:0", "sdb");
    let disk = only(&tree);
    assert_eq!(disk.by_path, ["pci-0000:00:14.0-usb-0:4.1:1.0-scsi-0:0:0:0"]);
    assert_eq!(disk.transport, Some(Transport::Usb));
}

/// A SAS end device below a port with that many phys, below `parent`.
fn sas(tree: &Tree, parent: &str, phys: &str) {
    let (port, end) = ("port-0:0", "end_device-0:0");
    let device = format!("{parent}/{port}/{end}/target0:0:0/0:0:0:0");
    for (path, kind) in [
        (format!("{parent}/{port}/{end}/target0:0:0"), "scsi_target"),
        (device.clone(), "scsi_device"),
    ] {
        tree.device(&path, "scsi", kind);
    }
    tree.files("sys/class/sas_port/port-0:0", &[("num_phys", phys)]);
    let end_device = [("sas_address", "0x5000c50084a7c0f1"), ("phy_identifier", "4")];
    tree.files("sys/class/sas_device/end_device-0:0", &end_device);
    tree.disk(&device, "sda", SECTORS);
}

#[test]
fn a_sas_disk_is_named_by_phy_by_expander_or_by_address() {
    let host = format!("{PCI}/host0");
    for (expander, phys, name) in [
        (false, "1", "pci-0000:00:1f.2-sas-phy4-lun-0"),
        (true, "1", "pci-0000:00:1f.2-sas-exp0x500056b3-phy4-lun-0"),
        (false, "4", "pci-0000:00:1f.2-sas-0x5000c50084a7c0f1-lun-0"),
    ] {
        let tree = Tree::new();
        tree.pci(PCI).device(&host, "scsi", "scsi_host");
        let parent = if expander { format!("{host}/expander-0:0") } else { host.clone() };
        if expander {
            tree.files("sys/class/sas_device/expander-0:0", &[("sas_address", "0x500056b3")]);
        }
        sas(&tree, &parent, phys);
        let disk = only(&tree);
        assert_eq!(disk.by_path, [name]);
        assert_eq!(disk.transport, Some(Transport::Sas));
    }
}

#[test]
fn a_fibre_channel_disk_is_named_by_port_and_lun() {
    let tree = Tree::new();
    let host = format!("{PCI}/host1");
    let target = format!("{host}/rport-1:0-2/target1:0:2");
    let device = format!("{target}/1:0:2:300");
    tree.pci(PCI).device(&host, "scsi", "scsi_host").device(&target, "scsi", "scsi_target");
    tree.device(&device, "scsi", "scsi_device").disk(&device, "sda", SECTORS);
    tree.files("sys/class/fc_transport/target1:0:2", &[("port_name", "0x50060e8007dd3a12")]);
    let disk = only(&tree);
    assert_eq!(disk.by_path, ["pci-0000:00:1f.2-fc-0x50060e8007dd3a12-lun-0x012c000000000000"]);
    assert_eq!(disk.transport, Some(Transport::Fc));
}

#[test]
fn an_iscsi_disk_is_named_by_portal_and_target() {
    let tree = Tree::new();
    let host = "platform/host3";
    let target = format!("{host}/session1/target3:0:0");
    let device = format!("{target}/3:0:0:2");
    tree.device(host, "scsi", "scsi_host").device(&target, "scsi", "scsi_target");
    tree.device(&device, "scsi", "scsi_device").disk(&device, "sda", SECTORS);
    tree.files("sys/class/iscsi_session/session1", &[("targetname", "iqn.2026-01.example:t")]);
    let portal = [("persistent_address", "192.0.2.9"), ("persistent_port", "3260")];
    tree.files("sys/class/iscsi_connection/connection1:0", &portal);
    let disk = only(&tree);
    assert_eq!(disk.by_path, ["ip-192.0.2.9:3260-iscsi-iqn.2026-01.example:t-lun-2"]);
    assert_eq!(disk.transport, Some(Transport::Iscsi));
}

#[test]
fn what_holds_no_data_or_is_none_is_left_out() {
    let tree = Tree::new();
    let virtio = "pci0000:00/0000:00:03.0/virtio1";
    tree.pci("pci0000:00/0000:00:03.0").device(virtio, "virtio", "");
    for name in ["ram0", "zram0", "loop3", "nbd0", "dm-0"] {
        tree.disk("virtual", name, SECTORS);
    }
    for name in ["fd0", "mmcblk0boot0", "mmcblk0rpmb"] {
        tree.disk(virtio, name, SECTORS);
    }
    tree.scsi_disk(PCI, "0:0:0:0", "sr0");
    tree.scsi_disk(PCI, "1:0:0:0", "sdc");
    tree.file("sys/block/sdc/device/type", "5\n");
    tree.disk(virtio, "vda", 0).disk(virtio, "vdb", SECTORS).disk(virtio, "mmcblk0", SECTORS);
    let names: Vec<String> = disks(&tree).into_iter().map(|disk| disk.kernel_name).collect();
    assert_eq!(names, ["mmcblk0", "vdb"]);
}

#[test]
fn multipath_members_stand_behind_their_device() {
    let tree = Tree::new();
    tree.pci(PCI);
    tree.scsi_disk(PCI, "0:0:0:0", "sda").scsi_disk(PCI, "1:0:0:0", "sdb");
    tree.disk("virtual", "dm-0", SECTORS);
    tree.files("sys/block/dm-0", &[("dm/uuid", "mpath-36005076c0a8102b4"), ("dm/name", "mpatha")]);
    for member in ["sda", "sdb"] {
        tree.link(&format!("sys/block/{member}/holders/dm-0"), "sys/block/dm-0");
    }
    tree.scsi_disk(PCI, "2:0:0:0", "sdc");
    tree.link("sys/block/sdc/holders/dm-1", "sys/block/dm-1");
    tree.disk("virtual", "dm-1", SECTORS).files("sys/block/dm-1", &[("dm/uuid", "LVM-abc")]);
    let names: Vec<String> = disks(&tree).into_iter().map(|disk| disk.kernel_name).collect();
    assert_eq!(names, ["dm-0", "sdc"]);
}

#[test]
fn without_multipathd_paths_with_one_name_serial_and_size_are_one_disk() {
    let tree = Tree::new();
    let page = [0, 0x83, 0, 12, 1, 3, 0, 8, 0x50, 0, 0xc5, 0, 0, 0, 0, 1];
    for (hctl, name) in [("0:0:0:0", "sda"), ("1:0:0:0", "sdb"), ("2:0:0:0", "sdc")] {
        tree.scsi_disk(PCI, hctl, name);
        tree.file(&format!("sys/block/{name}/device/vpd_pg83"), page);
    }
    for (name, serial) in [("sda", b'1'), ("sdb", b'1'), ("sdc", b'2')] {
        let page = [0, 0x80, 0, 1, serial];
        tree.file(&format!("sys/block/{name}/device/vpd_pg80"), page);
    }
    let found = disks(&tree);
    let names: Vec<&str> = found.iter().map(|disk| disk.kernel_name.as_str()).collect();
    assert_eq!(names, ["sda", "sdc"]);
    assert_eq!(found[0].other_paths, ["sdb"]);
}

#[test]
fn the_guessed_root_disk_is_the_smallest_of_4_gib_and_more_then_the_first_by_name() {
    let disk = |name: &str, gib: u64| Disk {
        kernel_name: name.to_owned(),
        size_bytes: gib << 30,
        ..Disk::default()
    };
    let guess = |disks: &[Disk]| guess_root_disk(disks).map(|disk| disk.kernel_name.clone());
    let sizes = [disk("sda", 100), disk("sdc", 8), disk("sdb", 8), disk("sdd", 3)];
    assert_eq!(guess(&sizes).as_deref(), Some("sdb"));
    assert_eq!(guess(&[disk("sda", 3)]), None);
    assert_eq!(guess(&[disk("sda", 4)]).as_deref(), Some("sda"));
}

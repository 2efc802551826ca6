//! Layers 2 and 3: the machine this runs on. Ports here, Linux below.

pub mod arp;
pub mod boot_device;
pub mod console;
pub mod dhcp;
pub mod ethtool;
pub mod kmod;
pub mod link_mode;
pub mod local_bmc;
pub mod machine;
pub mod mount;
pub mod netlink;
pub mod packet;
pub mod resolv;
pub mod sysctl;
pub mod sysfs;
pub mod uevent;

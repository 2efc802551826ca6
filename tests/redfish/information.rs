use leaseless::bmc::redfish::Vendor;
use leaseless::bmc::{Class, Classified, EventLog};

use crate::simulated_bmc::{Fault, Profile, SimulatedBmc};

#[tokio::test(start_paused = true)]
async fn a_system_is_described_whatever_types_and_links_are_wrong() {
    let bmc = SimulatedBmc::start(Profile::idrac9()).await;
    let info = bmc.connect().await.unwrap().info().await.unwrap();
    assert_eq!(info.vendor, Vendor::Dell);
    assert_eq!(info.serial.as_deref(), Some("12345"));
    assert_eq!(info.memory_gib, Some(64.0));
    assert_eq!((info.processors.count, info.processors.cores), (Some(2), Some(32)));
    assert_eq!(info.processors.threads, Some(64));
    assert_eq!(info.secure_boot, Some(true));
    let nics: Vec<String> =
        info.nics.iter().map(|nic| format!("{} {}", nic.id, nic.mac.unwrap())).collect();
    // The third is linked and not there.
    assert_eq!(nics, ["NIC1 52:54:00:00:00:01", "2 52:54:00:00:00:02"]);
    assert_eq!(info.media.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_left_out() {
    let bmc = SimulatedBmc::start(Profile::sushy_tools()).await;
    for path in ["Processors", "EthernetInterfaces", "SecureBoot"] {
        let path = format!("/redfish/v1/Systems/1/{path}");
        bmc.fault(Fault::Missing(String::leak(path)));
    }
    let info = bmc.connect().await.unwrap().info().await.unwrap();
    assert_eq!(info.secure_boot, None);
    assert!(info.nics.is_empty());
    assert_eq!(info.vendor, Vendor::Other);
}

#[tokio::test(start_paused = true)]
async fn every_vendor_is_recognised() {
    for (profile, vendor) in [
        (Profile::idrac10(), Vendor::Dell),
        (Profile::ilo5(), Vendor::Hpe),
        (Profile::xcc(), Vendor::Lenovo),
        (Profile::supermicro(), Vendor::Supermicro),
        (Profile::supermicro_x10(), Vendor::Supermicro),
        (Profile::dgx(), Vendor::Ami),
        (Profile::openbmc(), Vendor::Nvidia),
        (Profile::huawei(), Vendor::Huawei),
        // Lenovo's AMI-based servers bear Lenovo's name.
        (Profile { vendor: Some("Lenovo"), ..Profile::ami() }, Vendor::Ami),
    ] {
        let bmc = SimulatedBmc::start(profile).await;
        assert_eq!(bmc.connect().await.unwrap().vendor(), vendor);
    }
}

#[tokio::test(start_paused = true)]
async fn the_event_log_is_the_sel_page_after_page_oldest_first() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let entries = bmc.connect().await.unwrap().entries().await.unwrap();
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["1", "2"]);
    assert_eq!(entries[0].raw.unwrap()[2], 0xC1);
    assert_eq!(entries[1].raw, None);
}

#[tokio::test(start_paused = true)]
async fn a_bmc_without_a_log_says_so() {
    let bmc = SimulatedBmc::start(Profile::sushy_tools()).await;
    let error = bmc.connect().await.unwrap().entries().await.unwrap_err();
    assert_eq!(error.class(), Class::Unsupported);
}

//! What a BMC tells about its system. Nothing here is needed for anything else: what is absent or
//! of the wrong type is left out.

use serde::Serialize;

use super::error::{RedfishError, Step};
use super::quirks::Vendor;
use super::resource::Resource;
use super::{Redfish, quirks};
use crate::bmc::VirtualMedia;
use crate::bmc::{BootOverride, MediaSlot};
use crate::types::Mac;

const STEP: Step = Step::ReadingInfo;
/// NICs of one system.
const NICS_BOUND: usize = 64;
/// Processors of one system.
const PROCESSORS_BOUND: usize = 32;

/// Overview of a system and its BMC.
#[derive(Debug, Clone, Serialize)]
pub struct SystemInfo {
    /// Path of the system.
    pub path: String,
    /// Who built the BMC's firmware.
    pub vendor: Vendor,
    /// `Manufacturer`.
    pub manufacturer: Option<String>,
    /// `Model`.
    pub model: Option<String>,
    /// `SerialNumber`.
    pub serial: Option<String>,
    /// `SKU`; Dell's service tag.
    pub sku: Option<String>,
    /// `UUID`.
    pub uuid: Option<String>,
    /// `HostName`.
    pub hostname: Option<String>,
    /// `PowerState` as the BMC spells it.
    pub power: Option<String>,
    /// `Status.Health`.
    pub health: Option<String>,
    /// `BiosVersion`.
    pub bios: Option<String>,
    /// The BMC itself.
    pub bmc: BmcInfo,
    /// GiB of memory.
    pub memory_gib: Option<f64>,
    /// Processors.
    pub processors: ProcessorInfo,
    /// Network interfaces.
    pub nics: Vec<NicInfo>,
    /// Whether Secure Boot is on; absent where the BMC does not say.
    pub secure_boot: Option<bool>,
    /// Boot override, where there is one.
    pub boot: Option<BootOverride>,
    /// CD and DVD slots.
    pub media: Vec<MediaSlot>,
}

/// The BMC.
#[derive(Debug, Clone, Default, Serialize)]
pub struct BmcInfo {
    /// `Model` of the manager.
    pub model: Option<String>,
    /// `FirmwareVersion`.
    pub firmware: Option<String>,
    /// `RedfishVersion`.
    pub redfish: Option<String>,
}

/// Processors of a system.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ProcessorInfo {
    /// How many.
    pub count: Option<u32>,
    /// Model of the first.
    pub model: Option<String>,
    /// Cores in all.
    pub cores: Option<u32>,
    /// Threads in all.
    pub threads: Option<u32>,
}

/// One network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NicInfo {
    /// `Id`.
    pub id: String,
    /// Its MAC, `PermanentMACAddress` before `MACAddress`.
    pub mac: Option<Mac>,
    /// `LinkStatus`.
    pub link: Option<String>,
    /// `SpeedMbps`.
    pub speed_mbps: Option<u32>,
}

impl Redfish {
    /// Reads everything that [`SystemInfo`] has.
    ///
    /// # Errors
    /// When the system itself can't be read; of the rest, when the BMC can't be reached any more.
    pub async fn info(&self) -> Result<SystemInfo, RedfishError> {
        let system = self.client.get(STEP, &self.system).await?;
        let bmc = self.bmc_info().await?;
        let boot = self.boot_snapshot().await.ok().map(|snapshot| snapshot.boot_override());
        Ok(SystemInfo {
            path: self.system.clone(),
            vendor: self.platform.vendor,
            manufacturer: system.text("/Manufacturer"),
            model: system.text("/Model"),
            serial: system.text("/SerialNumber"),
            sku: system.text("/SKU"),
            uuid: system.text("/UUID"),
            hostname: system.text("/HostName"),
            power: system.text("/PowerState"),
            health: system.text("/Status/Health"),
            bios: system.text("/BiosVersion"),
            bmc,
            memory_gib: system.number("/MemorySummary/TotalSystemMemoryGiB"),
            processors: self.processors(&system).await?,
            nics: self.nics(&system).await?,
            secure_boot: self.secure_boot(&system).await?,
            boot,
            media: self.media().await.map_err(|error| error.during(STEP))?,
        })
    }

    async fn bmc_info(&self) -> Result<BmcInfo, RedfishError> {
        let mut bmc = BmcInfo { redfish: self.version.clone(), ..BmcInfo::default() };
        if let Some(path) = self.managers.first()
            && let Some(manager) = self.client.get_optional(STEP, path).await?
        {
            bmc.model = manager.text("/Model");
            bmc.firmware = manager.text("/FirmwareVersion");
        }
        Ok(bmc)
    }

    /// The summary, and the sum of the processors where it has no cores.
    async fn processors(&self, system: &Resource) -> Result<ProcessorInfo, RedfishError> {
        let summary = ProcessorInfo {
            count: whole(system, "/ProcessorSummary/Count"),
            model: system.text("/ProcessorSummary/Model"),
            cores: whole(system, "/ProcessorSummary/CoreCount"),
            threads: whole(system, "/ProcessorSummary/LogicalProcessorCount"),
        };
        if summary.cores.is_some() && summary.model.is_some() {
            return Ok(summary);
        }
        let members = self.members_of(system, "/Processors", PROCESSORS_BOUND).await?;
        let is_cpu = |processor: &&Resource| {
            processor.text("/ProcessorType").is_none_or(|kind| kind == "CPU")
                && processor.text("/Status/State").as_deref() != Some("Absent")
        };
        let cpus: Vec<&Resource> = members.iter().filter(is_cpu).collect();
        let sum = |pointer: &str| {
            let found: Vec<u32> = cpus.iter().filter_map(|cpu| whole(cpu, pointer)).collect();
            (!found.is_empty()).then(|| found.iter().sum())
        };
        Ok(ProcessorInfo {
            count: summary.count.or_else(|| u32::try_from(cpus.len()).ok().filter(|n| *n > 0)),
            model: summary.model.or_else(|| cpus.first()?.text("/Model")),
            cores: summary.cores.or_else(|| sum("/TotalCores")),
            threads: summary.threads.or_else(|| sum("/TotalThreads")),
        })
    }

    async fn nics(&self, system: &Resource) -> Result<Vec<NicInfo>, RedfishError> {
        let members = self.members_of(system, "/EthernetInterfaces", NICS_BOUND).await?;
        Ok(members.iter().map(nic).collect())
    }

    async fn secure_boot(&self, system: &Resource) -> Result<Option<bool>, RedfishError> {
        let Some(path) = system.link("/SecureBoot") else { return Ok(None) };
        // Supermicro answers 403 without a licence: then it is not known.
        let Some(secure_boot) = self.client.get_optional(STEP, &path).await? else {
            return Ok(None);
        };
        Ok(secure_boot
            .boolean("/SecureBootCurrentBoot")
            .or_else(|| secure_boot.boolean("/SecureBootEnable")))
    }

    async fn members_of(
        &self,
        owner: &Resource,
        pointer: &str,
        bound: usize,
    ) -> Result<Vec<Resource>, RedfishError> {
        let Some(path) = owner.link(pointer) else { return Ok(Vec::new()) };
        let Some(all) = self.client.get_optional(STEP, &path).await? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for member in all.members().iter().take(bound) {
            found.extend(self.client.get_optional(STEP, member).await?);
        }
        Ok(found)
    }

    /// What is known about the platform.
    pub fn vendor(&self) -> quirks::Vendor {
        self.platform.vendor
    }
}

fn nic(resource: &Resource) -> NicInfo {
    let mac = ["/PermanentMACAddress", "/MACAddress"]
        .into_iter()
        .filter_map(|pointer| resource.text(pointer)?.parse().ok())
        .find(|mac: &Mac| !mac.is_zero());
    let last = resource.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    NicInfo {
        id: resource.text("/Id").unwrap_or_else(|| last.to_owned()),
        mac,
        link: resource.text("/LinkStatus"),
        speed_mbps: whole(resource, "/SpeedMbps").filter(|speed| *speed > 0),
    }
}

/// A number that counts something.
fn whole(resource: &Resource, pointer: &str) -> Option<u32> {
    let number = resource.number(pointer)?;
    let is_count = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    // Checked just above.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    is_count.then_some(number as u32)
}

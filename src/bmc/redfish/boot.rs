//! The boot override. Some BMCs take it at the system, some at its settings object, some half and
//! half; some want all of it at once, some only what changes.

use std::sync::PoisonError;

use serde_json::{Map, Value, json};

use super::Redfish;
use super::error::{Cause, RedfishError, Step};
use super::quirks::BootBody;
use super::resource::{Boot, Resource};
use crate::bmc::{BootControl, BootDevice, BootOverride};

const ENABLED: &str = "BootSourceOverrideEnabled";
const TARGET: &str = "BootSourceOverrideTarget";
const MODE: &str = "BootSourceOverrideMode";

/// What stands in the override, in the BMC's own words: restoring loses nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootSnapshot {
    enabled: Option<String>,
    target: Option<String>,
    mode: Option<String>,
}

/// The two places an override can be in.
struct Places {
    system: Resource,
    settings: Option<Resource>,
}

impl Places {
    fn boots(&self) -> impl Iterator<Item = Boot> {
        // What is pending comes before what is.
        self.settings.iter().chain([&self.system]).filter_map(Boot::read)
    }

    /// The first place that has a property at all.
    fn find(&self, property: fn(&Boot) -> &super::resource::Property) -> super::resource::Property {
        self.boots()
            .map(|boot| property(&boot).clone())
            .find(|property| property.present)
            .unwrap_or_default()
    }

    fn boot(&self) -> Boot {
        Boot {
            enabled: self.find(|boot| &boot.enabled),
            target: self.find(|boot| &boot.target),
            mode: self.find(|boot| &boot.mode),
        }
    }

    fn snapshot(&self) -> BootSnapshot {
        let boot = self.boot();
        // A settings object with nothing pending says nothing: then the system counts.
        let current = Boot::read(&self.system).unwrap_or_default();
        let pick = |pending: Option<String>, now: Option<String>| pending.or(now);
        BootSnapshot {
            enabled: pick(boot.enabled.value, current.enabled.value),
            target: pick(boot.target.value, current.target.value),
            mode: pick(boot.mode.value, current.mode.value),
        }
    }
}

/// Names of a device as boot target, best first.
fn names(device: BootDevice, cd: &'static [&'static str]) -> &'static [&'static str] {
    match device {
        BootDevice::None => &["None"],
        BootDevice::Disk => &["Hdd"],
        BootDevice::Cd => cd,
        BootDevice::Pxe => &["Pxe"],
        BootDevice::Setup => &["BiosSetup"],
    }
}

impl BootSnapshot {
    /// In the words of the port; a target that it has no word for reads as none.
    #[must_use]
    pub fn boot_override(&self) -> BootOverride {
        const NOTHING: BootOverride = BootOverride { device: BootDevice::None, persistent: false };
        let persistent = match self.enabled.as_deref() {
            Some("Continuous") => true,
            Some("Once") => false,
            _ => return NOTHING,
        };
        let device = match self.target.as_deref() {
            Some("Hdd" | "UefiHdd") => BootDevice::Disk,
            Some("Cd" | "UsbCd" | "CD/DVD" | "UefiCd" | "UefiUsbCd") => BootDevice::Cd,
            Some("Pxe") => BootDevice::Pxe,
            Some("BiosSetup") => BootDevice::Setup,
            _ => return NOTHING,
        };
        BootOverride { device, persistent }
    }
}

impl BootControl for Redfish {
    type Error = RedfishError;

    async fn boot_override(&self) -> Result<BootOverride, RedfishError> {
        let snapshot = self.boot_snapshot().await?;
        let standing = snapshot.boot_override();
        *self.last_boot.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        Ok(standing)
    }

    async fn boot_once(&self, device: BootDevice) -> Result<(), RedfishError> {
        self.set_boot(BootOverride { device, persistent: false }).await
    }

    /// In the BMC's own words, if `before` is what was read last: they say more than the port can.
    async fn restore_boot(&self, before: BootOverride) -> Result<(), RedfishError> {
        let last = self.last_boot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match last.filter(|last| last.boot_override() == before) {
            Some(last) => self.restore_boot_snapshot(&last).await,
            None => self.set_boot(before).await,
        }
    }
}

impl Redfish {
    /// The override as it stands, for [`Self::restore_boot_snapshot`].
    ///
    /// # Errors
    /// As every operation.
    pub async fn boot_snapshot(&self) -> Result<BootSnapshot, RedfishError> {
        Ok(self.places(Step::ReadingBoot).await?.snapshot())
    }

    /// Puts an override back, whatever its target was.
    ///
    /// # Errors
    /// As every operation.
    pub async fn restore_boot_snapshot(&self, before: &BootSnapshot) -> Result<(), RedfishError> {
        let places = self.places(Step::SettingBoot).await?;
        if places.snapshot() == *before {
            return Ok(());
        }
        match (before.enabled.as_deref(), &before.target) {
            (Some(enabled @ ("Once" | "Continuous")), Some(target)) => {
                self.change(&places, target, enabled).await
            }
            _ => self.clear(&places).await,
        }
    }

    async fn set_boot(&self, want: BootOverride) -> Result<(), RedfishError> {
        let places = self.places(Step::SettingBoot).await?;
        if want.device == BootDevice::None {
            return self.clear(&places).await;
        }
        let boot = places.boot();
        let names = names(want.device, self.quirks.cd_targets);
        let Some(target) = names.iter().find(|name| boot.target.allows(name)) else {
            let text = format!(
                "this BMC has no boot target {}: it offers {}",
                names[0],
                boot.target.allowed.join(", ")
            );
            return Err(Cause::Unsupported(text).at(Step::SettingBoot));
        };
        let enabled = match want.persistent {
            true if boot.enabled.allows("Continuous") => "Continuous",
            // Set again at each start by who wants it to last.
            true | false => "Once",
        };
        self.change(&places, target, enabled).await
    }

    async fn change(
        &self,
        places: &Places,
        target: &str,
        enabled: &str,
    ) -> Result<(), RedfishError> {
        let now = places.snapshot();
        let mut body = Map::new();
        if self.quirks.boot_body == BootBody::Triple {
            let mode = now.mode.unwrap_or_else(|| "UEFI".to_owned());
            // X10 has no Mode, and nothing but its absence says so.
            if places.boot().mode.present {
                body.insert(MODE.to_owned(), mode.into());
            }
            body.insert(ENABLED.to_owned(), enabled.into());
        } else if now.enabled.as_deref() != Some(enabled) {
            body.insert(ENABLED.to_owned(), enabled.into());
        }
        body.insert(TARGET.to_owned(), target.into());
        self.patch_boot(places, body).await
    }

    /// Disabled, and nothing else: a target of None with Enabled set is refused by some. Where
    /// Disabled alone is refused, both together.
    async fn clear(&self, places: &Places) -> Result<(), RedfishError> {
        let now = places.snapshot();
        if matches!(now.enabled.as_deref(), Some("Disabled") | None) {
            return Ok(());
        }
        let disabled = || Map::from_iter([(ENABLED.to_owned(), Value::from("Disabled"))]);
        match self.patch_boot(places, disabled()).await {
            Err(error) if error.status() == Some(400) && places.boot().target.allows("None") => {
                let mut both = disabled();
                both.insert(TARGET.to_owned(), "None".into());
                self.patch_boot(places, both).await
            }
            other => other,
        }
    }

    async fn places(&self, step: Step) -> Result<Places, RedfishError> {
        let system = self.client.get(step, &self.system).await?;
        let settings = match system.link("/@Redfish.Settings/SettingsObject") {
            Some(path) => self.client.get_optional(step, &path).await?,
            None => None,
        };
        let places = Places { system, settings };
        if places.boots().next().is_none() {
            let text = "this system has no boot override".to_owned();
            return Err(Cause::Unsupported(text).at(step));
        }
        Ok(places)
    }

    /// Sends each property to where it lives: what the settings object has goes there.
    async fn patch_boot(
        &self,
        places: &Places,
        body: Map<String, Value>,
    ) -> Result<(), RedfishError> {
        let pending = places.settings.as_ref().and_then(Boot::read).unwrap_or_default();
        let lives_in_settings = |name: &str| match name {
            ENABLED => pending.enabled.present,
            TARGET => pending.target.present,
            MODE => pending.mode.present,
            _ => false,
        };
        let (there, here): (Map<_, _>, Map<_, _>) =
            body.into_iter().partition(|(name, _)| lives_in_settings(name));
        if let (Some(settings), false) = (&places.settings, there.is_empty()) {
            self.patch_place(settings, there).await?;
        }
        if !here.is_empty() {
            self.patch_place(&places.system, here).await?;
        }
        Ok(())
    }

    /// One PATCH; Mode is left out if the BMC says that it can't be written.
    async fn patch_place(
        &self,
        place: &Resource,
        mut boot: Map<String, Value>,
    ) -> Result<(), RedfishError> {
        let step = Step::SettingBoot;
        let etag = place.etag.as_deref();
        let if_match = self.quirks.if_match;
        let body = json!({"Boot": boot});
        let Err(error) = self.client.patch(step, &place.path, &body, etag, if_match).await else {
            return Ok(());
        };
        let is_mode = error.status() == Some(400)
            && error.answer().is_some_and(|answer| answer.mentions(MODE));
        if !(is_mode && boot.remove(MODE).is_some()) {
            return Err(error);
        }
        let body = json!({"Boot": boot});
        self.client.patch(step, &place.path, &body, etag, if_match).await.map(drop)
    }
}

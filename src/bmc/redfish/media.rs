//! Virtual media: finding the slots, ejecting, inserting.

mod insert;

use reqwest::Method;
use serde_json::{Value, json};

use super::error::{Cause, RedfishError, Step};
use super::resource::{Resource, Slot};
use super::{Redfish, quirks};
use crate::bmc::{MediaSlot, VirtualMedia};

/// More slots than a BMC has.
const SLOTS_BOUND: usize = 32;

/// An ISO mount of Supermicro's X10 and X11, which have no slots.
struct IsoConfig {
    resource: Resource,
    mount: String,
    unmount: Option<String>,
}

/// What a BMC has to put an image into.
enum Drives {
    Slots(Vec<Slot>),
    IsoConfig(Box<IsoConfig>),
}

impl VirtualMedia for Redfish {
    type Error = RedfishError;

    async fn media(&self) -> Result<Vec<MediaSlot>, RedfishError> {
        Ok(match self.drives(Step::ReadingMedia).await? {
            Drives::Slots(slots) => slots.iter().map(described).collect(),
            Drives::IsoConfig(iso) => vec![iso.described()],
        })
    }

    async fn insert(&self, url: &url::Url) -> Result<MediaSlot, RedfishError> {
        let drives = self.drives(Step::InsertingMedia).await?;
        match drives {
            Drives::Slots(slots) => {
                // What is in a slot may be what a slot keeps telling after it was ejected: always
                // out, then in.
                for slot in &slots {
                    self.eject_slot(slot).await?;
                }
                self.insert_somewhere(&slots, url).await
            }
            Drives::IsoConfig(iso) => {
                self.unmount(&iso).await?;
                self.mount(&iso, url).await
            }
        }
    }

    async fn eject(&self) -> Result<(), RedfishError> {
        match self.drives(Step::EjectingMedia).await? {
            Drives::Slots(slots) => {
                for slot in &slots {
                    self.eject_slot(slot).await?;
                }
                Ok(())
            }
            Drives::IsoConfig(iso) => self.unmount(&iso).await,
        }
    }
}

fn described(slot: &Slot) -> MediaSlot {
    MediaSlot { id: slot.id.clone(), image: slot.holds().map(str::to_owned) }
}

impl IsoConfig {
    fn described(&self) -> MediaSlot {
        let (host, path) = (self.resource.text("/Host"), self.resource.text("/Path"));
        let image = host.zip(path).map(|(host, path)| format!("{host}{path}"));
        MediaSlot { id: quirks::ISO_CONFIG.to_owned(), image }
    }
}

impl Redfish {
    /// CD slots in the order they should be tried: those of the system, else of its managers.
    async fn drives(&self, step: Step) -> Result<Drives, RedfishError> {
        let slots = self.cd_slots(step).await?;
        if !slots.is_empty() {
            return Ok(Drives::Slots(slots));
        }
        if let Some(iso) = self.iso_config(step).await? {
            return Ok(Drives::IsoConfig(Box::new(iso)));
        }
        if step == Step::InsertingMedia && self.enable_remote_media(step).await? {
            tokio::time::sleep(quirks::REMOTE_MEDIA_APPEARS).await;
            return Ok(Drives::Slots(self.cd_slots(step).await?));
        }
        Ok(Drives::Slots(Vec::new()))
    }

    async fn cd_slots(&self, step: Step) -> Result<Vec<Slot>, RedfishError> {
        for owner in std::iter::once(&self.system).chain(&self.managers) {
            let Some(owner) = self.client.get_optional(step, owner).await? else { continue };
            let Some(collection) = owner.link("/VirtualMedia") else { continue };
            let Some(collection) = self.client.get_optional(step, &collection).await? else {
                continue;
            };
            let mut slots = Vec::new();
            for member in collection.members().iter().take(SLOTS_BOUND) {
                let slot = self.client.get_optional(step, member).await?;
                slots.extend(slot.as_ref().map(Slot::read).filter(Slot::is_cd));
            }
            if !slots.is_empty() {
                slots.sort_by_key(|slot| self.rank(slot));
                if self.quirks.first_slot_only {
                    slots.truncate(1);
                }
                return Ok(slots);
            }
        }
        Ok(Vec::new())
    }

    /// Best first; the BMC's own order within one rank.
    fn rank(&self, slot: &Slot) -> usize {
        let position = |names: &[&str]| names.iter().position(|name| slot.id.starts_with(name));
        let first = self.quirks.slots_first;
        position(first)
            .or_else(|| position(self.quirks.slots_last).map(|last| first.len() + 1 + last))
            .unwrap_or(first.len())
    }

    /// Whether a manager had the action that makes slots appear.
    async fn enable_remote_media(&self, step: Step) -> Result<bool, RedfishError> {
        for path in &self.managers {
            let Some(manager) = self.client.get_optional(step, path).await? else { continue };
            if let Some(action) = manager.oem_action(quirks::ENABLE_REMOTE_MEDIA) {
                let body = quirks::enable_remote_media();
                self.client.post(step, &action.target, Some(&body)).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn iso_config(&self, step: Step) -> Result<Option<IsoConfig>, RedfishError> {
        for path in &self.managers {
            let Some(manager) = self.client.get_optional(step, path).await? else { continue };
            let Some(media) = manager.link("/VirtualMedia") else { continue };
            let path = format!("{}/{}", media.trim_end_matches('/'), quirks::ISO_CONFIG);
            let Some(resource) = self.client.get_optional(step, &path).await? else { continue };
            let target = |name| resource.action(name).map(|action| action.target);
            if let Some(mount) = target(quirks::ISO_CONFIG_MOUNT) {
                let unmount = target(quirks::ISO_CONFIG_UNMOUNT);
                return Ok(Some(IsoConfig { resource, mount, unmount }));
            }
        }
        Ok(None)
    }

    /// Empties one slot; an empty one is left alone.
    async fn eject_slot(&self, slot: &Slot) -> Result<(), RedfishError> {
        let step = Step::EjectingMedia;
        if slot.holds().is_none() {
            return Ok(());
        }
        if let Some(target) = &slot.vmm_control {
            return self.client.post(step, target, Some(&quirks::vmm_disconnect())).await.map(drop);
        }
        let Some(target) = &slot.eject else {
            let body = json!({"Image": Value::Null, "Inserted": false});
            let if_match = self.quirks.if_match;
            let etag = slot.etag.as_deref();
            return self.client.patch(step, &slot.path, &body, etag, if_match).await.map(drop);
        };
        match self.client.post(step, target, None).await {
            // iLO wants a body, and says so in one of two ways.
            Err(error) if matches!(error.status(), Some(400 | 415)) => {
                self.client.post(step, target, Some(&json!({}))).await.map(drop)
            }
            other => other.map(drop),
        }
    }

    async fn mount(&self, iso: &IsoConfig, url: &url::Url) -> Result<MediaSlot, RedfishError> {
        let step = Step::InsertingMedia;
        let (host, path) = (&url[..url::Position::BeforePath], url.path());
        let body = json!({"Host": host, "Path": path});
        let (at, etag) = (&iso.resource.path, iso.resource.etag.as_deref());
        self.client.patch(step, at, &body, etag, self.quirks.if_match).await?;
        self.client.post(step, &iso.mount, None).await?;
        Ok(MediaSlot { id: quirks::ISO_CONFIG.to_owned(), image: Some(url.to_string()) })
    }

    /// Nothing tells whether anything is mounted: a refusal means that nothing was.
    async fn unmount(&self, iso: &IsoConfig) -> Result<(), RedfishError> {
        let step = Step::EjectingMedia;
        let Some(target) = &iso.unmount else {
            let text = "this BMC can mount an ISO and not unmount it".to_owned();
            return Err(Cause::Unsupported(text).on(step, Method::GET, &iso.resource.path));
        };
        match self.client.post(step, target, None).await {
            Err(error) if matches!(error.status(), Some(400..=409)) => {
                tracing::info!(cause = %error.cause, "nothing to unmount");
                Ok(())
            }
            other => other.map(drop),
        }
    }
}

//! Virtual media of a simulated BMC.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};

use super::answer::{no_content, not_found, refusal, with_status};
use super::profile::{MediaAt, Way};
use super::world::{Fault, Seen, World};

impl World {
    pub(crate) fn media_path(&self) -> String {
        match self.profile.media_at {
            MediaAt::System => format!("{}/VirtualMedia", self.system()),
            MediaAt::Manager => format!("{}/VirtualMedia", self.manager()),
        }
    }

    pub(crate) fn slot_body(&self, index: usize) -> Value {
        let (kind, slot) = (&self.profile.slots[index], &self.slots[index]);
        let path = format!("{}/{}", self.media_path(), kind.id);
        let inserted = slot.image.is_some();
        let mut body = json!({
            "@odata.id": path, "Id": kind.id, "MediaTypes": kind.types,
            "Image": slot.image, "Inserted": inserted || slot.stale,
            "ConnectedVia": if inserted || slot.stale { "URI" } else { "NotConnected" },
        });
        let action = |name: &str| json!({"target": format!("{path}/Actions/{name}")});
        match kind.way {
            Way::Action => {
                body["Actions"] = json!({
                    "#VirtualMedia.InsertMedia": action("VirtualMedia.InsertMedia"),
                    "#VirtualMedia.EjectMedia": action("VirtualMedia.EjectMedia"),
                });
            }
            Way::Vmm => {
                body["Oem"] = json!({"Huawei": {"Actions": {
                    "#VirtualMedia.VmmControl": action("VmmControl")}}});
            }
            Way::Never => {
                body["Actions"] = json!({
                    "#VirtualMedia.EjectMedia": action("VirtualMedia.EjectMedia")});
            }
            Way::Patch => {}
        }
        body
    }

    pub(crate) fn act_on_media(&mut self, seen: &Seen) -> Response<Body> {
        if seen.path.ends_with("AMIVirtualMedia.EnableRMedia") {
            self.slots_hidden = seen.body != json!({"RMediaState": "Enable"});
            return no_content();
        }
        if seen.path.ends_with("/Actions/IsoConfig.Mount") {
            self.iso_mounted = true;
            return no_content();
        }
        if seen.path.ends_with("/Actions/IsoConfig.UnMount") {
            let was = std::mem::take(&mut self.iso_mounted);
            return if was { no_content() } else { refusal(400, "", "Nothing mounted.", &[]) };
        }
        let ids: Vec<&str> = self.profile.slots.iter().map(|slot| slot.id).collect();
        let within = seen.path.strip_prefix(&format!("{}/", self.media_path()));
        let parts: Vec<&str> = within.unwrap_or_default().split('/').collect();
        let index = ids.iter().position(|id| Some(id) == parts.first());
        match (index, parts.last().copied()) {
            (Some(index), Some("VirtualMedia.InsertMedia")) => self.insert(index, &seen.body),
            (Some(index), Some("VirtualMedia.EjectMedia")) => self.eject(index, &seen.body),
            (Some(index), Some("VmmControl")) => self.vmm_control(index, &seen.body),
            _ => not_found(&seen.path),
        }
    }

    fn insert(&mut self, index: usize, body: &Value) -> Response<Body> {
        let id = self.profile.slots[index].id;
        for fault in &self.faults {
            if let Fault::SlotRefuses(slot, status) = fault
                && *slot == id
            {
                return refusal(*status, "Base.1.8.ActionNotSupported", "Not here.", &[]);
            }
        }
        fn failing(fault: &mut Fault) -> Option<&mut u32> {
            match fault {
                Fault::InsertsFail(left) => Some(left),
                _ => None,
            }
        }
        if self.use_up(failing) {
            return refusal(500, "IDRAC.2.8.SYS446", "An internal error.", &[]);
        }
        let is_missing = |name: &&&str| body.get(**name).is_none();
        if let Some(missing) = self.profile.insert_needs.iter().find(is_missing) {
            let id = "Base.1.12.ActionParameterMissing";
            let text = "A parameter is missing.";
            return refusal(400, id, text, &["VirtualMedia.InsertMedia", missing]);
        }
        if body.get("Inserted").is_some() || body.get("WriteProtected").is_some() {
            return refusal(400, "Base.1.8.ActionParameterUnknown", "Too much.", &[]);
        }
        if self.slots[index].image.is_some() {
            return refusal(400, "Base.1.8.ResourceInUse", "There is something in it.", &[]);
        }
        let image = body["Image"].as_str().map(str::to_owned);
        if let Some(state) = self.insert_task() {
            if state == "Completed" {
                self.slots[index].image = image;
            }
            return self.promise();
        }
        if !self.faults.contains(&Fault::InsertLies) {
            self.slots[index].image = image;
        }
        self.slots[index].stale = false;
        no_content()
    }

    pub(crate) fn insert_task(&self) -> Option<&'static str> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::InsertIsTask(state) => Some(*state),
            _ => None,
        })
    }

    fn promise(&mut self) -> Response<Body> {
        self.task_polls = 0;
        let mut response = with_status(
            StatusCode::ACCEPTED,
            &json!({"@odata.type": "#Task.v1_4_3.Task", "@odata.id": "/redfish/v1/Tasks/7"}),
        );
        response.headers_mut().insert("location", "/redfish/v1/Monitors/7".parse().unwrap());
        response
    }

    fn vmm_control(&mut self, index: usize, body: &Value) -> Response<Body> {
        match body["VmmControlType"].as_str() {
            Some("Connect") => self.slots[index].image = body["Image"].as_str().map(str::to_owned),
            Some("Disconnect") => self.slots[index].image = None,
            _ => return refusal(400, "Base.1.0.ActionParameterMissing", "Which?", &[]),
        }
        self.promise()
    }

    fn eject(&mut self, index: usize, body: &Value) -> Response<Body> {
        if self.profile.eject_wants_body && !body.is_object() {
            return refusal(415, "Base.1.8.UnsupportedMediaType", "Send JSON.", &[]);
        }
        self.slots[index].image = None;
        self.slots[index].stale = self.faults.contains(&Fault::StaleInserted);
        no_content()
    }

    pub(crate) fn patch_media(&mut self, seen: &Seen) -> Response<Body> {
        if self.profile.iso_config && seen.path.ends_with("/CfgCD") {
            self.iso = seen.body.clone();
            self.version += 1;
            return no_content();
        }
        let media = self.media_path();
        let paths = self.profile.slots.iter().map(|slot| format!("{media}/{}", slot.id));
        let Some(index) = paths.into_iter().position(|path| path == seen.path) else {
            return not_found(&seen.path);
        };
        let refuses = Fault::SlotRefuses(self.profile.slots[index].id, 400);
        if self.profile.slots[index].way != Way::Patch || self.faults.contains(&refuses) {
            return refusal(405, "Base.1.8.OperationNotAllowed", "Read-only.", &[]);
        }
        if seen.body["Inserted"] == true && seen.body["WriteProtected"] != true {
            return refusal(400, "Base.1.8.PropertyMissing", "Both.", &["WriteProtected"]);
        }
        self.slots[index].image = seen.body["Image"].as_str().map(str::to_owned);
        self.version += 1;
        no_content()
    }
}

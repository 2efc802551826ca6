//! What a simulated BMC shows.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};

use super::answer::{not_found, with_status};
use super::profile::MediaAt;
use super::world::World;

fn link(path: &str) -> Value {
    json!({"@odata.id": path})
}

fn collection(path: &str, members: &[String]) -> Value {
    let members: Vec<Value> = members.iter().map(|member| link(member)).collect();
    json!({"@odata.id": path, "Members@odata.count": members.len(), "Members": members})
}

impl World {
    pub(crate) fn read(&mut self, path: &str) -> Response<Body> {
        if path == "/redfish/v1/Tasks/7" {
            return self.task();
        }
        match self.resource(path) {
            Some(body) => self.ok(&body),
            None => not_found(path),
        }
    }

    fn task(&mut self) -> Response<Body> {
        self.task_polls += 1;
        let state =
            if self.task_polls < 3 { "Running" } else { self.insert_task().unwrap_or("Completed") };
        let status = if self.task_polls < 3 { StatusCode::ACCEPTED } else { StatusCode::OK };
        let messages = json!([{"Message": "The image can't be reached."}]);
        let body = json!({"@odata.type": "#Task.v1_4_3.Task", "Id": "7", "TaskState": state,
            "Messages": messages});
        with_status(status, &body)
    }

    fn resource(&self, path: &str) -> Option<Value> {
        let (system, manager, media) = (self.system(), self.manager(), self.media_path());
        let baseboard = "/redfish/v1/Systems/HGX_Baseboard_0";
        Some(match path {
            "/redfish/v1" => self.root(),
            "/redfish/v1/Systems" => {
                let mut members = vec![system];
                members.extend(self.profile.has_baseboard.then(|| baseboard.to_owned()));
                collection(path, &members)
            }
            "/redfish/v1/Managers" => collection(path, &[manager]),
            _ if path == baseboard && self.profile.has_baseboard => {
                json!({"@odata.id": path, "@odata.type": "#ComputerSystem.v1_22_0.ComputerSystem"})
            }
            _ if path == system => self.system_body(),
            _ if path == manager => self.manager_body(),
            _ if path == media => self.media_collection(path),
            _ if path == format!("{media}/CfgCD") && self.profile.iso_config => self.iso_body(path),
            _ if path == format!("{system}/ResetActionInfo") => json!({
                "@odata.id": path, "Parameters": [{"Name": "ResetType", "Required": true,
                    "AllowableValues": ["On", "ForceOff", "ForceRestart", "GracefulShutdown"]}]}),
            _ => {
                return self.inventory(path).or_else(|| self.settings(path)).or_else(|| {
                    let index = (0..self.slots.len()).find(|index| {
                        path == format!("{media}/{}", self.profile.slots[*index].id)
                    })?;
                    (!self.slots_hidden).then(|| self.slot_body(index))
                });
            }
        })
    }

    fn root(&self) -> Value {
        let mut root = json!({
            "@odata.id": "/redfish/v1/", "@odata.type": "#ServiceRoot.v1_9_0.ServiceRoot",
            "RedfishVersion": "1.11.0",
            "Systems": link("/redfish/v1/Systems"), "Managers": link("/redfish/v1/Managers"),
        });
        if let Some(vendor) = self.profile.vendor {
            root["Vendor"] = vendor.into();
        }
        if let Some(oem) = self.profile.oem {
            root["Oem"] = json!({oem: {}});
        }
        if self.profile.has_sessions {
            root["Links"] = json!({"Sessions": link("/redfish/v1/SessionService/Sessions")});
        }
        root
    }

    fn system_body(&self) -> Value {
        let path = self.system();
        let reset = format!("{path}/Actions/ComputerSystem.Reset");
        let reset = if self.profile.reset_in_action_info {
            json!({"target": reset, "@Redfish.ActionInfo": format!("{path}/ResetActionInfo")})
        } else {
            json!({"target": reset, "ResetType@Redfish.AllowableValues":
                ["On", "ForceOff", "ForceRestart", "GracefulShutdown"]})
        };
        let mut body = json!({
            "@odata.id": path, "@odata.type": "#ComputerSystem.v1_16_0.ComputerSystem",
            "Id": self.profile.system, "Manufacturer": self.profile.manufacturer,
            "Model": self.profile.model, "SerialNumber": 12345,
            "PowerState": self.power, "Boot": self.boot_body(false),
            "MemorySummary": {"TotalSystemMemoryGiB": "64"},
            "Processors": link(&format!("{path}/Processors")),
            "EthernetInterfaces": link(&format!("{path}/EthernetInterfaces")),
            "SecureBoot": link(&format!("{path}/SecureBoot")),
            "Links": {"ManagedBy": [link(&self.manager())]},
            "Actions": {"#ComputerSystem.Reset": reset},
        });
        if let Some((name, _)) = self.profile.settings {
            let settings = link(&format!("{path}/{name}"));
            body["@Redfish.Settings"] = json!({"SettingsObject": settings});
        }
        if self.profile.media_at == MediaAt::System {
            body["VirtualMedia"] = link(&self.media_path());
        }
        if self.profile.has_log {
            body["LogServices"] = link(&format!("{path}/LogServices"));
        }
        body
    }

    fn manager_body(&self) -> Value {
        let path = self.manager();
        let mut body = json!({
            "@odata.id": path, "@odata.type": "#Manager.v1_11_0.Manager",
            "Model": self.profile.manager_model, "FirmwareVersion": "1.2.3",
        });
        if self.profile.media_at == MediaAt::Manager {
            body["VirtualMedia"] = link(&self.media_path());
        }
        if self.profile.slots_hidden {
            body["Actions"] = json!({"Oem": {"#AMIVirtualMedia.EnableRMedia": {
                "target": format!("{path}/Actions/Oem/AMIVirtualMedia.EnableRMedia")}}});
        }
        body
    }

    fn media_collection(&self, path: &str) -> Value {
        if self.slots_hidden {
            return collection(path, &[]);
        }
        let slots = self.profile.slots.iter().map(|slot| format!("{path}/{}", slot.id));
        collection(path, &slots.collect::<Vec<_>>())
    }

    fn iso_body(&self, path: &str) -> Value {
        let mut body = self.iso.clone();
        let action = |name: &str| json!({"target": format!("{path}/Actions/{name}")});
        body["@odata.id"] = path.into();
        body["Actions"] = json!({"#IsoConfig.Mount": action("IsoConfig.Mount"),
            "#IsoConfig.UnMount": action("IsoConfig.UnMount")});
        body
    }

    fn settings(&self, path: &str) -> Option<Value> {
        let (name, _) = self.profile.settings?;
        let is_it = path == format!("{}/{name}", self.system());
        is_it.then(|| json!({"@odata.id": path, "Boot": self.boot_body(true)}))
    }

    fn inventory(&self, path: &str) -> Option<Value> {
        let within = path.strip_prefix(&format!("{}/", self.system()))?;
        let below = |names: &[&str]| {
            let members: Vec<String> = names.iter().map(|name| format!("{path}/{name}")).collect();
            collection(path, &members)
        };
        Some(match within {
            "Processors" => below(&["CPU1", "CPU2", "GPU1"]),
            "Processors/CPU1" | "Processors/CPU2" => json!({"ProcessorType": "CPU",
                "Model": "Xeon", "TotalCores": 16, "TotalThreads": "32"}),
            "Processors/GPU1" => json!({"ProcessorType": "GPU", "TotalCores": 9999}),
            "EthernetInterfaces" => below(&["NIC1", "NIC2", "NIC3"]),
            "EthernetInterfaces/NIC1" => json!({"Id": "NIC1", "MACAddress": "52:54:00:00:00:01",
                "LinkStatus": "LinkUp", "SpeedMbps": 25000}),
            "EthernetInterfaces/NIC2" => json!({"Id": 2, "PermanentMACAddress": "525400000002",
                "MACAddress": "52:54:00:00:00:01", "SpeedMbps": null}),
            "SecureBoot" => json!({"SecureBootEnable": true, "SecureBootCurrentBoot": "Enabled"}),
            _ if self.profile.has_log => return self.log(path, within),
            _ => return None,
        })
    }

    fn log(&self, path: &str, within: &str) -> Option<Value> {
        Some(match within {
            "LogServices" => collection(path, &[format!("{path}/Audit"), format!("{path}/Sel")]),
            "LogServices/Audit" => json!({"Id": "Audit", "Entries": link(&format!("{path}/E"))}),
            "LogServices/Sel" => json!({"Id": "Sel", "Entries": link(&format!("{path}/Entries"))}),
            "LogServices/Audit/E" => json!({"Members": [{"Id": "1", "Message": "Login."}]}),
            "LogServices/Sel/Entries" => json!({
                "Members": [{"Id": "2", "Created": "2026-12-01T10:00:02Z", "Message": "Fan"}],
                "Members@odata.nextLink": format!("{path}/2")}),
            "LogServices/Sel/Entries/2" => json!({
                "Members": [link(&format!("{path}/One"))]}),
            "LogServices/Sel/Entries/2/One" => json!({
                "Id": "1", "Created": "2026-12-01T10:00:01Z",
                "Message": "0100c1112233444c4c0004aabb011234"}),
            _ => return None,
        })
    }
}

//! `Boot` of a simulated BMC: where it is, and what it lets be written.

use axum::body::Body;
use axum::http::Response;
use serde_json::{Map, Value};

use super::answer::{no_content, refusal};
use super::profile::BootRule;
use super::world::{Seen, World};

impl World {
    /// Properties of `Boot` in one of its two places, with what they may become.
    pub(crate) fn boot_body(&self, in_settings: bool) -> Value {
        let mut body = Map::new();
        let lives_there =
            |name: &str| self.profile.settings.is_some_and(|(_, names)| names.contains(&name));
        for (name, value) in self.boot.as_object().unwrap() {
            if (in_settings && !lives_there(name)) || (name.ends_with("Mode") && value.is_null()) {
                continue;
            }
            body.insert(name.clone(), value.clone());
            let allowed = match name.as_str() {
                "BootSourceOverrideTarget" => self.profile.targets,
                "BootSourceOverrideEnabled" => self.profile.enabled,
                _ => &[],
            };
            if !allowed.is_empty() && (in_settings || !lives_there(name)) {
                let allowed: Vec<Value> = allowed.iter().map(|value| (*value).into()).collect();
                body.insert(format!("{name}@Redfish.AllowableValues"), allowed.into());
            }
        }
        body.into()
    }

    pub(crate) fn patch_boot(&mut self, seen: &Seen, in_settings: bool) -> Response<Body> {
        let Some(changes) = seen.body.get("Boot").and_then(Value::as_object) else {
            return refusal(400, "Base.1.8.PropertyUnknown", "Only Boot.", &[]);
        };
        for (name, value) in changes {
            if let Some(refused) = self.property_refusal(name, value, in_settings) {
                return refused;
            }
        }
        let target = changes.get("BootSourceOverrideTarget");
        match self.profile.boot_rule {
            BootRule::NeedsTarget if target.is_none() => {
                return refusal(400, "", "Missing the BootSourceOverrideTarget", &[]);
            }
            // Accepted, and forgotten.
            BootRule::Triple if changes.len() < 3 && target.is_some() => return no_content(),
            BootRule::Lenient
            | BootRule::ModeReadOnly
            | BootRule::Triple
            | BootRule::NeedsTarget => {}
        }
        for (name, value) in changes {
            self.boot[name] = value.clone();
        }
        self.version += 1;
        no_content()
    }

    fn property_refusal(
        &self,
        name: &str,
        value: &Value,
        in_settings: bool,
    ) -> Option<Response<Body>> {
        let lives = self.profile.settings.is_some_and(|(_, names)| names.contains(&name));
        if lives != in_settings || (self.boot[name].is_null() && name.ends_with("Mode")) {
            let id = "Base.1.8.PropertyNotWritable";
            return Some(refusal(400, id, "Read-only here.", &[name]));
        }
        if self.profile.boot_rule == BootRule::ModeReadOnly && name.ends_with("Mode") {
            let id = "Base.1.8.PropertyNotWritableOrUnknown";
            return Some(refusal(400, id, "Read-only.", &[name]));
        }
        let allowed = match name {
            "BootSourceOverrideTarget" => self.profile.targets,
            "BootSourceOverrideEnabled" => self.profile.enabled,
            _ => &[],
        };
        let value = value.as_str().unwrap_or_default();
        let fits = allowed.is_empty() || allowed.contains(&value);
        (!fits).then(|| refusal(400, "Base.1.8.PropertyValueNotInList", "No.", &[value, name]))
    }
}

//! A Redfish resource as BMCs really give it: properties may be absent, null, empty, or of
//! another type than the schema says, and enums have values that no schema knows.

use serde_json::Value;

/// A resource with what its answer told beside the body.
#[derive(Debug, Clone)]
pub(super) struct Resource {
    /// Path it was read from.
    pub(super) path: String,
    /// ETag of the header, else `@odata.etag`.
    pub(super) etag: Option<String>,
    /// Methods in `Allow`, upper case.
    pub(super) allow: Vec<String>,
    pub(super) value: Value,
}

impl Resource {
    /// Takes the ETag from the body where no header had it.
    pub(super) fn tagged(mut self) -> Self {
        if self.etag.as_deref().unwrap_or_default().is_empty() {
            self.etag = text(&self.value, "/@odata.etag");
        }
        self
    }

    /// A string; numbers and booleans are read as text, null and blank as absent.
    pub(super) fn text(&self, pointer: &str) -> Option<String> {
        text(&self.value, pointer)
    }

    /// A boolean, or a string that says one.
    pub(super) fn boolean(&self, pointer: &str) -> Option<bool> {
        boolean(self.value.pointer(pointer)?)
    }

    /// A number, or a string that holds one.
    pub(super) fn number(&self, pointer: &str) -> Option<f64> {
        match self.value.pointer(pointer)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Path of a linked resource.
    pub(super) fn link(&self, pointer: &str) -> Option<String> {
        link(self.value.pointer(pointer)?)
    }

    /// Paths in an array of links, or of a single link.
    pub(super) fn links(&self, pointer: &str) -> Vec<String> {
        match self.value.pointer(pointer) {
            Some(Value::Array(list)) => list.iter().filter_map(link).collect(),
            Some(single) => link(single).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Members of a collection: `Members`, or `Items` of old iLO.
    pub(super) fn members(&self) -> Vec<String> {
        self.links("/Members")
    }

    /// An action by its full name, with or without the leading `#`.
    pub(super) fn action(&self, name: &str) -> Option<Action> {
        let actions = self.value.get("Actions")?;
        let body = actions.get(format!("#{name}")).or_else(|| actions.get(name))?;
        Action::read(body)
    }

    /// An action of a manufacturer, wherever it is put, whose name ends with `suffix`.
    pub(super) fn oem_action(&self, suffix: &str) -> Option<Action> {
        let own = self.value.pointer("/Actions/Oem");
        let oem = self.value.get("Oem").and_then(Value::as_object);
        let vendors = oem.into_iter().flat_map(|oem| oem.values());
        let places = vendors.filter_map(|vendor| vendor.get("Actions")).chain(own);
        places
            .filter_map(Value::as_object)
            .flatten()
            .find(|(name, _)| name.trim_start_matches('#').ends_with(suffix))
            .and_then(|(_, body)| Action::read(body))
    }

    /// Type name without version: `ComputerSystem` of `#ComputerSystem.v1_5_0.ComputerSystem`.
    pub(super) fn kind(&self) -> Option<String> {
        let full = self.text("/@odata.type")?;
        let name = full.trim_start_matches('#').split('.').next().unwrap_or_default();
        (!name.is_empty()).then(|| name.to_owned())
    }
}

/// An action that a resource offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Action {
    /// Where to post.
    pub(super) target: String,
    /// `@Redfish.ActionInfo`.
    pub(super) info: Option<String>,
    /// `ResetType@Redfish.AllowableValues`.
    pub(super) reset_types: Vec<String>,
}

impl Action {
    fn read(body: &Value) -> Option<Self> {
        Some(Self {
            target: text(body, "/target")?,
            info: text(body, "/@Redfish.ActionInfo"),
            reset_types: strings(body.get("ResetType@Redfish.AllowableValues")),
        })
    }
}

/// `Boot` of a system or of its settings object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Boot {
    pub(super) enabled: Property,
    pub(super) target: Property,
    pub(super) mode: Property,
}

/// One property with what it may become.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Property {
    /// Whether the body has it, or its allowable values, at all.
    pub(super) present: bool,
    /// Value; `None` for null and "".
    pub(super) value: Option<String>,
    /// `@Redfish.AllowableValues`; empty means not restricted.
    pub(super) allowed: Vec<String>,
}

impl Property {
    fn read(boot: &Value, name: &str) -> Self {
        let allowed = boot.get(format!("{name}@Redfish.AllowableValues"));
        Self {
            present: boot.get(name).is_some() || allowed.is_some(),
            value: text(boot, &format!("/{name}")),
            allowed: strings(allowed),
        }
    }

    /// Whether the BMC takes `value`, as far as it says.
    pub(super) fn allows(&self, value: &str) -> bool {
        self.allowed.is_empty() || self.allowed.iter().any(|allowed| allowed == value)
    }
}

impl Boot {
    /// Reads `Boot`; `None` where there is none.
    pub(super) fn read(resource: &Resource) -> Option<Self> {
        let boot = resource.value.get("Boot").filter(|boot| boot.is_object())?;
        Some(Self {
            enabled: Property::read(boot, "BootSourceOverrideEnabled"),
            target: Property::read(boot, "BootSourceOverrideTarget"),
            mode: Property::read(boot, "BootSourceOverrideMode"),
        })
    }
}

/// A virtual media slot.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) path: String,
    pub(super) etag: Option<String>,
    pub(super) id: String,
    pub(super) types: Vec<String>,
    pub(super) image: Option<String>,
    pub(super) inserted: Option<bool>,
    pub(super) connected: Option<String>,
    pub(super) insert: Option<String>,
    pub(super) eject: Option<String>,
    /// Huawei's own way in and out.
    pub(super) vmm_control: Option<String>,
    /// Whether the slot itself can be patched.
    pub(super) takes_patch: bool,
}

impl Slot {
    pub(super) fn read(resource: &Resource) -> Self {
        let target = |name| resource.action(name).map(|action| action.target);
        let last = resource.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        Self {
            path: resource.path.clone(),
            etag: resource.etag.clone(),
            id: resource.text("/Id").unwrap_or_else(|| last.to_owned()),
            types: strings(resource.value.get("MediaTypes")),
            image: resource.text("/Image"),
            inserted: resource.boolean("/Inserted"),
            connected: resource.text("/ConnectedVia"),
            insert: target("VirtualMedia.InsertMedia"),
            eject: target("VirtualMedia.EjectMedia"),
            vmm_control: resource.oem_action("VmmControl").map(|action| action.target),
            takes_patch: resource.allow.iter().any(|method| method == "PATCH"),
        }
    }

    /// Whether a CD image can go in: CD, or DVD alone, or nothing said.
    pub(super) fn is_cd(&self) -> bool {
        let is_disc = |kind: &String| matches!(kind.to_uppercase().as_str(), "CD" | "DVD");
        self.types.is_empty() || self.types.iter().any(is_disc)
    }

    /// What is in it. An ejected slot may keep its image's name: the connection tells.
    pub(super) fn holds(&self) -> Option<&str> {
        let is_apart = self.connected.as_deref() == Some("NotConnected");
        if is_apart || self.inserted == Some(false) {
            return None;
        }
        match self.inserted {
            Some(true) => Some(self.image.as_deref().unwrap_or("an image without a name")),
            _ => self.image.as_deref(),
        }
    }

    /// Whether the BMC says that nothing is in it, rather than nothing.
    pub(super) fn is_surely_empty(&self) -> bool {
        self.inserted == Some(false)
            && (self.image.is_none() || self.connected.as_deref() == Some("NotConnected"))
    }
}

/// See [`Resource::text`].
pub(super) fn text(value: &Value, pointer: &str) -> Option<String> {
    let text = match value.pointer(pointer)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Strings of an array, or a single one.
pub(super) fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(list)) => {
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(Value::String(single)) => vec![single.clone()],
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    }
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "enabled" => Some(true),
            "false" | "disabled" => Some(false),
            _ => None,
        },
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn link(value: &Value) -> Option<String> {
    let path = value.get("@odata.id").unwrap_or(value).as_str()?;
    let path = path.split('#').next().unwrap_or_default();
    (!path.is_empty()).then(|| path.to_owned())
}

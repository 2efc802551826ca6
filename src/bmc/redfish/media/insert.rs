//! Putting an image into the first slot that takes it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::described;
use crate::bmc::redfish::Redfish;
use crate::bmc::redfish::error::{Cause, RedfishError, Step};
use crate::bmc::redfish::quirks::{self, InsertField};
use crate::bmc::redfish::resource::Slot;
use crate::bmc::{Class, Classified, MediaSlot};

const STEP: Step = Step::InsertingMedia;
/// How long a slot may take to show what was put into it.
const APPEARS: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_secs(2);

impl Redfish {
    pub(super) async fn insert_somewhere(
        &self,
        slots: &[Slot],
        url: &url::Url,
    ) -> Result<MediaSlot, RedfishError> {
        if slots.is_empty() {
            let text = "this BMC shows no virtual CD or DVD: it may lack a licence for virtual \
                        media, or have it switched off";
            return Err(Cause::Unsupported(text.to_owned()).at(STEP));
        }
        let mut tried = Vec::new();
        let mut transient = false;
        for slot in slots {
            let error = match self.insert_into(slot, url).await {
                Ok(inserted) => return Ok(inserted),
                Err(error) => error,
            };
            // Another slot can't help when the BMC is gone or the login is.
            let is_about_slot = match &*error.cause {
                Cause::Refused { answer } => answer.status != 401 && answer.status != 403,
                Cause::Unsupported(_) | Cause::NotReached { .. } | Cause::TaskFailed { .. } => true,
                _ => false,
            };
            if !is_about_slot || slots.len() == 1 {
                return Err(error);
            }
            tracing::info!(slot = slot.id, cause = %error.cause, "slot does not take the image");
            transient |= error.class() == Class::Transient;
            tried.push(format!("{}: {}", slot.id, error.cause));
        }
        Err(Cause::NoSlot { tried, transient }.at(STEP))
    }

    async fn insert_into(&self, slot: &Slot, url: &url::Url) -> Result<MediaSlot, RedfishError> {
        if let Some(target) = &slot.insert {
            self.post_insert(target, url).await?;
        } else if let Some(target) = &slot.vmm_control {
            self.client.post(STEP, target, Some(&quirks::vmm_connect(url.as_str()))).await?;
        } else if slot.takes_patch {
            // Here both must be sent; as action parameters they are refused by some.
            let body = json!({"Image": url.as_str(), "Inserted": true, "WriteProtected": true});
            let etag = slot.etag.as_deref();
            self.client.patch(STEP, &slot.path, &body, etag, self.quirks.if_match).await?;
        } else {
            let text = "the slot can't be filled from a URL".to_owned();
            return Err(Cause::Unsupported(text).at(STEP));
        }
        self.see_inserted(slot, url).await
    }

    /// Posts `Image`, and whatever else the BMC says is missing.
    async fn post_insert(&self, target: &str, url: &url::Url) -> Result<(), RedfishError> {
        let mut fields: Vec<InsertField> = self.quirks.insert_fields.to_vec();
        let mut faults = quirks::INSERT_FAULT.waits();
        loop {
            let body = insert_body(url, &fields);
            let error = match self.client.post(STEP, target, Some(&body)).await {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            if error.status().is_some_and(|status| status >= 500 && status != 501) {
                let Some(wait) = faults.next() else { return Err(error) };
                tokio::time::sleep(wait).await;
                continue;
            }
            match missing(&error, &fields) {
                Some(field) => fields.push(field),
                None => return Err(error),
            }
        }
    }

    /// Reads the slot again until it shows the image, or does not say that it is empty.
    async fn see_inserted(&self, slot: &Slot, url: &url::Url) -> Result<MediaSlot, RedfishError> {
        let mut waited = Duration::ZERO;
        loop {
            let now = Slot::read(&self.client.get(STEP, &slot.path).await?);
            if !now.is_surely_empty() {
                let seen = described(&now);
                // Some tell nothing about what is in it.
                let image = seen.image.or_else(|| Some(url.to_string()));
                return Ok(MediaSlot { id: seen.id, image });
            }
            if waited >= APPEARS {
                let what = format!("slot {} is still empty", slot.id);
                return Err(Cause::NotReached { what, after: waited }.at(STEP));
            }
            tokio::time::sleep(POLL).await;
            waited += POLL;
        }
    }
}

fn insert_body(url: &url::Url, fields: &[InsertField]) -> Value {
    let mut body = Map::from_iter([("Image".to_owned(), Value::from(url.as_str()))]);
    for field in fields {
        match field {
            InsertField::Protocol => {
                body.insert("TransferProtocolType".to_owned(), url.scheme().to_uppercase().into());
            }
            InsertField::Method => {
                body.insert("TransferMethod".to_owned(), "Stream".into());
            }
            InsertField::Login => {
                body.insert("UserName".to_owned(), "none".into());
                body.insert("Password".to_owned(), "none".into());
            }
        }
    }
    Value::Object(body)
}

/// The field that a refusal asks for and that was not sent.
fn missing(error: &RedfishError, sent: &[InsertField]) -> Option<InsertField> {
    let answer = error.answer().filter(|answer| matches!(answer.status, 400 | 422))?;
    let known = [
        (InsertField::Protocol, ["TransferProtocolType", "TransferProtocol"]),
        (InsertField::Method, ["TransferMethod", "transfer method"]),
        (InsertField::Login, ["UserName", "Password"]),
    ];
    known
        .into_iter()
        .find(|(field, names)| {
            !sent.contains(field) && names.iter().any(|name| answer.mentions(name))
        })
        .map(|(field, _)| field)
}

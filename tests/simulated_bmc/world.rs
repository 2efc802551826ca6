//! State of a simulated BMC, and which part of it answers what.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Response, StatusCode, request};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::{self, no_content, not_found, ok, refusal};
use super::profile::{Etag, Profile};
use super::{PASSWORD, USER};

/// A misbehaviour.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// This many reads get 503.
    ReadsFail(u32),
    /// This many inserts get 500, as while an eject is finishing.
    InsertsFail(u32),
    /// Inserts into this slot are refused with this status.
    SlotRefuses(&'static str, u16),
    /// Inserts are accepted, and nothing is inserted.
    InsertLies,
    /// Inserts are tasks that end in this state.
    InsertIsTask(&'static str),
    /// On is refused with 409 until then.
    ConflictOnOn(Instant),
    /// Every reset is refused with 409, though the state is as wanted.
    ConflictThoughDone,
    /// This many PATCHes are refused because the host is in POST.
    InPost(u32),
    /// `Inserted` stays true after an eject, until something is inserted.
    StaleInserted,
    /// No session is free.
    NoSessionFree,
    /// All sessions are gone now.
    SessionsLost,
    /// Every answer is a web page.
    Html,
    /// Every answer ends too early.
    Truncated,
    /// Every answer is too large.
    Huge,
    /// Reads of the root are sent elsewhere.
    Redirect(String),
    /// `Accept-Encoding: identity` gets 406.
    IdentityRefused,
    /// Every answer takes this long.
    Slow(Duration),
    /// This path is not there.
    Missing(&'static str),
}

/// One request that came in.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) if_match: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) basic: bool,
    pub(crate) identity: bool,
}

impl Seen {
    pub(crate) fn new(head: &request::Parts, body: Value) -> Self {
        let text = |name: &str| head.headers.get(name)?.to_str().ok().map(str::to_owned);
        let expected = {
            use base64::Engine;
            let pair = format!("{USER}:{PASSWORD}");
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
        };
        Self {
            method: head.method.to_string(),
            path: head.uri.path().trim_end_matches('/').to_owned(),
            body,
            if_match: text("if-match"),
            token: text("x-auth-token"),
            basic: text("authorization") == Some(expected),
            identity: text("accept-encoding").as_deref() == Some("identity"),
        }
    }

    pub(crate) fn is(&self, method: &str, path_end: &str) -> bool {
        self.method == method && self.path.ends_with(path_end)
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Slot {
    pub(crate) image: Option<String>,
    pub(crate) stale: bool,
}

pub(crate) struct World {
    pub(crate) profile: Profile,
    pub(crate) faults: Vec<Fault>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) power: &'static str,
    pub(crate) switching: Option<(Instant, &'static str)>,
    /// `Boot` of the system.
    pub(crate) boot: Value,
    pub(crate) slots: Vec<Slot>,
    pub(crate) slots_hidden: bool,
    pub(crate) sessions: Vec<String>,
    pub(crate) sessions_made: usize,
    pub(crate) version: u32,
    pub(crate) iso: Value,
    pub(crate) iso_mounted: bool,
    pub(crate) task_polls: u32,
}

impl World {
    pub(crate) fn new(profile: Profile) -> Self {
        let boot = json!({
            "BootSourceOverrideEnabled": "Disabled",
            "BootSourceOverrideTarget": "None",
            "BootSourceOverrideMode": profile.mode,
        });
        Self {
            slots: vec![Slot::default(); profile.slots.len()],
            slots_hidden: profile.slots_hidden,
            profile,
            faults: Vec::new(),
            seen: Vec::new(),
            power: "Off",
            switching: None,
            boot,
            sessions: Vec::new(),
            sessions_made: 0,
            version: 1,
            iso: json!({"Host": "", "Path": ""}),
            iso_mounted: false,
            task_polls: 0,
        }
    }

    pub(crate) fn system(&self) -> String {
        format!("/redfish/v1/Systems/{}", self.profile.system)
    }

    pub(crate) fn manager(&self) -> String {
        format!("/redfish/v1/Managers/{}", self.profile.manager)
    }

    pub(crate) fn slowness(&self) -> Duration {
        let slow = self.faults.iter().find_map(|fault| match fault {
            Fault::Slow(wait) => Some(*wait),
            _ => None,
        });
        slow.unwrap_or_default()
    }

    /// Whether a fault that counts down still has something left; uses one up.
    pub(crate) fn use_up(&mut self, is: fn(&mut Fault) -> Option<&mut u32>) -> bool {
        let Some(left) = self.faults.iter_mut().find_map(is) else { return false };
        let had = *left > 0;
        *left = left.saturating_sub(1);
        had
    }

    pub(crate) fn etag(&self) -> Option<String> {
        match self.profile.etag {
            Etag::None => None,
            Etag::Strong => Some(format!("\"{}\"", self.version)),
            Etag::Weak => Some(format!("W/\"{}\"", self.version)),
        }
    }

    pub(crate) fn answer(&mut self, seen: Seen) -> Response<Body> {
        self.seen.push(seen.clone());
        self.switch_when_due();
        if let Some(response) = self.everywhere(&seen) {
            return response;
        }
        if let Some(response) = self.session(&seen) {
            return response;
        }
        let is_in =
            seen.basic || seen.token.as_ref().is_some_and(|token| self.sessions.contains(token));
        if seen.path != "/redfish/v1" && !is_in {
            let text = "There is no valid session established with the implementation.";
            return refusal(401, "Base.1.8.NoValidSession", text, &[]);
        }
        let mut response = match seen.method.as_str() {
            "GET" => self.read(&seen.path),
            "PATCH" => self.patch(&seen),
            "POST" => self.act(&seen),
            _ => refusal(405, "Base.1.8.OperationNotAllowed", "Not here.", &[]),
        };
        if seen.method == "GET" && response.status() == StatusCode::OK {
            if let Some(tag) = self.etag() {
                response.headers_mut().insert("etag", tag.parse().unwrap());
            }
            response.headers_mut().insert("allow", "GET, HEAD, PATCH".parse().unwrap());
        }
        response
    }

    /// Faults that any request meets.
    fn everywhere(&mut self, seen: &Seen) -> Option<Response<Body>> {
        let is_fault = |fault: &Fault| self.faults.contains(fault);
        if is_fault(&Fault::Html) {
            return Some(answer::html(200));
        }
        if is_fault(&Fault::Truncated) {
            return Some(answer::truncated());
        }
        if is_fault(&Fault::Huge) {
            return Some(answer::huge());
        }
        if is_fault(&Fault::IdentityRefused) && seen.identity {
            return Some(refusal(406, "Base.1.8.NotAcceptable", "", &[]));
        }
        if self.faults.contains(&Fault::SessionsLost) {
            self.faults.retain(|fault| *fault != Fault::SessionsLost);
            self.sessions.clear();
        }
        for fault in &self.faults {
            match fault {
                Fault::Redirect(to) if seen.path == "/redfish/v1" => {
                    return Some(answer::redirect(to));
                }
                Fault::Missing(path) if seen.path == *path => return Some(not_found(path)),
                _ => {}
            }
        }
        fn reads(fault: &mut Fault) -> Option<&mut u32> {
            match fault {
                Fault::ReadsFail(left) => Some(left),
                _ => None,
            }
        }
        (seen.method == "GET" && self.use_up(reads))
            .then(|| refusal(503, "Base.1.8.ServiceTemporarilyUnavailable", "Try later.", &[]))
    }

    fn session(&mut self, seen: &Seen) -> Option<Response<Body>> {
        const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
        if !seen.path.starts_with(SESSIONS) {
            return None;
        }
        if seen.method == "DELETE" {
            let token = seen.path.rsplit('/').next().unwrap_or_default().to_owned();
            self.sessions.retain(|session| *session != token);
            return Some(no_content());
        }
        if self.faults.contains(&Fault::NoSessionFree) {
            let text = "The maximum number of user sessions is reached.";
            return Some(refusal(503, "IDRAC.2.1.RAC0218", text, &[]));
        }
        if self.profile.session_wants_domain && seen.body.get("Oem").is_none() {
            let text = "The property Oem/Huawei/Domain is missing.";
            return Some(refusal(400, "Base.1.0.PropertyMissing", text, &["Domain"]));
        }
        if seen.body["UserName"] != USER || seen.body["Password"] != PASSWORD {
            let text = "The credentials are not valid.";
            return Some(refusal(401, "Base.1.8.ResourceAtUriUnauthorized", text, &[]));
        }
        self.sessions_made += 1;
        let token = format!("token{}", self.sessions_made);
        self.sessions.push(token.clone());
        let mut response = answer::with_status(StatusCode::CREATED, &json!({"Id": token}));
        // BMCs like to name themselves as they see themselves.
        let location = format!("https://bmc.internal{SESSIONS}/{token}");
        response.headers_mut().insert("x-auth-token", token.parse().unwrap());
        response.headers_mut().insert("location", location.parse().unwrap());
        Some(response)
    }

    fn act(&mut self, seen: &Seen) -> Response<Body> {
        if seen.path == format!("{}/Actions/ComputerSystem.Reset", self.system()) {
            return self.reset(seen.body["ResetType"].as_str().unwrap_or_default());
        }
        self.act_on_media(seen)
    }

    fn reset(&mut self, kind: &str) -> Response<Body> {
        if self.faults.contains(&Fault::ConflictThoughDone) {
            self.power = if kind == "On" { "On" } else { "Off" };
            return refusal(409, "Base.1.8.ResourceInUse", "Already so.", &[]);
        }
        let is_refused = |fault: &Fault| {
            matches!(fault, Fault::ConflictOnOn(until)
            if kind == "On" && Instant::now() < *until)
        };
        if self.faults.iter().any(is_refused) {
            let id = "Base.1.18.ActionParameterValueConflict";
            return refusal(409, id, "Unable to switch on now.", &["ResetType"]);
        }
        let target = match kind {
            "On" | "ForceOn" | "ForceRestart" | "PowerCycle" => "On",
            "ForceOff" | "GracefulShutdown" => "Off",
            other => {
                return refusal(400, "Base.1.8.ActionParameterNotSupported", "What?", &[other]);
            }
        };
        self.switching = Some((Instant::now() + self.profile.power_takes, target));
        no_content()
    }

    fn switch_when_due(&mut self) {
        if let Some((due, target)) = self.switching
            && Instant::now() >= due
        {
            self.power = target;
            self.switching = None;
        }
    }

    pub(crate) fn etag_refusal(&self, seen: &Seen) -> Option<Response<Body>> {
        let given = seen.if_match.as_deref();
        if given.is_none() && self.profile.if_match_mandatory {
            let id = "Ami.1.0.PreconditionHeaderMissing";
            return Some(refusal(428, id, "Give an If-Match header.", &[]));
        }
        let strong = format!("\"{}\"", self.version);
        let fits = given.is_none_or(|given| given == strong || given == "*");
        (!fits).then(|| refusal(412, "Base.1.8.PreconditionFailed", "Stale.", &[]))
    }

    fn patch(&mut self, seen: &Seen) -> Response<Body> {
        if let Some(refused) = self.etag_refusal(seen) {
            return refused;
        }
        fn in_post(fault: &mut Fault) -> Option<&mut u32> {
            match fault {
                Fault::InPost(left) => Some(left),
                _ => None,
            }
        }
        if self.use_up(in_post) {
            let id = "iLO.2.37.UnableToModifyDuringSystemPOST";
            return refusal(400, id, "", &["BootSourceOverrideTarget"]);
        }
        let system = self.system();
        let settings = self.profile.settings.map(|(name, _)| format!("{system}/{name}"));
        if seen.path == system || Some(&seen.path) == settings.as_ref() {
            return self.patch_boot(seen, seen.path != system);
        }
        self.patch_media(seen)
    }

    pub(crate) fn ok(&self, body: &Value) -> Response<Body> {
        ok(body)
    }
}

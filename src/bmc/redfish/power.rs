//! Power through `ComputerSystem.Reset`.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::error::{Cause, RedfishError, Step};
use super::resource::{Action, Resource, strings};
use super::{Redfish, quirks};
use crate::bmc::{Power, PowerControl, PowerOff};

/// Between two looks at the power state.
const POLL: Duration = Duration::from_secs(2);
/// Longest that switching may take: BMCs cache the state for half a minute and more.
const SWITCHING: Duration = Duration::from_secs(120);

/// `PowerState` of a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PowerState {
    On,
    Off,
    PoweringOn,
    PoweringOff,
    /// BlueField: On is accepted and does nothing.
    Paused,
}

impl PowerState {
    fn read(system: &Resource) -> Result<Self, Cause> {
        let text = system.text("/PowerState").unwrap_or_default();
        match text.to_ascii_lowercase().as_str() {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            "poweringon" => Ok(Self::PoweringOn),
            "poweringoff" => Ok(Self::PoweringOff),
            "paused" => Ok(Self::Paused),
            _ => Err(Cause::Unreadable { property: "PowerState", value: text }),
        }
    }

    const fn power(self) -> Power {
        match self {
            Self::On | Self::PoweringOn | Self::Paused => Power::On,
            Self::Off | Self::PoweringOff => Power::Off,
        }
    }
}

impl PowerControl for Redfish {
    type Error = RedfishError;

    async fn power(&self) -> Result<Power, RedfishError> {
        Ok(self.power_state(Step::ReadingPower).await?.0.power())
    }

    async fn power_on(&self) -> Result<(), RedfishError> {
        let (state, system) = self.power_state(Step::SettingPower).await?;
        let wanted: &[&str] = match state {
            PowerState::On | PowerState::PoweringOn => return Ok(()),
            PowerState::Off | PowerState::PoweringOff => &["On", "ForceOn"],
            PowerState::Paused => &["ForceRestart", "On"],
        };
        self.reset(&system, wanted, Some(Power::On)).await
    }

    async fn power_off(&self, how: PowerOff) -> Result<(), RedfishError> {
        let (state, system) = self.power_state(Step::SettingPower).await?;
        match (state.power(), how) {
            (Power::Off, _) => Ok(()),
            (Power::On, PowerOff::Hard) => {
                self.reset(&system, &["ForceOff"], Some(Power::Off)).await
            }
            (Power::On, PowerOff::Soft) => {
                self.reset(&system, &["GracefulShutdown", "PushPowerButton"], Some(Power::Off))
                    .await
            }
        }
    }
}

impl Redfish {
    /// Off, wait for it, on: the one reboot that works everywhere. A host that is off is switched
    /// on. Returns once the BMC accepted the last of it.
    ///
    /// # Errors
    /// As every operation; `NotReached` if the host stays on for two minutes.
    pub async fn power_cycle(&self) -> Result<(), RedfishError> {
        self.power_off(PowerOff::Hard).await?;
        self.wait_for_power(Power::Off, SWITCHING).await?;
        self.power_on().await
    }

    /// Presses the reset button. A host that is off stays off, and that is an error.
    ///
    /// # Errors
    /// As every operation.
    pub async fn power_reset(&self) -> Result<(), RedfishError> {
        let (state, system) = self.power_state(Step::SettingPower).await?;
        if state.power() == Power::Off {
            let text = "the host is off, and what is off can't be reset: use on".to_owned();
            return Err(Cause::Unsupported(text).at(Step::SettingPower));
        }
        if self.quirks.restart_hangs {
            return self.power_cycle().await;
        }
        self.reset(&system, &["ForceRestart", "PowerCycle"], None).await
    }

    /// Waits until the power is as wanted.
    ///
    /// # Errors
    /// `NotReached` after `deadline`, or what reading the state failed with.
    pub async fn wait_for_power(
        &self,
        want: Power,
        deadline: Duration,
    ) -> Result<(), RedfishError> {
        let reached = async {
            while self.power().await? != want {
                tokio::time::sleep(POLL).await;
            }
            Ok(())
        };
        tokio::time::timeout(deadline, reached).await.unwrap_or_else(|_| {
            let what = match want {
                Power::On => "the host is still off",
                Power::Off => "the host is still on",
            };
            let cause = Cause::NotReached { what: what.to_owned(), after: deadline };
            Err(cause.at(Step::SettingPower))
        })
    }

    async fn power_state(&self, step: Step) -> Result<(PowerState, Resource), RedfishError> {
        let system = self.client.get(step, &self.system).await?;
        let state = PowerState::read(&system);
        let state = state.map_err(|cause| cause.on(step, Method::GET, &self.system))?;
        Ok((state, system))
    }

    /// Posts the first reset type that the BMC offers. A refusal is no failure if the host is as
    /// wanted already: its state was old when it was read.
    async fn reset(
        &self,
        system: &Resource,
        types: &[&str],
        want: Option<Power>,
    ) -> Result<(), RedfishError> {
        let step = Step::SettingPower;
        let Some(action) = system.action("ComputerSystem.Reset") else {
            let text = "this system has no reset action".to_owned();
            return Err(Cause::Unsupported(text).at(step));
        };
        let offered = self.reset_types(&action).await?;
        let is_offered = |kind: &&&str| offered.is_empty() || offered.iter().any(|o| o == **kind);
        let Some(kind) = types.iter().find(is_offered) else {
            let text =
                format!("this BMC can't {}: it offers {}", types.join(" or "), offered.join(", "));
            return Err(Cause::Unsupported(text).at(step));
        };
        let body = json!({"ResetType": kind});
        let (conflict, backoff) = quirks::POWER_CONFLICT;
        let mut waits = backoff.waits();
        loop {
            let error = match self.client.post(step, &action.target, Some(&body)).await {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            let is_refusal = matches!(error.status(), Some(400 | 409));
            if let (true, Some(want)) = (is_refusal, want)
                && self.power().await? == want
            {
                return Ok(());
            }
            let is_conflict = error.answer().is_some_and(|answer| answer.has_id(conflict));
            let wait = if is_conflict { waits.next() } else { None };
            let Some(wait) = wait else { return Err(error) };
            tokio::time::sleep(wait).await;
        }
    }

    /// What the action takes: in the system, else in its ActionInfo; empty means not restricted.
    async fn reset_types(&self, action: &Action) -> Result<Vec<String>, RedfishError> {
        if !action.reset_types.is_empty() {
            return Ok(action.reset_types.clone());
        }
        let Some(path) = &action.info else { return Ok(Vec::new()) };
        let info = self.client.get_optional(Step::SettingPower, path).await?;
        let parameters = info.as_ref().and_then(|info| info.value.get("Parameters")?.as_array());
        let reset = parameters.into_iter().flatten().find(|parameter| {
            parameter.get("Name").and_then(serde_json::Value::as_str) == Some("ResetType")
        });
        Ok(strings(reset.and_then(|reset| reset.get("AllowableValues"))))
    }
}

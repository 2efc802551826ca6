//! Which of a BMC's systems is meant, and which managers belong to it.

use super::client::Client;
use super::error::{Cause, RedfishError, Step};
use super::resource::{Boot, Resource};

/// More systems than one BMC has.
const SYSTEMS_BOUND: usize = 64;
/// More managers than one BMC has.
const MANAGERS_BOUND: usize = 8;

/// Finds the system at `path`, or the only one that can be reset and booted.
pub(super) async fn find(
    client: &Client,
    root: &Resource,
    path: Option<&str>,
) -> Result<Resource, RedfishError> {
    let Some(path) = path else { return the_only(client, root).await };
    let what = match client.get(Step::FindingSystem, path).await {
        Ok(found) if is_system(&found) => return Ok(found),
        Ok(found) => format!("a {}", found.kind().unwrap_or_else(|| "resource".to_owned())),
        Err(error) if matches!(error.status(), Some(404 | 400 | 405)) => "nothing".to_owned(),
        Err(error) => return Err(error),
    };
    let systems = candidates(client, root).await?;
    let systems = systems.into_iter().map(|system| system.path).collect();
    Err(Cause::NotASystem { path: path.to_owned(), what, systems }.at(Step::FindingSystem))
}

/// By its type, or by what it can do where the type is missing.
fn is_system(resource: &Resource) -> bool {
    match resource.kind() {
        Some(kind) => kind == "ComputerSystem",
        None => resource.action("ComputerSystem.Reset").is_some(),
    }
}

async fn the_only(client: &Client, root: &Resource) -> Result<Resource, RedfishError> {
    let mut systems = candidates(client, root).await?;
    if systems.len() == 1 {
        return Ok(systems.remove(0));
    }
    let systems = systems.into_iter().map(|system| system.path).collect();
    Err(Cause::WhichSystem { systems }.at(Step::FindingSystem))
}

/// Systems that can be reset and booted; baseboards that show up as systems can't.
async fn candidates(client: &Client, root: &Resource) -> Result<Vec<Resource>, RedfishError> {
    let step = Step::FindingSystem;
    let path = root.link("/Systems").unwrap_or_else(|| "/redfish/v1/Systems".to_owned());
    let mut found = Vec::new();
    for member in client.get(step, &path).await?.members().iter().take(SYSTEMS_BOUND) {
        found.extend(client.get_optional(step, member).await?);
    }
    let can_reset = |system: &Resource| system.action("ComputerSystem.Reset").is_some();
    let (able, unable): (Vec<_>, Vec<_>) =
        found.into_iter().filter(can_reset).partition(|system| Boot::read(system).is_some());
    // Better a system that can only be switched than none.
    Ok(if able.is_empty() { unable } else { able })
}

/// The managers of a system: its links, else all that there are.
pub(super) async fn managers(
    client: &Client,
    root: &Resource,
    system: &Resource,
) -> Result<Vec<String>, RedfishError> {
    let mut managers = system.links("/Links/ManagedBy");
    if managers.is_empty()
        && let Some(path) = root.link("/Managers")
        && let Some(all) = client.get_optional(Step::FindingSystem, &path).await?
    {
        managers = all.members();
    }
    managers.truncate(MANAGERS_BOUND);
    Ok(managers)
}

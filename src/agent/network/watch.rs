//! Keeps the network as it should be while the agent runs: a link that went down and up lost its
//! routes and IPv6 addresses, a NIC may appear late.

use std::io;
use std::time::Duration;

use super::{Options, bring_up};
use crate::netdata::model::NetworkData;
use crate::netplan::{Plan, Policy, diff, resolve};
use crate::sys::netlink::{Netlink, NetlinkError};

/// Changes come in bursts: a bond that goes up is a dozen of them.
const QUIET: Duration = Duration::from_millis(500);

/// Watches until dropped, which is safe at any time. Whenever the kernel's state has drifted from
/// what `data` says, everything is applied again and the outcome goes to `progress`; what could
/// not be had at the time of the call is left alone until something changes.
///
/// # Errors
/// When the kernel gives no netlink socket, or no longer answers.
pub async fn watch(
    data: &NetworkData,
    options: &Options,
    progress: &mut (dyn FnMut(&str) + Send),
) -> io::Result<()> {
    let changes = Netlink::subscribe()?;
    let netlink = Netlink::open()?;
    let mut accepted = left(&netlink, data, options).await?;
    loop {
        changes.next().await;
        while tokio::time::timeout(QUIET, changes.next()).await.is_ok() {}
        if left(&netlink, data, options).await? == accepted {
            continue;
        }
        progress("the network has changed: applying again");
        let outcome = bring_up(data, options, progress).await;
        for failure in &outcome.failures {
            progress(&failure.to_string());
        }
        accepted = left(&netlink, data, options).await?;
    }
}

/// What would have to be done now.
async fn left(netlink: &Netlink, data: &NetworkData, options: &Options) -> io::Result<Plan> {
    let host = netlink.snapshot().await.map_err(|error| match error {
        NetlinkError::Read { source, .. } | NetlinkError::Refused { source, .. } => source,
    })?;
    let policy = Policy { allow_dhcp: options.allow_dhcp, own_machine: options.own_machine };
    Ok(diff(&host, &resolve(data, &host, &policy).desired))
}

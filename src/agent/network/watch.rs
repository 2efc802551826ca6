//! Keeps the network as it should be while the agent runs: a link that went down and up lost its
//! routes and IPv6 addresses, a NIC may appear late.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::lease::Leases;
use super::{Options, bring_up_with};
use crate::netdata::model::{Addressing, Network, NetworkData};
use crate::netplan::{Plan, diff, resolve};
use crate::sys::netlink::{Netlink, NetlinkError};

/// Changes come in bursts: a bond that goes up is a dozen of them.
const QUIET: Duration = Duration::from_millis(500);

/// Without leases and without changes, a look this often costs nothing.
const IDLE: Duration = Duration::from_secs(60);

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
    let mut leases = Leases::default();
    let mut accepted = None;
    loop {
        let now = left(&netlink, data, options, &leases).await?;
        // Leases that an earlier call got are not known here: they are asked for again at once.
        let is_due = leases
            .renewal()
            .map_or(accepted.is_none() && wants_lease(data, options), |due| due <= Instant::now());
        match &accepted {
            None if !is_due => accepted = Some(now),
            Some(known) if *known == now && !is_due => {}
            Some(_) | None => {
                progress("the network has changed, or a lease is due: applying again");
                let outcome = bring_up_with(data, options, &mut leases, progress).await;
                for failure in &outcome.failures {
                    progress(&failure.to_string());
                }
                accepted = Some(left(&netlink, data, options, &leases).await?);
            }
        }
        let next =
            leases.renewal().unwrap_or_else(|| Instant::now() + IDLE).max(Instant::now() + QUIET);
        if timeout_at(next, changes.next()).await.is_ok() {
            while timeout(QUIET, changes.next()).await.is_ok() {}
        }
    }
}

fn wants_lease(data: &NetworkData, options: &Options) -> bool {
    let of_a_server = |network: &Network| match network.addressing {
        Addressing::Dhcp4 | Addressing::Dhcp6 | Addressing::Dhcp6Stateful => true,
        Addressing::Dhcp6Stateless | Addressing::Slaac | Addressing::Static(_) => false,
    };
    options.allow_dhcp && data.networks.iter().any(of_a_server)
}

/// What would have to be done now.
async fn left(
    netlink: &Netlink,
    data: &NetworkData,
    options: &Options,
    leases: &Leases,
) -> io::Result<Plan> {
    let host = netlink.snapshot().await.map_err(|error| match error {
        NetlinkError::Read { source, .. } | NetlinkError::Refused { source, .. } => source,
    })?;
    let mut desired = resolve(data, &host, &options.policy()).desired;
    leases.grant(&mut desired);
    Ok(diff(&host, &desired))
}

//! Asks the kernel to find a neighbour's MAC by ARP or neighbour discovery.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use rtnetlink::packet_core::NLM_F_CREATE;
use rtnetlink::packet_route::RouteNetlinkMessage as Message;
use rtnetlink::packet_route::neighbour::{
    NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use tokio::time::Instant;

use super::Netlink;
use super::request::family;
use crate::types::{IfName, Mac};

const POLL: Duration = Duration::from_millis(50);

impl Netlink {
    /// The MAC that answers for `address` on `device` now, or `None` when nothing does within
    /// `wait`. What the cache knew before does not count.
    ///
    /// # Errors
    /// When the device is gone, or the kernel will not ask.
    pub async fn find_neighbour(
        &self,
        device: &IfName,
        address: IpAddr,
        wait: Duration,
    ) -> io::Result<Option<Mac>> {
        let index = self.index(device).await?;
        // Not there is as good as deleted.
        self.change(Message::DelNeighbour(message(index, address)), 0).await.ok();
        let deadline = Instant::now() + wait;
        loop {
            // NTF_USE starts solicitation as a packet to send would (`neigh_add`, net/core/neighbour.c).
            let mut ask = message(index, address);
            ask.header.flags = NeighbourFlags::Use;
            self.change(Message::NewNeighbour(ask), NLM_F_CREATE).await?;
            loop {
                if Instant::now() >= deadline {
                    return Ok(None);
                }
                tokio::time::sleep(POLL).await;
                match self.neighbour(index, address).await? {
                    (_, Some(mac)) => return Ok(Some(mac)),
                    (NeighbourState::Failed | NeighbourState::None, None) => break,
                    (_, None) => {}
                }
            }
        }
    }

    async fn neighbour(
        &self,
        index: u32,
        address: IpAddr,
    ) -> io::Result<(NeighbourState, Option<Mac>)> {
        let answers = match self.get(Message::GetNeighbour(message(index, address)), 0).await {
            Ok(answers) => answers,
            Err(error) if error.raw_os_error() == Some(nix::libc::ENOENT) => Vec::new(),
            Err(error) => return Err(error),
        };
        let entry = answers.into_iter().find_map(|answer| match answer {
            Message::NewNeighbour(entry) => Some(entry),
            _ => None,
        });
        let Some(entry) = entry else { return Ok((NeighbourState::None, None)) };
        let mac = entry.attributes.iter().find_map(|attribute| match attribute {
            NeighbourAttribute::LinkLayerAddress(bytes) => Mac::from_slice(bytes),
            _ => None,
        });
        let answered = !matches!(
            entry.header.state,
            NeighbourState::Failed | NeighbourState::Incomplete | NeighbourState::None
        );
        Ok((entry.header.state, mac.filter(|mac| answered && !mac.is_zero())))
    }
}

fn message(index: u32, address: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.ifindex = index;
    message.header.family = family(address);
    message.attributes.push(NeighbourAttribute::Destination(address.into()));
    message
}

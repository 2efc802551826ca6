//! The kernel's network over rtnetlink: snapshots, operations, change events. What to do is
//! decided in `netplan`; here is only how the kernel is told.

mod bond;
mod neighbour;
mod request;
mod snapshot;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use rtnetlink::packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::link::{LinkAttribute, LinkMessage};
use rtnetlink::{Handle, MulticastGroup};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::netplan::{Host, Op};
use crate::types::IfName;

/// Enslaving waits for drivers, some of which take seconds.
const REQUEST_DEADLINE: Duration = Duration::from_secs(15);
/// A dump that changes while it is read is read again, this often at most.
const DUMP_ATTEMPTS: u32 = 5;

/// Why the kernel was not told, or would not.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// An operation failed.
    #[error("kernel refused `{op}`")]
    Refused {
        /// The operation, as iproute2 would spell it.
        op: String,
        /// The `errno(3)`.
        #[source]
        source: io::Error,
    },
    /// The state could not be read.
    #[error("can't read {what} from the kernel")]
    Read {
        /// What.
        what: &'static str,
        /// The `errno(3)`.
        #[source]
        source: io::Error,
    },
}

impl NetlinkError {
    /// The `errno(3)` number; `EIO` where there was none.
    #[must_use]
    pub fn errno(&self) -> u16 {
        let (Self::Refused { source, .. } | Self::Read { source, .. }) = self;
        source.raw_os_error().and_then(|number| u16::try_from(number).ok()).unwrap_or(5)
    }
}

/// A connection to the kernel, for the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Netlink {
    handle: Handle,
    connection: JoinHandle<()>,
}

/// Says when links, addresses or routes changed. Events that nobody waited for count as one.
#[derive(Debug)]
pub struct Changes {
    notify: Arc<Notify>,
    tasks: [JoinHandle<()>; 2],
}

impl Netlink {
    /// Opens a connection. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the kernel gives no netlink socket.
    pub fn open() -> io::Result<Self> {
        let (connection, handle, _unsolicited) = rtnetlink::new_connection()?;
        Ok(Self { handle, connection: tokio::spawn(connection) })
    }

    /// Subscribes to changes. Subscribe before the first [`Netlink::snapshot`], or changes between
    /// the two are lost.
    ///
    /// # Errors
    /// When the kernel gives no netlink socket.
    pub fn subscribe() -> io::Result<Changes> {
        let (connection, handle, mut events) = rtnetlink::new_multicast_connection(&[
            MulticastGroup::Link,
            MulticastGroup::Ipv4Ifaddr,
            MulticastGroup::Ipv6Ifaddr,
            MulticastGroup::Ipv4Route,
            MulticastGroup::Ipv6Route,
        ])?;
        let notify = Arc::new(Notify::new());
        let wake = Arc::clone(&notify);
        let forward = tokio::spawn(async move {
            // The connection lives as long as one of its handles.
            let _handle = handle;
            while events.next().await.is_some() {
                wake.notify_one();
            }
        });
        Ok(Changes { notify, tasks: [tokio::spawn(connection), forward] })
    }

    /// The network as it is now.
    ///
    /// # Errors
    /// When the kernel does not answer or answers an error.
    pub async fn snapshot(&self) -> Result<Host, NetlinkError> {
        snapshot::take(self).await
    }

    /// Performs one operation.
    ///
    /// # Errors
    /// The kernel's `errno`, with the operation.
    pub async fn perform(&self, op: &Op) -> Result<(), NetlinkError> {
        let done = request::perform(self, op).await;
        done.map_err(|source| NetlinkError::Refused { op: op.to_string(), source })
    }

    /// The index of a device.
    async fn index(&self, name: &IfName) -> io::Result<u32> {
        let mut query = LinkMessage::default();
        query.attributes.push(LinkAttribute::IfName(name.as_str().to_owned()));
        let answers = self.get(RouteNetlinkMessage::GetLink(query), 0).await?;
        let index = answers.into_iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(link) => Some(link.header.index),
            _ => None,
        });
        index.ok_or_else(|| io::Error::from_raw_os_error(nix::libc::ENODEV))
    }

    /// Sends a change and waits for its acknowledgement.
    async fn change(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.exchange(message, NLM_F_REQUEST | NLM_F_ACK | flags).await.map(|_| ())
    }

    /// Sends a query and collects the answers.
    async fn get(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.exchange(message, NLM_F_REQUEST | flags).await.map(|answers| answers.messages)
    }

    /// Dumps a table; again where it changed meanwhile.
    async fn dump(&self, message: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        for _ in 1..DUMP_ATTEMPTS {
            let answers = self.exchange(message.clone(), NLM_F_REQUEST | NLM_F_DUMP).await?;
            if !answers.interrupted {
                return Ok(answers.messages);
            }
        }
        let last = self.exchange(message, NLM_F_REQUEST | NLM_F_DUMP).await?;
        Ok(last.messages)
    }

    async fn exchange(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Answers> {
        let mut message = NetlinkMessage::from(message);
        message.header.flags = flags;
        let mut handle = self.handle.clone();
        let collect = async move {
            let mut stream = handle.request(message).map_err(|_| io::ErrorKind::BrokenPipe)?;
            let mut answers = Answers::default();
            while let Some(answer) = stream.next().await {
                answers.interrupted |= answer.header.flags & NLM_F_DUMP_INTR != 0;
                match answer.payload {
                    NetlinkPayload::InnerMessage(message) => answers.messages.push(message),
                    NetlinkPayload::Error(error) => match error.code {
                        Some(_) => return Err(error.to_io()),
                        None => break,
                    },
                    _ => {}
                }
            }
            Ok(answers)
        };
        let timed_out = |_| io::Error::from_raw_os_error(nix::libc::ETIMEDOUT);
        tokio::time::timeout(REQUEST_DEADLINE, collect).await.map_err(timed_out)?
    }
}

#[derive(Debug, Default)]
struct Answers {
    messages: Vec<RouteNetlinkMessage>,
    interrupted: bool,
}

impl Changes {
    /// Waits for the next change; returns at once if there was one since the last call.
    pub async fn next(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Netlink {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

//! What every reconciler is given: where the objects are, which of them are its own, and the time.
//! Not here: what any of them decides.

use std::fmt;
use std::sync::Arc;

use kube::{Api, Client, Resource};

/// Field manager of what the controller writes by server-side apply.
pub const FIELD_MANAGER: &str = "leaseless";

/// Which namespaces a reconciler looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All of them: needs cluster-wide rights.
    Cluster,
    /// One alone, with rights in it alone.
    Namespace(String),
}

impl Scope {
    /// The objects of one kind in scope.
    pub fn api<K>(&self, client: Client) -> Api<K>
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        match self {
            Self::Cluster => Api::all(client),
            Self::Namespace(namespace) => Api::namespaced(client, namespace),
        }
    }
}

/// Tells the time; another one in simulations.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>);

impl Clock {
    /// The machine's own.
    #[must_use]
    pub fn system() -> Self {
        Self::new(jiff::Timestamp::now)
    }

    /// A clock of the caller's.
    pub fn new(now: impl Fn() -> jiff::Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> jiff::Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// What every reconciler is given.
#[derive(Clone)]
pub struct Context {
    /// The API, of a cluster or the embedded one.
    pub client: Client,
    /// Whose objects.
    pub scope: Scope,
    /// The time.
    pub clock: Clock,
}

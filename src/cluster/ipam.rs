//! Address pools, claims and addresses: `ipam.metal3.io/v1alpha1` with every upstream field, and
//! the IP address management contract of Cluster API (`ipam.cluster.x-k8s.io`, `v1beta2` stored,
//! `v1beta1` served).
//!
//! Addresses are text here, as they are in the objects: one that can't be read is its own
//! object's error and stops no list of others. Not here: who gets which (`ipam`,
//! `controller::ipam`).

#![expect(clippy::duplicated_attributes, reason = "a kind has several printer columns")]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, CustomResourceExt, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ipam_schema::{ip, ips, net_or_ips, pre_allocations, prefix, subnet};

/// Group of Metal3's pools, claims and addresses.
pub const METAL3_GROUP: &str = "ipam.metal3.io";
/// Group of Cluster API's claims and addresses.
pub const CAPI_GROUP: &str = "ipam.cluster.x-k8s.io";
/// On an `IPPool`: gone when none of its addresses is held.
pub const POOL_FINALIZER: &str = "ippool.ipam.metal3.io";
/// On an `IPClaim`: gone when its address is free again.
pub const CLAIM_FINALIZER: &str = "ipclaim.ipam.metal3.io";
/// On an `IPAddress` of Metal3: gone when its claim is.
pub const ADDRESS_FINALIZER: &str = "ipaddress.ipam.metal3.io";
/// On an `IPAddress` of Cluster API: gone when its claim is.
pub const PROTECT_ADDRESS_FINALIZER: &str = "ipam.cluster.x-k8s.io/protect-address";
/// On a claim: the one address that it asks for.
pub const WANTED_ANNOTATION: &str = "ipAddress";
/// On a claim: the host that it is for; the host gets the same address again while that is free.
pub const HOST_ANNOTATION: &str = "leaseless.dev/host";
/// On an object of Cluster API: left alone while it is there.
pub const PAUSED_ANNOTATION: &str = "cluster.x-k8s.io/paused";

/// What a pool hands out.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[kube(
    group = "ipam.metal3.io",
    version = "v1alpha1",
    kind = "IPPool",
    doc = "Addresses to hand out, and who holds them.",
    namespaced,
    status = "IPPoolStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "cluster-api",
    shortname = "ipp",
    shortname = "m3ipp",
    shortname = "m3ippool",
    shortname = "m3ippools",
    shortname = "metal3ipp",
    shortname = "metal3ippool",
    shortname = "metal3ippools",
    printcolumn(name = "Total", type_ = "integer", json_path = ".status.total"),
    printcolumn(name = "Used", type_ = "integer", json_path = ".status.used"),
    printcolumn(name = "Free", type_ = "integer", json_path = ".status.free"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Cluster",
        type_ = "string",
        priority = 1,
        json_path = ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct IPPoolSpec {
    /// Name of the cluster that this pool belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Where addresses come from, used in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<IPPoolRange>,
    /// How an address is picked: the lowest that is free, or any. Immutable.
    #[serde(default)]
    #[x_kube(validation = Rule::new("self == oldSelf").message("allocationStrategy is immutable"))]
    pub allocation_strategy: AllocationStrategy,
    /// Addresses that are kept for claims of these names, each address once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "pre_allocations")]
    pub pre_allocations: BTreeMap<String, String>,
    /// Prefix length of ranges that give none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "prefix")]
    pub prefix: Option<i32>,
    /// Gateway of ranges that give none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ip")]
    pub gateway: Option<String>,
    /// DNS servers of ranges that give none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "ips")]
    pub dns_servers: Vec<String>,
    /// First part of the names of the address objects. Immutable.
    #[schemars(length(min = 1))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("namePrefix is immutable"))]
    pub name_prefix: String,
    /// Addresses and networks inside the ranges that are never handed out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "net_or_ips")]
    pub exclude: Vec<String>,
    /// Whether gateways are kept from claims (they are, unless this is false).
    #[serde(default = "yes")]
    pub reserve_gateway: bool,
    /// Other namespaces whose claims may name this pool; `*` is all of them. Its address objects
    /// stay in its own namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<String>,
}

fn yes() -> bool {
    true
}

/// How an address is picked from a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AllocationStrategy {
    /// The lowest that is free.
    #[default]
    Sequential,
    /// Any that is free.
    Random,
}

/// One range of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPPoolRange {
    /// First address; else the first host of `subnet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ip")]
    pub start: Option<String>,
    /// Last address; else the last host of `subnet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ip")]
    pub end: Option<String>,
    /// The subnet that the range lies in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "subnet")]
    pub subnet: Option<String>,
    /// Prefix length of each address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "prefix")]
    pub prefix: Option<i32>,
    /// Gateway of each address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ip")]
    pub gateway: Option<String>,
    /// DNS servers of each address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "ips")]
    pub dns_servers: Vec<String>,
}

/// Who holds what of a pool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPPoolStatus {
    /// When `indexes` changed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    /// Address by name of its claim; absent where it would not fit into one object, which the
    /// condition `Indexed` says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub indexes: BTreeMap<String, String>,
    /// The address that each host had last, by name of the host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, String>,
    /// Addresses that can be handed out at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// Addresses that are held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<i64>,
    /// Addresses that any claim could get now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<i64>,
    /// Ready, Exhausted, Indexed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::ipam_schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// A claim to one address of a pool.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[kube(
    group = "ipam.metal3.io",
    version = "v1alpha1",
    kind = "IPClaim",
    doc = "A claim to one address of a pool.",
    namespaced,
    status = "IPClaimStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "cluster-api",
    shortname = "ipc",
    shortname = "m3ipc",
    shortname = "m3ipclaim",
    shortname = "m3ipclaims",
    shortname = "metal3ipc",
    shortname = "metal3ipclaim",
    shortname = "metal3ipclaims",
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.pool.name"),
    printcolumn(name = "Address", type_ = "string", json_path = ".status.address.name"),
    printcolumn(name = "Error", type_ = "string", json_path = ".status.errorMessage"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct IPClaimSpec {
    /// The `IPPool`. A namespace other than the claim's needs the pool's leave (`sharedWith`).
    /// Immutable.
    #[x_kube(validation = Rule::new("self == oldSelf").message("pool is immutable"))]
    pub pool: ObjectReference,
}

/// What came of a claim.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPClaimStatus {
    /// The `IPAddress` that was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<ObjectReference>,
    /// Why there is none yet. It is tried again whenever the pool changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::ipam_schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// An address that a claim holds. Its object's name is made from the address, so the API server
/// refuses a second one.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[kube(
    group = "ipam.metal3.io",
    version = "v1alpha1",
    kind = "IPAddress",
    plural = "ipaddresses",
    doc = "An address that a claim holds.",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    category = "metal3",
    shortname = "ipa",
    shortname = "m3ipa",
    shortname = "m3ipaddress",
    shortname = "m3ipaddresses",
    shortname = "metal3ipa",
    shortname = "metal3ipaddress",
    shortname = "metal3ipaddresses",
    printcolumn(name = "Address", type_ = "string", json_path = ".spec.address"),
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.pool.name"),
    printcolumn(name = "Claim", type_ = "string", json_path = ".spec.claim.name"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct IPAddressSpec {
    /// The claim: an `IPClaim`, or an `IPAddressClaim` of Cluster API.
    #[x_kube(validation = Rule::new("self == oldSelf").message("claim is immutable"))]
    pub claim: ObjectReference,
    /// The pool that it is of.
    #[x_kube(validation = Rule::new("self == oldSelf").message("pool is immutable"))]
    pub pool: ObjectReference,
    /// Prefix length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "prefix")]
    pub prefix: Option<i32>,
    /// Gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ip")]
    pub gateway: Option<String>,
    /// The address.
    #[schemars(schema_with = "ip")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("address is immutable"))]
    pub address: String,
    /// DNS servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "ips")]
    pub dns_servers: Vec<String>,
}

/// Cluster API's kinds; the names of two of them are Metal3's too.
pub mod capi {
    use super::{Condition, CustomResource, Deserialize, JsonSchema, KubeSchema, Serialize};

    /// A claim to one address of a pool of any kind.
    #[derive(
        CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema,
    )]
    #[kube(
        group = "ipam.cluster.x-k8s.io",
        version = "v1beta2",
        kind = "IPAddressClaim",
        doc = "A claim to one address of a pool.",
        namespaced,
        status = "IPAddressClaimStatus",
        derive = "PartialEq",
        derive = "Default",
        category = "cluster-api",
        printcolumn(name = "Pool Name", type_ = "string", json_path = ".spec.poolRef.name"),
        printcolumn(name = "Pool Kind", type_ = "string", json_path = ".spec.poolRef.kind"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )]
    #[serde(rename_all = "camelCase")]
    pub struct IPAddressClaimSpec {
        /// Name of the cluster that this claim belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cluster_name: Option<String>,
        /// The pool, in the claim's namespace.
        #[x_kube(validation = Rule::new("self == oldSelf").message("poolRef is immutable"))]
        pub pool_ref: PoolReference,
    }

    /// A pool of a kind.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct PoolReference {
        /// API group of the pool.
        #[serde(default)]
        #[schemars(length(max = 253))]
        pub api_group: String,
        /// Kind of the pool.
        #[schemars(length(min = 1, max = 63))]
        pub kind: String,
        /// Name of the pool.
        #[schemars(length(min = 1, max = 253))]
        pub name: String,
    }

    /// An object of the same namespace.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
    pub struct NameReference {
        /// Its name.
        #[schemars(length(min = 1, max = 253))]
        pub name: String,
    }

    /// What came of a claim.
    #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct IPAddressClaimStatus {
        /// The `IPAddress` that was made for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub address_ref: Option<NameReference>,
        /// Ready.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(schema_with = "super::super::ipam_schema::conditions")]
        pub conditions: Vec<Condition>,
    }

    /// An address that a claim holds. Its object has the claim's name.
    #[derive(
        CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema,
    )]
    #[kube(
        group = "ipam.cluster.x-k8s.io",
        version = "v1beta2",
        kind = "IPAddress",
        plural = "ipaddresses",
        doc = "An address that a claim holds.",
        namespaced,
        derive = "PartialEq",
        derive = "Default",
        category = "cluster-api",
        printcolumn(name = "Address", type_ = "string", json_path = ".spec.address"),
        printcolumn(name = "Pool Name", type_ = "string", json_path = ".spec.poolRef.name"),
        printcolumn(name = "Pool Kind", type_ = "string", json_path = ".spec.poolRef.kind"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )]
    #[serde(rename_all = "camelCase")]
    pub struct IPAddressSpec {
        /// The claim.
        pub claim_ref: NameReference,
        /// The pool.
        pub pool_ref: PoolReference,
        /// The address.
        #[schemars(length(min = 1, max = 39))]
        pub address: String,
        /// Prefix length.
        #[schemars(range(min = 0, max = 128))]
        pub prefix: i32,
        /// Gateway.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 1, max = 39))]
        pub gateway: Option<String>,
    }
}

/// The definitions of all five kinds.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        IPPool::crd(),
        IPClaim::crd(),
        IPAddress::crd(),
        served_as_v1beta1_too(capi::IPAddressClaim::crd()),
        served_as_v1beta1_too(capi::IPAddress::crd()),
    ]
}

/// Nothing that is read or written here differs between the two versions, so they need no
/// conversion.
fn served_as_v1beta1_too(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let older = crd.spec.versions.first().cloned().map(|mut version| {
        "v1beta1".clone_into(&mut version.name);
        version.storage = false;
        version.deprecated = Some(true);
        version
    });
    crd.spec.versions.extend(older);
    crd
}

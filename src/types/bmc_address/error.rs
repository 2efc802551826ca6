/// Text that is no BMC address, with what would be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BmcAddressError {
    /// Nothing was given.
    #[error("the BMC address is empty: write for example redfish-virtualmedia+https://192.0.2.5")]
    Empty,
    /// A scheme that Metal3 does not know.
    #[error("unknown BMC type {scheme:?} in {address:?}: {}", suggestion(.nearest.as_deref()))]
    UnknownScheme {
        /// The scheme as written.
        scheme: String,
        /// The whole text, without user and password.
        address: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A scheme that Metal3 once had.
    #[error("BMC type {scheme:?} is gone: use {instead}")]
    Retired {
        /// The scheme as written.
        scheme: String,
        /// What took its place.
        instead: &'static str,
    },
    /// No host.
    #[error("the BMC address names no host: write {scheme}://HOST")]
    NoHost {
        /// Its scheme.
        scheme: String,
    },
    /// An IPv6 literal in the wrong form.
    #[error("{host:?} is not an IPv6 address that can be used here: {fix}")]
    BadIpv6 {
        /// The host as written.
        host: String,
        /// What to write.
        fix: String,
    },
    /// Neither an IP literal nor a DNS name.
    #[error(
        "{host:?} is neither an IP address nor a host name (letters, digits and inner hyphens, \
         separated by dots)"
    )]
    BadHost {
        /// The host as written.
        host: String,
    },
    /// A port that is no number from 1 to 65535.
    #[error("{port:?} is not a port: write a number from 1 to 65535")]
    BadPort {
        /// The port as written.
        port: String,
    },
    /// A privilege level that IPMI does not have.
    #[error("privilegelevel {level:?} is not one of USER, OPERATOR, ADMINISTRATOR")]
    BadPrivilege {
        /// The level as written.
        level: String,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    match nearest {
        Some(scheme) => format!("did you mean {scheme}://?"),
        None => "use redfish-virtualmedia+https://, redfish://, ipmi:// or another type of Metal3"
            .to_owned(),
    }
}

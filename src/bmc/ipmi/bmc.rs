//! A BMC with an open session, as the commands of this module see it.

use ipmi_rs::connection::{CompletionErrorCode, IpmiCommand};

use super::error::IpmiError;
use super::session::Session;
use crate::types::Privilege;

pub(super) struct Bmc {
    ipmi: ipmi_rs::Ipmi<Session>,
    privilege: Privilege,
}

/// What a refused command says beyond its error.
pub(super) enum Answer<T> {
    Done(T),
    Refused(CompletionErrorCode),
}

impl Bmc {
    pub(super) fn new(session: Session, privilege: Privilege) -> Self {
        Self { ipmi: ipmi_rs::Ipmi::new(session), privilege }
    }

    /// One command; `name` is IPMI's, for errors.
    pub(super) fn call<C: IpmiCommand>(
        &mut self,
        name: &'static str,
        command: C,
    ) -> Result<C::Output, IpmiError> {
        match self.ask(name, command)? {
            Answer::Done(output) => Ok(output),
            Answer::Refused(code) => Err(refusal(name, code)),
        }
    }

    /// One command whose completion code the caller wants to judge.
    pub(super) fn ask<C: IpmiCommand>(
        &mut self,
        name: &'static str,
        command: C,
    ) -> Result<Answer<C::Output>, IpmiError> {
        use ipmi_rs::IpmiError as Error;
        match self.ipmi.send_recv(command) {
            Ok(output) => Ok(Answer::Done(output)),
            Err(Error::Connection(error)) => Err(error),
            Err(Error::Failed {
                completion_code: CompletionErrorCode::InsufficientPrivilege,
                ..
            }) => Err(IpmiError::NotPermitted { command: name, privilege: self.privilege }),
            Err(Error::Failed { completion_code, .. }) => Ok(Answer::Refused(completion_code)),
            Err(
                Error::Command { .. }
                | Error::NetFnIsResponse(_)
                | Error::UnexpectedResponse { .. },
            ) => Err(IpmiError::Malformed { command: name }),
        }
    }
}

/// What a completion code means to whoever asked.
pub(super) fn refusal(command: &'static str, code: CompletionErrorCode) -> IpmiError {
    match code {
        CompletionErrorCode::NodeBusy => IpmiError::Busy { command },
        CompletionErrorCode::InvalidCommand | CompletionErrorCode::InvalidCommandForLun => {
            IpmiError::Unsupported { command }
        }
        code => IpmiError::Refused { command, code: format!("{code:?}") },
    }
}

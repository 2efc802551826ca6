//! Operations that a BMC answers with 202 and finishes later (DSP0266 §14.2).

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use super::client::{Client, accept};
use super::error::{Cause, RedfishError, Step};
use super::quirks;
use super::transport::{Body, Reply, Request};

/// Longest that a task may take.
const TASK_DEADLINE: Duration = Duration::from_secs(600);
/// Between two looks, unless `Retry-After` says otherwise.
const POLL: Duration = Duration::from_secs(1);
const POLL_MOST: Duration = Duration::from_secs(30);
const CALL_DEADLINE: Duration = Duration::from_secs(60);

impl Client {
    /// Waits for the task behind a 202; any other success is finished already.
    pub(super) async fn finish(
        &self,
        step: Step,
        path: &str,
        reply: Reply,
    ) -> Result<Reply, RedfishError> {
        if reply.status != 202 {
            return Ok(reply);
        }
        let task = json_of(&reply.body).filter(|body| is_task(body));
        let task = task.and_then(|task| task.get("@odata.id")?.as_str());
        // Reading the monitor of a finished task deletes it on some BMCs: the task itself, if known.
        let Some(monitor) = task.map(str::to_owned).or_else(|| reply.location.clone()) else {
            return Ok(reply);
        };
        let waiting = self.poll(step, &monitor, reply.retry_after);
        match tokio::time::timeout(TASK_DEADLINE, waiting).await {
            Ok(finished) => finished,
            Err(_) => {
                let what = format!("its task {monitor} has not ended");
                let cause = Cause::NotReached { what, after: TASK_DEADLINE };
                Err(cause.on(step, Method::POST, path))
            }
        }
    }

    /// Ends with the task; the caller bounds it.
    async fn poll(
        &self,
        step: Step,
        monitor: &str,
        first: Option<Duration>,
    ) -> Result<Reply, RedfishError> {
        let mut wait = first;
        let mut seen = false;
        let mut missing = quirks::NEW_TASK_MISSING.waits();
        loop {
            tokio::time::sleep(wait.unwrap_or(POLL).min(POLL_MOST)).await;
            let request = Request::new(Method::GET, monitor, CALL_DEADLINE);
            let reply = self.send(step, &request).await?;
            if reply.status == 404 && !seen {
                // The task may not be there yet just after it was promised.
                if let Some(next) = missing.next() {
                    wait = Some(next);
                    continue;
                }
            }
            if reply.status == 404 && seen {
                return Ok(reply);
            }
            seen = true;
            wait = reply.retry_after;
            let told = |cause: Cause| cause.on(step, Method::GET, monitor);
            let reply = accept(reply).map_err(told)?;
            match progress(&reply) {
                Progress::Running => {}
                Progress::Done => return Ok(reply),
                Progress::Failed { state, message } => {
                    return Err(told(Cause::TaskFailed { state, message }));
                }
            }
        }
    }
}

fn json_of(body: &Body) -> Option<&Value> {
    match body {
        Body::Json(value) => Some(value),
        Body::Empty | Body::Html | Body::Other(_) => None,
    }
}

fn is_task(body: &Value) -> bool {
    let kind = body.get("@odata.type").and_then(Value::as_str).unwrap_or_default();
    kind.starts_with("#Task.") || body.get("TaskState").is_some()
}

/// Where a task is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Running,
    Done,
    Failed { state: String, message: String },
}

fn progress(reply: &Reply) -> Progress {
    let body = json_of(&reply.body);
    let state = body.and_then(|body| body.get("TaskState")?.as_str());
    match (state, body) {
        (Some(state), Some(body)) => task_progress(state, body),
        _ if reply.status == 202 => Progress::Running,
        _ => Progress::Done,
    }
}

/// Reads `TaskState` and `TaskStatus` (Task schema).
pub(super) fn task_progress(state: &str, body: &Value) -> Progress {
    let status = body.get("TaskStatus").and_then(Value::as_str).unwrap_or("OK");
    let failed = |state: &str| Progress::Failed {
        state: state.to_owned(),
        message: super::answer::Answer::messages_of(body),
    };
    match state {
        "Completed" if status == "Critical" => failed("Completed, Critical"),
        "Completed" => Progress::Done,
        // No state of the schema, but Supermicro has it.
        "Failed" => failed(state),
        "Exception" | "Killed" | "Cancelled" | "Interrupted" => failed(state),
        _ => Progress::Running,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_runs_until_its_state_says_otherwise() {
        for state in ["New", "Starting", "Running", "Pending", "Scheduled", "Unknown", ""] {
            assert_eq!(task_progress(state, &json!({})), Progress::Running, "{state}");
        }
        let fine = json!({"TaskStatus": "OK"});
        assert_eq!(task_progress("Completed", &fine), Progress::Done);
        let bad = json!({"TaskStatus": "Critical", "Messages": [{"Message": "no image"}]});
        let failed = |state: &str| Progress::Failed {
            state: state.to_owned(),
            message: "no image".to_owned(),
        };
        assert_eq!(task_progress("Completed", &bad), failed("Completed, Critical"));
        assert_eq!(task_progress("Exception", &bad), failed("Exception"));
    }
}

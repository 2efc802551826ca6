//! The agent's log: one readable line per event, on every console of a machine that is ours, for
//! the journal in a service, on stderr otherwise. No secret is ever a field (`types::Secret`).

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use crate::sys::console::Consoles;
use crate::sys::machine;

/// What is logged where `RUST_LOG` does not say.
const DEFAULT_FILTER: &str = "warn,leaseless=info";

/// Where the log goes.
#[derive(Debug, Clone)]
pub enum Sink {
    /// Every console, each line with the kernel's uptime.
    Consoles(Arc<Consoles>),
    /// Stderr, each line with its priority (`sd-daemon(3)`); the journal adds the time.
    Journal,
    /// Stderr, for a person.
    Stderr,
}

impl Sink {
    /// The journal where systemd says that stderr is one, else plain stderr.
    #[must_use]
    pub fn of_this_process() -> Self {
        if std::env::var_os("JOURNAL_STREAM").is_some() { Self::Journal } else { Self::Stderr }
    }
}

/// Sends the log of this process to `sink` from now on. Only the first call counts.
pub fn init(sink: Sink) {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .event_format(Line(sink.clone()))
        .with_writer(Lines(sink));
    // A second call: the log goes somewhere already.
    subscriber.try_init().ok();
}

/// An error with its causes, on one line.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

struct Line(Sink);

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = *event.metadata().level();
        match self.0 {
            Sink::Consoles(_) => {
                write!(writer, "[{:>9.3}] {}", machine::uptime().as_secs_f64(), word(level))?;
            }
            Sink::Journal => write!(writer, "<{}>", priority(level))?,
            Sink::Stderr => write!(writer, "leaseless-agent: {}", word(level))?,
        }
        let mut fields = String::new();
        context.format_fields(Writer::new(&mut fields), event)?;
        for c in fields.chars() {
            // What came from outside must not move a cursor or forge a line.
            writer.write_char(if c.is_control() { ' ' } else { c })?;
        }
        writer.write_char('\n')
    }
}

const fn word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error: ",
        Level::WARN => "warning: ",
        Level::INFO => "",
        Level::DEBUG => "debug: ",
        Level::TRACE => "trace: ",
    }
}

/// `syslog(3)` priorities.
const fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

struct Lines(Sink);

/// Takes one event at a time.
struct LineWriter(Sink);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = LineWriter;

    fn make_writer(&'a self) -> LineWriter {
        LineWriter(self.0.clone())
    }
}

impl Write for LineWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.0 {
            Sink::Consoles(consoles) => consoles.write(bytes),
            Sink::Journal | Sink::Stderr => io::stderr().write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! Progress on stderr: one live line on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::controller::inspect::{Stage, Update};

/// A line is cut here where the terminal's width is unknown.
const WIDTH: usize = 80;

/// Shows a run while it goes on.
pub(super) struct Progress<W> {
    shown: Mutex<Shown<W>>,
}

struct Shown<W> {
    out: W,
    /// Columns of the terminal; `None` where there is none.
    columns: Option<usize>,
    began: Instant,
    stage: Option<Stage>,
    note: String,
    iso: Option<(u64, u64)>,
    /// Quarters of the ISO already told, where every line stays.
    quarters: u64,
}

impl Progress<std::io::Stderr> {
    /// On stderr.
    pub(super) fn on_stderr() -> Self {
        let out = std::io::stderr();
        let columns = out.is_terminal().then(terminal_columns);
        Self::new(out, columns)
    }
}

impl<W: Write> Progress<W> {
    fn new(out: W, columns: Option<usize>) -> Self {
        let began = Instant::now();
        let shown =
            Shown { out, columns, began, stage: None, note: String::new(), iso: None, quarters: 0 };
        Self { shown: Mutex::new(shown) }
    }

    /// Shows an update.
    pub(super) fn update(&self, update: Update) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let told = shown.take(update);
        shown.show(told.as_deref());
    }

    /// Shows the time going by.
    pub(super) fn tick(&self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.columns.is_some() {
            shown.show(None);
        }
    }

    /// Ends the live line.
    pub(super) fn finish(&self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.columns.is_some() {
            shown.print("\r\x1b[2K");
        }
        shown.stage = None;
    }
}

impl<W: Write> Shown<W> {
    /// Takes an update in and answers with the sentence that should stay on the screen, if any.
    fn take(&mut self, update: Update) -> Option<String> {
        let live = self.columns.is_some();
        match update {
            Update::Began(stage) => {
                let before = self.stage.replace(stage);
                self.note.clear();
                let stays = if live { before } else { Some(stage) };
                stays.map(|stage| stage.doing().to_owned())
            }
            Update::Note(note) => {
                self.note.clone_from(&note);
                Some(format!("  {note}"))
            }
            Update::IsoRead { read, size } => {
                self.iso = Some((read, size));
                let quarters = (read * 4).checked_div(size).unwrap_or(0);
                let more = quarters > self.quarters;
                self.quarters = self.quarters.max(quarters);
                (more && !live).then(|| format!("  {}", iso_line((read, size))))
            }
            Update::Reason(reason) => Some(format!("  the host says: {reason}")),
            Update::Warning(text) => Some(format!("  warning: {text}")),
        }
    }

    fn show(&mut self, stays: Option<&str>) {
        let seconds = self.began.elapsed().as_secs();
        let Some(columns) = self.columns else {
            if let Some(line) = stays {
                self.print(&format!("[{seconds:4}s] {line}\n"));
            }
            return;
        };
        if let Some(line) = stays {
            self.print(&format!("\r\x1b[2K[{seconds:4}s] {line}\n"));
        }
        if let Some(stage) = self.stage {
            let mut line = format!("[{seconds:4}s] {} …", stage.doing());
            if let (Stage::AwaitReport, Some(iso)) = (stage, self.iso) {
                line = format!("{line} {}", iso_line(iso));
            }
            let line: String = line.chars().take(columns.saturating_sub(1)).collect();
            self.print(&format!("\r\x1b[2K{line}"));
        }
    }

    fn print(&mut self, text: &str) {
        // Progress that can't be shown must not end the run.
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).ok();
    }
}

#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn iso_line((read, size): (u64, u64)) -> String {
    format!("{:.1} of {:.1} MB of the ISO read", read as f64 / 1e6, size as f64 / 1e6)
}

fn terminal_columns() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(WIDTH, |(width, _)| width.0.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::reason::Failure;
    use crate::types::reason::sel::Known;

    fn shown(columns: Option<usize>, updates: Vec<Update>) -> String {
        let progress = Progress::new(Vec::new(), columns);
        updates.into_iter().for_each(|update| progress.update(update));
        progress.finish();
        String::from_utf8(progress.shown.into_inner().unwrap().out).unwrap()
    }

    #[test]
    fn without_a_terminal_every_line_stays_and_holds_no_control_characters() {
        let text = shown(
            None,
            vec![
                Update::Began(Stage::InsertMedia),
                Update::Note("slot Cd".into()),
                Update::Began(Stage::AwaitReport),
                Update::IsoRead { read: 1, size: 100 },
                Update::IsoRead { read: 30, size: 100 },
                Update::IsoRead { read: 31, size: 100 },
                Update::Reason(Known::Whole(Failure::DhcpRefused)),
            ],
        );
        assert_eq!(
            text,
            "[   0s] inserting the boot ISO\n\
             [   0s]   slot Cd\n\
             [   0s] waiting for the host to report\n\
             [   0s]   0.0 of 0.0 MB of the ISO read\n\
             [   0s]   the host says: LL-11 network data asks for DHCP, which is not allowed\n"
        );
    }

    #[test]
    fn on_a_terminal_the_step_under_way_is_redrawn_and_what_is_done_stays() {
        let text =
            shown(Some(40), vec![Update::Began(Stage::PowerOn), Update::Began(Stage::AwaitReport)]);
        assert!(text.contains("\r\x1b[2K[   0s] switching the host on\n"), "{text:?}");
        assert!(text.contains("\r\x1b[2K[   0s] waiting for the host to report"), "{text:?}");
        assert!(text.ends_with("\r\x1b[2K"), "{text:?}");
    }
}

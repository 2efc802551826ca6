//! Every console of the machine at once: a person may look at the screen, at the serial port, or
//! at the BMC's copy of either, and the kernel's `/dev/console` is only the last of them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::libc;

/// The consoles that the kernel writes to, open.
#[derive(Debug)]
pub struct Consoles(Mutex<Vec<Console>>);

#[derive(Debug)]
struct Console {
    file: File,
    /// It took nothing the last time: it is not waited for again until it does.
    stuck: bool,
}

impl Consoles {
    /// Opens what `/sys/class/tty/console/active` lists, or `/dev/console` where it lists nothing.
    #[must_use]
    pub fn open() -> Self {
        let active = fs::read_to_string("/sys/class/tty/console/active").unwrap_or_default();
        let mut consoles: Vec<Console> =
            active.split_ascii_whitespace().filter_map(|name| tty(name).ok()).collect();
        if consoles.is_empty() {
            consoles.extend(tty("console"));
        }
        Self(Mutex::new(consoles))
    }

    /// Writes `leaseless: text` to each console, in a line of its own: a kernel message may have
    /// left the cursor in the middle of one.
    pub fn say(&self, text: &str) {
        self.write(format!("\rleaseless: {text}\n").as_bytes());
    }

    /// Writes to each console. One that takes nothing right now, such as a serial port held by
    /// flow control, loses the rest of this text: nothing here may wait for it.
    pub fn write(&self, text: &[u8]) {
        let mut consoles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for console in consoles.iter_mut() {
            // There is no other place to complain to.
            console.drain(text).ok();
        }
    }
}

/// A tty's buffer takes a long text in several pieces; it gets this many pauses of 10 ms.
const PAUSES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

impl Console {
    fn drain(&mut self, mut text: &[u8]) -> io::Result<()> {
        let mut pauses = if self.stuck { 0 } else { PAUSES };
        while !text.is_empty() {
            match self.file.write(text) {
                Ok(written) => {
                    text = &text[written..];
                    self.stuck = false;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && pauses > 0 => {
                    pauses -= 1;
                    std::thread::sleep(PAUSE);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.stuck = true;
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// Never our controlling terminal: a hang-up must not reach us.
fn tty(name: &str) -> io::Result<Console> {
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(Path::new("/dev").join(name))?;
    Ok(Console { file, stuck: false })
}

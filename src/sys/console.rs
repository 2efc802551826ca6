//! Every console of the machine at once: a person may look at the screen, at the serial port, or
//! at the BMC's copy of either, and the kernel's `/dev/console` is only the last of them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nix::libc;

/// The consoles that the kernel writes to, open.
#[derive(Debug)]
pub struct Consoles(Mutex<Vec<File>>);

impl Consoles {
    /// Opens what `/sys/class/tty/console/active` lists, or `/dev/console` where it lists nothing.
    #[must_use]
    pub fn open() -> Self {
        let active = fs::read_to_string("/sys/class/tty/console/active").unwrap_or_default();
        let mut files: Vec<File> =
            active.split_ascii_whitespace().filter_map(|name| tty(name).ok()).collect();
        if files.is_empty() {
            files.extend(tty("console"));
        }
        Self(Mutex::new(files))
    }

    /// Writes `leaseless: text` to each console, in a line of its own: a kernel message may have
    /// left the cursor in the middle of one.
    pub fn say(&self, text: &str) {
        self.write(format!("\rleaseless: {text}\n").as_bytes());
    }

    /// Writes to each console. One that takes nothing right now, such as a serial port held by
    /// flow control, loses the rest of this text: nothing here may wait for it.
    pub fn write(&self, text: &[u8]) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for file in files.iter_mut() {
            // There is no other place to complain to.
            drain(file, text).ok();
        }
    }
}

/// A tty's buffer takes a line in several pieces; it gets this many tries of 10 ms each.
const TRIES: u32 = 20;

fn drain(file: &mut File, mut text: &[u8]) -> io::Result<()> {
    for _ in 0..TRIES {
        match file.write(text) {
            Ok(written) => text = &text[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if text.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Never our controlling terminal: a hang-up must not reach us.
fn tty(name: &str) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(Path::new("/dev").join(name))
}

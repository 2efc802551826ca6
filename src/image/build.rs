//! Builds the boot image: carries the recipe of `images/` in this program and runs it. What the
//! image is made of is the recipe's.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::{fs, io};

/// The recipe, file by file.
const RECIPE: [(&str, &str); 4] = [
    ("build.sh", include_str!("../../images/build.sh")),
    ("modules.txt", include_str!("../../images/modules.txt")),
    ("isolinux.cfg", include_str!("../../images/isolinux.cfg")),
    ("grub.cfg", include_str!("../../images/grub.cfg")),
];
/// Where an agent for the image is, in a source tree and installed.
const USUAL_AGENTS: [&str; 2] =
    ["target/x86_64-unknown-linux-gnu/agent/leaseless-agent", "/usr/lib/leaseless/leaseless-agent"];

/// What to build.
#[derive(Debug, Clone)]
pub struct Build {
    /// Static executable that becomes the image's init.
    pub agent: PathBuf,
    /// Directory for the ISO, the kernel and initramfs pair, and the manifest.
    pub out: PathBuf,
    /// Where downloaded packages are kept; `None` is the user's cache.
    pub cache: Option<PathBuf>,
    /// Exactly these packages, and no mirror asked.
    pub packages: Option<PathBuf>,
}

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No agent in the usual places.
    #[error(
        "no agent for the image: build one (docs/boot-media.md) or name it with --agent (looked in {0})"
    )]
    NoAgent(String),
    /// The agent can't be an init.
    #[error("{} can't be the image's init: {reason}", .file.display())]
    Agent {
        /// The agent.
        file: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file can't be read or written.
    #[error("{} is not usable", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// The recipe did not start.
    #[error("starting bash failed")]
    Start(#[source] io::Error),
    /// The recipe failed; it said why on stderr.
    #[error("the recipe failed ({0})")]
    Recipe(ExitStatus),
}

/// The agent to put into an image where none is named.
///
/// # Errors
/// When there is none.
pub fn usual_agent() -> Result<PathBuf, BuildError> {
    let found = USUAL_AGENTS.iter().map(PathBuf::from).find(|path| path.is_file());
    found.ok_or_else(|| BuildError::NoAgent(USUAL_AGENTS.join(", ")))
}

impl Build {
    /// Runs the recipe; it reports on stderr and takes a minute or two.
    ///
    /// # Errors
    /// When the agent is not static, or the recipe fails.
    pub fn run(&self) -> Result<(), BuildError> {
        let agent =
            fs::read(&self.agent).map_err(|error| BuildError::File(self.agent.clone(), error))?;
        check_static(&agent)
            .map_err(|reason| BuildError::Agent { file: self.agent.clone(), reason })?;
        let recipe = self.out.join(format!(".recipe-{}", std::process::id()));
        let written = write_recipe(&recipe);
        let status =
            written.and_then(|()| self.command(&recipe).status().map_err(BuildError::Start));
        // The recipe's copy is of no use to anybody; a rest of it harms nobody.
        fs::remove_dir_all(&recipe).ok();
        let status = status?;
        if status.success() { Ok(()) } else { Err(BuildError::Recipe(status)) }
    }

    fn command(&self, recipe: &Path) -> Command {
        let mut command = Command::new("bash");
        command.arg(recipe.join("build.sh"));
        command.arg("--agent").arg(&self.agent).arg("--out").arg(&self.out);
        if let Some(cache) = &self.cache {
            command.arg("--cache").arg(cache);
        }
        if let Some(packages) = &self.packages {
            command.arg("--packages").arg(packages);
        }
        command
    }
}

fn write_recipe(directory: &Path) -> Result<(), BuildError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |error| BuildError::File(path, error)
    };
    fs::create_dir_all(directory).map_err(failed(directory))?;
    RECIPE.iter().try_for_each(|(name, text)| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(failed(&path))
    })
}

/// An init that needs a dynamic loader ends in a kernel panic: the image has none (ELF64, program
/// header of type `PT_INTERP`).
fn check_static(elf: &[u8]) -> Result<(), &'static str> {
    const BROKEN: &str = "it is no x86-64 ELF executable";
    const INTERPRETER: u64 = 3;
    let field = |at: usize, width: usize| {
        let bytes = elf.get(at..at.checked_add(width)?)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    };
    // Class 64 bits, little endian, then e_machine.
    if !elf.starts_with(b"\x7FELF\x02\x01") || field(18, 2) != Some(62) {
        return Err(BROKEN);
    }
    let (table, size, count) =
        (field(32, 8).ok_or(BROKEN)?, field(54, 2).ok_or(BROKEN)?, field(56, 2).ok_or(BROKEN)?);
    for index in 0..count {
        let at = table.checked_add(index * size).and_then(|at| usize::try_from(at).ok());
        let kind = at.and_then(|at| field(at, 4)).ok_or(BROKEN)?;
        if kind == INTERPRETER {
            return Err(
                "it is linked dynamically; build it with RUSTFLAGS=\"-C target-feature=+crt-static\" and an explicit --target",
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_executable_is_refused_as_init() {
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(check_static(&own).unwrap_err().contains("crt-static"));
        for broken in [&b""[..], b"#!/bin/sh", &own[..20], &own[..70]] {
            assert!(check_static(broken).unwrap_err().contains("no x86-64 ELF"));
        }
    }
}

//! `leaseless netdata`: check, show and convert OpenStack network data.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use super::CliError;
use crate::netdata::{self, MAX_BYTES, Parsed, Problem, Severity, Target, check_for, render, show};

/// Check, show and convert network data: OpenStack's network_data.json, as JSON, YAML or a
/// Kubernetes Secret that holds either
#[derive(Debug, Args)]
pub struct NetdataArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Check(CheckArgs),
    Show(ShowArgs),
    Convert(ConvertArgs),
}

/// List every error and warning with its path, the value and the right form
///
/// Exits with 1 when there is an error, with 0 when there are warnings alone.
#[derive(Debug, Args)]
struct CheckArgs {
    /// Files to check; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also say what this consumer makes of the files as they are written
    #[arg(long = "for", value_enum, value_name = "CONSUMER")]
    target: Option<Consumer>,
    /// How to print the problems
    #[arg(long, value_enum, default_value = "text")]
    output: CheckOutput,
}

/// Print the normal form, or a picture of links, bonds, VLANs, addresses and routes
#[derive(Debug, Args)]
struct ShowArgs {
    /// The file; - reads standard input
    file: PathBuf,
    /// What to print
    #[arg(long, value_enum, default_value = "text")]
    format: ShowFormat,
}

/// Write the same network in another form, or in OpenStack's as every consumer takes it
#[derive(Debug, Args)]
struct ConvertArgs {
    /// The file; - reads standard input
    file: PathBuf,
    /// The form to write
    #[arg(long, value_enum)]
    to: ConvertFormat,
    /// Write networkd's files into this directory instead of standard output
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Consumer {
    Ironic,
    CloudInit,
    Glean,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CheckOutput {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShowFormat {
    Text,
    Json,
    Mermaid,
    Svg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConvertFormat {
    Openstack,
    Networkd,
    Nmstate,
}

impl From<Consumer> for Target {
    fn from(consumer: Consumer) -> Self {
        match consumer {
            Consumer::Ironic => Self::Ironic,
            Consumer::CloudInit => Self::CloudInit,
            Consumer::Glean => Self::Glean,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Usage where a file can't be read or, for pictures and conversions, used; reported where a check
/// found an error.
pub fn run(args: &NetdataArgs) -> Result<(), CliError> {
    match &args.verb {
        Verb::Check(args) => check(args),
        Verb::Show(args) => show(args),
        Verb::Convert(args) => convert(args),
    }
}

#[derive(Debug, Serialize)]
struct FileReport {
    file: String,
    ok: bool,
    problems: Vec<Problem>,
}

fn check(args: &CheckArgs) -> Result<(), CliError> {
    let mut reports = Vec::with_capacity(args.files.len());
    for file in &args.files {
        let text = read(file)?;
        let mut problems = netdata::parse(&text).problems;
        if let Some(target) = args.target {
            problems.extend(check_for(&text, target.into()));
        }
        let ok = problems.iter().all(|problem| problem.severity != Severity::Error);
        reports.push(FileReport { file: file.display().to_string(), ok, problems });
    }
    match args.output {
        CheckOutput::Text => print_reports(&reports)?,
        CheckOutput::Json => {
            let json = serde_json::to_value(&reports).context("render the problems")?;
            emit(&pretty(&json)?)?;
        }
    }
    if reports.iter().all(|report| report.ok) { Ok(()) } else { Err(CliError::Reported) }
}

fn print_reports(reports: &[FileReport]) -> Result<(), CliError> {
    let mut out = String::new();
    for FileReport { file, ok, problems } in reports {
        for problem in problems {
            writeln!(out, "{file}: {}", clean(problem)).ok();
        }
        if *ok {
            let warnings = match problems.len() {
                0 => String::new(),
                1 => ", 1 warning".to_owned(),
                count => format!(", {count} warnings"),
            };
            writeln!(out, "{file}: ok{warnings}").ok();
        }
    }
    emit(&out)
}

fn show(args: &ShowArgs) -> Result<(), CliError> {
    let data = load(&args.file)?;
    let picture = match args.format {
        ShowFormat::Text => show::text(&data),
        ShowFormat::Json => pretty(&show::normal(&data))?,
        ShowFormat::Mermaid => show::mermaid(&data),
        ShowFormat::Svg => show::svg(&data),
    };
    emit(&picture)
}

fn convert(args: &ConvertArgs) -> Result<(), CliError> {
    if args.out.is_some() && args.to != ConvertFormat::Networkd {
        return Err(CliError::Usage(anyhow!("--out goes with --to networkd alone")));
    }
    let data = load(&args.file)?;
    match args.to {
        ConvertFormat::Openstack => {
            let text = pretty(&render::openstack(&data))?;
            say_limits(&text);
            emit(&text)
        }
        ConvertFormat::Nmstate => emit(&render::nmstate(&data)),
        ConvertFormat::Networkd => {
            let files = render::networkd(&data);
            match &args.out {
                Some(directory) => write_files(directory, &files),
                None => {
                    let join = |(name, text): &(String, String)| format!("# {name}\n{text}\n");
                    emit(&files.iter().map(join).collect::<String>())
                }
            }
        }
    }
}

/// What a consumer can't do however the document is written.
fn say_limits(text: &str) {
    for target in Target::ALL {
        let problems = check_for(text, target);
        for problem in problems.iter().filter(|problem| problem.severity == Severity::Error) {
            eprintln!("leaseless: not for {}: {}", target.name(), clean(problem));
        }
    }
}

fn write_files(directory: &Path, files: &[(String, String)]) -> Result<(), CliError> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("create directory {}", directory.display()))?;
    for (name, text) in files {
        let path = directory.join(name);
        std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

/// A usable document; its problems go to stderr.
pub(super) fn load(file: &Path) -> Result<netdata::model::NetworkData, CliError> {
    let Parsed { data, problems } = netdata::parse(&read(file)?);
    for problem in &problems {
        eprintln!("leaseless: {}: {}", file.display(), clean(problem));
    }
    data.ok_or_else(|| CliError::Usage(anyhow!("{} can't be used", file.display())))
}

/// A file, or standard input for `-`. Never more than the limit of a document.
fn read(file: &Path) -> Result<String, CliError> {
    let source: Box<dyn std::io::Read> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        let opened = std::fs::File::open(file);
        Box::new(
            opened.with_context(|| format!("open {}", file.display())).map_err(CliError::Usage)?,
        )
    };
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    source
        .take(limit)
        .read_to_end(&mut bytes)
        .with_context(|| format!("read {}", file.display()))
        .map_err(CliError::Usage)?;
    String::from_utf8(bytes)
        .with_context(|| format!("{} is no text", file.display()))
        .map_err(CliError::Usage)
}

/// A problem in one line; what a document holds must not reach the terminal raw.
fn clean(problem: &Problem) -> String {
    problem.to_string().chars().filter(|c| !c.is_control()).collect()
}

fn pretty(value: &serde_json::Value) -> Result<String, CliError> {
    let text = serde_json::to_string_pretty(value).context("render JSON")?;
    Ok(text + "\n")
}

/// Writes to stdout; a reader that went away is no failure.
fn emit(text: &str) -> Result<(), CliError> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result.context("write standard output")?),
    }
}

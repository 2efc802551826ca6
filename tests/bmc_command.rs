//! `leaseless bmc` as a person runs it, against a simulated BMC.
#![cfg(feature = "management")]
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "simulated_bmc/mod.rs"]
mod simulated_bmc;

use std::process::Output;

use simulated_bmc::{PASSWORD, Profile, SimulatedBmc, USER};
use tokio::process::Command;

/// Runs the command with this password in its environment.
async fn leaseless(arguments: &[&str], password: Option<&str>) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leaseless"));
    command.arg("bmc").args(arguments).env_remove("LEASELESS_BMC_PASSWORD");
    if let Some(password) = password {
        command.env("LEASELESS_BMC_PASSWORD", password);
    }
    let Output { status, stdout, stderr } = command.output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

fn quick(profile: Profile) -> Profile {
    Profile { power_takes: std::time::Duration::ZERO, ..profile }
}

#[tokio::test]
async fn the_result_is_on_stdout_and_nothing_else_is() {
    let bmc = SimulatedBmc::start(quick(Profile::idrac9())).await;
    let (url, iso) = (bmc.url(), "http://192.0.2.1/vm/00ff.iso");
    let login = ["--bmc", url.as_str(), "--bmc-user", USER];
    for (verb, out) in [
        (&["power"][..], "off\n"),
        (&["power", "on"], "on\n"),
        (&["power", "status", "--output", "json"], "{\n  \"power\": \"on\"\n}\n"),
        (&["power", "cycle"], "on\n"),
        (&["power", "off", "--soft"], "off\n"),
        (&["boot"], "no override\n"),
        (&["boot", "cd"], "cd, once\n"),
        (&["boot", "none"], "no override\n"),
        (&["media", "insert", iso], "CD  http://192.0.2.1/vm/00ff.iso\n"),
        (&["media", "list"], "CD  http://192.0.2.1/vm/00ff.iso\n"),
        (&["media", "eject"], "CD  empty\n"),
    ] {
        let arguments = [verb, &login].concat();
        let (code, stdout, stderr) = leaseless(&arguments, Some(PASSWORD)).await;
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (0, out, ""), "{verb:?}");
    }
    assert!(bmc.world().sessions.is_empty(), "every session was given back");
}

#[tokio::test]
async fn the_password_may_come_from_a_file_with_a_newline() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{PASSWORD}\n")).unwrap();
    let (url, path) = (bmc.url(), file.path().to_str().unwrap());
    let arguments = ["info", "--bmc", &url, "--bmc-user", USER, "--bmc-password-file", path];
    let (code, stdout, stderr) = leaseless(&arguments, None).await;
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("nic            NIC1 52:54:00:00:00:01"), "{stdout}");
}

#[tokio::test]
async fn failures_say_what_to_look_at_and_bad_input_exits_with_64() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let url = bmc.url();
    let manager = format!("{url}/redfish/v1/Managers/1");
    let secret = Some("wrong secret");
    let user: [&str; 2] = ["--bmc-user", USER];
    for (arguments, password, code, said) in [
        (&["power", "--bmc", url.as_str()][..], secret, 1, "refuses user \"admin\""),
        (&["power", "--bmc", &manager], Some(PASSWORD), 1, "use the path /redfish/v1/Systems/1"),
        (&["power", "--bmc", "redfsh://h"], secret, 64, "did you mean redfish://?"),
        (&["power", "--bmc", &url], None, 64, "give --bmc-password-file FILE"),
        (&["power", "--bmc", &url], Some(" \n"), 64, "LEASELESS_BMC_PASSWORD is empty"),
        (&["power", "on", "--soft", "--bmc", &url], Some(PASSWORD), 64, "--soft goes with off"),
        (&["media", "list", "--bmc", "ipmi://h"], secret, 1, "IPMI has no virtual media"),
        (&["media", "insert", "nfs://h/x.iso", "--bmc", &url], Some(PASSWORD), 64, "no http://"),
        (&["power", "--bmc", &url, "--ca", "/nowhere"], secret, 64, "reading /nowhere"),
        (&["power", "--bmc", &url, "--ca", "x", "--insecure"], secret, 64, "cannot be used with"),
    ] {
        let arguments = [arguments, &user].concat();
        let (got, stdout, stderr) = leaseless(&arguments, password).await;
        assert_eq!(got, code, "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
        assert!(stdout.is_empty() && !stderr.contains("wrong secret"), "{stderr}");
    }
    assert!(bmc.world().sessions.is_empty(), "every session was given back");
}

//! What an impatient or mistaken user leaves behind: nothing.

use std::fs;

use super::network_data::one_nic;
use super::rack::rack;
use super::run::Run;

#[test]
fn ctrl_c_in_the_middle_of_a_boot_puts_everything_back() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&[]);
    let network = one_nic("type: ipv4, ip_address: 172.31.0.10/24");
    let mut run = Run::start(&rack, &network, &["--log", "trace"]);
    run.says("of the ISO read");
    assert!(rack.status().starts_with("[\"On\",\"Cd\""), "{}", rack.status());
    let password = fs::read_to_string(rack.lab.join("password")).unwrap();
    assert!(!command_lines().contains(password.trim()), "the password is in the process list");
    run.interrupt();
    let outcome = run.ends();
    assert_eq!((outcome.code, outcome.report.as_str()), (Some(1), ""), "{outcome:#?}");
    assert!(outcome.told.contains("interrupted"), "{outcome:#?}");
}

/// Command lines of all processes of this machine.
fn command_lines() -> String {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    // A process may be gone by now.
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    String::from_utf8_lossy(&lines.collect::<Vec<_>>().concat()).into_owned()
}

#[test]
fn a_wrong_password_and_an_unknown_certificate_change_nothing() {
    let Some((rack, _lock)) = rack() else { return };
    rack.server(&[]);
    let network = one_nic("type: ipv4, ip_address: 172.31.0.10/24");
    let right = rack.lab.join("password");
    let wrong = rack.file("wrong");
    fs::write(&wrong, "wrong\n").unwrap();
    let certificate = rack.lab.join("bmc.pem");
    for (password, ca, sentence) in
        [(&wrong, Some(certificate.as_path()), "401"), (&right, None, "certificate")]
    {
        let outcome = Run::with(&rack, password, ca, &network, &[]).ends();
        assert_eq!((outcome.code, outcome.report.as_str()), (Some(1), ""), "{outcome:#?}");
        assert!(outcome.told.contains(sentence), "{outcome:#?}");
    }
}

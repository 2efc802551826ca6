//! The contract of the ports against a real Redfish service, sushy-emulator with its fake driver.
//! `LEASELESS_SUSHY` is the environment that `tests/sushy/setup.sh` makes.
#![cfg(feature = "management")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use leaseless::bmc::redfish::{Credentials, Redfish, TlsPolicy};
use leaseless::bmc::{
    BootControl, BootDevice, Class, Classified, EventLog, Power, PowerControl, PowerOff,
    VirtualMedia,
};
use leaseless::types::Secret;
use tokio::net::TcpListener;

const SYSTEM: &str = "/redfish/v1/Systems/27946b59-9e44-4fa7-8e91-f3527a1ef094";
const MANAGER: &str = "/redfish/v1/Managers/27946b59-9e44-4fa7-8e91-f3527a1ef094";
const SWITCHING: Duration = Duration::from_secs(60);

/// A running emulator with its files; both go when it is dropped.
struct Emulator {
    process: Child,
    address: SocketAddr,
    _files: tempfile::TempDir,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn environment() -> Option<PathBuf> {
    let found = std::env::var_os("LEASELESS_SUSHY").map(PathBuf::from);
    if found.is_none() {
        eprintln!(
            "NOT RUN against sushy-emulator: set LEASELESS_SUSHY=$(tests/sushy/setup.sh) for that"
        );
    }
    found
}

impl Emulator {
    async fn start(environment: &Path) -> Self {
        let files = tempfile::tempdir().unwrap();
        let config = files.path().join("emulator.conf");
        let python = "import bcrypt; print('admin:' + bcrypt.hashpw(b'password', bcrypt.gensalt(4)).decode())";
        let hashed =
            Command::new(environment.join("bin/python")).args(["-c", python]).output().unwrap();
        std::fs::write(files.path().join("users"), hashed.stdout).unwrap();
        let (state, users) = (files.path().join("state"), files.path().join("users"));
        std::fs::create_dir(&state).unwrap();
        let uuid = SYSTEM.rsplit('/').next().unwrap();
        std::fs::write(
            &config,
            format!(
                "SUSHY_EMULATOR_FAKE_SYSTEMS = [{{'uuid': '{uuid}', 'name': 'node0', \
                 'power_state': 'Off', 'nics': [{{'mac': '52:54:00:00:00:01', 'ip': \
                 '192.0.2.9'}}]}}]\nSUSHY_EMULATOR_STATE_DIR = {state:?}\n\
                 SUSHY_EMULATOR_AUTH_FILE = {users:?}\n"
            ),
        )
        .unwrap();
        let address = StdListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let process = Command::new(environment.join("bin/sushy-emulator"))
            .args(["--fake", "--config"])
            .arg(&config)
            .args(["-i", "127.0.0.1", "-p", &address.port().to_string()])
            .env("TMPDIR", files.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let emulator = Self { process, address, _files: files };
        emulator.wait_until_up().await;
        emulator
    }

    async fn wait_until_up(&self) {
        for _ in 0..300 {
            if tokio::net::TcpStream::connect(self.address).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("sushy-emulator does not come up at {}", self.address);
    }

    async fn connect(&self, path: &str, password: &str) -> Result<Redfish, String> {
        let address = format!("redfish-virtualmedia+http://{}{path}", self.address);
        let credentials =
            Credentials { username: "admin".to_owned(), password: Secret::new(password) };
        Redfish::connect(&address.parse().unwrap(), credentials, &TlsPolicy::default())
            .await
            .map_err(|error| error.cause.to_string())
    }
}

/// An image server for one path.
async fn serve_image() -> url::Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/vm/00ff.iso", listener.local_addr().unwrap());
    let image = axum::routing::get(|| async { vec![7_u8; 300_000] });
    let app = axum::Router::new().route("/vm/00ff.iso", image);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    url.parse().unwrap()
}

#[tokio::test]
async fn power_boot_and_media_go_through_a_real_redfish_service() {
    let Some(environment) = environment() else { return };
    let emulator = Emulator::start(&environment).await;
    let redfish = emulator.connect("", "password").await.unwrap();
    assert_eq!(redfish.system_path(), SYSTEM);

    let before = redfish.boot_override().await.unwrap();
    redfish.boot_once(BootDevice::Cd).await.unwrap();
    assert_eq!(redfish.boot_override().await.unwrap().device, BootDevice::Cd);
    redfish.restore_boot(before).await.unwrap();
    assert_eq!(redfish.boot_override().await.unwrap(), before);

    let image = serve_image().await;
    assert_eq!(redfish.media().await.unwrap()[0].image, None);
    for _ in 0..2 {
        let slot = redfish.insert(&image).await.unwrap();
        assert_eq!(slot.image.as_deref(), Some(image.as_str()));
    }
    redfish.eject().await.unwrap();
    redfish.eject().await.unwrap();
    assert_eq!(redfish.media().await.unwrap()[0].image, None);

    let gone = image.join("gone.iso").unwrap();
    let error = redfish.insert(&gone).await.unwrap_err();
    assert!(error.cause.to_string().contains("got error 404"), "{error:?}");
    assert_eq!(redfish.entries().await.unwrap_err().class(), Class::Unsupported);

    assert_eq!(redfish.power().await.unwrap(), Power::Off);
    redfish.power_on().await.unwrap();
    redfish.wait_for_power(Power::On, SWITCHING).await.unwrap();
    redfish.power_off(PowerOff::Hard).await.unwrap();
    redfish.wait_for_power(Power::Off, SWITCHING).await.unwrap();

    let info = redfish.info().await.unwrap();
    assert_eq!(info.nics[0].mac.unwrap().to_string(), "52:54:00:00:00:01");
    redfish.close().await.unwrap();
}

#[tokio::test]
async fn a_wrong_login_and_a_wrong_path_are_told_apart() {
    let Some(environment) = environment() else { return };
    let emulator = Emulator::start(&environment).await;
    let refused = emulator.connect(SYSTEM, "wrong").await.unwrap_err();
    assert!(refused.contains("refuses user \"admin\""), "{refused}");
    let manager = emulator.connect(MANAGER, "password").await.unwrap_err();
    assert_eq!(manager, format!("{MANAGER} is a Manager, not a system; use the path {SYSTEM}"));
}

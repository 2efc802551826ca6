//! The agent's client against the controller's own server, and against servers that are wrong in
//! one way each. Real TLS on loopback.
#![cfg(feature = "management")]
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use leaseless::agent::clock;
use leaseless::agent::controller_client::{ClientError, ControllerClient};
use leaseless::controller::agent_api::{AgentApi, AgentEvent, Enrolled};
use leaseless::controller::authority::Authority;
use leaseless::types::Secret;
use leaseless::types::boot::BootConfig;
use leaseless::types::hardware::HardwareDetails;
use leaseless::types::reason::Failure;
use leaseless::types::report::{Instruction, Report};
use time::{Duration, OffsetDateTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TOKEN: &str = "5ecre7-t0ken";

struct Controller {
    _api: AgentApi,
    host: Enrolled,
    boot: BootConfig,
}

/// A controller whose clock says `now`, and the medium that it made.
async fn controller(now: OffsetDateTime) -> Controller {
    let authority = Authority::generate(&[LOOPBACK], now).unwrap();
    let api = AgentApi::bind(SocketAddr::new(LOOPBACK, 0), authority.server()).await.unwrap();
    let host = api.enrol("host-1".into(), Secret::new(TOKEN));
    let boot = BootConfig {
        version: 1,
        host_id: "host-1".into(),
        controller_urls: vec![format!("https://{}", api.local_addr())],
        ca_pem: authority.ca_pem().into(),
        token: Secret::new(TOKEN),
        issued_at: now.unix_timestamp(),
        allow_dhcp: false,
    };
    Controller { _api: api, host, boot }
}

fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

fn client(boot: &BootConfig) -> ControllerClient {
    ControllerClient::new(boot, "boot-1".into()).unwrap()
}

async fn failure(boot: &BootConfig) -> Failure {
    let mut failures = client(boot).open_session().await.unwrap_err();
    assert_eq!(failures.len(), 1, "{failures:?}");
    failures.remove(0)
}

fn empty_report() -> Report {
    Report { hardware: HardwareDetails::default(), problems: vec![] }
}

#[tokio::test]
async fn a_boot_trades_its_token_reports_and_is_told_to_power_off() {
    let mut controller = controller(now()).await;
    let mut client = client(&controller.boot);
    client.open_session().await.unwrap();
    client.progress("network is up").await.unwrap();
    let report = Report { problems: vec![Failure::NoConfiguration], ..empty_report() };
    assert_eq!(client.report(&report).await, Ok(Instruction::Wait));
    controller.host.instruct(Instruction::PowerOff);
    assert_eq!(client.next().await, Ok(Instruction::PowerOff));

    let host = &mut controller.host;
    assert!(matches!(host.next_event().await, AgentEvent::CalledIn { .. }));
    assert_eq!(host.next_event().await, AgentEvent::Progressed("network is up".into()));
    assert_eq!(host.next_event().await, AgentEvent::Reported(Box::new(report)));
}

#[tokio::test]
async fn a_certificate_of_another_ca_is_a_tls_failure() {
    let mut controller = controller(now()).await;
    controller.boot.ca_pem = Authority::generate(&[LOOPBACK], now()).unwrap().ca_pem().into();
    let failure = failure(&controller.boot).await;
    assert!(matches!(failure, Failure::TlsFailed { address: LOOPBACK, .. }), "{failure}");
}

#[tokio::test]
async fn a_certificate_for_another_address_is_a_tls_failure() {
    let authority = Authority::generate(&["192.0.2.1".parse().unwrap()], now()).unwrap();
    let api = AgentApi::bind(SocketAddr::new(LOOPBACK, 0), authority.server()).await.unwrap();
    let mut boot = controller(now()).await.boot;
    boot.ca_pem = authority.ca_pem().into();
    boot.controller_urls = vec![format!("https://{}", api.local_addr())];
    let failure = failure(&boot).await;
    assert!(matches!(failure, Failure::TlsFailed { .. }), "{failure}");
}

#[tokio::test]
async fn a_clock_long_after_the_medium_is_what_an_expired_certificate_means() {
    let then = now() - Duration::days(400);
    let controller = controller(then).await;
    let failure = failure(&controller.boot).await;
    let issued = then.unix_timestamp();
    assert!(matches!(failure, Failure::ClockWrong { issued: i, .. } if i == issued), "{failure}");
}

#[tokio::test]
async fn a_clock_before_the_medium_does_not_keep_the_host_from_calling_home() {
    let controller = controller(now() + Duration::days(4000)).await;
    client(&controller.boot).open_session().await.unwrap();
    let told = clock::check(now().unix_timestamp(), controller.boot.issued_at);
    assert!(matches!(told, Some(Failure::ClockWrong { .. })), "and it is told as a problem");
}

#[tokio::test]
async fn an_expired_certificate_under_a_right_clock_is_a_tls_failure() {
    let mut controller = controller(now() - Duration::days(400)).await;
    controller.boot.issued_at = now().unix_timestamp();
    let failure = failure(&controller.boot).await;
    assert!(matches!(failure, Failure::TlsFailed { .. }), "{failure}");
}

#[tokio::test]
async fn a_closed_port_refused_and_the_next_controller_is_tried() {
    let mut controller = controller(now()).await;
    let boot = &mut controller.boot;
    let closed = TcpListener::bind((LOOPBACK, 0)).await.unwrap().local_addr().unwrap();
    let good = std::mem::replace(&mut boot.controller_urls, vec![format!("https://{closed}")]);
    let port = closed.port();
    let refused = Failure::ControllerUnreachable { address: LOOPBACK, port, refused: true };
    assert_eq!(failure(boot).await, refused);
    boot.controller_urls.extend(good);
    client(boot).open_session().await.unwrap();
}

/// Time is the runtime's own here: it jumps to the deadline as soon as everybody waits.
#[tokio::test(start_paused = true)]
async fn a_controller_that_says_nothing_does_not_answer() {
    let silent = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let mut boot = controller(now()).await.boot;
    let port = silent.local_addr().unwrap().port();
    boot.controller_urls = vec![format!("https://{LOOPBACK}:{port}")];
    let silent = Failure::ControllerUnreachable { address: LOOPBACK, port, refused: false };
    assert_eq!(failure(&boot).await, silent);
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_a_tls_failure() {
    let plain = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let mut boot = controller(now()).await.boot;
    boot.controller_urls = vec![format!("https://{}", plain.local_addr().unwrap())];
    let answer = async {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.read_exact(&mut [0; 64]).await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        stream
    };
    let (failure, _stream) = tokio::join!(failure(&boot), answer);
    assert!(matches!(failure, Failure::TlsFailed { .. }), "{failure}");
}

#[tokio::test]
async fn an_unknown_token_and_a_spent_one_are_refused_by_status() {
    let controller = controller(now()).await;
    let boot = &controller.boot;
    let unknown = BootConfig { token: Secret::new("wrong"), ..boot.clone() };
    assert_eq!(failure(&unknown).await, Failure::ControllerRefused { status: 401 });
    client(boot).open_session().await.unwrap();
    client(boot).open_session().await.expect("the same boot may trade again");
    let mut other = ControllerClient::new(boot, "boot-2".into()).unwrap();
    let refused = other.open_session().await.unwrap_err();
    assert_eq!(refused, [Failure::ControllerRefused { status: 409 }]);
}

#[tokio::test]
async fn a_session_that_ended_is_refused() {
    let controller = controller(now()).await;
    let mut client = client(&controller.boot);
    client.open_session().await.unwrap();
    drop(controller.host);
    let refused = Err(Failure::ControllerRefused { status: 401 });
    assert_eq!(client.report(&empty_report()).await, refused);
}

#[tokio::test]
async fn a_configuration_without_a_callable_controller_is_refused() {
    let boot = controller(now()).await.boot;
    let named = BootConfig { controller_urls: vec!["https://controller".into()], ..boot.clone() };
    assert!(matches!(ControllerClient::new(&named, String::new()), Err(ClientError::NoUrl)));
    for ca_pem in ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let broken = BootConfig { ca_pem: ca_pem.into(), ..boot.clone() };
        assert!(matches!(ControllerClient::new(&broken, String::new()), Err(ClientError::Ca)));
    }
}

use std::error::Error;
use std::time::Duration;

use leaseless::bmc::redfish::{Cause, Credentials, Redfish, Step, TlsPolicy};
use leaseless::bmc::{Class, Classified, Power, PowerControl};
use leaseless::types::Secret;

use crate::simulated_bmc::{Fault, PASSWORD, Profile, SimulatedBmc, USER};

/// The whole chain as a person reads it.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[tokio::test(start_paused = true)]
async fn a_session_is_used_for_everything_and_deleted_on_close() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let redfish = bmc.connect().await.unwrap();
    redfish.power().await.unwrap();
    assert_eq!(bmc.world().sessions.len(), 1);
    redfish.close().await.unwrap();
    let world = bmc.world();
    assert!(world.sessions.is_empty());
    assert!(world.seen.iter().all(|seen| !seen.basic && seen.identity));
}

#[tokio::test(start_paused = true)]
async fn a_failed_login_leaves_no_session_behind() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let url = format!("{}/redfish/v1/Managers/1", bmc.url());
    bmc.connect_to(&url, &TlsPolicy::default()).await.unwrap_err();
    assert!(bmc.world().sessions.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_renewed_once() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let redfish = bmc.connect().await.unwrap();
    bmc.fault(Fault::SessionsLost);
    assert_eq!(redfish.power().await.unwrap(), Power::Off);
    assert_eq!(bmc.world().sessions_made, 2);
}

#[tokio::test(start_paused = true)]
async fn basic_is_used_where_there_is_no_session_to_have() {
    let bmc = SimulatedBmc::start(Profile::idrac9()).await;
    bmc.fault(Fault::NoSessionFree);
    bmc.connect().await.unwrap().power().await.unwrap();

    let bmc = SimulatedBmc::start(Profile::sushy_tools()).await;
    bmc.connect().await.unwrap().power().await.unwrap();
    assert!(bmc.sent("POST", "/Sessions").is_empty());
}

#[tokio::test(start_paused = true)]
async fn huawei_gets_the_domain_that_it_asks_for() {
    let bmc = SimulatedBmc::start(Profile::huawei()).await;
    bmc.connect().await.unwrap();
    let sent = bmc.sent("POST", "/Sessions");
    assert_eq!(sent[1]["Oem"]["Huawei"]["Domain"], "LocaliBMC");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_tried_once_and_never_printed() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let credentials =
        Credentials { username: USER.to_owned(), password: Secret::new("battery staple") };
    let address = bmc.url().parse().unwrap();
    let error = Redfish::connect(&address, credentials, &TlsPolicy::default()).await.unwrap_err();
    assert_eq!(error.class(), Class::Permanent);
    assert_eq!(
        chain(&error),
        "logging in to the BMC, POST /redfish/v1/SessionService/Sessions: the BMC refuses user \
         \"admin\" with this password (HTTP 401)"
    );
    assert!(!format!("{error:?}").contains("battery"));
    // Two wrong passwords bring a lockout nearer than one.
    assert_eq!(bmc.world().seen.iter().filter(|seen| seen.method == "POST").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_managers_path_names_the_systems_that_there_are() {
    let bmc = SimulatedBmc::start(Profile::openbmc()).await;
    let url = format!("{}/redfish/v1/Managers/BMC_0", bmc.url());
    let error = bmc.connect_to(&url, &TlsPolicy::default()).await.unwrap_err();
    assert_eq!(
        chain(&error),
        "finding the system on the BMC: /redfish/v1/Managers/BMC_0 is a Manager, not a system; \
         use the path /redfish/v1/Systems/System_0"
    );
    let url = format!("{}/redfish/v1/Systems/2", bmc.url());
    let error = bmc.connect_to(&url, &TlsPolicy::default()).await.unwrap_err();
    assert!(chain(&error).contains("/redfish/v1/Systems/2 is nothing, not a system"));
}

#[tokio::test(start_paused = true)]
async fn a_baseboard_that_shows_up_as_a_system_is_left_out() {
    let bmc = SimulatedBmc::start(Profile::openbmc()).await;
    let redfish = bmc.connect().await.unwrap();
    assert_eq!(redfish.system_path(), "/redfish/v1/Systems/System_0");
}

#[tokio::test(start_paused = true)]
async fn html_is_told_as_what_it_is() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    bmc.fault(Fault::Html);
    let error = bmc.connect().await.unwrap_err();
    assert_eq!(error.step, Step::ReadingRoot);
    assert!(chain(&error).contains("answered HTML, not Redfish"), "{}", chain(&error));
}

#[tokio::test(start_paused = true)]
async fn answers_without_an_end_are_cut_off() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    bmc.fault(Fault::Huge);
    let error = bmc.connect().await.unwrap_err();
    assert!(matches!(*error.cause, Cause::TooLarge { bound: 4_194_304 }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn answers_that_end_too_early_are_asked_for_again_and_then_told() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    bmc.fault(Fault::Truncated);
    let error = bmc.connect().await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Broken(_)), "{error:?}");
    assert_eq!(error.class(), Class::Transient);
    assert_eq!(bmc.sent("GET", "/redfish/v1").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_bmc_that_is_busy_is_asked_again() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    bmc.fault(Fault::ReadsFail(3));
    bmc.connect().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_bmc_that_does_not_answer_runs_into_the_deadline() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    bmc.fault(Fault::Slow(Duration::from_secs(3600)));
    let error = bmc.connect().await.unwrap_err();
    assert_eq!(error.cause.to_string(), "no answer within 60 s");
}

#[tokio::test(start_paused = true)]
async fn identity_that_is_refused_is_not_asked_for_again() {
    let bmc = SimulatedBmc::start(Profile::ilo5()).await;
    bmc.fault(Fault::IdentityRefused);
    bmc.connect().await.unwrap();
    assert_eq!(bmc.world().seen.iter().filter(|seen| seen.identity).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_followed_on_the_same_host_only() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let other = SimulatedBmc::start(Profile::generic()).await;
    bmc.fault(Fault::Redirect(format!("http://{}/redfish/v1/", other.address)));
    // Another port of the same host, as one BMC of old does.
    bmc.connect().await.unwrap();

    for (to, why) in [
        ("http://192.0.2.66/redfish/v1/", "it is another host"),
        ("/redfish/v1/", "there is no end of redirects"),
        ("ftp://127.0.0.1/", "the password would leave TLS"),
    ] {
        let bmc = SimulatedBmc::start(Profile::generic()).await;
        bmc.fault(Fault::Redirect(to.to_owned()));
        let error = bmc.connect().await.unwrap_err();
        assert!(chain(&error).contains(why), "{}", chain(&error));
        assert_eq!(error.class(), Class::Permanent);
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_told_at_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = format!("redfish+http://{free}").parse().unwrap();
    let credentials = Credentials { username: USER.to_owned(), password: Secret::new(PASSWORD) };
    let error = Redfish::connect(&address, credentials, &TlsPolicy::default()).await.unwrap_err();
    assert_eq!(error.class(), Class::Transient);
    assert!(
        chain(&error).contains(&format!("http://{free} can't be reached")),
        "{}",
        chain(&error)
    );
}

#[tokio::test]
async fn a_certificate_that_does_not_verify_names_its_issuer_and_the_way_out() {
    let bmc = SimulatedBmc::start_tls(Profile::generic(), &["bmc"]).await;
    let error = bmc.connect().await.unwrap_err();
    assert_eq!(error.class(), Class::Permanent);
    let text = chain(&error);
    assert!(text.contains("(issued by Rack BMC default) does not verify"), "{text}");
    assert!(text.contains("--ca FILE") && text.contains("--insecure"), "{text}");
}

#[tokio::test]
async fn the_bmcs_own_certificate_is_trusted_when_given_whatever_name_it_has() {
    let bmc = SimulatedBmc::start_tls(Profile::generic(), &["bmc"]).await;
    let ca_pem = bmc.certificate.clone().map(String::into_bytes);
    let policy = TlsPolicy { ca_pem, ..TlsPolicy::default() };
    bmc.connect_to(&bmc.url(), &policy).await.unwrap().power().await.unwrap();

    let stranger = SimulatedBmc::start_tls(Profile::generic(), &["127.0.0.1"]).await;
    let error = stranger.connect_to(&stranger.url(), &policy).await.unwrap_err();
    assert!(matches!(*error.cause, Cause::Certificate { .. }), "{error:?}");
}

#[tokio::test]
async fn verification_can_be_switched_off() {
    let bmc = SimulatedBmc::start_tls(Profile::generic(), &["bmc"]).await;
    let policy = TlsPolicy { verify: false, ..TlsPolicy::default() };
    bmc.connect_to(&bmc.url(), &policy).await.unwrap().power().await.unwrap();
}

#[tokio::test]
async fn tls_towards_plain_http_says_what_to_write() {
    let bmc = SimulatedBmc::start(Profile::generic()).await;
    let url = format!("redfish://{}", bmc.address);
    let error = bmc.connect_to(&url, &TlsPolicy::default()).await.unwrap_err();
    assert!(chain(&error).contains("write +http://"), "{}", chain(&error));
}

//! Each way to fail at the door has an error of its own.

use std::net::UdpSocket;

use leaseless::bmc::ipmi::{Ipmi, IpmiError, Login};
use leaseless::bmc::{Class, Classified, Power, PowerControl};
use leaseless::types::{Privilege, Secret};

use super::responder::{Behaviour, Responder};
use super::wire::Suite;
use super::{IMPATIENCE, admin, connect};

async fn refusal(behaviour: Behaviour, login: Login) -> IpmiError {
    let bmc = Responder::start(behaviour);
    let error = connect(&bmc, login).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    error
}

#[tokio::test]
async fn a_wrong_password_is_told_from_an_unknown_user() {
    for suite in [Suite::Seventeen, Suite::Three] {
        let behaviour = Behaviour { suites: vec![suite], ..Behaviour::default() };
        let login = Login::new("admin", Secret::new("s3cret"));
        let error = refusal(behaviour.clone(), login).await;
        assert!(matches!(error, IpmiError::WrongPassword { long: false, .. }), "{error}");
        assert_eq!(error.class(), Class::Permanent);

        let error = refusal(behaviour, Login::new("root", Secret::new("s3cret"))).await;
        assert!(matches!(&error, IpmiError::UnknownUser { user } if user == "root"), "{error}");
    }
}

#[tokio::test]
async fn what_the_protocol_cannot_carry_is_refused_before_it_is_sent() {
    let long = "s3cret-s3cret-s3cret!";
    let error = refusal(Behaviour::default(), Login::new("admin", Secret::new(long))).await;
    assert_eq!(error.to_string(), "password has 21 bytes: IPMI allows 20, many BMCs keep only 16");
    let error = refusal(Behaviour::default(), Login::new("a".repeat(17), Secret::new(""))).await;
    assert!(matches!(error, IpmiError::NameTooLong(17)), "{error}");

    let kept_by_few = Login::new("admin", Secret::new(&long[..17]));
    let error = refusal(Behaviour::default(), kept_by_few).await;
    assert!(error.to_string().contains("some BMCs keep only the first 16"), "{error}");
}

#[tokio::test]
async fn a_privilege_above_the_users_limit_is_named() {
    for behaviour in [
        Behaviour { role_limit: 3, ..Behaviour::default() },
        Behaviour { privilege_limit: 3, ..Behaviour::default() },
    ] {
        let error = refusal(behaviour.clone(), admin()).await;
        assert!(matches!(error, IpmiError::PrivilegeTooLow { .. }), "{error}");
        assert!(error.to_string().contains("?privilegelevel=OPERATOR"), "{error}");

        let bmc = Responder::start(behaviour);
        let operator = admin().with_privilege(Privilege::Operator);
        let ipmi = connect(&bmc, operator).await.unwrap();
        assert_eq!(ipmi.power().await.unwrap(), Power::Off);
        assert_eq!(bmc.state().role, 0x13);
    }
}

#[tokio::test]
async fn a_key_of_the_bmc_has_to_be_given() {
    let behaviour = Behaviour { kg: Some(b"kg of the BMC".to_vec()), ..Behaviour::default() };
    let with_kg = |kg: &str| Login { kg: Some(Secret::new(kg)), ..admin() };
    let error = refusal(behaviour.clone(), admin()).await;
    assert!(error.to_string().ends_with("(Kg) that was not given"), "{error}");
    let error = refusal(behaviour.clone(), with_kg("s3cret")).await;
    assert!(error.to_string().ends_with("(Kg) that is not the one given"), "{error}");

    let bmc = Responder::start(behaviour);
    let ipmi = connect(&bmc, with_kg("kg of the BMC")).await.unwrap();
    assert_eq!(ipmi.power().await.unwrap(), Power::Off);
}

#[tokio::test]
async fn what_is_not_an_ipmi_2_bmc_is_named() {
    let error = refusal(Behaviour { ipmi_2: false, ..Behaviour::default() }, admin()).await;
    assert!(matches!(error, IpmiError::OldVersion), "{error}");
    assert_eq!(error.class(), Class::Unsupported);

    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let error = Ipmi::connect_with("127.0.0.1", port, admin(), IMPATIENCE).await.unwrap_err();
    assert!(matches!(error, IpmiError::NoAnswer(_)), "{error}");
    assert_eq!(error.class(), Class::Transient);

    drop(silent);
    let error = Ipmi::connect_with("127.0.0.1", port, admin(), IMPATIENCE).await.unwrap_err();
    assert!(matches!(error, IpmiError::Closed(_)), "{error}");

    let error = Ipmi::connect_with("no such name", port, admin(), IMPATIENCE).await.unwrap_err();
    assert!(matches!(error, IpmiError::Resolve { .. }), "{error}");
}

#[tokio::test]
async fn a_bmc_without_a_free_session_may_have_one_later() {
    let behaviour = Behaviour { sessions_taken: true, ..Behaviour::default() };
    let error = refusal(behaviour, admin()).await;
    assert!(matches!(error, IpmiError::NoFreeSession), "{error}");
    assert_eq!(error.class(), Class::Transient);
}

//! Datagrams that get lost, come twice or come changed, and BMCs that restart or dawdle.

use std::time::Duration;

use leaseless::bmc::ipmi::{Ipmi, IpmiError, Patience};
use leaseless::bmc::{Class, Classified, EventLog, Power, PowerControl};

use super::responder::{Behaviour, Responder};
use super::{IMPATIENCE, PATIENCE, admin, connect};

#[tokio::test]
async fn lost_and_doubled_datagrams_do_no_harm() {
    for (loses_requests, loses_answers, answers_twice) in
        [(true, false, false), (false, true, false), (true, true, true), (false, false, true)]
    {
        let bmc = Responder::start(Behaviour {
            loses_requests,
            loses_answers,
            answers_twice,
            ..Behaviour::default()
        });
        bmc.state().log = vec![[0x11; 16], [0x22; 16]];
        let patience = Patience { retransmit: Duration::from_millis(10), ..PATIENCE };
        let ipmi = Ipmi::connect_with("127.0.0.1", bmc.port(), admin(), patience).await.unwrap();
        ipmi.power_on().await.unwrap();
        assert_eq!(ipmi.power().await.unwrap(), Power::On);
        ipmi.power_cycle().await.unwrap();
        assert_eq!(bmc.state().chassis_controls, [1, 2], "each command was carried out once");
        assert_eq!(ipmi.entries().await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_bmc_that_made_two_challenges_is_asked_afresh() {
    let bmc = Responder::start(Behaviour { late_challenge: true, ..Behaviour::default() });
    let ipmi = connect(&bmc, admin()).await.unwrap();
    assert_eq!(ipmi.power().await.unwrap(), Power::Off);
}

#[tokio::test]
async fn an_answer_with_a_wrong_code_is_no_answer() {
    let bmc = Responder::start(Behaviour { spoils_codes: true, ..Behaviour::default() });
    let error = Ipmi::connect_with("127.0.0.1", bmc.port(), admin(), IMPATIENCE).await.unwrap_err();
    assert!(matches!(error, IpmiError::SessionLost(_)), "{error}");
}

#[tokio::test]
async fn a_session_that_the_bmc_forgot_is_opened_again() {
    let bmc = Responder::start(Behaviour::default());
    let ipmi = Ipmi::connect_with("127.0.0.1", bmc.port(), admin(), IMPATIENCE).await.unwrap();
    bmc.forget_session();
    ipmi.power_on().await.unwrap();
    assert_eq!(bmc.state().opened, 2);
    bmc.forget_session();
    let error = ipmi.power_cycle().await.unwrap_err();
    assert!(matches!(error, IpmiError::SessionLost(_)), "a cycle is never sent twice: {error}");
}

#[tokio::test]
async fn a_log_is_read_in_pieces_where_the_bmc_wants_it_so() {
    let bmc = Responder::start(Behaviour { log_in_pieces: true, busy: 2, ..Behaviour::default() });
    let record = std::array::from_fn(|place| u8::try_from(place).unwrap());
    bmc.state().log = vec![record; 3];
    let ipmi = connect(&bmc, admin()).await.unwrap();
    let entries = ipmi.entries().await.unwrap();
    assert_eq!(entries.iter().map(|entry| entry.raw).collect::<Vec<_>>(), [Some(record); 3]);
}

#[tokio::test]
async fn a_log_that_is_watched_is_read_once() {
    let bmc = Responder::start(Behaviour::default());
    let record = |id: u8| [id, 0, 0xC1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bmc.state().log = (1..=3).map(record).collect();
    let ipmi = connect(&bmc, admin()).await.unwrap();
    let looks: [(&str, &[u8], u32); 4] = [
        ("all of it at first", &[1, 2, 3], 3),
        ("nothing where nothing changed", &[1, 2, 3], 3),
        ("the last known one and what follows", &[1, 2, 3, 4], 5),
        ("all of it after it was cleared", &[9], 6),
    ];
    for (what, ids, reads) in looks {
        bmc.state().log = ids.iter().copied().map(record).collect();
        let entries = ipmi.entries().await.unwrap();
        let raw: Vec<[u8; 16]> = entries.iter().filter_map(|entry| entry.raw).collect();
        assert_eq!(raw, bmc.state().log, "{what}");
        assert_eq!(bmc.state().log_reads, reads, "{what}");
    }
}

#[tokio::test]
async fn an_empty_log_has_no_entries() {
    let bmc = Responder::start(Behaviour::default());
    let ipmi = connect(&bmc, admin()).await.unwrap();
    assert_eq!(ipmi.entries().await.unwrap(), []);
}

#[tokio::test]
async fn a_bmc_without_a_log_says_so() {
    let bmc = Responder::start(Behaviour { has_log: false, ..Behaviour::default() });
    let ipmi = connect(&bmc, admin()).await.unwrap();
    let error = ipmi.entries().await.unwrap_err();
    assert_eq!(error.to_string(), "this BMC has no Get SEL Info");
    assert_eq!(error.class(), Class::Unsupported);
}

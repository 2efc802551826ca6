use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// A BMC that answers from a table: (netfn, command, data) to completion code and data.
#[derive(Default)]
struct Scripted {
    answers: HashMap<(u8, u8, Vec<u8>), Vec<u8>>,
    otherwise: Option<Vec<u8>>,
    asked: Vec<Vec<u8>>,
    busy: u32,
}

impl Scripted {
    fn answer(mut self, netfn: u8, command: u8, data: &[u8], answer: &[u8]) -> Self {
        self.answers.insert((netfn, command, data.to_vec()), answer.to_vec());
        self
    }

    /// A LAN channel with these parameters.
    fn lan(self, channel: u8, parameters: &[(u8, u8, &[u8])]) -> Self {
        let info = [0, channel, 4, 1, 0x80, 0xF2, 0x1B, 0, 0, 0];
        let bmc = self.answer(6, 0x42, &[channel], &info);
        parameters.iter().fold(bmc, |bmc, (parameter, set, data)| {
            let answer = [&[0, 0x11], *data].concat();
            bmc.answer(0x0C, 2, &[channel, *parameter, *set, 0], &answer)
        })
    }
}

impl IpmiConnection for Scripted {
    type SendError = io::Error;
    type RecvError = io::Error;
    type Error = io::Error;

    fn send(&mut self, _: &mut Request) -> io::Result<()> {
        unreachable!("ipmi-rs sends and receives in one call")
    }

    fn recv(&mut self) -> io::Result<Response> {
        unreachable!("ipmi-rs sends and receives in one call")
    }

    fn send_recv(&mut self, request: &mut Request) -> io::Result<Response> {
        let key = (request.netfn_raw(), request.cmd(), request.data().to_vec());
        self.asked.push(key.2.clone());
        let data = if self.busy > 0 {
            self.busy -= 1;
            vec![0xC0]
        } else {
            let answer = self.answers.get(&key).cloned().or(self.otherwise.clone());
            answer.ok_or(io::ErrorKind::WouldBlock)?
        };
        let message = Message::new_response(request.netfn(), request.cmd(), data);
        Response::new(message, 0).ok_or(io::ErrorKind::InvalidData.into())
    }
}

fn scan(bmc: Scripted) -> Result<BmcLan, LocalBmcError> {
    let deadline = Instant::now() + SCAN_DEADLINE;
    Scan { ipmi: &mut Ipmi::new(bmc), deadline }.lan()
}

fn refusing() -> Scripted {
    Scripted { otherwise: Some(vec![0xCC]), ..Scripted::default() }
}

fn ipv6_slot(flags: u8, address: &str, status: u8) -> Vec<u8> {
    let address: Ipv6Addr = address.parse().unwrap();
    [&[0, flags], address.octets().as_slice(), &[64, status]].concat()
}

#[test]
fn a_record_is_added_and_its_id_returned() {
    let record = [7; 16];
    let mut ipmi = Ipmi::new(refusing().answer(0x0A, 0x44, &record, &[0, 0x34, 0x12]));
    assert_eq!(add_sel_entry(&mut ipmi, &record, Duration::ZERO).unwrap(), 0x1234);
}

#[test]
fn a_busy_bmc_is_asked_again() {
    let bmc = Scripted { busy: 2, ..refusing() }.answer(0x0A, 0x44, &[7; 16], &[0, 1, 0]);
    let mut ipmi = Ipmi::new(bmc);
    assert_eq!(add_sel_entry(&mut ipmi, &[7; 16], Duration::ZERO).unwrap(), 1);
    assert_eq!(ipmi.inner_mut().asked.len(), 3);
}

#[test]
fn each_way_to_fail_has_its_error() {
    let add = |bmc| add_sel_entry(&mut Ipmi::new(bmc), &[0; 16], Duration::ZERO).unwrap_err();
    let answering = |answer: &[u8]| Scripted { otherwise: Some(answer.to_vec()), ..refusing() };
    assert!(matches!(add(answering(&[0xC4])), LocalBmcError::LogFull));
    assert!(matches!(add(answering(&[0xC1])), LocalBmcError::Refused { .. }));
    assert!(matches!(add(answering(&[0, 1])), LocalBmcError::Malformed { .. }));
    assert!(matches!(add(Scripted::default()), LocalBmcError::Device(_)));
    assert!(matches!(scan(Scripted::default()), Err(LocalBmcError::Device(_))));
}

#[test]
fn the_first_channel_with_an_address_wins() {
    let bmc = refusing()
        .answer(6, 0x42, &[1], &[0, 1, 5, 1, 0, 0, 0, 0, 0, 0])
        .lan(2, &[(3, 0, &[0, 0, 0, 0]), (5, 0, &[2, 0, 0, 0, 0, 2])])
        .lan(8, &[(3, 0, &[192, 0, 2, 8]), (5, 0, &[2, 0, 0, 0, 0, 8])])
        .lan(9, &[(3, 0, &[192, 0, 2, 9]), (5, 0, &[2, 0, 0, 0, 0, 9])]);
    let found = scan(bmc).unwrap();
    assert_eq!(found.ipv4, Some(Ipv4Addr::new(192, 0, 2, 8)));
    assert_eq!(found.mac, Some(Mac::new([2, 0, 0, 0, 0, 8])));
    assert_eq!(found.ipv6, None);
}

#[test]
fn an_active_global_ipv6_address_is_preferred() {
    let off = ipv6_slot(0x00, "2001:db8::1", 0);
    let failed = ipv6_slot(0x80, "2001:db8::2", 3);
    let link_local = ipv6_slot(2, "fe80::1", 0);
    let global = ipv6_slot(1, "2001:db8::4", 0);
    let parameters: &[(u8, u8, &[u8])] = &[
        (51, 0, &[2]),
        (55, 0, &[2, 2, 3]),
        (56, 0, &off),
        (56, 1, &failed),
        (59, 0, &link_local),
        (59, 1, &global),
    ];
    let found = scan(refusing().lan(1, parameters)).unwrap();
    assert_eq!(found.ipv6, Some("2001:db8::4".parse().unwrap()));
    let found = scan(refusing().lan(1, &parameters[..5])).unwrap();
    assert_eq!(found.ipv6, Some("fe80::1".parse().unwrap()));
    assert_eq!(scan(refusing().lan(1, &[(51, 0, &[0])])).unwrap(), BmcLan::default());
}

#[test]
fn a_scan_ends_at_its_deadline() {
    let bmc = refusing().lan(1, &[(3, 0, &[192, 0, 2, 1])]);
    let past = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
    let found = Scan { ipmi: &mut Ipmi::new(bmc), deadline: past }.lan().unwrap();
    assert_eq!(found, BmcLan::default());
}

proptest! {
    #[test]
    fn any_answer_is_read_without_a_panic(answer in proptest::collection::vec(any::<u8>(), 1..40)) {
        let bmc = || Scripted { otherwise: Some(answer.clone()), ..Scripted::default() };
        let _ = scan(bmc());
        if answer[0] != 0xC0 {
            let _ = add_sel_entry(&mut Ipmi::new(bmc()), &[0; 16], Duration::ZERO);
        }
    }
}

use std::net::Ipv4Addr;

use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::super::pool::PoolSpec;
use super::*;

fn pool(yaml: &str) -> Pool {
    let spec: PoolSpec = serde_yaml_ng::from_str(yaml).unwrap();
    Pool::new(&spec).unwrap()
}

fn small() -> Pool {
    pool("pools: [{subnet: 192.0.2.0/29, gateway: 192.0.2.1}]")
}

fn owner(name: &str) -> Owner {
    Owner {
        kind: "IPClaim.ipam.metal3.io".into(),
        namespace: "infra".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
    }
}

fn v4(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

struct Desk(Allocator);

impl Desk {
    fn open(pool: Pool) -> Self {
        Self(Allocator::new(pool, []).0)
    }

    fn claim(&mut self, name: &str) -> Result<IpAddr, Refusal> {
        let claim = Claim { owner: &owner(name), wanted: None, sticky: None };
        self.0.claim(&claim, 0).map(|allocation| allocation.address)
    }

    fn wants(&mut self, name: &str, wanted: IpAddr) -> Result<IpAddr, Refusal> {
        let claim = Claim { owner: &owner(name), wanted: Some(wanted), sticky: None };
        self.0.claim(&claim, 0).map(|allocation| allocation.address)
    }
}

#[test]
fn network_broadcast_and_gateway_are_never_handed_out() {
    let mut desk = Desk::open(small());
    let given: Vec<_> = (0..5).map(|n| desk.claim(&n.to_string()).unwrap()).collect();
    assert_eq!(given, [2, 3, 4, 5, 6].map(v4));
    assert_eq!(desk.claim("one too many"), Err(Refusal::Exhausted));
    assert_eq!((desk.0.total(), desk.0.used(), desk.0.free()), (5, 5, 0));
}

#[test]
fn a_released_address_is_reused_last_and_the_moment_it_is_needed() {
    let mut desk = Desk::open(small());
    assert_eq!(desk.claim("a"), Ok(v4(2)));
    desk.0.release(&owner("a"));
    let next: Vec<_> = ["b", "c", "d", "e", "f"].map(|name| desk.claim(name).unwrap()).into();
    assert_eq!(next, [3, 4, 5, 6, 2].map(v4));
}

#[test]
fn a_host_gets_its_address_again_while_nobody_else_took_it() {
    let mut desk = Desk::open(small());
    let sticky = |owner| Claim { owner, wanted: None, sticky: Some("host-1") };
    let (first, second) = (owner("first"), owner("second"));
    let address = desk.0.claim(&sticky(&first), 0).unwrap().address;
    desk.0.release(&first);
    assert_eq!(desk.claim("other"), Ok(v4(3)));
    assert_eq!(desk.0.claim(&sticky(&second), 0).unwrap().address, address);
}

#[test]
fn equal_names_of_two_apis_or_two_lives_are_different_owners() {
    let mut desk = Desk::open(small());
    let capi = Owner { kind: "IPAddressClaim.ipam.cluster.x-k8s.io".into(), ..owner("x") };
    let reborn = Owner { uid: "another".into(), ..owner("x") };
    let mut given = vec![desk.claim("x").unwrap()];
    for owner in [&capi, &reborn] {
        let claim = Claim { owner, wanted: None, sticky: None };
        given.push(desk.0.claim(&claim, 0).unwrap().address);
    }
    assert_eq!(given, [2, 3, 4].map(v4));
}

#[test]
fn a_wanted_address_is_given_or_refused_with_the_reason() {
    let mut desk = Desk::open(pool(
        "{pools: [{subnet: 192.0.2.0/28, gateway: 192.0.2.1}], exclude: [192.0.2.8/30],
          preAllocations: {kept: 192.0.2.5}}",
    ));
    assert_eq!(desk.wants("a", v4(4)), Ok(v4(4)));
    let held = Refusal::Held { address: v4(4), owner: Box::new(owner("a")) };
    assert_eq!(desk.wants("b", v4(4)), Err(held));
    assert_eq!(desk.wants("b", v4(1)), Err(Refusal::Reserved(v4(1))));
    assert_eq!(desk.wants("b", v4(9)), Err(Refusal::Reserved(v4(9))));
    assert_eq!(desk.wants("b", v4(99)), Err(Refusal::NotInPool(v4(99))));
    let kept = Refusal::KeptFor { address: v4(5), claim: "kept".into() };
    assert_eq!(desk.wants("b", v4(5)), Err(kept));
    assert_eq!(desk.claim("kept"), Ok(v4(5)));
}

#[test]
fn what_is_assigned_survives_an_edit_that_drops_its_range() {
    let edited = pool("pools: [{start: 192.0.2.20, end: 192.0.2.21, prefix: 24}]");
    let (mut state, conflicts) = Allocator::new(edited, [(owner("old"), v4(2))]);
    assert!(conflicts.is_empty());
    let again = Claim { owner: &owner("old"), wanted: None, sticky: None };
    assert_eq!(state.claim(&again, 0).unwrap().address, v4(2));
    state.release(&owner("old"));
    assert_eq!(state.free(), 2, "a dropped address must not come back");
}

#[test]
fn two_holders_of_one_address_are_told_apart_and_the_first_keeps_it() {
    let both = [(owner("a"), v4(2)), (owner("b"), v4(2))];
    let (state, conflicts) = Allocator::new(small(), both);
    let expected = Conflict { address: v4(2), kept_by: owner("a"), lost_by: owner("b") };
    assert_eq!(conflicts, [expected]);
    assert_eq!(state.used(), 1);
}

#[test]
fn a_pool_of_a_million_addresses_costs_no_more_than_a_small_one() {
    let mut desk = Desk::open(pool("pools: [{subnet: 10.0.0.0/12, gateway: 10.0.0.1}]"));
    assert_eq!(desk.0.total(), (1 << 20) - 3);
    assert_eq!(desk.claim("a"), Ok("10.0.0.2".parse().unwrap()));
}

#[derive(Debug, Clone)]
enum Step {
    Claim(u8, u64),
    Want(u8, u8),
    Release(u8),
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u8..12, any::<u64>()).prop_map(|(who, pick)| Step::Claim(who, pick)),
        1 => (0_u8..12, 0_u8..20).prop_map(|(who, address)| Step::Want(who, address)),
        3 => (0_u8..12).prop_map(Step::Release),
        1 => Just(Step::Restart),
    ];
    proptest::collection::vec(step, 0..120)
}

proptest! {
    #[test]
    fn no_address_has_two_owners_and_none_moves(steps in steps(), random in any::<bool>()) {
        let mut pool = pool("{pools: [{subnet: 192.0.2.0/29, gateway: 192.0.2.1},
            {start: 192.0.2.12, end: 192.0.2.15, prefix: 28}], exclude: [192.0.2.13]}");
        if random {
            pool.strategy = crate::ipam::Strategy::Random;
        }
        let mut desk = Desk::open(pool.clone());
        let mut model: BTreeMap<String, IpAddr> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Claim(who, pick) => {
                    let owner = owner(&who.to_string());
                    let claim = Claim { owner: &owner, wanted: None, sticky: None };
                    match desk.0.claim(&claim, pick) {
                        Ok(got) => {
                            let before = model.insert(owner.name, got.address);
                            prop_assert!(before.is_none_or(|before| before == got.address));
                        }
                        Err(refusal) => {
                            prop_assert_eq!(refusal, Refusal::Exhausted);
                            prop_assert_eq!(model.len() as u128, desk.0.total());
                        }
                    }
                }
                Step::Want(who, address) => {
                    if let Ok(got) = desk.wants(&who.to_string(), v4(address)) {
                        model.insert(who.to_string(), got);
                    }
                }
                Step::Release(who) => {
                    let freed = desk.0.release(&owner(&who.to_string()));
                    prop_assert_eq!(freed, model.remove(&who.to_string()));
                }
                Step::Restart => {
                    let held: Vec<_> =
                        desk.0.held().map(|(address, owner)| (owner.clone(), address)).collect();
                    let (state, conflicts) = Allocator::new(pool.clone(), held);
                    prop_assert!(conflicts.is_empty());
                    desk = Desk(state);
                }
            }
            let held: BTreeSet<IpAddr> = model.values().copied().collect();
            prop_assert_eq!(held.len(), model.len(), "one address, two owners");
            prop_assert!(held.iter().all(|held| pool.range_of(*held).is_some() && !pool.is_reserved(*held)));
            prop_assert_eq!(desk.0.free() + held.len() as u128, desk.0.total());
        }
    }
}

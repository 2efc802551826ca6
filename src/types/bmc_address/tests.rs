use super::*;

fn parse(text: &str) -> BmcAddress {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_redfish_scheme_with_every_transport_is_known() {
    for flavour in RedfishFlavour::ALL {
        for (suffix, base) in [("", "https"), ("+https", "https"), ("+http", "http")] {
            let text = format!("{}{suffix}://192.0.2.5/redfish/v1/Systems/1", flavour.scheme());
            let address = parse(&text);
            assert_eq!(address.redfish_base().unwrap(), format!("{base}://192.0.2.5"), "{text}");
            let BmcDriver::Redfish { flavour: got, system, .. } = address.driver else {
                panic!("{text} is Redfish")
            };
            assert_eq!(got, flavour);
            assert_eq!(system.as_deref(), Some("/redfish/v1/Systems/1"));
        }
    }
}

#[test]
fn odd_forms_read_as_metal3_reads_them() {
    for (text, normal) in [
        ("192.168.122.1", "ipmi://192.168.122.1"),
        ("192.168.122.1:6233", "ipmi://192.168.122.1:6233"),
        ("host:6233", "ipmi://host:6233"),
        ("[fe80::fc33:62ff:fe83:8a76]:6233", "ipmi://[fe80::fc33:62ff:fe83:8a76]:6233"),
        ("ipmi:192.0.2.5:6233", "ipmi://192.0.2.5:6233"),
        ("ipmi://[fe80::1]", "ipmi://[fe80::1]"),
        ("ipmi://192.0.2.5?privilegelevel=OPERATOR", "ipmi://192.0.2.5?privilegelevel=OPERATOR"),
        ("ipmi://192.0.2.5?privilegelevel=ADMINISTRATOR", "ipmi://192.0.2.5"),
        ("libvirt://192.168.122.1:6233/", "libvirt://192.168.122.1:6233"),
        ("redfish:192.0.2.5", "redfish://192.0.2.5"),
        ("redfish://admin:secret@192.0.2.5/?q=1#f", "redfish://192.0.2.5"),
        ("redfish://192.0.2.5/redfish/v1/", "redfish://192.0.2.5"),
        ("redfish://192.0.2.5/redfish/v1", "redfish://192.0.2.5"),
        (" redfish+https://my-host.example.com:8443\n", "redfish://my-host.example.com:8443"),
        (
            "redfish-virtualmedia+http://[2001:db8::5]:8000/redfish/v1/Systems/uuid",
            "redfish-virtualmedia+http://[2001:db8::5]:8000/redfish/v1/Systems/uuid",
        ),
    ] {
        let address = parse(text);
        assert_eq!(address.to_string(), normal, "{text}");
        assert_eq!(parse(normal), address, "{normal}");
    }
}

#[test]
fn ipmi_listens_on_623_unless_the_address_says_otherwise() {
    assert_eq!(parse("192.0.2.5").ipmi_port(), Some(623));
    assert_eq!(parse("ipmi://192.0.2.5:6230").ipmi_port(), Some(6230));
    assert_eq!(parse("redfish://192.0.2.5").ipmi_port(), None);
}

#[test]
fn only_the_media_and_http_schemes_boot_an_iso() {
    let booting: Vec<_> =
        RedfishFlavour::ALL.into_iter().filter(|f| f.boots_iso()).map(|f| f.scheme()).collect();
    assert_eq!(
        booting,
        ["redfish-virtualmedia", "ilo5-virtualmedia", "idrac-virtualmedia", "redfish-uefihttp"]
    );
}

#[test]
fn errors_name_the_typo_and_the_nearest_scheme() {
    for (text, message) in [
        (
            "redfsh-virtualmedia+https://192.0.2.5",
            "unknown BMC type \"redfsh-virtualmedia+https\" in \
             \"redfsh-virtualmedia+https://192.0.2.5\": did you mean redfish-virtualmedia+https://?",
        ),
        (
            "https://192.0.2.5/redfish/v1/Systems/1",
            "unknown BMC type \"https\" in \"https://192.0.2.5/redfish/v1/Systems/1\": did you \
             mean redfish-virtualmedia+https://?",
        ),
        (
            "redfish+htps://192.0.2.5",
            "unknown BMC type \"redfish+htps\" in \"redfish+htps://192.0.2.5\": did you mean \
             redfish+https://?",
        ),
        (
            "foo://admin:secret@192.0.2.5",
            "unknown BMC type \"foo\" in \"foo://192.0.2.5\": use redfish-virtualmedia+https://, \
             redfish://, ipmi:// or another type of Metal3",
        ),
        ("irmc://192.0.2.5", "BMC type \"irmc\" is gone: use redfish-virtualmedia"),
        ("ilo4-virtualmedia://h", "BMC type \"ilo4-virtualmedia\" is gone: use ilo5-virtualmedia"),
        (
            "[fe80::1]",
            "\"[fe80::1]\" is not an IPv6 address that can be used here: write ipmi://[fe80::1]",
        ),
        (
            "redfish://2001:db8::5/",
            "\"2001:db8::5\" is not an IPv6 address that can be used here: write redfish://[2001:db8::5]",
        ),
        (
            "redfish://[fe80::1%25eth0]",
            "\"fe80::1%25eth0\" is not an IPv6 address that can be used here: zone ids are not accepted, use a routable address",
        ),
        (
            "redfish://[2001:db8::5/",
            "\"[2001:db8::5\" is not an IPv6 address that can be used here: the closing bracket is missing",
        ),
        ("redfish:///redfish/v1", "the BMC address names no host: write redfish://HOST"),
        ("redfish://192.0.2.5:99999", "\"99999\" is not a port: write a number from 1 to 65535"),
        ("redfish://192.0.2.5:+1", "\"+1\" is not a port: write a number from 1 to 65535"),
        (
            "ipmi://h?privilegelevel=ROOT",
            "privilegelevel \"ROOT\" is not one of USER, OPERATOR, ADMINISTRATOR",
        ),
        ("", "the BMC address is empty: write for example redfish-virtualmedia+https://192.0.2.5"),
    ] {
        let error = match text.parse::<BmcAddress>() {
            Ok(address) => panic!("{text} was taken as {address}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(error, message, "{text}");
    }
}

#[test]
fn host_names_that_dns_does_not_have_are_refused() {
    for host in ["my-.example.com", "-a.b", "a..b", "192.0.2.256", "192.0.2", "under_score", "ä"] {
        let error = format!("redfish://{host}").parse::<BmcAddress>().unwrap_err();
        assert!(matches!(error, BmcAddressError::BadHost { .. }), "{host}: {error}");
    }
}

#[test]
fn no_error_repeats_a_password() {
    for text in ["foo://u:hunter2@h", "redfish://u:hunter2@-h", "redfish://u:hunter2@h:x"] {
        assert!(!text.parse::<BmcAddress>().unwrap_err().to_string().contains("hunter2"));
    }
}

//! Who a disk is, from SCSI vital product data (SPC-4 §7.8, SAT-3 §12.4). Pure.

/// Names from VPD pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Full model name: INQUIRY cuts an ATA disk's after 16 of 40 characters.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// World wide name, `0x` and 16 hex digits.
    pub wwn: Option<String>,
    /// Second half of a 16 byte NAA name.
    pub wwn_extension: Option<String>,
}

/// Unit Serial Number, page 0x80.
#[must_use]
pub fn unit_serial(page: &[u8]) -> Option<String> {
    text(body(page, 0x80)?)
}

/// Device Identification, page 0x83: the NAA name of the logical unit, and what SAT puts into the
/// T10 designator of an ATA disk: 40 characters of model and 20 of serial number.
#[must_use]
pub fn device_identification(page: &[u8]) -> Identity {
    let mut identity = Identity::default();
    let mut rest = body(page, 0x83).unwrap_or_default();
    let mut best = 0;
    while let [code, kind, _, length, after @ ..] = rest {
        let Some((designator, next)) = after.split_at_checked(usize::from(*length)) else { break };
        let (association, is_binary) = (kind >> 4 & 3, code & 0xF == 1);
        match (association, kind & 0xF) {
            // NAA 6 names a volume of an array, NAA 5 a disk: the more exact one wins.
            (0, 3) if is_binary && naa(designator) > best => {
                best = naa(designator);
                identity.wwn = designator.get(..8).map(|bytes| format!("0x{}", hex(bytes)));
                identity.wwn_extension = designator.get(8..16).map(hex);
            }
            (0, 1) if designator.starts_with(b"ATA     ") && designator.len() == 68 => {
                identity.model = text(&designator[8..48]);
                identity.serial = text(&designator[48..68]);
            }
            _ => {}
        }
        rest = next;
    }
    identity
}

/// Name Address Authority of a designator of the right length; 0 is none.
fn naa(designator: &[u8]) -> u8 {
    match (designator.first().map(|byte| byte >> 4), designator.len()) {
        (Some(authority @ (2 | 3 | 5)), 8) => authority,
        (Some(6), 16) => 6,
        _ => 0,
    }
}

/// ATA Information, page 0x89: 512 bytes of IDENTIFY DEVICE from byte 60 (ACS-3 §7.12.7).
#[must_use]
pub fn ata_information(page: &[u8]) -> Identity {
    let Some(identify) = page.get(60..572).filter(|_| page.get(1) == Some(&0x89)) else {
        return Identity::default();
    };
    let word = |n: usize| u16::from_le_bytes([identify[2 * n], identify[2 * n + 1]]);
    // Two characters to a word, the first in the high byte.
    let string = |words: std::ops::Range<usize>| {
        let bytes: Vec<u8> = words.flat_map(|n| word(n).to_be_bytes()).collect();
        text(&bytes)
    };
    // Word 87: bits 15:14 are 01 when it is valid, bit 8 says that words 108 to 111 are a name.
    let has_name = word(87) >> 14 == 1 && word(87) >> 8 & 1 == 1;
    let name: Vec<u8> = (108..112).flat_map(|n| word(n).to_be_bytes()).collect();
    Identity {
        model: string(27..47),
        serial: string(10..20),
        wwn: (has_name && naa(&name) == 5).then(|| format!("0x{}", hex(&name))),
        wwn_extension: None,
    }
}

/// What a page with this code holds, by its own length.
fn body(page: &[u8], code: u8) -> Option<&[u8]> {
    let [_, kind, high, low, rest @ ..] = page else { return None };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    (*kind == code).then(|| rest.get(..length).unwrap_or(rest))
}

/// Printable text without blanks around it; empty is `None`.
fn text(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes).replace(|c: char| c.is_control(), " ");
    let trimmed = text.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(code: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        [&[0, code], length.as_slice(), body].concat()
    }

    const NAA5: [u8; 12] = [1, 3, 0, 8, 0x50, 0, 0xc5, 0, 0x15, 0xea, 0x71, 0xa0];

    #[test]
    fn a_serial_number_has_its_blanks_cut_off() {
        assert_eq!(unit_serial(&page(0x80, b"  WD-1234  ")).as_deref(), Some("WD-1234"));
        assert_eq!(unit_serial(&page(0x80, b"    ")), None);
        assert_eq!(unit_serial(&page(0x83, b"WD-1234")), None);
        assert_eq!(unit_serial(b"\0\x80"), None);
    }

    #[test]
    fn an_eight_byte_name_has_no_extension_and_a_port_s_name_is_not_the_disk_s() {
        let port = [1, 0x93, 0, 8, 0x50, 1, 2, 3, 4, 5, 6, 7];
        let found = device_identification(&page(0x83, &[port, NAA5].concat()));
        assert_eq!(found.wwn.as_deref(), Some("0x5000c50015ea71a0"));
        assert_eq!(found.wwn_extension, None);
    }

    #[test]
    fn a_sixteen_byte_name_is_split_and_wins_over_a_shorter_one() {
        let mut volume = vec![1, 3, 0, 16, 0x60, 0, 0, 0, 0, 0, 0, 0x01];
        volume.extend([0xa1, 0xb2, 0xc3, 0xd4, 0xe5, 0xf6, 0x07, 0x18]);
        for body in [[volume.as_slice(), &NAA5].concat(), [&NAA5, volume.as_slice()].concat()] {
            let found = device_identification(&page(0x83, &body));
            assert_eq!(found.wwn.as_deref(), Some("0x6000000000000001"));
            assert_eq!(found.wwn_extension.as_deref(), Some("a1b2c3d4e5f60718"));
        }
    }

    #[test]
    fn a_designator_that_runs_past_the_page_ends_the_reading_and_keeps_the_rest() {
        let body = [&NAA5[..], &[1, 3, 0, 200, 0x50]].concat();
        let found = device_identification(&page(0x83, &body));
        assert_eq!(found.wwn.as_deref(), Some("0x5000c50015ea71a0"));
    }

    #[test]
    fn an_ata_disk_s_whole_model_is_in_either_page() {
        let mut designator = vec![2, 1, 0, 68];
        designator.extend(b"ATA     ");
        designator.extend(format!("{:<40}{:>20}", "Example SSD 860 EVO 1TB", "S3Z8NB0K").bytes());
        let found = device_identification(&page(0x83, &designator));
        assert_eq!(found.model.as_deref(), Some("Example SSD 860 EVO 1TB"));
        assert_eq!(found.serial.as_deref(), Some("S3Z8NB0K"));

        let mut information = vec![0; 572];
        information[1] = 0x89;
        let swap = |text: String| -> Vec<u8> {
            text.as_bytes().chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect()
        };
        information[60 + 20..60 + 40].copy_from_slice(&swap(format!("{:>20}", "S3Z8NB0K")));
        let model = swap(format!("{:<40}", "Example SSD 860 EVO 1TB"));
        information[60 + 54..60 + 94].copy_from_slice(&model);
        information[60 + 174..60 + 176].copy_from_slice(&0x4100u16.to_le_bytes());
        let name = [0x02, 0x50, 0x38, 0x25, 0x00, 0xb7, 0x1e, 0xd0];
        information[60 + 216..60 + 224].copy_from_slice(&name);
        let found = ata_information(&information);
        assert_eq!(found.model.as_deref(), Some("Example SSD 860 EVO 1TB"));
        assert_eq!(found.serial.as_deref(), Some("S3Z8NB0K"));
        assert_eq!(found.wwn.as_deref(), Some("0x50022538b700d01e"));
    }
}

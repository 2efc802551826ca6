//! Schemas of the addresses, networks and conditions inside the objects of `ipam`.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Most names that `preAllocations` may have: the rule that refuses an address kept twice
/// compares each with each, and the API server bounds what a rule may cost.
const MOST_PRE_ALLOCATIONS: usize = 512;

const OCTET: &str = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const GROUP: &str = "[0-9a-fA-F]{1,4}";

fn v4() -> String {
    format!(r"({OCTET}\.){{3}}{OCTET}")
}

/// RFC 4291 §2.2, forms 1 and 2.
fn v6() -> String {
    let mut forms = vec![
        format!("({GROUP}:){{7}}{GROUP}"),
        format!("({GROUP}:){{1,7}}:"),
        format!(":((:{GROUP}){{1,7}}|:)"),
    ];
    forms.extend(
        (1..=6).map(|after| format!("({GROUP}:){{1,{}}}(:{GROUP}){{1,{after}}}", 7 - after)),
    );
    format!("({})", forms.join("|"))
}

fn ip_pattern() -> String {
    format!("^({}|{})$", v4(), v6())
}

fn net_pattern(suffix: &str) -> String {
    format!(
        "^({}(/([12]?[0-9]|3[0-2])){suffix}|{}(/([1-9]?[0-9]|1[01][0-9]|12[0-8])){suffix})$",
        v4(),
        v6()
    )
}

pub(super) fn ip(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "maxLength": 39, "pattern": ip_pattern()})
}

pub(super) fn ips(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": ip(generator)})
}

pub(super) fn subnet(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "maxLength": 43, "pattern": net_pattern("")})
}

pub(super) fn net_or_ips(_: &mut SchemaGenerator) -> Schema {
    let item = json_schema!({"type": "string", "maxLength": 43, "pattern": net_pattern("?")});
    json_schema!({"type": "array", "items": item})
}

pub(super) fn prefix(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "format": "int32", "minimum": 0, "maximum": 128})
}

pub(super) fn pre_allocations(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": ip(generator),
        "maxProperties": MOST_PRE_ALLOCATIONS,
        "x-kubernetes-validations": [{
            "rule": "self.all(claim, self.exists_one(other, self[other] == self[claim]))",
            "message": "an address is kept for more than one claim",
        }],
    })
}

/// Conditions, mergeable by type, each with its own writer.
pub(super) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    let item =
        generator.subschema_for::<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition>();
    json_schema!({
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    })
}

//! Labels out of enums: the codes that a type can have, and the one that a value has.

use ballast_core::kube::Name;
use ballast_core::observation::ObjectKind;
use ballast_core::plan::{ActionKind, HoldReason, SkipReason, UnsafeToRemove, WaitingOn};
use ballast_core::policy::Mode;
use ballast_core::procedure::{Receipt, Request};
use ballast_core::publish::EventReason;
use ballast_live::kubernetes::{Ended, Tally};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value;

/// What is said of an answer that is none of the classes of errors.
const ANSWERS: [&str; 2] = ["Ok", "TimedOut"];

pub(super) fn versions() -> Vec<String> {
    vec![env!("CARGO_PKG_VERSION").to_owned()]
}

pub(super) fn modes() -> Vec<String> {
    codes::<Mode>("")
}

pub(super) fn directions() -> Vec<String> {
    words(&["Up", "Down"])
}

pub(super) fn action_kinds() -> Vec<String> {
    codes::<ActionKind>("")
}

pub(super) fn receipts() -> Vec<String> {
    words(&Receipt::CODES)
}

pub(super) fn holds() -> Vec<String> {
    codes::<HoldReason>("code")
}

pub(super) fn skips() -> Vec<String> {
    codes::<SkipReason>("code")
}

pub(super) fn kept() -> Vec<String> {
    codes::<UnsafeToRemove>("code")
}

pub(super) fn waits() -> Vec<String> {
    codes::<WaitingOn>("code")
}

pub(super) fn promises() -> Vec<String> {
    (1..=18).map(|promise: u8| promise.to_string()).collect()
}

pub(super) fn sources() -> Vec<String> {
    let kinds = ObjectKind::ALL.into_iter().map(|kind| kind.name().to_owned());
    kinds.chain(["Instances".to_owned()]).collect()
}

pub(super) fn requests() -> Vec<String> {
    words(&Request::KINDS)
}

pub(super) fn outcomes() -> Vec<String> {
    let classes = codes::<ballast_core::observation::ErrorClass>("");
    words(&ANSWERS).into_iter().chain(classes).collect()
}

pub(super) fn endings() -> Vec<String> {
    Ended::ALL.into_iter().map(|ended| format!("{ended:?}")).collect()
}

/// Kinds of documents whose status is written.
pub(super) fn documents() -> Vec<String> {
    words(&["ClusterPolicy", "VmPool"])
}

pub(super) fn events() -> Vec<String> {
    EventReason::CATALOGUE.iter().map(|row| row.reason.to_string()).collect()
}

/// The kind of the documents whose status has this name in the API.
pub(crate) fn document_of(resource: &str) -> Option<&'static str> {
    match resource {
        "clusterpolicies/status" => Some("ClusterPolicy"),
        "vmpools/status" => Some("VmPool"),
        _ => None,
    }
}

/// What can be asked of the API: verb and resource together, since most pairs never are.
pub(super) fn asked() -> Vec<Vec<String>> {
    let mut pairs: Vec<Vec<String>> = Vec::new();
    for (asked, _, _) in Tally::default().rows() {
        let pair = vec![asked.verb.to_owned(), asked.resource.to_owned()];
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Every code that a type can have, from its schema; those of a type with fields are in the field `tag`.
fn codes<T: JsonSchema>(tag: &str) -> Vec<String> {
    let schema: Value = schema_for!(T).into();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut codes: Vec<String> = list(&schema["enum"]).iter().filter_map(text).collect();
    for form in list(&schema["oneOf"]) {
        let of = if tag.is_empty() { &form } else { &form["properties"][tag] };
        codes.extend(text(&of["const"]));
        codes.extend(list(&of["enum"]).iter().filter_map(text));
    }
    codes
}

/// The code of a value.
pub(crate) fn code(value: &impl Serialize) -> Name {
    let value = serde_json::to_value(value).unwrap_or_default();
    let code = value.as_str().or_else(|| value["code"].as_str());
    code.unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_enum_has_its_codes() {
        let all = [modes(), action_kinds(), holds(), skips(), kept(), waits(), outcomes(), receipts()];
        for codes in all {
            assert!(codes.len() > 2, "{codes:?}");
        }
        let hold = HoldReason::Paused { reason: "".into() };
        assert!(holds().contains(&code(&hold).to_string()));
        assert!(outcomes().contains(&"StockOut".to_owned()));
    }
}

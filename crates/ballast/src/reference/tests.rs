//! Every example loads, and is what its schema says.

use ballast_core::documents::{self, File};
use ballast_core::memory::Memory;
use ballast_core::plan::Plan;
use ballast_sim::scenario::ScenarioSpec;
use serde_json::Value;

use super::examples::EXAMPLES;
use super::schemas;

/// What is wrong with a value by a schema, for the words that our schemas use; the first thing found.
fn trouble(schema: &Value, root: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let definition =
            root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{name} is not defined"));
        if let Some(found) = trouble(definition, root, value, at) {
            return Some(found);
        }
    }
    if let Some(word) = schema.get("const").filter(|word| *word != value) {
        return Some(format!("{at}: {value} is not {word}"));
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
        return Some(format!("{at}: {value} is none of {words:?}"));
    }
    for list in ["oneOf", "anyOf"] {
        if let Some(options) = schema[list].as_array() {
            let fits = options.iter().filter(|option| trouble(option, root, value, at).is_none()).count();
            if fits == 0 || list == "oneOf" && fits > 1 {
                return Some(format!("{at}: {fits} alternatives fit {value}"));
            }
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_of(value, name)) {
        return Some(format!("{at}: {value} is not {types:?}"));
    }
    if let Some(items) = value.as_array().filter(|_| schema["items"].is_object()) {
        let found = items
            .iter()
            .enumerate()
            .find_map(|(i, item)| trouble(&schema["items"], root, item, &format!("{at}[{i}]")));
        return found;
    }
    fields(schema, root, value, at)
}

fn fields(schema: &Value, root: &Value, value: &Value, at: &str) -> Option<String> {
    let object = value.as_object()?;
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            return Some(format!("{at}: {name} is missing"));
        }
    }
    object.iter().find_map(|(name, field)| {
        let at = format!("{at}.{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(known), _) => trouble(known, root, field, &at),
            (None, Value::Bool(false)) => Some(format!("{at} is not known")),
            (None, other @ Value::Object(_)) => trouble(other, root, field, &at),
            _ => None,
        }
    })
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("the schema has a type {other}"),
    }
}

fn schema_of(name: &str) -> Value {
    let found = schemas().into_iter().find(|(known, _, _)| *known == name);
    found.unwrap_or_else(|| panic!("{name} has no schema")).2.into()
}

#[test]
fn every_example_loads_and_is_what_its_schema_says() {
    for example in EXAMPLES {
        let file = example.file;
        let value: Value =
            serde_saphyr::from_str(example.text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let (name, judged) = match (example.shows, value["kind"].as_str()) {
            ("Plan", _) => {
                let plan: Plan =
                    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{file}: {error}"));
                let again: Plan = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
                assert_eq!(again, plan);
                ("Plan", value)
            }
            ("Memory", _) => {
                serde_json::from_value::<Memory>(value.clone())
                    .unwrap_or_else(|error| panic!("{file}: {error}"));
                ("Memory", value)
            }
            (_, kind) => {
                let kind = kind.unwrap_or_else(|| panic!("{file} has no kind")).to_owned();
                let given = File { name: file.into(), bytes: example.text.into() };
                let loaded = documents::load(&[given]).unwrap_or_else(|problems| panic!("{problems}"));
                for scenario in loaded.scenarios {
                    let spec: ScenarioSpec =
                        scenario.value.spec.read().unwrap_or_else(|problems| panic!("{problems}"));
                    assert!(spec.check().is_empty(), "{file}");
                }
                let name = schemas()
                    .into_iter()
                    .find(|(known, _, _)| *known == kind)
                    .expect("every kind has a schema")
                    .0;
                (name, if kind == "Scenario" { value } else { value["spec"].clone() })
            }
        };
        let schema = schema_of(name);
        assert_eq!(trouble(&schema, &schema, &judged, file), None);
    }
}

#[test]
fn the_schema_is_not_satisfied_by_anything() {
    let schema = schema_of("VmPool");
    for bad in [
        serde_json::json!({}),
        serde_json::json!({"provider": {"kind": "Azure"}, "template": {}, "max": "three"}),
        serde_json::json!({"provider": {"kind": "Azure"}, "template": {}, "max": 3, "mx": 3}),
        serde_json::json!({"provider": {"kind": "Azure"}, "template": {}, "max": 3, "stop": "Dealocate"}),
    ] {
        assert!(trouble(&schema, &schema, &bad, "").is_some(), "{bad}");
    }
}

#[test]
fn every_kind_and_every_source_has_an_example() {
    let shown: Vec<&str> = EXAMPLES.iter().map(|example| example.shows).collect();
    for kind in documents::DocumentKind::ALL {
        assert!(shown.contains(&kind.name()), "{}", kind.name());
    }
    for (name, _, _) in schemas() {
        assert!(shown.contains(&name), "{name}");
    }
    for kind in super::bodies().map(|(kind, _)| kind) {
        assert!(shown.contains(&kind), "{kind}");
    }
}

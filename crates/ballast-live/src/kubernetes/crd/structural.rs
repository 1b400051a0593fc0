//! A JSON schema as Kubernetes wants it: *structural*, which knows no references, no alternatives between types and no
//! `const`.

use serde_json::{Map, Value, json};

/// What Kubernetes does not know, or forbids, in a structural schema.
const DROPPED: &[&str] =
    &["$schema", "$defs", "title", "examples", "additionalProperties", "const", "default"];
/// Formats that OpenAPI knows; the others say less than the bounds beside them.
const FORMATS: &[&str] = &["int32", "int64", "double", "date-time"];

/// The structural form of a schema.
pub(super) fn schema(root: Value) -> Value {
    let definitions = root["$defs"].clone();
    rewrite(root, &definitions)
}

fn rewrite(schema: Value, definitions: &Value) -> Value {
    let Value::Object(fields) = resolve(schema, definitions) else { return json!({}) };
    if let Some(words) = words(&fields) {
        return with_description(json!({"type": "string", "enum": words}), &fields);
    }
    if let Some(inner) = optional(&fields) {
        return with_description(rewrite(inner, definitions), &fields);
    }
    let mut out = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            "properties" => drop(out.insert(key, each(value, definitions))),
            "items" => drop(out.insert(key, rewrite(value, definitions))),
            // Of a map; of an object with fields it only says that there are no others, which pruning sees to.
            "additionalProperties" if value.is_object() => drop(out.insert(key, rewrite(value, definitions))),
            "type" => kind(&value, &mut out),
            "format" if !FORMATS.contains(&value.as_str().unwrap_or_default()) => {}
            _ if DROPPED.contains(&key.as_str()) => {}
            _ => drop(out.insert(key, value)),
        }
    }
    Value::Object(out)
}

fn each(fields: Value, definitions: &Value) -> Value {
    match fields {
        Value::Object(fields) => {
            fields.into_iter().map(|(name, field)| (name, rewrite(field, definitions))).collect()
        }
        other => other,
    }
}

/// Puts a definition in the place of its reference; what stands beside the reference stays.
fn resolve(schema: Value, definitions: &Value) -> Value {
    let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) else {
        return schema;
    };
    let mut resolved = definitions[name].clone();
    if let (Some(into), Value::Object(beside)) = (resolved.as_object_mut(), &schema) {
        for (key, value) in beside.iter().filter(|(key, _)| *key != "$ref") {
            into.insert(key.clone(), value.clone());
        }
    }
    resolved
}

/// The words of an enum whose variants are told one by one.
fn words(fields: &Map<String, Value>) -> Option<Vec<Value>> {
    let options = fields.get("oneOf")?.as_array()?;
    options.iter().map(|option| option.get("const").cloned()).collect()
}

/// What a field that may be left out holds.
fn optional(fields: &Map<String, Value>) -> Option<Value> {
    let options = fields.get("anyOf")?.as_array()?;
    let mut given = options.iter().filter(|option| option["type"] != "null");
    match (given.next(), given.next()) {
        (Some(one), None) => Some(one.clone()),
        _ => None,
    }
}

/// One type; a number or a text is what Kubernetes calls int-or-string, as its own quantities are.
fn kind(value: &Value, out: &mut Map<String, Value>) {
    let kinds: Vec<&str> = match value {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
        }
        _ => Vec::new(),
    };
    match kinds[..] {
        [one] => drop(out.insert("type".into(), one.into())),
        _ => drop(out.insert("x-kubernetes-int-or-string".into(), true.into())),
    }
}

fn with_description(mut schema: Value, fields: &Map<String, Value>) -> Value {
    for key in ["description"] {
        if let Some(value) = fields.get(key) {
            schema[key] = value.clone();
        }
    }
    schema
}

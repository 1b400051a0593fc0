//! A judge of values by JSON schemas, for the words that our schemas use. It is stricter than JSON Schema in one thing: a field
//! that no schema names is wrong, so that nothing is printed that is not published.

use serde_json::Value;

/// What is wrong with a value by a schema; the first thing found.
pub(super) fn trouble(schema: &Value, value: &Value) -> Option<String> {
    Judge { root: schema, foreign: false }.trouble(schema, value, "")
}

/// The same for the answer of a foreign system, of which only a part is read: what else it says is passed over.
pub(super) fn trouble_with_answer(schema: &Value, value: &Value) -> Option<String> {
    Judge { root: schema, foreign: true }.trouble(schema, value, "")
}

struct Judge<'a> {
    root: &'a Value,
    /// What a schema does not name is somebody else's.
    foreign: bool,
}

impl Judge<'_> {
    fn trouble(&self, schema: &Value, value: &Value, at: &str) -> Option<String> {
        self.shape(schema, value, at).or_else(|| self.unknown(schema, value, at))
    }

    /// What is wrong with what is there, fields that nobody names aside.
    fn shape(&self, schema: &Value, value: &Value, at: &str) -> Option<String> {
        if let Some(found) = self.referred(schema).and_then(|one| self.shape(one, value, at)) {
            return Some(found);
        }
        if let Some(word) = schema.get("const").filter(|word| *word != value) {
            return Some(format!("{at}: {value} is not {word}"));
        }
        if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
            return Some(format!("{at}: {value} is none of {words:?}"));
        }
        if let Some(found) = self.alternatives(schema, value, at) {
            return Some(found);
        }
        let types = types(schema);
        if !types.is_empty() && !types.iter().any(|name| is_of(value, name)) {
            return Some(format!("{at}: {value} is not {types:?}"));
        }
        let item = |(i, item): (usize, &Value)| self.trouble(&schema["items"], item, &format!("{at}[{i}]"));
        let items = value.as_array().filter(|_| schema["items"].is_object());
        items
            .and_then(|items| items.iter().enumerate().find_map(item))
            .or_else(|| self.fields(schema, value, at))
    }

    fn alternatives(&self, schema: &Value, value: &Value, at: &str) -> Option<String> {
        for list in ["oneOf", "anyOf"] {
            let Some(options) = schema[list].as_array() else { continue };
            let troubles: Vec<Option<String>> =
                options.iter().map(|option| self.with_option(schema, option, value, at)).collect();
            let fits = troubles.iter().filter(|trouble| trouble.is_none()).count();
            if fits == 0 || list == "oneOf" && fits > 1 {
                return Some(format!("{at}: {fits} alternatives fit {value}: {troubles:?}"));
            }
        }
        None
    }

    /// What is wrong with a value by an alternative. Beside fields of the schema itself an alternative does not name them all, and
    /// those that nobody names are found by the whole.
    fn with_option(&self, schema: &Value, option: &Value, value: &Value, at: &str) -> Option<String> {
        match schema.get("properties") {
            Some(_) => self.shape(option, value, at),
            None => self.trouble(option, value, at),
        }
    }

    fn fields(&self, schema: &Value, value: &Value, at: &str) -> Option<String> {
        let object = value.as_object()?;
        let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(name) = required.find(|name| !object.contains_key(*name)) {
            return Some(format!("{at}: {name} is missing"));
        }
        object.iter().find_map(|(name, field)| {
            let known = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
            known
                .filter(|known| known.is_object())
                .and_then(|known| self.trouble(known, field, &format!("{at}.{name}")))
        })
    }

    /// A field that neither the schema nor what it refers to or offers names.
    fn unknown(&self, schema: &Value, value: &Value, at: &str) -> Option<String> {
        let is_closed = schema["additionalProperties"] == false;
        if self.foreign && !is_closed || !self.lists(schema) {
            return None;
        }
        let unnamed = value.as_object()?.keys().find(|name| !self.names(schema, name, value));
        unnamed.map(|name| format!("{at}.{name} is not known"))
    }

    /// Whether a schema says which fields there are.
    fn lists(&self, schema: &Value) -> bool {
        schema.get("properties").is_some() || self.referred(schema).is_some_and(|one| self.lists(one))
    }

    fn names(&self, schema: &Value, name: &str, value: &Value) -> bool {
        let fits = |option: &&Value| self.with_option(schema, option, value, "").is_none();
        schema["properties"].get(name).is_some()
            || schema["additionalProperties"].is_object()
            || self.referred(schema).is_some_and(|one| self.names(one, name, value))
            || ["oneOf", "anyOf"].iter().any(|list| {
                let options = schema[*list].as_array().into_iter().flatten();
                options.filter(fits).any(|option| self.names(option, name, value))
            })
    }

    fn referred(&self, schema: &Value) -> Option<&Value> {
        let name = schema["$ref"].as_str()?;
        let found = self.root.pointer(name.trim_start_matches('#'));
        Some(found.unwrap_or_else(|| panic!("{name} is not defined")))
    }
}

fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
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

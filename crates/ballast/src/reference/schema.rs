//! A JSON schema as a page for people: a table of fields a type, each type once, in the order in which it is met.

use std::fmt::Write;

use serde_json::{Map, Value};

/// The sections of a schema, the root first.
pub(super) fn sections(root: &Value) -> String {
    let mut writer = Writer { root, met: Vec::new(), text: String::new() };
    writer.body(root);
    let mut at = 0;
    while at < writer.met.len() {
        let name = writer.met[at].clone();
        let definition = &root["$defs"][&name];
        let _ = write!(writer.text, "\n### {name}\n\n");
        writer.describe(definition);
        writer.body(definition);
        at += 1;
    }
    writer.text
}

struct Writer<'a> {
    root: &'a Value,
    /// Types that were met, in order; each gets a section.
    met: Vec<String>,
    text: String,
}

impl Writer<'_> {
    fn describe(&mut self, schema: &Value) {
        if let Some(words) = schema["description"].as_str() {
            let _ = write!(self.text, "{}\n\n", one_line(words));
        }
    }

    /// Fields or words of a type, or both: the fields that all alternatives have first.
    fn body(&mut self, schema: &Value) {
        let options = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
        let fields = schema["properties"].as_object().filter(|fields| !fields.is_empty());
        if let Some(fields) = fields {
            self.fields(fields, &schema["required"]);
        }
        if let Some(options) = options {
            if fields.is_some() {
                self.text.push('\n');
            }
            self.options(options);
        }
        if fields.is_none() && options.is_none() {
            let kind = self.kind(schema);
            let _ = writeln!(self.text, "Written as {kind}.");
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>, required: &Value) {
        self.text.push_str("| field | type | default | meaning |\n|---|---|---|---|\n");
        for (name, field) in fields {
            let is_required = required.as_array().is_some_and(|list| list.iter().any(|one| one == name));
            let default = match (is_required, field.get("default")) {
                (true, _) => "required".to_owned(),
                (false, Some(default)) if !is_empty(default) => format!("`{default}`"),
                (false, _) => String::new(),
            };
            let kind = self.kind(field);
            let words = one_line(field["description"].as_str().unwrap_or_default());
            let _ = writeln!(self.text, "| `{name}` | {kind} | {default} | {words} |");
        }
    }

    /// The alternatives of a type: words, or words with fields.
    fn options(&mut self, options: &[Value]) {
        self.text.push_str("| one of | with | meaning |\n|---|---|---|\n");
        for option in options {
            let words = one_line(option["description"].as_str().unwrap_or_default());
            if let Some(values) = option["enum"].as_array() {
                for value in values {
                    let _ = writeln!(self.text, "| `{}` | | {words} |", plain(value));
                }
                continue;
            }
            let (name, fields) = self.option(option);
            let _ = writeln!(self.text, "| {name} | {fields} | {words} |");
        }
    }

    /// The name of an alternative, and what it comes with.
    fn option(&mut self, option: &Value) -> (String, String) {
        if let Some(word) = option.get("const") {
            return (format!("`{}`", plain(word)), String::new());
        }
        let Some(fields) = option["properties"].as_object() else {
            return (self.kind(option), String::new());
        };
        let is_tag = |field: &Value| field.get("const").is_some();
        let tag = fields.iter().find(|(_, field)| is_tag(field));
        let others: Vec<(String, String)> = fields
            .iter()
            .filter(|(_, field)| !is_tag(field))
            .map(|(name, field)| (name.clone(), self.parts(field)))
            .collect();
        match (tag, &others[..]) {
            (Some((_, tag)), others) => {
                // A type that stands beside the tag gives its fields to the alternative.
                let beside = reference(option).map(|name| self.link(&name));
                let fields = others.iter().map(|(name, kind)| format!("`{name}`: {kind}"));
                let fields: Vec<String> = beside.into_iter().chain(fields).collect();
                (format!("`{}`", plain(&tag["const"])), fields.join(", "))
            }
            (None, [(name, kind)]) => (format!("`{name}`"), kind.clone()),
            (None, others) => {
                let fields: Vec<String> =
                    others.iter().map(|(name, kind)| format!("`{name}`: {kind}")).collect();
                (fields.join(", "), String::new())
            }
        }
    }

    /// The fields of a map that has no section of its own, else what it is.
    fn parts(&mut self, schema: &Value) -> String {
        let Some(fields) = schema["properties"].as_object() else { return self.kind(schema) };
        let part = |(name, field): (&String, &Value)| {
            let words = field["description"].as_str().map(|words| format!(" ({})", one_line(words)));
            format!("`{name}`: {}{}", self.kind(field), words.unwrap_or_default())
        };
        fields.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    /// What may be written there, in words, with a link where it has a section of its own.
    fn kind(&mut self, schema: &Value) -> String {
        if let Some(name) = reference(schema) {
            return self.link(&name);
        }
        for list in ["anyOf", "oneOf", "allOf"] {
            if let Some(options) = schema[list].as_array() {
                let kinds: Vec<String> =
                    options.iter().filter(|one| one["type"] != "null").map(|one| self.kind(one)).collect();
                return kinds.join(" or ");
            }
        }
        if let Some(word) = schema.get("const") {
            return format!("`{}`", plain(word));
        }
        if let Some(values) = schema["enum"].as_array() {
            let values: Vec<String> = values.iter().map(|value| format!("`{}`", plain(value))).collect();
            return values.join(", ");
        }
        match type_of(schema).as_str() {
            "array" => format!("list of {}", self.kind(&schema["items"])),
            "object" if schema["additionalProperties"].is_object() => {
                format!("map to {}", self.kind(&schema["additionalProperties"]))
            }
            "object" => "map".to_owned(),
            "string" if schema["format"] == "date-time" => "time".to_owned(),
            "string" if schema["examples"][0] == "90s" => "duration".to_owned(),
            "string or number" if schema["examples"][0] == "500m" => "quantity".to_owned(),
            "integer" => "whole number".to_owned(),
            "boolean" => "true or false".to_owned(),
            "" => "anything".to_owned(),
            other => other.to_owned(),
        }
    }

    fn link(&mut self, name: &str) -> String {
        // A type that is only a word for text or a number needs no section.
        let definition = self.root["$defs"][name].clone();
        let has_parts = ["properties", "oneOf", "anyOf"].iter().any(|part| definition.get(part).is_some());
        if !has_parts {
            return self.kind(&definition);
        }
        if !self.met.iter().any(|met| met == name) {
            self.met.push(name.to_owned());
        }
        format!("[{name}](#{})", name.to_lowercase())
    }
}

fn reference(schema: &Value) -> Option<String> {
    Some(schema["$ref"].as_str()?.strip_prefix("#/$defs/")?.to_owned())
}

fn type_of(schema: &Value) -> String {
    match &schema["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            kinds.collect::<Vec<_>>().join(" or ")
        }
        _ => String::new(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty() || map.len() > 3,
        _ => false,
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A description within a cell of a table.
fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_words_and_alternatives_become_tables() {
        let schema = json!({
            "type": "object", "required": ["max"],
            "properties": {
                "max": {"type": "integer", "description": "Most\nnodes."},
                "mode": {"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}]},
                "why": {"type": "array", "items": {"$ref": "#/$defs/Why"}, "default": []},
                "share": {"type": "string", "default": "10%"}
            },
            "$defs": {
                "Mode": {"description": "How far.", "oneOf": [{"const": "Observe", "type": "string", "description": "Looks."}]},
                "Why": {"oneOf": [
                    {"type": "object", "properties": {"code": {"const": "Late"}, "by": {"type": "integer"}}},
                    {"type": "object", "properties": {"code": {"const": "Moved"}}, "$ref": "#/$defs/Move"},
                    {"type": "object", "properties": {"drawn": {"type": "object",
                        "properties": {"mean": {"type": "integer", "description": "the mean"}}}}}]},
                "Move": {"type": "object", "properties": {"to": {"const": "there"}}}
            }
        });
        assert_eq!(
            sections(&schema),
            "| field | type | default | meaning |\n|---|---|---|---|\n\
             | `max` | whole number | required | Most nodes. |\n\
             | `mode` | [Mode](#mode) |  |  |\n\
             | `share` | string | `\"10%\"` |  |\n\
             | `why` | list of [Why](#why) |  |  |\n\
             \n### Mode\n\nHow far.\n\n| one of | with | meaning |\n|---|---|---|\n| `Observe` |  | Looks. |\n\
             \n### Why\n\n| one of | with | meaning |\n|---|---|---|\n| `Late` | `by`: whole number |  |\n\
             | `Moved` | [Move](#move) |  |\n\
             | `drawn` | `mean`: whole number (the mean) |  |\n\
             \n### Move\n\n| field | type | default | meaning |\n|---|---|---|---|\n| `to` | `there` |  |  |\n"
        );
    }
}

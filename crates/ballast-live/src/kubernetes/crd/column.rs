//! Columns of a table of documents: `kubectl get` is told where each cell is, `ballast get` takes it from there itself.

use serde_json::Value;

/// One column.
pub struct Column {
    /// Its head, as it is written in the definition.
    pub name: &'static str,
    /// What its cells are, in the API's words: `string`, `integer` or `date`.
    pub holds: &'static str,
    place: Place,
}

enum Place {
    /// A field, by the names on the way to it.
    Field(&'static str),
    /// A field of the condition of this type.
    Condition(&'static str, &'static str),
}

impl Column {
    pub(super) const fn text(name: &'static str, path: &'static str) -> Self {
        Self { name, holds: "string", place: Place::Field(path) }
    }

    pub(super) const fn number(name: &'static str, path: &'static str) -> Self {
        Self { name, holds: "integer", place: Place::Field(path) }
    }

    pub(super) const fn date(name: &'static str, path: &'static str) -> Self {
        Self { name, holds: "date", place: Place::Field(path) }
    }

    /// Of the condition whose type is the column's name.
    pub(super) const fn condition(name: &'static str, field: &'static str) -> Self {
        Self { name, holds: "string", place: Place::Condition(name, field) }
    }

    /// Where it is, for the API.
    pub(super) fn json_path(&self) -> String {
        match self.place {
            Place::Field(path) => format!(".{path}"),
            Place::Condition(kind, field) => {
                format!(".status.conditions[?(@.type==\"{kind}\")].{field}")
            }
        }
    }

    /// The cell of an object.
    pub fn of<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        match self.place {
            Place::Field(path) => path.split('.').try_fold(object, |within, name| within.get(name)),
            Place::Condition(kind, field) => {
                let conditions = object.get("status")?.get("conditions")?.as_array()?;
                conditions.iter().find(|condition| condition["type"] == kind)?.get(field)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cell_is_found_where_the_api_is_told_to_look() {
        let object = json!({"status": {"current": 3, "conditions": [{"type": "Ready", "status": "True"}]}});
        let (current, ready) =
            (Column::number("Current", "status.current"), Column::condition("Ready", "status"));
        assert_eq!((current.json_path().as_str(), current.of(&object)), (".status.current", Some(&json!(3))));
        assert_eq!(ready.json_path(), ".status.conditions[?(@.type==\"Ready\")].status");
        assert_eq!(ready.of(&object), Some(&json!("True")));
        assert_eq!(ready.of(&json!({"spec": {}})), None);
    }
}

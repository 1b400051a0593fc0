//! The custom resources, made from the very types that documents are read into: nothing of a document is written down twice.

mod column;
mod kinds;
mod structural;

pub use column::Column;
pub use kinds::{KINDS, Kind};

use kinds::{AGE, WIDE};

use ballast_core::publish::DocumentStatus;
use schemars::schema_for;
use serde_json::{Value, json};

/// The group and the version of all kinds.
const API: (&str, &str) = ("ballast.dev", "v1alpha1");

impl Kind {
    /// Its name in the API, `PLURAL.GROUP`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.plural, API.0)
    }

    /// Whether people call it so: by its name, plural or short name, in any letters.
    pub fn is_called(&self, word: &str) -> bool {
        let names = [self.kind, self.plural].into_iter().chain(self.short.iter().copied());
        names.into_iter().any(|name| name.eq_ignore_ascii_case(word))
    }

    /// Whether its objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// Where the API has its objects, in a namespace where it is not empty.
    pub fn path(&self, namespace: &str) -> String {
        let (group, version) = API;
        let within = if namespace.is_empty() { String::new() } else { format!("namespaces/{namespace}/") };
        format!("/apis/{group}/{version}/{within}{}", self.plural)
    }

    /// The CustomResourceDefinition.
    pub fn definition(&self) -> Value {
        let (group, version) = API;
        let spec = structural::schema((self.schema)().to_value());
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name()},
            "spec": {
                "group": group,
                "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": self.plural,
                    "singular": self.kind.to_lowercase(),
                    "shortNames": self.short,
                    "categories": ["ballast"],
                },
                "versions": [{
                    "name": version,
                    "served": true,
                    "storage": true,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": self.printed(),
                    "schema": {"openAPIV3Schema": self.object(spec)},
                }],
            },
        })
    }

    /// The whole object: its spec, and what Ballast says of it.
    fn object(&self, mut spec: Value) -> Value {
        if !self.rules.is_empty() {
            let rules = self.rules.iter().map(|(rule, message)| json!({"rule": rule, "message": message}));
            spec["x-kubernetes-validations"] = rules.collect();
        }
        let mut object = json!({
            "type": "object",
            "description": self.about,
            "required": ["spec"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
                "spec": spec,
                "status": status(self.kind),
            },
        });
        if let Some(only) = self.only {
            let rule = format!("self.metadata.name == '{only}'");
            let message = format!("a cluster has one {}, and its name is `{only}`", self.kind);
            object["x-kubernetes-validations"] = json!([{"rule": rule, "message": message}]);
        }
        object
    }

    /// What a table of its objects shows beside their names, in order; all of it where it is wide.
    pub fn columns(&self, is_wide: bool) -> impl Iterator<Item = &'static Column> {
        let wide = if is_wide { WIDE } else { &[] };
        self.columns.iter().chain(wide).chain([&AGE])
    }

    fn printed(&self) -> Vec<Value> {
        let is_wide = |column: &Column| WIDE.iter().any(|wide| wide.name == column.name);
        let told = self.columns(true).map(|column| {
            json!({
                "name": column.name,
                "type": column.holds,
                "jsonPath": column.json_path(),
                "priority": u8::from(is_wide(column)),
            })
        });
        told.collect()
    }
}

/// What Ballast says of a document, from the type that is written: a field that the schema did not know would be dropped by
/// the API without a word. Only the ClusterPolicy has a plan, and approvals of it.
fn status(kind: &str) -> Value {
    let mut schema = structural::schema(schema_for!(DocumentStatus).to_value());
    if let Some(fields) = schema["properties"].as_object_mut().filter(|_| kind != "ClusterPolicy") {
        ["plan", "approvals"].iter().for_each(|field| drop(fields.remove(*field)));
    }
    let conditions = &mut schema["properties"]["conditions"];
    conditions["x-kubernetes-list-type"] = "map".into();
    conditions["x-kubernetes-list-map-keys"] = json!(["type"]);
    schema
}

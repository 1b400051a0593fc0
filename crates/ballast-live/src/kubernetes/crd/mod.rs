//! The custom resources, made from the very types that documents are read into: nothing of a document is written down twice.

mod kinds;
mod structural;

pub use kinds::{KINDS, Kind};

use serde_json::{Value, json};

/// The group and the version of all kinds.
const API: (&str, &str) = ("ballast.dev", "v1alpha1");

impl Kind {
    /// Its name in the API, `PLURAL.GROUP`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.plural, API.0)
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
                    "additionalPrinterColumns": self.columns(),
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
                "status": status(),
            },
        });
        if let Some(only) = self.only {
            let rule = format!("self.metadata.name == '{only}'");
            let message = format!("a cluster has one {}, and its name is `{only}`", self.kind);
            object["x-kubernetes-validations"] = json!([{"rule": rule, "message": message}]);
        }
        object
    }

    fn columns(&self) -> Vec<Value> {
        let age = ("Age", "date", ".metadata.creationTimestamp");
        let columns = self.columns.iter().chain([&age]);
        columns.map(|(name, kind, path)| json!({"name": name, "type": kind, "jsonPath": path})).collect()
    }
}

/// What Ballast says of a document: conditions as everywhere in Kubernetes, the numbers of its columns, and for the cluster
/// the plan that a person may approve.
fn status() -> Value {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer", "format": "int64"});
    json!({
        "type": "object",
        "description": "What Ballast says of it; written by Ballast alone.",
        "properties": {
            "observedGeneration": number,
            "mode": text,
            "current": number,
            "desired": number,
            "limitedBy": text,
            "plan": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type", "status", "reason", "message", "lastTransitionTime"],
                    "properties": {
                        "type": text,
                        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                        "reason": text,
                        "message": text,
                        "observedGeneration": number,
                        "lastTransitionTime": {"type": "string", "format": "date-time"},
                    },
                },
            },
        },
    })
}

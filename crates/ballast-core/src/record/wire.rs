//! Observations as JSON: objects in the shape that Kubernetes gives them.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value, json};

use crate::kube::{Name, Pod};
use crate::observation::{
    Body, Change, Instance, Object, ObjectKey, ObjectKind, Observation, Source, SourceError,
};
use crate::policy::{API_VERSION, Named};
use crate::procedure::Reply;
use crate::units::Time;

use super::redact;

/// An observation as it stands in a record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ObservationLine"))]
pub(super) struct Line {
    /// Who said it.
    source: Source,
    /// When.
    taken_at: Time,
    /// What it said.
    #[serde(flatten)]
    said: Said,
}

/// What a source said.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum Said {
    /// Every object of a kind, as Kubernetes would print it, with what decisions read.
    Listed(Vec<Value>),
    /// What changed of a kind since.
    Changed(Vec<Changed>),
    /// The machines of a pool.
    Instances(Vec<Instance>),
    /// The answer of another source, word for word.
    Answer(Value),
    /// It failed.
    Error(SourceError),
}

/// What became of an object.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum Changed {
    /// An object that came or changed.
    Applied(Value),
    /// An object that is gone.
    Deleted {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
        /// Its identity.
        uid: Name,
    },
}

/// Serde of observations.
pub(super) mod observations {
    use super::{Deserialize, Deserializer, Line, Observation, Serialize, Serializer, de, read, ser, write};

    pub(in crate::record) fn serialize<S: Serializer>(
        observations: &[Observation],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let lines: Result<Vec<Line>, _> = observations.iter().map(write).collect();
        lines.map_err(ser::Error::custom)?.serialize(serializer)
    }

    pub(in crate::record) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Observation>, D::Error> {
        let lines = Vec::<Line>::deserialize(deserializer)?;
        lines.into_iter().map(read).collect::<Result<_, _>>().map_err(de::Error::custom)
    }
}

/// Serde of replies, without what may be a secret in an error's words.
pub(super) mod reply {
    use super::{Deserialize, Deserializer, Reply, Serialize, Serializer, redact};

    pub(in crate::record) fn serialize<S: Serializer>(
        reply: &Reply,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match reply {
            Reply::Failed(error) => Reply::Failed(redact::error(error)).serialize(serializer),
            other => other.serialize(serializer),
        }
    }

    pub(in crate::record) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Reply, D::Error> {
        Reply::deserialize(deserializer)
    }
}

fn write(observation: &Observation) -> Result<Line, serde_json::Error> {
    let said = match &observation.outcome {
        Ok(Body::Listed(objects)) => Said::Listed(objects.iter().map(to_value).collect::<Result<_, _>>()?),
        Ok(Body::Changed(changes)) => Said::Changed(changes.iter().map(changed).collect::<Result<_, _>>()?),
        Ok(Body::Instances(instances)) => Said::Instances(instances.to_vec()),
        Ok(Body::Answer(answer)) => Said::Answer(answer.clone()),
        Err(error) => Said::Error(redact::error(error)),
    };
    Ok(Line { source: observation.source.clone(), taken_at: observation.taken_at, said })
}

fn changed(change: &Change) -> Result<Changed, serde_json::Error> {
    Ok(match change {
        Change::Applied(object) => Changed::Applied(to_value(object)?),
        Change::Deleted(key) => Changed::Deleted {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            uid: key.uid.clone(),
        },
    })
}

fn read(line: Line) -> Result<Observation, serde_json::Error> {
    let outcome = match line.said {
        Said::Listed(objects) => {
            Ok(Body::Listed(objects.into_iter().map(from_value).collect::<Result<_, _>>()?))
        }
        Said::Changed(changes) => {
            let read = |change| match change {
                Changed::Applied(object) => from_value(object).map(Change::Applied),
                Changed::Deleted { namespace, name, uid } => {
                    Ok(Change::Deleted(ObjectKey { namespace, name, uid }))
                }
            };
            Ok(Body::Changed(changes.into_iter().map(read).collect::<Result<_, _>>()?))
        }
        Said::Instances(instances) => Ok(Body::Instances(instances.into())),
        Said::Answer(answer) => Ok(Body::Answer(answer)),
        Said::Error(error) => Err(error),
    };
    Ok(Observation { source: line.source, taken_at: line.taken_at, outcome })
}

/// An object in the shape that Kubernetes gives it.
fn to_value(object: &Object) -> Result<Value, serde_json::Error> {
    let kind = object.kind();
    let object = redact::object(object);
    let mut value = match &object {
        Object::Node(object) => serde_json::to_value(object)?,
        Object::Pod(object) => {
            let mut value = serde_json::to_value(object)?;
            if !object.node_name.is_empty() {
                value["spec"]["nodeName"] = json!(object.node_name);
            }
            value
        }
        Object::PodDisruptionBudget(object) => serde_json::to_value(object)?,
        Object::PersistentVolume(object) => serde_json::to_value(object)?,
        Object::PersistentVolumeClaim(object) => serde_json::to_value(object)?,
        Object::DaemonSet(object) => serde_json::to_value(object)?,
        Object::PriorityClass(object) => serde_json::to_value(object)?,
        Object::StorageClass(object) => serde_json::to_value(object)?,
        Object::PodTemplate(object) => serde_json::to_value(object)?,
        Object::CapacityBuffer(object) => serde_json::to_value(object)?,
        Object::ProvisioningRequest(object) => serde_json::to_value(object)?,
        Object::ClusterPolicy(object) => ours(object)?,
        Object::VmPool(object) => ours(object)?,
    };
    if let Value::Object(fields) = &mut value {
        fields.insert("kind".into(), kind.name().into());
        fields.insert("apiVersion".into(), api_version(kind).into());
    }
    Ok(value)
}

fn ours<T: Serialize>(object: &Named<T>) -> Result<Value, serde_json::Error> {
    let mut metadata = Map::new();
    metadata.insert("name".into(), json!(object.name));
    if !object.namespace.is_empty() {
        metadata.insert("namespace".into(), json!(object.namespace));
    }
    Ok(json!({"metadata": metadata, "spec": serde_json::to_value(&object.spec)?}))
}

fn from_value(mut value: Value) -> Result<Object, serde_json::Error> {
    let name = value.get("kind").and_then(Value::as_str).unwrap_or_default();
    let Some(kind) = ObjectKind::ALL.into_iter().find(|kind| kind.name() == name) else {
        return Err(de::Error::custom(format!("no object of kind `{name}` is read")));
    };
    Ok(match kind {
        ObjectKind::Node => Object::Node(typed(value)?),
        ObjectKind::Pod => Object::Pod(pod(typed(value)?)),
        ObjectKind::PodDisruptionBudget => Object::PodDisruptionBudget(typed(value)?),
        ObjectKind::PersistentVolume => Object::PersistentVolume(typed(value)?),
        ObjectKind::PersistentVolumeClaim => Object::PersistentVolumeClaim(typed(value)?),
        ObjectKind::DaemonSet => Object::DaemonSet(typed(value)?),
        ObjectKind::PriorityClass => Object::PriorityClass(typed(value)?),
        ObjectKind::StorageClass => Object::StorageClass(typed(value)?),
        ObjectKind::PodTemplate => Object::PodTemplate(typed(value)?),
        ObjectKind::CapacityBuffer => Object::CapacityBuffer(typed(value)?),
        ObjectKind::ProvisioningRequest => Object::ProvisioningRequest(typed(value)?),
        ObjectKind::ClusterPolicy => Object::ClusterPolicy(named(&mut value)?),
        ObjectKind::VmPool => Object::VmPool(named(&mut value)?),
    })
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(value)
}

/// On the wire a pod's node stands in its spec; here it stands apart.
fn pod(mut pod: Pod) -> Pod {
    if !pod.spec.node_name.is_empty() {
        pod.node_name = std::mem::take(&mut Arc::make_mut(&mut pod.spec).node_name);
    }
    pod
}

fn named<T: DeserializeOwned>(value: &mut Value) -> Result<Named<T>, serde_json::Error> {
    let text = |field: &str| -> Name {
        value["metadata"].get(field).and_then(Value::as_str).unwrap_or_default().into()
    };
    let (name, namespace) = (text("name"), text("namespace"));
    Ok(Named { name, namespace, spec: typed(value["spec"].take())? })
}

fn api_version(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Node
        | ObjectKind::Pod
        | ObjectKind::PersistentVolume
        | ObjectKind::PersistentVolumeClaim
        | ObjectKind::PodTemplate => "v1",
        ObjectKind::PodDisruptionBudget => "policy/v1",
        ObjectKind::DaemonSet => "apps/v1",
        ObjectKind::PriorityClass => "scheduling.k8s.io/v1",
        ObjectKind::StorageClass => "storage.k8s.io/v1",
        ObjectKind::CapacityBuffer => "autoscaling.x-k8s.io/v1beta1",
        ObjectKind::ProvisioningRequest => "autoscaling.x-k8s.io/v1",
        ObjectKind::ClusterPolicy | ObjectKind::VmPool => API_VERSION,
    }
}

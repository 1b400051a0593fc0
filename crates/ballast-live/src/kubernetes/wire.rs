//! The kinds that are watched: where the API has them, and how they become objects of the core.

use serde::de::DeserializeOwned;

use ballast_core::documents::{self, File};
use ballast_core::kube::{
    DaemonSet, Meta, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodDisruptionBudget, PriorityClass,
    Sharing,
};
use ballast_core::observation::{ErrorClass, Object, ObjectKey, ObjectKind, SourceError};

/// Where the API has the objects of a kind, in all namespaces.
pub(super) fn path(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Node => "/api/v1/nodes",
        ObjectKind::Pod => "/api/v1/pods",
        ObjectKind::PodDisruptionBudget => "/apis/policy/v1/poddisruptionbudgets",
        ObjectKind::PersistentVolume => "/api/v1/persistentvolumes",
        ObjectKind::PersistentVolumeClaim => "/api/v1/persistentvolumeclaims",
        ObjectKind::DaemonSet => "/apis/apps/v1/daemonsets",
        ObjectKind::PriorityClass => "/apis/scheduling.k8s.io/v1/priorityclasses",
        ObjectKind::ClusterPolicy => "/apis/ballast.dev/v1alpha1/clusterpolicies",
        ObjectKind::VmPool => "/apis/ballast.dev/v1alpha1/vmpools",
    }
}

/// What a watch sends, before it is an object of the core.
pub(super) trait Wire: DeserializeOwned + Clone + Send + 'static {
    /// Names the object.
    fn key(&self) -> ObjectKey;
    /// Its version, from which a watch goes on.
    fn version(&self) -> String;
    /// The object, or why it cannot be used.
    fn object(self, sharing: &mut Sharing) -> Result<Object, SourceError>;
}

/// Objects of Kubernetes itself; `with` shares more of one than its metadata.
macro_rules! slim {
    ($($kind:ident $(with $share:ident)?),*) => {$(
        impl Wire for $kind {
            fn key(&self) -> ObjectKey {
                key(&self.metadata)
            }

            fn version(&self) -> String {
                self.metadata.resource_version.to_string()
            }

            fn object(mut self, sharing: &mut Sharing) -> Result<Object, SourceError> {
                sharing.meta(&mut self.metadata);
                $(sharing.$share(&mut self);)?
                Ok(Object::$kind(self))
            }
        }
    )*};
}

slim!(
    Node,
    Pod with pod,
    PodDisruptionBudget,
    PersistentVolume,
    PersistentVolumeClaim,
    DaemonSet,
    PriorityClass
);

/// A document of ours: it is read and checked as one from a file is.
#[derive(Clone, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Document(serde_json::Value);

impl Wire for Document {
    fn key(&self) -> ObjectKey {
        let text = |field: &str| self.0["metadata"][field].as_str().unwrap_or_default().into();
        ObjectKey { namespace: text("namespace"), name: text("name"), uid: text("uid") }
    }

    fn version(&self) -> String {
        self.0["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
    }

    fn object(self, _: &mut Sharing) -> Result<Object, SourceError> {
        let ObjectKey { name, .. } = self.key();
        let mut value = self.0;
        // What Ballast itself says of the document is not part of it.
        if let Some(fields) = value.as_object_mut() {
            fields.remove("status");
        }
        let kind = value["kind"].as_str().unwrap_or("document").to_owned();
        let file = File { name: format!("{kind}/{name}.json"), bytes: value.to_string().into_bytes() };
        let invalid = |message: String| SourceError { class: ErrorClass::Invalid, message };
        let documents = documents::load(&[file]).map_err(|problems| {
            let told: Vec<String> = problems.list.iter().map(|problem| problem.to_string()).collect();
            invalid(told.join("; "))
        })?;
        let object = documents.objects.into_iter().next().map(|placed| placed.value);
        object.ok_or_else(|| invalid(format!("{kind}/{name} is no document that is watched")))
    }
}

fn key(meta: &Meta) -> ObjectKey {
    ObjectKey { namespace: meta.namespace.clone(), name: meta.name.clone(), uid: meta.uid.clone() }
}

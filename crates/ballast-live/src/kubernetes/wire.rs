//! The kinds that are watched: where the API has them, and how they become objects of the core.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use ballast_core::documents::{self, File};
use ballast_core::kube::{
    CapacityBuffer, DaemonSet, LabelSelector, Meta, Node, PersistentVolume, PersistentVolumeClaim, Pod,
    PodDisruptionBudget, PodTemplate, PriorityClass, ProvisioningRequest, Sharing, StorageClass,
};
use ballast_core::observation::{ErrorClass, Object, ObjectKey, ObjectKind, SourceError};

use super::seen::SeenDocument;

/// Where the API has the objects of a kind, in all namespaces: in each version that will do, the newest first.
pub(super) fn paths(kind: ObjectKind) -> &'static [&'static str] {
    match kind {
        ObjectKind::Node => &["/api/v1/nodes"],
        ObjectKind::Pod => &["/api/v1/pods"],
        ObjectKind::PodDisruptionBudget => &["/apis/policy/v1/poddisruptionbudgets"],
        ObjectKind::PersistentVolume => &["/api/v1/persistentvolumes"],
        ObjectKind::PersistentVolumeClaim => &["/api/v1/persistentvolumeclaims"],
        ObjectKind::DaemonSet => &["/apis/apps/v1/daemonsets"],
        ObjectKind::PriorityClass => &["/apis/scheduling.k8s.io/v1/priorityclasses"],
        ObjectKind::StorageClass => &["/apis/storage.k8s.io/v1/storageclasses"],
        ObjectKind::PodTemplate => &["/api/v1/podtemplates"],
        ObjectKind::CapacityBuffer => &[
            "/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers",
            "/apis/autoscaling.x-k8s.io/v1alpha1/capacitybuffers",
        ],
        ObjectKind::ProvisioningRequest => &[
            "/apis/autoscaling.x-k8s.io/v1/provisioningrequests",
            "/apis/autoscaling.x-k8s.io/v1beta1/provisioningrequests",
        ],
        ObjectKind::ClusterPolicy => &["/apis/ballast.dev/v1alpha1/clusterpolicies"],
        ObjectKind::VmPool => &["/apis/ballast.dev/v1alpha1/vmpools"],
    }
}

/// What a watch sends, before it is an object of the core.
pub(super) trait Wire: DeserializeOwned + Clone + Send + 'static {
    /// Names the object.
    fn key(&self) -> ObjectKey;
    /// Its version, from which a watch goes on.
    fn version(&self) -> String;
    /// When it was made, in the API's own words, which can be compared.
    fn created(&self) -> String {
        String::new()
    }
    /// The document of ours that it is, as it stands in the API.
    fn document(&self) -> Option<SeenDocument> {
        None
    }
    /// Something of it could not be read. It becomes what nothing can be done with and nothing gives way for: dropped, it would
    /// make room where there is none. Whether it can be.
    fn freeze(&mut self, unread: &str) -> bool;
    /// The object, or why it cannot be used.
    fn object(self, sharing: &mut Sharing) -> Result<Object, SourceError>;
}

/// Objects of Kubernetes itself; `with` shares more of one than its metadata.
macro_rules! slim {
    ($($kind:ident $(with $share:ident)?: $freeze:expr),* $(,)?) => {$(
        impl Wire for $kind {
            fn key(&self) -> ObjectKey {
                key(&self.metadata)
            }

            fn version(&self) -> String {
                self.metadata.resource_version.to_string()
            }

            fn freeze(&mut self, unread: &str) -> bool {
                let freeze: fn(&mut Self, &str) -> bool = $freeze;
                freeze(self, unread)
            }

            fn object(mut self, sharing: &mut Sharing) -> Result<Object, SourceError> {
                sharing.meta(&mut self.metadata);
                $(sharing.$share(&mut self);)?
                Ok(Object::$kind(self))
            }
        }
    )*};
}

slim! {
    // As if a person had cordoned it: nothing is placed on it, and it is not taken away.
    Node: |node, _| {
        node.spec.unschedulable = true;
        true
    },
    Pod with pod: |pod, unread| {
        Arc::make_mut(&mut pod.spec).unread = unread.into();
        true
    },
    // Nothing of its namespace may be disrupted.
    PodDisruptionBudget: |budget, _| {
        budget.spec.selector = Some(LabelSelector::default());
        budget.status.disruptions_allowed = 0;
        true
    },
    // A pod whose volume is not known is neither placed nor moved.
    PersistentVolume: |_, _| false,
    PersistentVolumeClaim: |_, _| false,
    DaemonSet: |_, _| true,
    PriorityClass: |_, _| true,
    StorageClass: |_, _| false,
    // Of what cannot be read nobody knows how much room it asks for.
    PodTemplate with template: |_, _| false,
    CapacityBuffer: |_, _| false,
    ProvisioningRequest: |_, _| false,
}

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

    fn created(&self) -> String {
        self.0["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned()
    }

    fn document(&self) -> Option<SeenDocument> {
        SeenDocument::of(&self.0)
    }

    fn freeze(&mut self, _: &str) -> bool {
        true
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

//! What has changed since somebody last looked.

use ballast_core::kube::Name;
use ballast_core::observation::ObjectKey;

use super::World;
use super::pod::Pod;

/// What has changed since somebody last looked.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Pods that are new or have changed.
    pub(crate) pods: Vec<u32>,
    /// Pods that are gone.
    pub(crate) pods_gone: Vec<ObjectKey>,
    /// Machines whose node is new or has changed.
    pub(crate) nodes: Vec<u32>,
    /// Nodes that are gone.
    pub(crate) nodes_gone: Vec<ObjectKey>,
}

impl Changes {
    pub(crate) fn pod_gone(&mut self, pod: &Pod, namespace: Name) {
        self.pods_gone.push(ObjectKey { namespace, name: pod.name.clone(), uid: pod.uid.clone() });
    }

    pub(crate) fn node_gone(&mut self, name: Name, uid: Name) {
        self.nodes_gone.push(ObjectKey { namespace: Name::default(), name, uid });
    }

    /// Whether nothing has changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.pods.is_empty()
            && self.pods_gone.is_empty()
            && self.nodes.is_empty()
            && self.nodes_gone.is_empty()
    }
}

impl World {
    /// Notes that a pod has changed.
    pub(crate) fn touch_pod(&mut self, pod: u32) {
        if !std::mem::replace(&mut self.pods[pod].dirty, true) {
            self.changes.pods.push(pod);
        }
    }

    /// Notes that a node has changed.
    pub(crate) fn touch_node(&mut self, machine: u32) {
        if !std::mem::replace(&mut self.machines[machine as usize].dirty, true) {
            self.changes.nodes.push(machine);
        }
    }
}

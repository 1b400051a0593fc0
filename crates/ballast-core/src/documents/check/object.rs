//! What a Kubernetes object may say. The API server has judged most of it already; files written by hand were not judged.

use super::{Findings, Path, ask, requests, shared};
use crate::documents::document::{check_name, check_namespace};
use crate::kube::{Name, Node, PodSpec, Requests};
use crate::observation::Object;
use crate::resources::GPU_MILLI_RESOURCE;
use crate::units::Quantity;

pub(in crate::documents) fn object(object: &Object, found: &mut Findings) {
    if let Some(meta) = object.meta() {
        let path = Path::default().key("metadata");
        check_name(found, &path, &meta.name);
        check_namespace(found, &path, &meta.namespace);
    }
    match object {
        Object::Node(node) => self::node(found, node),
        Object::Pod(pod) => self::spec(found, &Path::default().key("spec"), &pod.spec),
        Object::PodTemplate(template) => {
            self::spec(found, &Path::default().key("template").key("spec"), &template.template.spec);
        }
        Object::CapacityBuffer(buffer) => ask::buffer(found, buffer),
        Object::ProvisioningRequest(request) => ask::request(found, request),
        _ => {}
    }
}

fn node(found: &mut Findings, node: &Node) {
    let path = Path::default().key("status");
    shared::amounts(found, &path.key("allocatable"), &node.status.allocatable);
    shared::amounts(found, &path.key("capacity"), &node.status.capacity);
}

fn spec(found: &mut Findings, path: &Path, spec: &PodSpec) {
    let is_odd =
        |(name, amount): (&Name, &Quantity)| shared::is_odd(name, *amount) || requests::is_odd(name, *amount);
    let has_odd = |amounts: &Requests| amounts.iter().any(is_odd);
    let containers = [("containers", &spec.containers), ("initContainers", &spec.init_containers)];
    for (field, containers) in containers {
        for (index, container) in containers.iter().enumerate() {
            let resources = &container.resources;
            // Nearly all are fine: paths are built only for the others.
            if has_odd(&resources.requests) || has_odd(&resources.limits) {
                let path = path.key(field).index(index).key("resources");
                for (field, amounts) in [("requests", &resources.requests), ("limits", &resources.limits)] {
                    shared::amounts(found, &path.key(field), amounts);
                    requests::requests(found, &path.key(field), amounts, GPU_MILLI_RESOURCE);
                }
            }
        }
    }
    if has_odd(&spec.overhead) {
        shared::amounts(found, &path.key("overhead"), &spec.overhead);
    }
}

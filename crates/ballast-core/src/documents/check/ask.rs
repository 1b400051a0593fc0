//! What a buffer, a request and a template that they name may say.

use super::{Findings, Path};
use crate::documents::{nearest, printable};
use crate::kube::{CapacityBuffer, ProvisioningRequest};
use crate::snapshot::RequestClass;

pub(super) fn buffer(found: &mut Findings, buffer: &CapacityBuffer) {
    let (path, spec) = (Path::default().key("spec"), &buffer.spec);
    match (&spec.pod_template_ref, &spec.scalable_ref) {
        (Some(_), Some(_)) => {
            let message = "the shape of its pods is told twice";
            found
                .contradiction(path.key("scalableRef"), message)
                .help("leave out one of `podTemplateRef` and `scalableRef`");
        }
        (None, None) => {
            let message = "nothing tells the shape of its pods";
            found.missing(path.key("podTemplateRef"), message).help("write `podTemplateRef: {name: …}`");
        }
        _ => {}
    }
    if spec.percentage.is_some() && spec.scalable_ref.is_none() {
        let message = "a percentage is of the pods of a workload, and none is named";
        found
            .contradiction(path.key("percentage"), message)
            .help("write `replicas`, or name a `scalableRef`");
    }
    for (field, value) in [("replicas", spec.replicas), ("percentage", spec.percentage)] {
        if value.is_some_and(|value| value < 0) {
            found.invalid(path.key(field), "there is no less than none").allowed("0 or more");
        }
    }
    if spec.replicas.is_none() && spec.percentage.is_none() && spec.limits.is_empty() {
        let message = "neither `replicas`, `percentage` nor `limits` say how much";
        found.missing(path.key("replicas"), message).help("write `replicas: 1`");
    }
    super::shared::amounts(found, &path.key("limits"), &spec.limits);
}

pub(super) fn request(found: &mut Findings, request: &ProvisioningRequest) {
    let path = Path::default().key("spec");
    let class = &request.spec.provisioning_class_name;
    if let Some(meant) = nearest(class, RequestClass::NAMES).filter(|_| request.class().is_none()) {
        let message = format!(
            "`{}` is no class that Ballast serves, so the request is left to others",
            printable(class, 80)
        );
        found.doubt(path.key("provisioningClassName"), message).help(format!("did you mean `{meant}`?"));
    }
    if request.spec.pod_sets.is_empty() {
        found.missing(path.key("podSets"), "it requests room for no pod");
    }
    for (index, set) in request.spec.pod_sets.iter().enumerate() {
        let path = path.key("podSets").index(index);
        if set.count < 1 {
            found
                .invalid(path.key("count"), format!("{} is no number of pods", set.count))
                .allowed("1 or more");
        }
        if set.pod_template_ref.name.is_empty() {
            found.missing(path.key("podTemplateRef"), "nothing tells the shape of its pods");
        }
    }
}

//! Buffers and requests held against the templates that they name.

use rustc_hash::FxHashSet;

use super::Documents;
use super::across::Across;
use super::tree::Path;
use crate::kube::{LocalReference, Name};
use crate::observation::{Object, ObjectKind};

impl Across {
    /// Buffers and requests that name a template which is not among the documents: nobody knows the shape of their pods.
    pub(super) fn named_templates(&mut self, documents: &Documents) {
        let mut templates: FxHashSet<(Name, Name)> = FxHashSet::default();
        let objects = || documents.objects.iter().map(|placed| &placed.value);
        templates.extend(objects().filter(|own| own.kind() == ObjectKind::PodTemplate).map(Object::name));
        for (object, spot) in objects().zip(self.objects.clone()) {
            let path = Path::default().key("spec");
            let named: Vec<(Path, &LocalReference)> = match object {
                Object::CapacityBuffer(buffer) => buffer
                    .spec
                    .pod_template_ref
                    .iter()
                    .map(|named| (path.key("podTemplateRef"), named))
                    .collect(),
                Object::ProvisioningRequest(request) => {
                    let sets = request.spec.pod_sets.iter().enumerate();
                    let at = |index: usize| path.key("podSets").index(index).key("podTemplateRef");
                    sets.map(|(index, set)| (at(index), &set.pod_template_ref)).collect()
                }
                _ => continue,
            };
            let namespace = object.name().1;
            for (path, LocalReference { name }) in named {
                if !templates.contains(&(name.clone(), namespace.clone())) {
                    let message = format!(
                        "there is no PodTemplate `{namespace}/{name}`, so nobody knows of what shape"
                    );
                    self.clash(spot, None, |found| {
                        found.doubt(path.key("name"), message).help("give the PodTemplate along with it");
                    });
                }
            }
        }
    }
}

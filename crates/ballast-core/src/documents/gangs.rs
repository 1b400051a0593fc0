//! Gangs whose pods do not say how large they are: their PodGroups do.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Documents;
use crate::kube::{Name, Pod};
use crate::observation::Object;
use crate::snapshot::{ClassKey, GANG_SIZE};

/// Lets pods say what their PodGroup says, in the annotation by which they could have said it themselves. What a pod says of its
/// gang stays.
pub(super) fn tell_sizes(documents: &mut Documents) {
    let sizes: FxHashMap<(Name, Name), Name> = documents
        .pod_groups
        .iter()
        .filter(|group| group.value.spec.min_member > 0)
        .map(|group| {
            let meta = &group.value.metadata;
            let size = group.value.spec.min_member.to_string();
            ((meta.namespace.clone(), meta.name.clone()), size.into())
        })
        .collect();
    if sizes.is_empty() {
        return;
    }
    for object in &mut documents.objects {
        let Object::Pod(pod) = &mut object.value else { continue };
        if let Some(size) = unsaid(pod).and_then(|gang| sizes.get(&gang)) {
            Arc::make_mut(&mut pod.metadata.annotations).insert(GANG_SIZE.into(), size.clone());
        }
    }
}

/// The gang of a pod that does not say how large it is.
fn unsaid(pod: &Pod) -> Option<(Name, Name)> {
    let gang = ClassKey::new(&pod.metadata, &pod.spec).gang().filter(|gang| gang.size == 0)?;
    Some((gang.namespace, gang.name))
}

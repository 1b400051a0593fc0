//! What an Observation may say.

use rustc_hash::FxHashMap;

use super::{Findings, Path};
use crate::documents::read::words_in_words;
use crate::documents::suggest;
use crate::kube::Name;
use crate::observation::{Instance, ObjectKind, ObservationSpec, SourceKind};

pub(in crate::documents) fn observation(spec: &ObservationSpec, found: &mut Findings) {
    let path = Path::default().key("spec");
    match (&spec.body, &spec.error) {
        (None, None) => {
            found
                .missing(path.key("body"), "the source said nothing")
                .help("give it a `body`, or an `error`");
        }
        (Some(_), Some(_)) => {
            found
                .contradiction(path.key("error"), "an answer and an error at once")
                .help("leave one of the two");
        }
        _ => {}
    }
    let source = path.key("source");
    match spec.source.kind {
        SourceKind::Kubernetes => kubernetes(found, &path, spec),
        SourceKind::VirtualClusters | SourceKind::ClusterInquiry => {}
        kind if spec.source.name.is_empty() => {
            found.missing(
                source.key("name"),
                format!("a source of kind `{kind:?}` needs the `name` of what it speaks of"),
            );
        }
        _ => {}
    }
}

fn kubernetes(found: &mut Findings, path: &Path, spec: &ObservationSpec) {
    let names = ObjectKind::ALL.map(ObjectKind::name);
    if !names.contains(&&*spec.source.name) {
        let finding = found.invalid(path.key("source").key("name"), "not a kind that is read");
        finding.allowed(words_in_words(&names));
        if let Some(meant) = suggest::nearest(&spec.source.name, names) {
            finding.help(format!("did you mean `{meant}`?"));
        }
    }
    if spec.body.is_some() {
        found
            .invalid(path.key("body"), "objects of Kubernetes are documents themselves")
            .help("write the objects beside it; an Observation tells only that they could not be listed");
    }
}

/// A list of instances: each machine once.
pub(in crate::documents) fn instances(instances: &[Instance], found: &mut Findings) {
    let mut known: FxHashMap<&Name, usize> = FxHashMap::default();
    for (number, instance) in instances.iter().enumerate() {
        let first = *known.entry(&instance.id).or_insert(number);
        if first != number {
            let path = ["spec", "body", "items"].iter().fold(Path::default(), |path, key| path.key(key));
            let message =
                format!("the instance `{}` is listed twice, the first time as items[{first}]", instance.id);
            found.contradiction(path.index(number).key("id"), message).help("leave one of the two");
        }
    }
}

//! Gangs: how large their pods and their PodGroups say they are, and slips in that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::across::{Across, Spot};
use super::check::Findings;
use super::suggest::nearest;
use super::tree::{Node, Path, Value};
use super::{Documents, printable};
use crate::kube::{Name, Pod, PodGroup};
use crate::observation::Object;
use crate::snapshot::{ClassKey, GANG_SIZE, VOLCANO_GROUP};

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

/// A PodGroup that does not say what it is there for.
pub(super) fn check_size(found: &mut Findings, group: &PodGroup, written: &Node<'_>) {
    const FIELD: &str = "minMember";
    if group.spec.min_member > 0 {
        return;
    }
    let fields = match written.get("spec").map(|spec| &spec.value) {
        Some(Value::Map(entries)) => entries.as_slice(),
        _ => &[],
    };
    let slip =
        fields.iter().map(|entry| &*entry.key).find(|key| *key != FIELD && nearest(key, [FIELD]).is_some());
    let message = "it does not say how large the gang is: what is there of it counts as all of it";
    found.doubt(Path::default().key("spec").key(FIELD), message).help(match slip {
        Some(slip) => format!("did you mean `{FIELD}` by `{}`?", printable(slip, 60)),
        None => format!("write `{FIELD}`, a number above 0"),
    });
}

/// What the pods of one gang say of it.
#[derive(Default)]
struct Told {
    /// Where the first of its pods stands that wait.
    waits: Option<Spot>,
    sizes: BTreeSet<u32>,
    /// Whether one of them says what is no size: it is told once.
    is_odd: bool,
}

impl Across {
    /// Slips in what makes pods a gang. A gang that is not known as a whole gets machines for a part of it.
    pub(super) fn gangs(&mut self, documents: &Documents) {
        let mut gangs: BTreeMap<(Name, Name), Told> = BTreeMap::new();
        for (placed, spot) in documents.objects.iter().zip(self.objects.clone()) {
            let Object::Pod(pod) = &placed.value else { continue };
            if !speaks_of_a_gang(pod) {
                continue;
            }
            let waits = pod.node_name.is_empty();
            let key = ClassKey::new(&pod.metadata, &pod.spec);
            let said = key.gang_size();
            match key.gang() {
                Some(gang) => {
                    let told = gangs.entry((gang.namespace, gang.name)).or_default();
                    match said {
                        Some(_) if gang.size > 0 => drop(told.sizes.insert(gang.size)),
                        Some((key, text)) if !std::mem::replace(&mut told.is_odd, true) => {
                            self.no_size(spot, key, text);
                        }
                        _ => {}
                    }
                    told.waits = told.waits.or(waits.then_some(spot));
                }
                None if waits => self.no_gang(spot, &key),
                None => {}
            }
        }
        let groups: BTreeMap<(Name, Name), u32> = documents
            .pod_groups
            .iter()
            .map(|group| {
                let meta = &group.value.metadata;
                ((meta.namespace.clone(), meta.name.clone()), group.value.spec.min_member)
            })
            .collect();
        for (gang, told) in &gangs {
            if let Some(spot) = told.waits {
                self.sizes(spot, gang, told, &groups);
            }
        }
    }

    /// A pod that says a size which is none.
    fn no_size(&mut self, spot: Spot, key: &str, text: &str) {
        let path = Path::default().key("metadata").key("annotations").key(key);
        let text = printable(text, 40);
        self.clash(spot, None, |found| {
            found
                .doubt(path, format!("`{text}` is no number of pods, so nobody knows how large the gang is"))
                .allowed("a number above 0, in quotes");
        });
    }

    /// A pod that has what only members of a gang have, and is of none.
    fn no_gang(&mut self, spot: Spot, key: &ClassKey) {
        let meta = Path::default().key("metadata");
        if key.labels.contains_key(VOLCANO_GROUP) {
            let message = format!("`{VOLCANO_GROUP}` is an annotation; as a label it makes no gang");
            self.clash(spot, None, |found| {
                found
                    .doubt(meta.key("labels").key(VOLCANO_GROUP), message)
                    .help("write it among the annotations, or use the label `ballast.dev/gang`");
            });
        } else if let Some((said, _)) = key.gang_size() {
            self.clash(spot, None, |found| {
                found
                    .doubt(meta.key("annotations").key(said), "it says how large a gang is, and names none")
                    .help("name it by the label `ballast.dev/gang`");
            });
        }
    }

    /// Whether one size is known of a gang.
    fn sizes(&mut self, spot: Spot, gang: &(Name, Name), told: &Told, groups: &BTreeMap<(Name, Name), u32>) {
        let (namespace, name) = gang;
        let path = Path::default().key("metadata");
        let group = groups.get(gang);
        let mut sizes = told.sizes.clone();
        sizes.extend(group.copied().filter(|size| *size > 0));
        if let (Some(least), Some(most)) = (sizes.first(), sizes.last())
            && least != most
        {
            let message = format!(
                "the gang `{namespace}/{name}` is said to have {least} pods and {most}; the greatest counts"
            );
            self.clash(spot, None, |found| {
                found.doubt(path, message).help(format!("write the same `{GANG_SIZE}` on all of its pods"));
            });
            return;
        }
        // A PodGroup, or a pod, without a good size is told of as such.
        if !sizes.is_empty() || group.is_some() || told.is_odd {
            return;
        }
        let own = groups.keys().filter(|(other, _)| other == namespace).map(|(_, name)| &**name);
        let elsewhere = groups.keys().find(|(_, other)| other == name).map(|(other, _)| other);
        let help = match (nearest(name, own), elsewhere) {
            (Some(meant), _) => format!("did you mean the PodGroup `{meant}`?"),
            (None, Some(other)) => format!("there is a PodGroup of this name in the namespace `{other}`"),
            (None, None) => format!("annotate its pods with `{GANG_SIZE}`, or give its PodGroup"),
        };
        let message = format!(
            "no pod of the gang `{namespace}/{name}` says how large it is, and no PodGroup of this name is given: what is \
             there counts as all of it"
        );
        self.clash(spot, None, |found| {
            found.doubt(path, message).help(help);
        });
    }
}

/// Whether a pod has a label or annotation that speaks of a gang. Nearly all have none: nothing is built for those.
fn speaks_of_a_gang(pod: &Pod) -> bool {
    let meta = &pod.metadata;
    let keys = meta.labels.keys().chain(meta.annotations.keys());
    keys.into_iter().any(|key| key.contains("gang") || key.contains("group"))
}

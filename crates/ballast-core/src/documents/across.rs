//! What documents say together: two of one name, two policies, pools that claim the same nodes, owners in a circle.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Documents;
use super::check::{Finding, Findings};
use super::suggest::nearest;
use super::tree::Path;
use crate::kube::{LabelSelector, Meta, Name};
use crate::observation::{Object, Observation, Source, SourceKind};
use crate::policy::{ClusterPolicySpec, VmPoolSpec};
use crate::units::Time;

/// How many pools a cluster may have: each is held against every other, and weighed in every plan.
pub const POOLS_MAX: usize = 2_000;

/// Where a document stands: the number of its file and an offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) file: usize,
    pub(super) at: u32,
}

/// What is remembered of each document until all are known.
#[derive(Default)]
pub(super) struct Across {
    seen: FxHashMap<(&'static str, Name, Name), Spot>,
    pub(super) objects: Vec<Spot>,
    /// Objects by their identity.
    owned: FxHashMap<Name, Owned>,
    sources: FxHashMap<(Source, Time), Spot>,
    /// Where the pool stands of each observation of instances.
    told_of: Vec<(Spot, Name)>,
    found: Vec<(Spot, Finding, Option<Spot>)>,
}

/// An object with an identity.
struct Owned {
    /// Where its owners stand.
    spot: Spot,
    /// Its kind and name.
    what: (&'static str, Name, Name),
    owners: Vec<Name>,
}

/// What is wrong in one place because of what stands in another.
pub(super) struct Clash {
    pub(super) spot: Spot,
    pub(super) finding: Finding,
    pub(super) other: Option<Spot>,
}

impl Across {
    /// Remembers a Kubernetes object, pool or policy.
    pub(super) fn object(&mut self, spot: Spot, owners: Spot, object: &Object) {
        let (name, namespace) = object.name();
        let kind = object.kind().name();
        self.named(kind, spot, &name, &namespace);
        self.objects.push(spot);
        if let Some(meta) = object.meta().filter(|meta| !meta.uid.is_empty()) {
            self.identity(spot, owners, meta, (kind, namespace, name));
        }
    }

    /// Remembers the identity of an object and complains of another object that has it.
    fn identity(&mut self, spot: Spot, owners: Spot, meta: &Meta, what: (&'static str, Name, Name)) {
        let parents = meta.owner_references.iter().map(|owner| owner.uid.clone()).collect();
        let new = Owned { spot: owners, what: what.clone(), owners: parents };
        let Some(other) = self.owned.insert(meta.uid.clone(), new).map(|other| other.what) else { return };
        // A second one of the same name is told of as such.
        if other != what {
            let (kind, _, name) = other;
            let path = Path::default().key("metadata").key("uid");
            let message = format!("its uid is also that of the {kind} `{name}`");
            self.clash(spot, None, |found| {
                found.conflict(path, message).help("an object has a uid of its own: leave one of the two");
            });
        }
    }

    /// Remembers the name of a document and complains of a second one.
    pub(super) fn named(&mut self, kind: &'static str, spot: Spot, name: &Name, namespace: &Name) {
        let first = *self.seen.entry((kind, namespace.clone(), name.clone())).or_insert(spot);
        if first != spot {
            let whole = if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") };
            let path = Path::default().key("metadata").key("name");
            self.clash(spot, Some(first), |found| {
                found.conflict(path, format!("a second {kind} `{whole}`")).help("leave one of the two");
            });
        }
    }

    /// Remembers an observation.
    pub(super) fn observation(&mut self, spot: Spot, source: Spot, observation: &Observation) {
        if observation.source.kind == SourceKind::Instances {
            self.told_of.push((source, observation.source.name.clone()));
        }
        let key = (observation.source.clone(), observation.taken_at);
        let first = *self.sources.entry(key).or_insert(spot);
        if first != spot {
            let path = Path::default().key("spec").key("source");
            self.clash(spot, Some(first), |found| {
                found
                    .conflict(path, "the same source answered twice at the same time")
                    .help("leave one of the two");
            });
        }
    }

    /// Instances of a pool that nobody has described: what they are told to be, no plan knows.
    fn pools_of_instances(&mut self, documents: &Documents) {
        let pools = documents.objects.iter().filter_map(|placed| match &placed.value {
            Object::VmPool(pool) => Some(&*pool.name),
            _ => None,
        });
        let pools: BTreeSet<&str> = pools.collect();
        // Where no pool is given, the observation was given alone.
        let told_of = std::mem::take(&mut self.told_of).into_iter().filter(|_| !pools.is_empty());
        for (spot, pool) in told_of.filter(|(_, pool)| !pools.contains(&**pool)) {
            let message = format!("there is no VmPool `{pool}`: these instances count for nothing");
            let help = nearest(&pool, pools.iter().copied()).map(|meant| format!("did you mean `{meant}`?"));
            let path = Path::default().key("spec").key("source").key("name");
            self.clash(spot, None, |found| {
                found.doubt(path, message).suggestion = help;
            });
        }
    }

    /// Two nodes that stand for one machine: one of them is of the past, and neither is removed.
    fn nodes_of_one_machine(&mut self, documents: &Documents) {
        let mut first: FxHashMap<Name, (Name, Spot)> = FxHashMap::default();
        for (placed, spot) in documents.objects.iter().zip(self.objects.clone()) {
            let Object::Node(node) = &placed.value else { continue };
            let id = &node.spec.provider_id;
            let (other, other_spot) =
                first.entry(id.clone()).or_insert_with(|| (node.metadata.name.clone(), spot)).clone();
            if id.is_empty() || other_spot == spot {
                continue;
            }
            let path = Path::default().key("spec").key("providerID");
            let message = format!("the node `{other}` stands for the same machine, so neither is removed");
            self.clash(spot, Some(other_spot), |found| {
                found.doubt(path, message).help("delete the object that is of the past");
            });
        }
    }

    /// Everything that is wrong between documents.
    pub(super) fn check(mut self, documents: &Documents) -> Vec<Clash> {
        let policies = self.policies(documents);
        self.gpu_limits(documents);
        self.pools(documents, policies);
        self.nodes_of_one_machine(documents);
        self.named_templates(documents);
        self.gangs(documents);
        self.pools_of_instances(documents);
        self.targets(documents);
        self.owner_circles();
        let clashes = self.found.into_iter();
        clashes.map(|(spot, finding, other)| Clash { spot, finding, other }).collect()
    }

    pub(super) fn clash(&mut self, spot: Spot, other: Option<Spot>, say: impl FnOnce(&mut Findings)) {
        let mut found = Findings::default();
        say(&mut found);
        self.found.extend(found.0.into_iter().map(|finding| (spot, finding, other)));
    }

    /// Complains of a second ClusterPolicy, and of a name that no cluster takes; returns the first.
    fn policies<'d>(&mut self, documents: &'d Documents) -> Option<&'d ClusterPolicySpec> {
        let placed = documents.objects.iter().zip(self.objects.clone());
        let policies: Vec<_> = placed
            .filter_map(|(placed, spot)| match &placed.value {
                Object::ClusterPolicy(policy) => Some((policy, spot)),
                _ => None,
            })
            .collect();
        // One of the same name is told of as a second one already.
        for (policy, spot) in policies.iter().skip(1).filter(|(policy, _)| policy.name != policies[0].0.name)
        {
            let message = format!("a second ClusterPolicy, `{}`: a cluster has one", policy.name);
            self.clash(*spot, Some(policies[0].1), |found| {
                found.conflict(Path::default().key("kind"), message);
            });
        }
        if let Some((policy, spot)) =
            policies.first().filter(|(policy, _)| &*policy.name != ClusterPolicySpec::NAME)
        {
            let message = format!("a cluster would refuse the name `{}`", policy.name);
            let help = format!("its one ClusterPolicy is named `{}`", ClusterPolicySpec::NAME);
            self.clash(*spot, None, |found| {
                found.doubt(Path::default().key("metadata").key("name"), message).help(help);
            });
        }
        policies.first().map(|(policy, _)| &policy.spec)
    }

    /// A limit for a model that is that of a pool but for its capital letters would never hold anything back.
    fn gpu_limits(&mut self, documents: &Documents) {
        let models: Vec<&str> = documents
            .objects
            .iter()
            .filter_map(|placed| match &placed.value {
                Object::VmPool(pool) => pool.spec.template.gpu_model.as_deref(),
                _ => None,
            })
            .collect();
        for (placed, spot) in documents.objects.iter().zip(self.objects.clone()) {
            let Object::ClusterPolicy(policy) = &placed.value else { continue };
            for model in policy.spec.limits.gpus.keys().filter(|model| !models.contains(&&***model)) {
                // Not the nearest word: a limit for A100 is no slip where there is an H100.
                let Some(meant) = models.iter().find(|known| known.eq_ignore_ascii_case(model)) else {
                    continue;
                };
                let path = Path::default().key("spec").key("limits").key("gpus").key(model);
                self.clash(spot, None, |found| {
                    found
                        .conflict(
                            path,
                            format!("no pool has GPUs of the model `{model}`: this would limit nothing"),
                        )
                        .help(format!("did you mean `{meant}`?"));
                });
            }
        }
    }

    fn pools(&mut self, documents: &Documents, policy: Option<&ClusterPolicySpec>) {
        let placed = documents.objects.iter().zip(self.objects.clone());
        // A second one of the same name is told of as such, and not as one that claims the same nodes.
        let is_first = |name: &Name, spot: Spot| {
            self.seen.get(&("VmPool", Name::default(), name.clone())).is_none_or(|first| *first == spot)
        };
        let pools: Vec<(&Name, &VmPoolSpec, Spot)> = placed
            .filter_map(|(placed, spot)| match &placed.value {
                Object::VmPool(pool) if is_first(&pool.name, spot) => Some((&pool.name, &pool.spec, spot)),
                _ => None,
            })
            .collect();
        if let Some((_, _, spot)) = pools.get(POOLS_MAX) {
            let message = format!("{} pools: a cluster has {POOLS_MAX} at most", pools.len());
            return self.clash(*spot, None, |found| {
                let finding = found.conflict(Path::default().key("kind"), message);
                finding.help("machines that are alike are one pool, which may have several zones");
            });
        }
        for (number, (_, spec, spot)) in pools.iter().enumerate() {
            for (other, other_spec, other_spot) in &pools[..number] {
                if let Some((field, why)) = overlap(other_spec, spec) {
                    let path = Path::default().key("spec").key("members").key(field);
                    self.clash(*spot, Some(*other_spot), |found| {
                        found
                            .conflict(path, format!("{why} of the pool `{other}`"))
                            .help("a node belongs to one pool");
                    });
                }
            }
        }
        self.pools_and_nodes(documents, &pools);
        if let Some(policy) = policy {
            self.pools_and_policy(policy, &pools);
        }
    }

    /// Two documents that would write the same thing.
    fn targets(&mut self, documents: &Documents) {
        let mut seen: FxHashMap<(Name, String), String> = FxHashMap::default();
        let scalers = documents.metric_scalers.iter().map(|placed| {
            let target = &placed.value.spec.scale_target_ref;
            let field = Path::default().key("spec").key("scaleTargetRef");
            (
                "MetricScaler",
                &placed.value.name,
                &placed.value.namespace,
                format!("{}/{}", target.kind, target.name),
                field,
            )
        });
        let pools = documents.spark_pools.iter().filter_map(|placed| {
            let url = placed.value.spec.master.url.as_ref()?;
            let field = Path::default().key("spec").key("master").key("url");
            Some(("SparkPool", &placed.value.name, &placed.value.namespace, url.to_string(), field))
        });
        let found: Vec<_> = scalers.chain(pools).collect();
        for (kind, name, namespace, target, path) in found {
            let spot = self.seen.get(&(kind, namespace.clone(), name.clone())).copied();
            let first =
                seen.entry((namespace.clone(), target.clone())).or_insert_with(|| name.to_string()).clone();
            if let Some(spot) = spot.filter(|_| first != **name) {
                self.clash(spot, None, |found| {
                    found.conflict(path, format!("the {kind} `{first}` has the same target, `{target}`"));
                });
            }
        }
    }

    /// Objects that own each other in a circle.
    fn owner_circles(&mut self) {
        let mut done: FxHashMap<Name, bool> = FxHashMap::default();
        let mut starts: Vec<(Spot, Name)> =
            self.owned.iter().map(|(uid, owned)| (owned.spot, uid.clone())).collect();
        starts.sort();
        for (_, start) in starts {
            if let Some((spot, owner)) = circle_from(&start, &self.owned, &mut done) {
                let path = Path::default().key("metadata").key("ownerReferences");
                self.clash(spot, Some(owner).filter(|owner| *owner != spot), |found| {
                    found.conflict(path, "the owners lead back to the object itself");
                });
            }
        }
    }
}

/// Follows owners from one object; `done` is true for those that are finished and false for those on the way. Where a circle
/// closes, and where it began.
fn circle_from(
    start: &Name,
    owned: &FxHashMap<Name, Owned>,
    done: &mut FxHashMap<Name, bool>,
) -> Option<(Spot, Spot)> {
    if done.contains_key(start) {
        return None;
    }
    let mut circle = None;
    let mut way = vec![(start.clone(), 0)];
    done.insert(start.clone(), false);
    while let Some((uid, next)) = way.last_mut() {
        let Owned { spot, owners, .. } = owned.get(uid)?;
        let Some(parent) = owners.get(*next).filter(|parent| owned.contains_key(*parent)) else {
            *next += 1;
            if *next > owners.len() {
                done.insert(uid.clone(), true);
                way.pop();
            }
            continue;
        };
        *next += 1;
        match done.get(parent) {
            Some(true) => {}
            Some(false) => circle = circle.or(Some((*spot, owned[parent].spot))),
            None => {
                done.insert(parent.clone(), false);
                way.push((parent.clone(), 0));
            }
        }
    }
    circle
}

/// By which field two pools claim the same nodes for certain, and how.
pub fn overlap(first: &VmPoolSpec, second: &VmPoolSpec) -> Option<(&'static str, &'static str)> {
    let (one, two) = (&first.members, &second.members);
    if let (Some(one), Some(two)) = (&one.name_prefix, &two.name_prefix)
        && (one.starts_with(&**two) || two.starts_with(&**one))
    {
        return Some(("namePrefix", "names that begin so are also members"));
    }
    let same_provider =
        first.provider.kind == second.provider.kind && first.provider.settings == second.provider.settings;
    if one.group.is_some() && one.group == two.group && same_provider {
        return Some(("group", "its instances are also members"));
    }
    let (one, two) = (one.selector.as_ref()?, two.selector.as_ref()?);
    (is_narrower(one, two) || is_narrower(two, one))
        .then_some(("selector", "nodes that it selects are also members"))
}

/// Whether one selector demands everything that the other demands.
fn is_narrower(one: &LabelSelector, other: &LabelSelector) -> bool {
    other.match_labels.iter().all(|(key, value)| one.match_labels.get(key) == Some(value))
        && other.match_expressions.iter().all(|requirement| one.match_expressions.contains(requirement))
}

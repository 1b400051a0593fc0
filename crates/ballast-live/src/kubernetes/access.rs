//! What Ballast asks of the Kubernetes API, in one table. Roles, their page in the reference and `ballast doctor` are made
//! from it, and a test holds it against what a real API server was asked for: nothing is granted that is not used.
//!
//! ```text
//! ACCESS ──▶ rules(mode, scope) ──▶ roles(mode, namespace) ──▶ deploy/rbac
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use ballast_core::policy::{Mode, Provider};

use super::lease;
use super::memory::{HISTORY, LEDGER};

/// One thing that is asked of the API.
#[derive(Debug)]
pub struct Access {
    /// The group; empty for the core.
    pub group: &'static str,
    /// Plurals, with the subresource where it is one: `pods/eviction`.
    pub resources: &'static [&'static str],
    /// What is done with them.
    pub verbs: &'static [Verb],
    /// The only objects that are meant; empty: any.
    pub names: &'static [&'static str],
    /// Where.
    pub scope: Scope,
    /// The lowest mode in which it is asked.
    pub from: Mode,
    /// What for, in a line.
    pub why: &'static str,
}

/// Where something is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// In the whole cluster.
    Cluster,
    /// In the namespace that Ballast lives in.
    Own,
}

/// What is done with an object, as the API names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Read one.
    Get,
    /// Read all.
    List,
    /// Hear of changes.
    Watch,
    /// Make one.
    Create,
    /// Write all of one.
    Update,
    /// Write some of one.
    Patch,
}

impl Verb {
    /// As the API spells it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
        }
    }

    /// Whether something is other than before when it was done.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Patch)
    }
}

/// Lists and watches from `Observe` on: no more is needed to see.
const fn seen(group: &'static str, resources: &'static [&'static str], why: &'static str) -> Access {
    let verbs = &[Verb::List, Verb::Watch];
    Access { group, resources, verbs, names: &[], scope: Scope::Cluster, from: Mode::Observe, why }
}

/// Something of Ballast's own, from `Recommend` on.
const fn own(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [Verb],
    names: &'static [&'static str],
    why: &'static str,
) -> Access {
    Access { group, resources, verbs, names, scope: Scope::Own, from: Mode::Recommend, why }
}

/// Something that is not Ballast's own.
const fn on_cluster(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [Verb],
    from: Mode,
    why: &'static str,
) -> Access {
    Access { group, resources, verbs, names: &[], scope: Scope::Cluster, from, why }
}

/// Everything that is ever asked for.
pub const ACCESS: &[Access] = &[
    seen("", &["nodes", "pods"], "what there is, what runs, and what waits"),
    seen("", &["persistentvolumeclaims", "persistentvolumes"], "where a pod with volumes can run"),
    seen("apps", &["daemonsets"], "what a new node runs of its own accord"),
    seen("policy", &["poddisruptionbudgets"], "who may be asked to leave"),
    seen("scheduling.k8s.io", &["priorityclasses"], "who comes first, and who gives way to whom"),
    seen("storage.k8s.io", &["storageclasses"], "where a volume that is not there yet can come to be"),
    seen("", &["podtemplates"], "the shape of pods that buffers and requests name"),
    seen(
        "autoscaling.x-k8s.io",
        &["capacitybuffers", "provisioningrequests"],
        "what room is asked for ahead of pods; nothing is missed where the cluster does not know them",
    ),
    seen("ballast.dev", &["clusterpolicies", "vmpools"], "what people have asked for"),
    Access {
        group: "",
        resources: &["secrets"],
        verbs: &[Verb::Get],
        names: &[Provider::SECRET],
        scope: Scope::Own,
        from: Mode::Observe,
        why: "what the providers of pools are asked with, where a pool names it",
    },
    // The right to create cannot be restricted by name. So the manifest makes these three, and Ballast only writes into them.
    own(
        "coordination.k8s.io",
        &["leases"],
        &[Verb::Get, Verb::Update],
        &[lease::NAME],
        "the lease of leadership: taken, renewed, given back",
    ),
    own("", &["configmaps"], &[Verb::Get], &[LEDGER, HISTORY], "what the leader before has begun and seen"),
    own("", &["configmaps"], &[Verb::Update], &[LEDGER], "the ledger: written before anything is done"),
    own(
        "",
        &["configmaps"],
        &[Verb::Patch],
        &[HISTORY],
        "the history: since when nodes are idle, how long they take to boot",
    ),
    on_cluster(
        "authorization.k8s.io",
        &["selfsubjectaccessreviews"],
        &[Verb::Create],
        Mode::Recommend,
        "before an approved plan is begun: whether everything that it takes is allowed; and of what was refused, whether that is for want of a right. It keeps nothing",
    ),
    on_cluster(
        "",
        &["nodes"],
        &[Verb::Get],
        Mode::Recommend,
        "whether a machine that was asked for has joined, and a last look past every cache",
    ),
    on_cluster(
        "ballast.dev",
        &["clusterpolicies/status", "vmpools/status"],
        &[Verb::Patch],
        Mode::Recommend,
        "say in each document what Ballast sees, does and would do",
    ),
    on_cluster(
        "ballast.dev",
        &["elasticjobpolicies", "metricscalers", "rayscalers", "sparkpools"],
        &[Verb::List, Verb::Watch],
        Mode::Recommend,
        "which documents have to be told that this release does not act on them",
    ),
    on_cluster(
        "ballast.dev",
        &["elasticjobpolicies/status", "metricscalers/status", "rayscalers/status", "sparkpools/status"],
        &[Verb::Patch],
        Mode::Recommend,
        "tell them so, once a generation",
    ),
    on_cluster(
        "events.k8s.io",
        &["events"],
        &[Verb::Create],
        Mode::Recommend,
        "tell on pools, nodes and pods what is done with them, and why",
    ),
    on_cluster(
        "",
        &["nodes"],
        &[Verb::Patch],
        Mode::Enforce,
        "cordon a node that leaves; uncordon one that stays",
    ),
    on_cluster(
        "autoscaling.x-k8s.io",
        &["capacitybuffers/status", "provisioningrequests/status"],
        &[Verb::Patch],
        Mode::Enforce,
        "answer whoever asked for room: whether it is there, and until when it is held",
    ),
    on_cluster(
        "",
        &["pods/eviction"],
        &[Verb::Create],
        Mode::Enforce,
        "ask pods to leave a node, as their disruption budgets allow",
    ),
];

/// A rule of a role: these verbs on these resources, of these names or any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// The group.
    pub group: &'static str,
    /// The only objects that are meant; empty: any.
    pub names: Vec<&'static str>,
    /// What is done.
    pub verbs: BTreeSet<Verb>,
    /// With what.
    pub resources: BTreeSet<&'static str>,
}

impl Rule {
    /// As Kubernetes writes it.
    fn written(&self) -> Value {
        let verbs: Vec<&str> = self.verbs.iter().map(|verb| verb.word()).collect();
        let mut rule = json!({"apiGroups": [self.group], "resources": self.resources, "verbs": verbs});
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(self.names);
        }
        rule
    }
}

/// The lowest mode whose roles grant something; `None` where none does.
pub fn granted_from(verb: &str, resource: &str) -> Option<Mode> {
    let grants = |access: &&Access| {
        access.resources.contains(&resource) && access.verbs.iter().any(|own| own.word() == verb)
    };
    ACCESS.iter().filter(grants).map(|access| access.from).min()
}

/// What has to be granted for a mode, sorted; what is granted for one object of a resource stands in one rule.
pub fn rules(mode: Mode, scope: Scope) -> Vec<Rule> {
    type Subject = (&'static str, Vec<&'static str>, &'static str);
    let mut verbs: BTreeMap<Subject, BTreeSet<Verb>> = BTreeMap::new();
    for access in ACCESS.iter().filter(|access| access.scope == scope && access.from <= mode) {
        for resource in access.resources {
            for names in one_by_one(access.names) {
                verbs.entry((access.group, names, resource)).or_default().extend(access.verbs);
            }
        }
    }
    type Granted = (&'static str, Vec<&'static str>, BTreeSet<Verb>);
    let mut rules: BTreeMap<Granted, BTreeSet<&'static str>> = BTreeMap::new();
    for ((group, names, resource), verbs) in verbs {
        rules.entry((group, names, verbs)).or_default().insert(resource);
    }
    let rule = |((group, names, verbs), resources)| Rule { group, names, verbs, resources };
    rules.into_iter().map(rule).collect()
}

/// Each name on its own; where there is none, any.
fn one_by_one(names: &[&'static str]) -> Vec<Vec<&'static str>> {
    match names {
        [] => vec![Vec::new()],
        names => names.iter().map(|name| vec![*name]).collect(),
    }
}

/// The service account of a namespace with what a mode needs, and no more: all modes use the same names, so that those of
/// another mode take the place of these.
pub fn roles(mode: Mode, namespace: &str) -> Vec<Value> {
    const API: &str = "rbac.authorization.k8s.io";
    let written = |scope| rules(mode, scope).iter().map(Rule::written).collect::<Vec<_>>();
    let subjects = json!([{"kind": "ServiceAccount", "name": "ballast", "namespace": namespace}]);
    let of = |kind: &str| json!({"apiGroup": API, "kind": kind, "name": "ballast"});
    let version = format!("{API}/v1");
    let (cluster, own) = (json!({"name": "ballast"}), json!({"name": "ballast", "namespace": namespace}));
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": own}),
        json!({"apiVersion": version, "kind": "ClusterRole", "metadata": cluster, "rules": written(Scope::Cluster)}),
        json!({"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": cluster, "roleRef": of("ClusterRole"), "subjects": subjects}),
        json!({"apiVersion": version, "kind": "Role", "metadata": own, "rules": written(Scope::Own)}),
        json!({"apiVersion": version, "kind": "RoleBinding", "metadata": own, "roleRef": of("Role"), "subjects": subjects}),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::wire::paths;
    use ballast_core::observation::ObjectKind;

    const MODES: [Mode; 3] = [Mode::Observe, Mode::Recommend, Mode::Enforce];
    const SCOPES: [Scope; 2] = [Scope::Cluster, Scope::Own];

    /// Every single thing that a mode grants.
    fn granted(
        mode: Mode,
        scope: Scope,
    ) -> BTreeSet<(&'static str, &'static str, Verb, Option<&'static str>)> {
        let mut all = BTreeSet::new();
        for Rule { group, names, verbs, resources } in rules(mode, scope) {
            for (resource, verb) in resources.iter().flat_map(|of| verbs.iter().map(move |verb| (of, verb))) {
                let names = names.iter().copied().map(Some).chain(names.is_empty().then_some(None));
                all.extend(names.map(|name| (group, *resource, *verb, name)));
            }
        }
        all
    }

    #[test]
    fn nothing_is_a_wildcard_and_one_secret_is_read_by_name() {
        for Access { group, resources, verbs, names, .. } in ACCESS {
            assert!(!group.contains('*') && !names.contains(&"*"));
            assert!(resources.iter().all(|resource| !resource.contains('*')));
            let is_one_read = (*verbs, *names) == (&[Verb::Get][..], &[Provider::SECRET][..]);
            assert!(!resources.contains(&"secrets") || is_one_read);
        }
    }

    #[test]
    fn observe_only_reads() {
        let all: Vec<_> = SCOPES.into_iter().flat_map(|scope| granted(Mode::Observe, scope)).collect();
        assert!(!all.is_empty() && all.iter().all(|(_, _, verb, _)| !verb.changes()));
    }

    #[test]
    fn each_mode_has_all_that_the_lower_has() {
        for pair in MODES.windows(2) {
            let all = |mode| SCOPES.map(|scope| granted(mode, scope));
            let (lower, higher) = (all(pair[0]), all(pair[1]));
            for (lower, higher) in lower.iter().zip(&higher) {
                assert!(lower.is_subset(higher), "{pair:?}: {:?}", lower.difference(higher));
            }
            assert_ne!(lower, higher, "{pair:?} are one");
        }
    }

    #[test]
    fn nothing_is_created_but_reviews_events_and_evictions() {
        let created = ACCESS.iter().filter(|access| access.verbs.contains(&Verb::Create));
        let created: Vec<&[&str]> = created.map(|access| access.resources).collect();
        assert_eq!(created, [["selfsubjectaccessreviews"], ["events"], ["pods/eviction"]]);
    }

    #[test]
    fn what_is_ballasts_own_is_named() {
        assert!(ACCESS.iter().all(|access| (access.scope == Scope::Own) != access.names.is_empty()));
    }

    #[test]
    fn every_kind_that_is_watched_may_be() {
        let granted = granted(Mode::Observe, Scope::Cluster);
        for path in ObjectKind::ALL.into_iter().flat_map(paths) {
            let resource = path.rsplit('/').next().unwrap_or_default();
            let group = path.strip_prefix("/apis/").and_then(|rest| rest.split('/').next()).unwrap_or("");
            for verb in [Verb::List, Verb::Watch] {
                assert!(granted.contains(&(group, resource, verb, None)), "{verb:?} {path}");
            }
        }
    }
}

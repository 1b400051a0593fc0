//! Where a pod may be placed, whatever is free there: written apart from the planner's own judgement, so that one can be held
//! against the other.

use std::collections::BTreeMap;

use ballast_core::kube::{
    ContainerPort, DoNotSchedule, LabelSelector, Labels, Name, PodAffinityTerm, PodSpec, Taint, TaintEffect,
    TopologySpread,
};
use ballast_core::snapshot::HOSTNAME_LABEL;

use super::World;
use super::class::Class;
use super::machine::{Kind, Machine};

/// Whether a pod may run on an empty node of a kind, as far as all of them are alike.
pub(crate) fn fits_kind(class: &Class, kind: &Kind) -> bool {
    let spec = &class.spec;
    let selected =
        |(key, value): (&Name, &Name)| &**key == HOSTNAME_LABEL || kind.labels.get(key) == Some(value);
    class.requests.fits(&kind.room)
        && class.need.gpus <= kind.gpus
        && spec.node_selector.iter().all(selected)
        && bears(spec, &kind.taints)
        && (class.need.models == 0 || class.need.gpus == 0 || class.need.models & kind.model != 0)
        && (class.is_picky || affine(spec, &Name::default(), &kind.labels))
}

fn bears(spec: &PodSpec, taints: &[Taint]) -> bool {
    let refused = |taint: &Taint| {
        taint.effect != TaintEffect::PreferNoSchedule
            && !spec.tolerations.iter().any(|toleration| toleration.bears(taint))
    };
    !taints.iter().any(refused)
}

fn affine(spec: &PodSpec, name: &Name, labels: &Labels) -> bool {
    let required =
        spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref()?.required.as_ref());
    required.is_none_or(|selector| selector.matches(name, labels))
}

impl World {
    /// Whether a pod of a class may run on a machine, as far as that depends on the node itself and on other pods.
    pub(crate) fn fits_machine(&self, class: &Class, machine: &Machine) -> bool {
        let Some(node) = &machine.node else { return false };
        self.is_meant_for(class, machine)
            && self.ports_are_free(class, machine)
            && self.is_near(class, &node.labels)
            && self.is_away(class, &node.labels)
            && self.is_borne_by_others(class, &node.labels)
            && self.is_even(class, &node.labels)
    }

    /// Whether a pod of a class may run on a machine, as far as that depends on the node itself.
    pub(crate) fn is_meant_for(&self, class: &Class, machine: &Machine) -> bool {
        let Some(node) = &machine.node else { return false };
        let name = class.spec.node_selector.get(HOSTNAME_LABEL);
        name.is_none_or(|name| *name == machine.name) && affine(&class.spec, &machine.name, &node.labels)
    }

    fn ports_are_free(&self, class: &Class, machine: &Machine) -> bool {
        let mine = ports(&class.spec);
        let clash = |a: &(i32, &str, &str), b: &(i32, &str, &str)| {
            a.0 == b.0 && a.1 == b.1 && (a.2.is_empty() || b.2.is_empty() || a.2 == b.2)
        };
        mine.is_empty()
            || !machine.pods.iter().any(|&pod| {
                let theirs = ports(&self.classes[self.pods[pod].class as usize].spec);
                theirs.iter().any(|theirs| mine.iter().any(|mine| clash(mine, theirs)))
            })
    }

    /// Pods that a selector means, counted by the value of a node label.
    fn count(&self, term: &Term<'_>, of: &Class) -> BTreeMap<Name, u32> {
        let mut counts = BTreeMap::new();
        for machine in self.machines.iter().filter(|machine| !machine.pods.is_empty()) {
            let Some(domain) = machine.node.as_ref().and_then(|node| node.labels.get(term.key)) else {
                continue;
            };
            let meant = machine.pods.iter().filter(|&&pod| self.is_meant(term, of, pod)).count() as u32;
            if meant > 0 {
                *counts.entry(domain.clone()).or_default() += meant;
            }
        }
        counts
    }

    fn is_meant(&self, term: &Term<'_>, of: &Class, pod: u32) -> bool {
        let class = &self.classes[self.pods[pod].class as usize];
        let namespaces = term.namespaces;
        let there = term.everywhere
            || (namespaces.is_empty() && class.namespace == of.namespace)
            || namespaces.contains(&class.namespace);
        there && term.selects(of, class)
    }

    fn is_near(&self, class: &Class, labels: &Labels) -> bool {
        terms(&class.spec, true).iter().all(|term| {
            let counts = self.count(term, class);
            let Some(domain) = labels.get(term.key) else { return false };
            // The first of a group that wants to be near itself may go anywhere.
            let first = counts.is_empty() && term.selects(class, class);
            first || counts.contains_key(domain)
        })
    }

    fn is_away(&self, class: &Class, labels: &Labels) -> bool {
        terms(&class.spec, false).iter().all(|term| {
            let domain = labels.get(term.key);
            domain.is_none_or(|domain| !self.count(term, class).contains_key(domain))
        })
    }

    /// Whether no pod that is already placed demands distance from a pod of this class.
    fn is_borne_by_others(&self, class: &Class, labels: &Labels) -> bool {
        let demanding = self.classes.iter().filter(|other| !terms(&other.spec, false).is_empty());
        demanding.filter(|other| other.keeps_away_from(class)).all(|other| {
            terms(&other.spec, false).iter().filter(|term| means(term, other, class)).all(|term| {
                let Some(domain) = labels.get(term.key) else { return true };
                let is_other = |pod: &u32| std::ptr::eq(&self.classes[self.pods[*pod].class as usize], other);
                !self.machines.iter().any(|machine| {
                    machine.node.as_ref().is_some_and(|node| node.labels.get(term.key) == Some(domain))
                        && machine.pods.iter().any(&is_other)
                })
            })
        })
    }

    fn is_even(&self, class: &Class, labels: &Labels) -> bool {
        let spread = class.spec.topology_spread_constraints.iter();
        spread.filter(|spread| spread.when_unsatisfiable == DoNotSchedule::DoNotSchedule).all(|spread| {
            let Some(domain) = labels.get(&spread.topology_key) else { return false };
            let term = spread_term(spread);
            let counts = self.count(&term, class);
            let mut domains: Vec<u32> = self.domains(class, &spread.topology_key, &counts);
            if (domains.len() as i32) < spread.min_domains.unwrap_or(1) {
                domains.push(0);
            }
            let least = domains.into_iter().min().unwrap_or(0);
            let mine = u32::from(term.selects(class, class));
            let here = counts.get(domain).copied().unwrap_or(0);
            i64::from(here + mine) - i64::from(least) <= i64::from(spread.max_skew)
        })
    }

    /// The counts of all domains that the class could use, those without a pod included.
    fn domains(&self, class: &Class, key: &Name, counts: &BTreeMap<Name, u32>) -> Vec<u32> {
        let mut domains: BTreeMap<&Name, u32> = BTreeMap::new();
        for machine in &self.machines {
            let Some(node) = &machine.node else { continue };
            let usable = fits_kind(class, &self.kinds[machine.kind as usize])
                && affine(&class.spec, &machine.name, &node.labels);
            if let (Some(domain), true) = (node.labels.get(key), usable) {
                domains.insert(domain, counts.get(domain).copied().unwrap_or(0));
            }
        }
        domains.into_values().collect()
    }
}

impl Class {
    /// Whether pods of this class demand distance from pods of another.
    pub(crate) fn keeps_away_from(&self, other: &Self) -> bool {
        terms(&self.spec, false).iter().any(|term| means(term, self, other))
    }
}

/// Other pods within a domain.
struct Term<'a> {
    selector: Option<&'a LabelSelector>,
    namespaces: &'a [Name],
    everywhere: bool,
    key: &'a Name,
    /// Labels in which they are to be like the pod whose term it is, such as the hash of its template.
    alike_in: &'a [Name],
}

impl Term<'_> {
    /// Whether a term of one class means the pods of another, wherever they are.
    fn selects(&self, of: &Class, other: &Class) -> bool {
        let alike = |key: &Name| of.labels.get(key).is_none_or(|value| other.labels.get(key) == Some(value));
        self.selector.is_some_and(|selector| selector.matches(&other.labels))
            && self.alike_in.iter().all(alike)
    }
}

fn means(term: &Term<'_>, of: &Class, other: &Class) -> bool {
    let there = term.everywhere
        || (term.namespaces.is_empty() && other.namespace == of.namespace)
        || term.namespaces.contains(&other.namespace);
    there && term.selects(of, other)
}

/// The required terms of affinity (`near`) or anti-affinity.
fn terms(spec: &PodSpec, near: bool) -> Vec<Term<'_>> {
    let affinity = spec.affinity.as_ref();
    let required: &[PodAffinityTerm] = affinity
        .and_then(
            |affinity| {
                if near { affinity.pod_affinity.as_ref() } else { affinity.pod_anti_affinity.as_ref() }
            },
        )
        .map_or(&[], |terms| &terms.required);
    required
        .iter()
        .map(|term| Term {
            selector: term.label_selector.as_ref(),
            namespaces: &term.namespaces,
            everywhere: term.namespace_selector.as_ref().is_some_and(LabelSelector::is_empty),
            key: &term.topology_key,
            alike_in: &term.match_label_keys,
        })
        .collect()
}

fn spread_term(spread: &TopologySpread) -> Term<'_> {
    Term {
        selector: spread.label_selector.as_ref(),
        namespaces: &[],
        everywhere: false,
        key: &spread.topology_key,
        alike_in: &spread.match_label_keys,
    }
}

/// Ports of the node that a pod takes: number, protocol, address.
fn ports(spec: &PodSpec) -> Vec<(i32, &str, &str)> {
    let number = |port: &ContainerPort| match port.host_port {
        0 if spec.host_network => port.container_port,
        number => number,
    };
    let sidecars = spec.init_containers.iter().filter(|init| init.is_sidecar());
    let all = spec.containers.iter().chain(sidecars).flat_map(|container| &container.ports);
    all.filter(|port| number(port) != 0)
        .map(|port| {
            let protocol = if port.protocol.is_empty() { "TCP" } else { &*port.protocol };
            let address = if &*port.host_ip == "0.0.0.0" { "" } else { &*port.host_ip };
            (number(port), protocol, address)
        })
        .collect()
}

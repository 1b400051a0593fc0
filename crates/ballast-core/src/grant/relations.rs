//! Relations between pods: affinity, distance and spread, counted by domain while pods are placed.

use rustc_hash::FxHashMap;

use crate::kube::Name;
use crate::plan::Misfit;
use crate::snapshot::{Class, Domains, PodTerm, Snapshot, Topology};

/// Every term that some need depends on, with its counts.
#[derive(Debug, Default)]
pub(super) struct Terms {
    states: Vec<TermState>,
    numbers: FxHashMap<PodTerm, usize>,
}

/// A term with its counts by domain.
#[derive(Debug)]
struct TermState {
    term: PodTerm,
    /// Pods that it means.
    meant: Domains,
    /// Pods that demand distance by it.
    holders: Domains,
}

/// How a class depends on terms.
#[derive(Clone, Debug, Default)]
pub(super) struct Ties {
    near: Vec<usize>,
    away: Vec<usize>,
    spread: Vec<(usize, u32, u32)>,
    /// Terms that mean pods of this class.
    meant_by: Vec<usize>,
}

impl Ties {
    pub(super) fn is_free(&self) -> bool {
        self.near.is_empty() && self.away.is_empty() && self.spread.is_empty() && self.meant_by.is_empty()
    }

    /// Whether a refusal for distance is the only one that there can be: it stays true as more is placed.
    pub(super) fn only_away(&self) -> bool {
        self.near.is_empty() && self.spread.is_empty()
    }
}

impl Terms {
    /// Registers the terms of a class, and of running pods that demand distance from it.
    pub(super) fn register(&mut self, snapshot: &Snapshot, class: &Class) {
        let relations = &class.relations;
        let own = relations
            .near
            .iter()
            .chain(&relations.away)
            .chain(relations.spread.iter().map(|term| &term.pods));
        for term in own {
            self.number(snapshot, term);
        }
        for &slot in &snapshot.keeping_away {
            for term in &snapshot.class(slot).relations.away {
                if term.matches(&class.key) {
                    self.number(snapshot, term);
                }
            }
        }
    }

    /// How a class depends on the registered terms.
    pub(super) fn ties(&self, class: &Class) -> Ties {
        if self.states.is_empty() {
            return Ties::default();
        }
        let number = |term: &PodTerm| self.numbers.get(term).copied();
        let meant_by = (0..self.states.len()).filter(|&at| self.states[at].term.matches(&class.key));
        Ties {
            near: class.relations.near.iter().filter_map(number).collect(),
            away: class.relations.away.iter().filter_map(number).collect(),
            spread: class
                .relations
                .spread
                .iter()
                .filter_map(|spread| Some((number(&spread.pods)?, spread.max_skew, spread.min_domains)))
                .collect(),
            meant_by: meant_by.collect(),
        }
    }

    /// Why a pod may not be placed in these domains; `domain` gives the value of a topology key there.
    pub(super) fn misfit(&self, ties: &Ties, domain: impl Fn(&Name) -> Option<Name>) -> Option<Misfit> {
        for &at in &ties.away {
            if self.count_at(at, &domain, |state| &state.meant) > 0 {
                return Some(Misfit::PodAntiAffinity);
            }
        }
        for &at in &ties.meant_by {
            if self.count_at(at, &domain, |state| &state.holders) > 0 {
                return Some(Misfit::PodAntiAffinity);
            }
        }
        for &at in &ties.near {
            let anywhere = self.states[at].meant.values().any(|&count| count > 0);
            let here = self.count_at(at, &domain, |state| &state.meant) > 0;
            let first_of_its_kind = !anywhere && ties.meant_by.contains(&at);
            if domain(&self.states[at].term.key).is_none() || !(here || first_of_its_kind) {
                return Some(Misfit::PodAffinity);
            }
        }
        for &(at, max_skew, min_domains) in &ties.spread {
            let state = &self.states[at];
            let Some(value) = domain(&state.term.key) else { return Some(Misfit::TopologySpread) };
            let here = state.meant.get(&value).copied().unwrap_or(0) + u32::from(ties.meant_by.contains(&at));
            let known = state.meant.len() as u32 + u32::from(!state.meant.contains_key(&value));
            let least =
                if known < min_domains { 0 } else { state.meant.values().copied().min().unwrap_or(0) };
            if here > least + max_skew {
                return Some(Misfit::TopologySpread);
            }
        }
        None
    }

    /// Counts `times` pods placed (or, below zero, taken back) in these domains.
    pub(super) fn count(&mut self, ties: &Ties, domain: impl Fn(&Name) -> Option<Name>, times: i64) {
        let mut bump = |at: usize, holders: bool| {
            let state = &mut self.states[at];
            if let Some(value) = domain(&state.term.key) {
                let counts = if holders { &mut state.holders } else { &mut state.meant };
                let count = counts.entry(value).or_default();
                *count = (i64::from(*count) + times).max(0) as u32;
            }
        };
        ties.meant_by.iter().for_each(|&at| bump(at, false));
        ties.away.iter().for_each(|&at| bump(at, true));
    }

    /// A new domain: spread counts it with no pods.
    pub(super) fn open_domain(&mut self, domain: impl Fn(&Name) -> Option<Name>) {
        for state in &mut self.states {
            if let Some(value) = domain(&state.term.key) {
                state.meant.entry(value).or_default();
            }
        }
    }

    /// How many pods that a term means are in each domain now.
    pub(super) fn meant(&self, term: &PodTerm) -> Domains {
        self.numbers.get(term).map(|&at| self.states[at].meant.clone()).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    fn number(&mut self, snapshot: &Snapshot, term: &PodTerm) -> usize {
        if let Some(&at) = self.numbers.get(term) {
            return at;
        }
        let at = self.states.len();
        let meant = Topology::domains(snapshot, term);
        let holders = Topology::holders(snapshot, term);
        self.states.push(TermState { term: term.clone(), meant, holders });
        self.numbers.insert(term.clone(), at);
        at
    }

    fn count_at(
        &self,
        at: usize,
        domain: impl Fn(&Name) -> Option<Name>,
        counts: impl Fn(&TermState) -> &Domains,
    ) -> u32 {
        let state = &self.states[at];
        domain(&state.term.key).and_then(|value| counts(state).get(&value).copied()).unwrap_or(0)
    }
}

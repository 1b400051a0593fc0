//! Relations between pods: affinity, distance and spread, counted by domain while pods are placed.
//!
//! Growth and removal ask the same question here as placing on a node that is there: may one more pod of this kind be in
//! these domains? What is counted is what the kube-scheduler counts: all pods for affinity and distance, those that are
//! not leaving for spread, and for spread only on nodes that the pod's own selector and affinity allow.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::domains::{Counts, Field};
use super::term_index::TermIndex;
use crate::kube::Name;
use crate::plan::Misfit;
use crate::snapshot::{Class, NodeEntry, PodTerm, Profile, Snapshot, SpreadTerm};

/// Every term that some class depends on, with its counts.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    states: Vec<TermState>,
    numbers: FxHashMap<TermKey, usize>,
    index: TermIndex,
    fields: Vec<Field>,
}

/// A term, and for a spread the constraint whose nodes count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TermKey {
    pods: PodTerm,
    constraint: Option<u32>,
}

/// A term with its counts by domain.
#[derive(Debug)]
struct TermState {
    key: TermKey,
    /// Number of the domains that there are.
    field: usize,
    /// Pods that it means.
    meant: Counts,
    /// Pods that demand distance by it.
    holders: Counts,
}

/// How a class depends on terms, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Ties {
    near: Vec<usize>,
    away: Vec<usize>,
    spread: Vec<Spread>,
    /// Terms that mean pods of this class.
    meant_by: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Spread {
    term: usize,
    max_skew: u32,
    min_domains: u32,
}

/// A domain that a node brought along: the field and the value.
pub(super) type Opened = (usize, Name);

impl Ties {
    pub(super) fn is_free(&self) -> bool {
        self.near.is_empty() && self.away.is_empty() && self.spread.is_empty() && self.meant_by.is_empty()
    }

    /// Whether a refusal may turn as more of this class is placed: the least of a spread rises.
    pub(super) fn may_turn(&self) -> bool {
        !self.spread.is_empty()
    }

    /// Two pods of this class may not be in one domain.
    fn excludes_itself(&self) -> bool {
        self.away.iter().any(|at| self.meant_by.contains(at))
    }
}

impl Terms {
    /// All terms of these classes, and of running pods that demand distance from them, with what runs counted.
    pub(crate) fn new<'n>(snapshot: &Snapshot, classes: impl Iterator<Item = &'n Class>) -> Self {
        let mut terms = Self::default();
        if snapshot.related.is_empty() {
            return terms;
        }
        let distances = Distances::new(snapshot);
        let mut known = FxHashSet::default();
        for class in classes.filter(|class| known.insert(std::ptr::from_ref(*class))) {
            terms.register(class, &distances);
        }
        if !terms.is_empty() {
            terms.find_domains(snapshot);
            terms.count_running(snapshot);
        }
        terms
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// How a class depends on the terms.
    pub(super) fn ties(&self, class: &Class) -> Ties {
        if self.is_empty() {
            return Ties::default();
        }
        let plain = |term: &PodTerm| self.number(term, None);
        let spread = |spread: &SpreadTerm| {
            let SpreadTerm { ref pods, max_skew, min_domains } = *spread;
            Some(Spread { term: self.number(pods, Some(class.constraint))?, max_skew, min_domains })
        };
        Ties {
            near: class.relations.near.iter().filter_map(plain).collect(),
            away: class.relations.away.iter().filter_map(plain).collect(),
            spread: class.relations.spread.iter().filter_map(spread).collect(),
            meant_by: self.meaning(class).collect(),
        }
    }

    /// Numbers of the terms that mean pods of a class.
    fn meaning(&self, class: &Class) -> impl Iterator<Item = usize> {
        let candidates = self.index.candidates(&class.key.labels).into_iter();
        candidates.filter(|&at| self.states[at].key.pods.matches(&class.key))
    }

    /// The ties of a class without its spread over one key: whoever has split the class over the domains of that key has seen
    /// to it, and on the way there one domain may be ahead of the others.
    pub(super) fn without_spread_over(&self, ties: &Ties, key: &Name) -> Ties {
        let mut ties = ties.clone();
        ties.spread.retain(|spread| self.states[spread.term].key.pods.key != *key);
        ties
    }

    /// How many pods of a class, at most `most`, may be placed in these domains one after the other; `domain` gives the value
    /// of a topology key there.
    pub(super) fn room(
        &self,
        ties: &Ties,
        most: u32,
        domain: impl Fn(&Name) -> Option<Name>,
    ) -> Result<u32, Misfit> {
        self.misfit(ties, &domain).map_or(Ok(()), Err)?;
        if ties.excludes_itself() {
            return Ok(most.min(1));
        }
        let own = ties.spread.iter().filter(|spread| ties.meant_by.contains(&spread.term));
        let rooms = own.filter_map(|spread| {
            let here = self.states[spread.term].meant.of(&domain(self.key_of(spread.term))?);
            Some((self.least(spread) + spread.max_skew).saturating_sub(here))
        });
        Ok(rooms.min().unwrap_or(u32::MAX).max(1).min(most))
    }

    /// Why a pod may not be placed in these domains.
    pub(super) fn misfit(&self, ties: &Ties, domain: &impl Fn(&Name) -> Option<Name>) -> Option<Misfit> {
        let count = |at: usize, counts: &Counts| domain(self.key_of(at)).map_or(0, |here| counts.of(&here));
        let is_meant = |at: &usize| count(*at, &self.states[*at].meant) > 0;
        let is_held = |at: &usize| count(*at, &self.states[*at].holders) > 0;
        if ties.away.iter().any(is_meant) || ties.meant_by.iter().any(is_held) {
            return Some(Misfit::PodAntiAffinity);
        }
        let first_of_its_kind = |at: &usize| self.states[*at].meant.is_empty() && ties.meant_by.contains(at);
        let is_near =
            |at: &usize| domain(self.key_of(*at)).is_some() && (is_meant(at) || first_of_its_kind(at));
        if !ties.near.iter().all(is_near) {
            return Some(Misfit::PodAffinity);
        }
        let is_even = |spread: &Spread| {
            let counts_itself = u32::from(ties.meant_by.contains(&spread.term));
            domain(self.key_of(spread.term)).is_some_and(|here| {
                let here = self.states[spread.term].meant.of(&here);
                here + counts_itself <= self.least(spread) + spread.max_skew
            })
        };
        (!ties.spread.iter().all(is_even)).then_some(Misfit::TopologySpread)
    }

    /// Counts pods of a class placed (or, below zero, taken back) in these domains.
    pub(super) fn count(&mut self, ties: &Ties, domain: impl Fn(&Name) -> Option<Name>, pods: i64) {
        for &at in &ties.meant_by {
            if let Some(here) = domain(self.key_of(at)).filter(|here| self.is_domain(at, here)) {
                self.states[at].meant.add(here, pods);
            }
        }
        for &at in &ties.away {
            if let Some(here) = domain(self.key_of(at)) {
                self.states[at].holders.add(here, pods);
            }
        }
    }

    fn is_domain(&self, term: usize, value: &Name) -> bool {
        self.fields[self.states[term].field].domains.contains(value)
    }

    /// A new node brings its domains along. Returns those that were not there before.
    pub(super) fn open(
        &mut self,
        snapshot: &Snapshot,
        new: &Profile<'_>,
        host: (&str, &Name),
    ) -> Vec<Opened> {
        let mut opened = Vec::new();
        for (at, field) in self.fields.iter_mut().enumerate() {
            let value = if &*field.key == host.0 { Some(host.1) } else { new.labels.get(&field.key) };
            let counts = field.constraint.is_none_or(|number| snapshot.constraint(number).attracts(new));
            if let Some(value) = value.filter(|_| counts)
                && field.domains.insert(value.clone())
            {
                opened.push((at, value.clone()));
            }
        }
        opened
    }

    /// Takes back what a new node had brought along.
    pub(super) fn close(&mut self, opened: &[Opened]) {
        for (field, value) in opened {
            self.fields[*field].domains.remove(value);
        }
    }

    /// How many pods that a term of a class means are in each domain now.
    pub(super) fn counts(&self, class: &Class, term: &PodTerm) -> BTreeMap<Name, u32> {
        let Some(at) = self.number(term, Some(class.constraint)).or_else(|| self.number(term, None)) else {
            return BTreeMap::new();
        };
        let TermState { field, meant, .. } = &self.states[at];
        self.fields[*field].domains.iter().map(|domain| (domain.clone(), meant.of(domain))).collect()
    }

    fn key_of(&self, term: usize) -> &Name {
        &self.states[term].key.pods.key
    }

    fn least(&self, spread: &Spread) -> u32 {
        let state = &self.states[spread.term];
        let field = &self.fields[state.field];
        if (field.domains.len() as u32) < spread.min_domains { 0 } else { state.meant.least(field) }
    }

    fn number(&self, term: &PodTerm, constraint: Option<u32>) -> Option<usize> {
        self.numbers.get(&TermKey { pods: term.clone(), constraint }).copied()
    }

    fn register(&mut self, class: &Class, distances: &Distances<'_>) {
        let relations = &class.relations;
        for term in relations.near.iter().chain(&relations.away) {
            self.add(term, None);
        }
        for spread in &relations.spread {
            self.add(&spread.pods, Some(class.constraint));
        }
        for term in distances.from(class) {
            self.add(term, None);
        }
    }

    fn add(&mut self, term: &PodTerm, constraint: Option<u32>) {
        let key = TermKey { pods: term.clone(), constraint };
        if self.numbers.contains_key(&key) {
            return;
        }
        let is_same = |field: &Field| field.key == term.key && field.constraint == constraint;
        let field = self.fields.iter().position(is_same).unwrap_or_else(|| {
            self.fields.push(Field { key: term.key.clone(), constraint, domains: FxHashSet::default() });
            self.fields.len() - 1
        });
        self.numbers.insert(key.clone(), self.states.len());
        self.index.add(self.states.len(), term);
        let (meant, holders) = (Counts::default(), Counts::default());
        self.states.push(TermState { key, field, meant, holders });
    }

    fn find_domains(&mut self, snapshot: &Snapshot) {
        for field in &mut self.fields {
            let constraint = field.constraint.map(|number| snapshot.constraint(number));
            let counts = |node: &&NodeEntry| {
                constraint.is_none_or(|constraint| {
                    node.profile().is_some_and(|profile| constraint.attracts(&profile))
                })
            };
            for node in snapshot.nodes().filter(counts) {
                if let Some(value) = node.label(&field.key) {
                    field.domains.insert(value.clone());
                }
            }
        }
    }

    /// Counts what runs, in one pass over the pods whatever the number of terms.
    fn count_running(&mut self, snapshot: &Snapshot) {
        let mut roles: FxHashMap<u32, Vec<Role>> = FxHashMap::default();
        for node in snapshot.nodes() {
            for pod in node.pods.iter().map(|&pod| snapshot.pod(pod)) {
                let roles = roles.entry(pod.class).or_insert_with(|| self.roles(snapshot.class(pod.class)));
                for role in roles.iter().filter(|role| role.counts_leaving || !pod.leaving) {
                    let state = &mut self.states[role.term];
                    let Some(here) = node.label(&state.key.pods.key) else { continue };
                    // A node that does not count may lie in a domain that does; its pods count as if it did.
                    if self.fields[state.field].domains.contains(here) {
                        let counts = if role.holds { &mut state.holders } else { &mut state.meant };
                        counts.add(here.clone(), 1);
                    }
                }
            }
        }
    }

    fn roles(&self, class: &Class) -> Vec<Role> {
        let means = |term: usize| {
            let counts_leaving = self.states[term].key.constraint.is_none();
            Role { term, holds: false, counts_leaving }
        };
        let away: BTreeSet<usize> =
            class.relations.away.iter().filter_map(|term| self.number(term, None)).collect();
        let holds = |term: usize| Role { term, holds: true, counts_leaving: true };
        self.meaning(class).map(means).chain(away.into_iter().map(holds)).collect()
    }
}

/// All demands of distance, of pods that run and of pods that wait.
struct Distances<'s> {
    terms: Vec<&'s PodTerm>,
    index: TermIndex,
}

impl<'s> Distances<'s> {
    fn new(snapshot: &'s Snapshot) -> Self {
        let related = snapshot.related.iter();
        let terms: Vec<&PodTerm> = related.flat_map(|&slot| &snapshot.class(slot).relations.away).collect();
        let mut index = TermIndex::default();
        terms.iter().enumerate().for_each(|(number, term)| index.add(number, term));
        Self { terms, index }
    }

    /// Those that demand distance from a class.
    fn from(&self, class: &Class) -> impl Iterator<Item = &'s PodTerm> {
        let candidates = self.index.candidates(&class.key.labels).into_iter().map(|at| self.terms[at]);
        candidates.filter(|term| term.matches(&class.key))
    }
}

/// What a running pod is to a term.
struct Role {
    term: usize,
    /// It demands distance by the term; else the term means it.
    holds: bool,
    counts_leaving: bool,
}

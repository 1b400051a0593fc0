//! Parts: what is left of each need, split by zone where relations between pods ask for it.
//!
//! An even spread is kept by giving each zone its number before nodes are chosen; pods that want to be near each other get
//! one zone. Nodes can then be filled without looking at other zones.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::bins::Bins;
use super::need::Need;
use super::term_index::TermIndex;
use crate::kube::Name;
use crate::plan::Misfit;
use crate::resources::{DIMENSIONS, Resources};
use crate::snapshot::{Class, HOSTNAME_LABEL, NodeIndex, PodTerm};

/// Units of a need that go to one zone, or to any.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The need.
    pub need: usize,
    /// Where: label key and value.
    pub domain: Option<(Name, Name)>,
    /// The key over whose domains the need was split evenly.
    pub spread_over: Option<Name>,
    /// Units that are left.
    pub left: u32,
    /// The most of it that one host may carry.
    pub host_cap: u32,
    /// Numbers of its terms that bind on one host.
    pub host_terms: Vec<u32>,
    /// Numbers of the terms that bind on one host and mean pods of this kind.
    pub host_meant: Vec<u32>,
}

/// All parts, the greatest first, with an index for "which is the next that fits into this", for parts that lean towards
/// CPU and for those that lean towards memory apart: filling from both keeps a node balanced.
pub(super) struct Parts {
    pub list: Vec<Part>,
    /// Needs of which no node that could be started may carry more, and why.
    pub unsplit: FxHashMap<usize, Misfit>,
    leans: Vec<Lean>,
    indexes: [NodeIndex; 2],
}

/// What a part asks more of, compared with all parts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lean {
    Cpu = 0,
    Memory = 1,
}

/// A leaf that fits nowhere.
const GONE: i64 = i64::MIN / 2;

impl Parts {
    /// Splits what is left of each need. `offered` is what all nodes that could be started have together; `zones` gives the values of a label key among the nodes that could be started for it.
    pub(super) fn new(
        bins: &mut Bins<'_>,
        needs: &[Need<'_>],
        left: &[u32],
        offered: &Resources,
        zones: impl Fn(usize, &Name) -> Vec<Name>,
    ) -> Self {
        let mut splitter = Splitter::default();
        let mut list = Vec::new();
        for (at, need) in needs.iter().enumerate() {
            splitter.split(bins, at, need, left[at], &zones, &mut list);
        }
        let leans = leans(needs, &list, offered);
        let leaves = list.len().next_power_of_two().max(1);
        let leaf = |at: usize, lean: Lean| match list.get(at) {
            Some(part) if part.left > 0 && leans[at] == lean => negated(&needs[part.need].class.requests),
            _ => gone(),
        };
        let indexes = [Lean::Cpu, Lean::Memory].map(|lean| {
            let leaves = if leans.contains(&lean) { leaves } else { 0 };
            NodeIndex::build((0..leaves).map(|at| leaf(at, lean)))
        });
        Self { list, leans, unsplit: splitter.unsplit, indexes }
    }

    /// The first part of a lean from `from` on with units left that fit into `free`.
    pub(super) fn next(&self, lean: Lean, from: usize, free: &Resources) -> Option<usize> {
        self.indexes[lean as usize].next_fit(from, &negated(free), |_| true)
    }

    /// Takes units of a part.
    pub(super) fn take(&mut self, at: usize, units: u32) {
        self.list[at].left -= units;
        if self.list[at].left == 0 {
            self.indexes[self.leans[at] as usize].set(at, gone());
        }
    }
}

/// What each part leans towards, compared with all parts together.
///
/// Where one resource is far from binding there is nothing to balance: everything leans towards the other.
fn leans(needs: &[Need<'_>], list: &[Part], offered: &Resources) -> Vec<Lean> {
    let share = |part: &Part, dimension: usize| {
        needs[part.need].class.requests[dimension] as f64 / offered[dimension].max(1) as f64
    };
    let all =
        |dimension: usize| list.iter().map(|part| share(part, dimension) * f64::from(part.left)).sum::<f64>();
    let (cpu, memory) = (all(Resources::CPU), all(Resources::MEMORY));
    let lean = |part: &Part| {
        let towards_cpu = share(part, Resources::CPU) * memory >= share(part, Resources::MEMORY) * cpu;
        match (memory * FAR < cpu, cpu * FAR < memory) {
            (true, _) => Lean::Cpu,
            (_, true) => Lean::Memory,
            _ if towards_cpu => Lean::Cpu,
            _ => Lean::Memory,
        }
    };
    list.iter().map(lean).collect()
}

/// A resource of which this many times less is asked for is far from binding.
const FAR: f64 = 4.0;

fn negated(resources: &Resources) -> Resources {
    let mut negated = Resources::ZERO;
    for dimension in 0..DIMENSIONS {
        negated[dimension] = -resources[dimension];
    }
    negated
}

fn gone() -> Resources {
    let mut gone = Resources::ZERO;
    for dimension in 0..DIMENSIONS {
        gone[dimension] = GONE;
    }
    gone
}

/// What was given to each zone so far, over all needs that share a term.
#[derive(Default)]
struct Splitter<'n> {
    given: FxHashMap<(&'n PodTerm, Option<u32>), BTreeMap<Name, u32>>,
    hosts: Vec<&'n PodTerm>,
    host_numbers: FxHashMap<&'n PodTerm, u32>,
    host_index: TermIndex,
    unsplit: FxHashMap<usize, Misfit>,
}

impl<'n> Splitter<'n> {
    fn split(
        &mut self,
        bins: &mut Bins<'_>,
        at: usize,
        need: &Need<'n>,
        left: u32,
        zones: &impl Fn(usize, &Name) -> Vec<Name>,
        list: &mut Vec<Part>,
    ) {
        let host_terms = self.host_terms(need);
        let host_meant = self.host_meant(need);
        let host_cap = host_cap(need.class);
        let part = |domain: Option<(Name, Name)>, spread_over: Option<Name>, left: u32| Part {
            need: at,
            domain,
            spread_over,
            left,
            host_cap,
            host_terms: host_terms.clone(),
            host_meant: host_meant.clone(),
        };
        let relations = &need.class.relations;
        let wide = |term: &&PodTerm| &*term.key != HOSTNAME_LABEL;
        let spread = relations.spread.iter().find(|spread| wide(&&spread.pods));
        let near = relations.near.iter().find(wide);
        let Some(term) = near.or(spread.map(|spread| &spread.pods)) else {
            list.push(part(None, None, left));
            return;
        };
        let offered = zones(at, &term.key);
        let whose_nodes = near.is_none().then_some(need.class.constraint);
        let given = self.given.entry((term, whose_nodes)).or_insert_with(|| {
            let mut given = bins.counts(need.class, term);
            for zone in &offered {
                given.entry(zone.clone()).or_default();
            }
            given
        });
        let (spread, key) = match (near, spread) {
            (None, Some(spread)) => (spread, &term.key),
            _ => {
                // Where the others are; else anywhere: the first of a kind chooses for all.
                let there = offered.iter().find(|zone| given.get(*zone).is_some_and(|&count| count > 0));
                match there.or(offered.first()).cloned() {
                    Some(zone) => {
                        *given.entry(zone.clone()).or_default() += left;
                        list.push(part(Some((term.key.clone(), zone)), None, left));
                    }
                    None => drop(self.unsplit.insert(at, Misfit::PodAffinity)),
                }
                return;
            }
        };
        let shares = even_shares(given, &offered, spread.max_skew, left);
        if shares.values().sum::<u32>() < left {
            self.unsplit.insert(at, Misfit::TopologySpread);
        }
        for (zone, units) in shares {
            list.push(part(Some((key.clone(), zone)), Some(key.clone()), units));
        }
    }

    fn host_terms(&mut self, need: &Need<'n>) -> Vec<u32> {
        let relations = &need.class.relations;
        let terms = relations.away.iter().chain(relations.spread.iter().map(|spread| &spread.pods));
        let terms: Vec<&PodTerm> = terms.filter(|term| &*term.key == HOSTNAME_LABEL).collect();
        terms.into_iter().map(|term| self.number(term)).collect()
    }

    fn host_meant(&self, need: &Need<'_>) -> Vec<u32> {
        let candidates = self.host_index.candidates(&need.class.key.labels).into_iter();
        candidates.filter(|&at| self.hosts[at].matches(&need.class.key)).map(|at| at as u32).collect()
    }

    fn number(&mut self, term: &'n PodTerm) -> u32 {
        if let Some(&known) = self.host_numbers.get(term) {
            return known;
        }
        let new = self.hosts.len();
        self.host_index.add(new, term);
        self.host_numbers.insert(term, new as u32);
        self.hosts.push(term);
        new as u32
    }
}

/// Gives units one by one to the emptiest zone that is offered, as long as it does not get too far ahead of one that is not.
fn even_shares(
    given: &mut BTreeMap<Name, u32>,
    offered: &[Name],
    max_skew: u32,
    units: u32,
) -> BTreeMap<Name, u32> {
    let mut shares: BTreeMap<Name, u32> = BTreeMap::new();
    for _ in 0..units {
        let least = given.values().copied().min().unwrap_or(0);
        let is_offered = |(zone, _): &(&Name, &mut u32)| offered.contains(*zone);
        let emptiest = given.iter_mut().filter(is_offered).min_by_key(|(_, count)| **count);
        let Some((zone, count)) = emptiest.filter(|(_, count)| **count < least + max_skew) else { break };
        *count += 1;
        *shares.entry(zone.clone()).or_default() += 1;
    }
    shares
}

/// The greatest number of units of a class that one empty host may carry because of ties to its own kind.
fn host_cap(class: &Class) -> u32 {
    let hosts_only = |key: &Name| &**key == HOSTNAME_LABEL;
    let away = class.relations.away.iter().any(|term| hosts_only(&term.key) && term.matches(&class.key));
    let spread = class.relations.spread.iter().filter(|term| hosts_only(&term.pods.key));
    let skew = spread.map(|term| term.max_skew).min().unwrap_or(u32::MAX);
    if away || !class.ports.is_empty() { 1 } else { skew }
}

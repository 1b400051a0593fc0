//! Domains: the values of a topology key (zones, hosts, …), and how many pods each has.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::kube::Name;

/// The domains that there are: the values of a key among the nodes that count.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// The node label whose equal values make a domain.
    pub(super) key: Name,
    /// Number of the constraint whose nodes count; `None` where all do.
    pub(super) constraint: Option<u32>,
    /// Its domains.
    pub(super) domains: FxHashSet<Name>,
}

/// How many pods each domain has. Those without pods are left out: most hosts have none of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pods: FxHashMap<Name, u32>,
    /// How many domains have so many pods, so that the least is known without a look at each.
    tally: BTreeMap<u32, u32>,
}

impl Counts {
    /// Pods in a domain.
    pub(super) fn of(&self, domain: &Name) -> u32 {
        self.pods.get(domain).copied().unwrap_or(0)
    }

    /// Whether no domain has any.
    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// The fewest pods that one of the domains has.
    pub(super) fn least(&self, field: &Field) -> u32 {
        let is_anywhere = self.pods.len() >= field.domains.len();
        if is_anywhere { self.tally.keys().next().copied().unwrap_or(0) } else { 0 }
    }

    /// Counts pods that come (or, below zero, leave).
    pub(super) fn add(&mut self, domain: Name, pods: i64) {
        let before = self.of(&domain);
        let after = (i64::from(before) + pods).max(0) as u32;
        if before > 0 {
            let alike = self.tally.entry(before).or_default();
            *alike -= 1;
            if *alike == 0 {
                self.tally.remove(&before);
            }
        }
        if after > 0 {
            *self.tally.entry(after).or_default() += 1;
            self.pods.insert(domain, after);
        } else {
            self.pods.remove(&domain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_follows_what_comes_and_leaves() {
        let domains = ["a", "b"].map(Name::from).into_iter().collect();
        let field = Field { key: "zone".into(), constraint: None, domains };
        let mut counts = Counts::default();
        let mut least_after = |domain: &str, pods: i64| {
            counts.add(domain.into(), pods);
            counts.least(&field)
        };
        assert_eq!(least_after("a", 3), 0, "zone b has none");
        assert_eq!(least_after("b", 1), 1);
        assert_eq!(least_after("b", 4), 3);
        assert_eq!(least_after("a", -3), 0);
        assert_eq!(least_after("b", -9), 0);
        assert!(counts.is_empty());
    }
}

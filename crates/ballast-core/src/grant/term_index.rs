//! Which terms may mean a class, found by its labels: with as many terms as classes nobody can ask each of them.

use rustc_hash::FxHashMap;

use crate::kube::{Labels, Name, NodeSelectorOperator};
use crate::snapshot::PodTerm;

/// Numbers of terms, by a label that what they mean must have.
#[derive(Debug, Default)]
pub(super) struct TermIndex {
    by_label: FxHashMap<Name, FxHashMap<Name, Vec<usize>>>,
    /// Terms that demand no value of any label.
    others: Vec<usize>,
}

impl TermIndex {
    /// Adds a term; numbers come in rising order.
    pub(super) fn add(&mut self, number: usize, term: &PodTerm) {
        // What selects nothing means nobody.
        let Some(selector) = &term.selector else { return };
        if let Some((key, value)) = selector.match_labels.iter().next() {
            return self.put(key, value, number);
        }
        let is_one_of = |operator: NodeSelectorOperator| operator == NodeSelectorOperator::In;
        match selector.match_expressions.iter().find(|one| is_one_of(one.operator)) {
            Some(one) => one.values.iter().for_each(|value| self.put(&one.key, value, number)),
            None => self.others.push(number),
        }
    }

    fn put(&mut self, key: &Name, value: &Name, number: usize) {
        let numbers = self.by_label.entry(key.clone()).or_default().entry(value.clone()).or_default();
        if numbers.last() != Some(&number) {
            numbers.push(number);
        }
    }

    /// All terms that may mean pods with these labels, and some that do not, in rising order.
    pub(super) fn candidates(&self, labels: &Labels) -> Vec<usize> {
        let of = |(key, value): (&Name, &Name)| self.by_label.get(key)?.get(value);
        let mut found: Vec<usize> =
            labels.iter().filter_map(of).flatten().chain(&self.others).copied().collect();
        found.sort_unstable();
        found
    }
}

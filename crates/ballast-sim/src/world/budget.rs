//! Disruption budgets: how many of some pods may be down.

use ballast_core::kube::{LabelSelector, Name};

use crate::scenario::Budget;

/// A disruption budget with what it counts.
#[derive(Debug)]
pub(crate) struct BudgetState {
    /// Its name.
    pub(crate) name: Name,
    /// Its namespace.
    pub(crate) namespace: Name,
    /// The pods that it protects.
    pub(crate) selector: LabelSelector,
    rule: Budget,
    /// Pods that should be there.
    pub(crate) expected: i64,
    /// Pods that run and were not told to leave.
    pub(crate) healthy: i64,
    /// It has changed since somebody last looked.
    pub(crate) dirty: bool,
}

impl BudgetState {
    pub(crate) fn new(rule: &Budget) -> Self {
        Self {
            name: rule.name.clone(),
            namespace: rule.namespace.clone(),
            selector: rule.selector.clone(),
            rule: rule.clone(),
            expected: 0,
            healthy: 0,
            dirty: true,
        }
    }

    /// How many more pods may be disrupted now.
    pub(crate) fn allowed(&self) -> i64 {
        let needed = if let Some(least) = self.rule.min_available {
            i64::from(least)
        } else if let Some(most) = self.rule.max_unavailable {
            self.expected - i64::from(most)
        } else {
            let share = self.rule.max_unavailable_share.unwrap_or_default();
            self.expected - share.of(self.expected.max(0) as u64) as i64
        };
        self.healthy - needed.max(0)
    }
}

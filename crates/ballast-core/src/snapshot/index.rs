//! The node index: which is the first node from here on that has room for this?
//!
//! A tree of maxima over the free vectors, in the order of the nodes' names. A subtree whose maximum is too small is passed
//! over whole, so a search costs O(log n) where rooms are alike and never more than a scan. Trials lie in an overlay that is
//! dropped; the index itself is never changed to try an idea.

use crate::resources::Resources;

/// Nothing fits: for nodes that take no pods.
pub const CLOSED: Resources = {
    // A pod needs at least one of `pods`.
    Resources::ZERO
};

/// Maxima over free vectors in a binary tree, leaves in order.
#[derive(Clone, Debug, Default)]
pub struct NodeIndex {
    /// Number of leaves.
    len: usize,
    /// Position of the first leaf; a power of two.
    base: usize,
    tree: Vec<Resources>,
}

/// Which leaves a search may stop at, with a summary for each subtree.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    base: usize,
    bits: Vec<u64>,
}

/// Changed values on top of an index, reset in one step. Kept between plans only for its memory.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    generation: u32,
    stamps: Vec<u32>,
    values: Vec<Resources>,
    /// Leaves that were changed, in the order of their first change.
    changed: Vec<usize>,
}

impl NodeIndex {
    /// Over these free vectors.
    pub fn build(free: impl ExactSizeIterator<Item = Resources>) -> Self {
        let len = free.len();
        let base = len.next_power_of_two().max(1);
        let mut tree = vec![CLOSED; 2 * base];
        for (at, free) in free.enumerate() {
            tree[base + at] = free;
        }
        for at in (1..base).rev() {
            tree[at] = greater(&tree[2 * at], &tree[2 * at + 1]);
        }
        Self { len, base, tree }
    }

    /// How many leaves it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Sets the free vector of a leaf.
    pub fn set(&mut self, leaf: usize, free: Resources) {
        let mut at = self.base + leaf;
        self.tree[at] = free;
        while at > 1 {
            at /= 2;
            let maximum = greater(&self.tree[2 * at], &self.tree[2 * at + 1]);
            if self.tree[at] == maximum {
                break;
            }
            self.tree[at] = maximum;
        }
    }

    /// Adds a leaf at the end.
    pub fn push(&mut self, free: Resources) {
        if self.len == self.base || self.tree.is_empty() {
            let mut leaves: Vec<Resources> = (0..self.len).map(|leaf| self.tree[self.base + leaf]).collect();
            leaves.resize((2 * self.len).max(64), CLOSED);
            let len = self.len;
            *self = Self::build(leaves.into_iter());
            self.len = len;
        }
        self.len += 1;
        self.set(self.len - 1, free);
    }

    /// Takes the last leaf away.
    pub fn pop(&mut self) {
        if self.len > 0 {
            self.set(self.len - 1, CLOSED);
            self.len -= 1;
        }
    }

    /// The first leaf from `from` on that has room and is allowed.
    pub fn next_fit(&self, from: usize, need: &Resources, allowed: impl Fn(usize) -> bool) -> Option<usize> {
        let base = self.base;
        self.search(from, |at| need.fits(&self.tree[at]) && (at < base || allowed(at - base)))
    }

    /// The first leaf from `from` on for which `open` holds, where it holds for all above that leaf too.
    #[inline]
    fn search(&self, from: usize, open: impl Fn(usize) -> bool) -> Option<usize> {
        if from >= self.len {
            return None;
        }
        let mut at = self.base + from;
        loop {
            match (open(at), at >= self.base) {
                (true, true) => return Some(at - self.base),
                (true, false) => at *= 2,
                (false, _) => {
                    // On to the next subtree to the right: up while this is a right child.
                    while at & 1 == 1 {
                        at >>= 1;
                    }
                    if at == 0 {
                        return None;
                    }
                    at += 1;
                }
            }
        }
    }

    /// The free vector of a leaf.
    pub fn get(&self, leaf: usize) -> &Resources {
        &self.tree[self.base + leaf]
    }
}

impl Allowed {
    /// The leaves for which `allowed` holds, of an index with as many leaves.
    pub fn build(index: &NodeIndex, allowed: impl Fn(usize) -> bool) -> Self {
        let base = index.base;
        let mut all = Self { base, bits: vec![0; (2 * base).div_ceil(64)] };
        for leaf in (0..index.len).filter(|&leaf| allowed(leaf)) {
            all.mark(base + leaf);
        }
        for at in (1..base).rev() {
            if all.at(2 * at) || all.at(2 * at + 1) {
                all.mark(at);
            }
        }
        all
    }

    /// Whether a leaf is allowed.
    pub fn leaf(&self, leaf: usize) -> bool {
        self.at(self.base + leaf)
    }

    #[inline]
    fn at(&self, at: usize) -> bool {
        self.bits[at / 64] >> (at % 64) & 1 == 1
    }

    fn mark(&mut self, at: usize) {
        self.bits[at / 64] |= 1 << (at % 64);
    }
}

impl Overlay {
    /// Drops all changes and makes room for an index.
    pub fn reset(&mut self, index: &NodeIndex) {
        if self.stamps.len() < index.tree.len() || self.generation == u32::MAX {
            self.stamps = vec![0; index.tree.len()];
            self.values.resize(index.tree.len(), CLOSED);
            self.generation = 0;
        }
        self.generation += 1;
        self.changed.clear();
    }

    /// The free vector of a leaf, changes included.
    #[inline]
    pub fn free<'a>(&'a self, index: &'a NodeIndex, leaf: usize) -> &'a Resources {
        self.value(index, index.base + leaf)
    }

    /// Whether a leaf is other than in the index; one that was changed and changed back is not.
    pub fn is_changed(&self, index: &NodeIndex, leaf: usize) -> bool {
        self.free(index, leaf) != index.get(leaf)
    }

    /// Changes the free vector of a leaf.
    pub fn set(&mut self, index: &NodeIndex, leaf: usize, free: Resources) {
        self.set_leaf(index, leaf, free);
        let mut at = index.base + leaf;
        while at > 1 {
            at /= 2;
            let maximum = greater(self.value(index, 2 * at), self.value(index, 2 * at + 1));
            if *self.value(index, at) == maximum {
                break;
            }
            self.put(at, maximum);
        }
    }

    /// Changes the free vector of a leaf alone: the maxima above it are stale until [`Overlay::settle`]. Until then searches
    /// may only start behind it, and the new vector must not be greater.
    pub fn set_leaf(&mut self, index: &NodeIndex, leaf: usize, free: Resources) {
        if self.stamps[index.base + leaf] != self.generation {
            self.changed.push(leaf);
        }
        self.put(index.base + leaf, free);
    }

    /// How many leaves were changed so far.
    pub fn changes(&self) -> usize {
        self.changed.len()
    }

    /// Drops the changes of all leaves but the first that were changed; of these, values stay as they are. Returns the leaves.
    pub fn drop_changes(&mut self, index: &NodeIndex, kept: usize) -> Vec<usize> {
        let mut leaves = self.changed.split_off(kept);
        leaves.iter().for_each(|leaf| self.stamps[index.base + leaf] = 0);
        leaves.sort_unstable();
        self.settle(index, &leaves);
        leaves
    }

    /// A leaf changed in the index itself: brings the maxima above it up to date.
    pub fn refresh(&mut self, index: &NodeIndex, leaf: usize) {
        let mut at = (index.base + leaf) / 2;
        while at > 0 {
            if self.stamps[at] == self.generation {
                self.values[at] = greater(self.value(index, 2 * at), self.value(index, 2 * at + 1));
            }
            at /= 2;
        }
    }

    /// Brings the maxima above leaves up to date that were changed alone; in the order of the leaves.
    pub fn settle(&mut self, index: &NodeIndex, leaves: &[usize]) {
        let mut stale: Vec<usize> = leaves.iter().map(|leaf| (index.base + leaf) / 2).collect();
        while !stale.is_empty() && stale[0] > 0 {
            stale.dedup();
            stale.retain(|&at| {
                let maximum = greater(self.value(index, 2 * at), self.value(index, 2 * at + 1));
                let changed = *self.value(index, at) != maximum;
                if changed {
                    self.put(at, maximum);
                }
                changed
            });
            stale.iter_mut().for_each(|at| *at /= 2);
        }
    }

    /// The first allowed leaf from `from` on that has room.
    pub fn next_fit(
        &self,
        index: &NodeIndex,
        from: usize,
        need: &Resources,
        allowed: Option<&Allowed>,
    ) -> Option<usize> {
        let allowed = |at: usize| allowed.is_none_or(|allowed| allowed.at(at));
        index.search(from, |at| allowed(at) && need.fits(self.value(index, at)))
    }

    #[inline]
    fn value<'a>(&'a self, index: &'a NodeIndex, at: usize) -> &'a Resources {
        if self.stamps[at] == self.generation { &self.values[at] } else { &index.tree[at] }
    }

    #[inline]
    fn put(&mut self, at: usize, value: Resources) {
        self.stamps[at] = self.generation;
        self.values[at] = value;
    }
}

#[inline]
fn greater(a: &Resources, b: &Resources) -> Resources {
    let mut maximum = *a;
    maximum.max_with(b);
    maximum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn room((cpu, memory): (i64, i64)) -> Resources {
        Resources::pod(cpu, memory)
    }

    proptest! {
        #[test]
        fn finds_what_a_scan_finds(
            free in prop::collection::vec((0i64..8, 0i64..8), 1..70),
            changes in prop::collection::vec((0usize..70, (0i64..8, 0i64..8)), 0..20),
            need in (0i64..8, 0i64..8),
            from in 0usize..70,
            modulus in 1usize..5,
        ) {
            let index = NodeIndex::build(free.iter().map(|&free| room(free)).collect::<Vec<_>>().into_iter());
            let allowed = Allowed::build(&index, |leaf| leaf % modulus == 0);
            let mut overlay = Overlay::default();
            overlay.reset(&index);
            let mut truth: Vec<Resources> = free.iter().map(|&free| room(free)).collect();
            for (leaf, change) in changes {
                let leaf = leaf % truth.len();
                overlay.set(&index, leaf, room(change));
                truth[leaf] = room(change);
            }
            let scan = (from..truth.len()).find(|&leaf| leaf % modulus == 0 && room(need).fits(&truth[leaf]));
            prop_assert_eq!(overlay.next_fit(&index, from, &room(need), Some(&allowed)), scan);
            overlay.reset(&index);
            let scan = (from..free.len()).find(|&leaf| room(need).fits(&room(free[leaf])));
            prop_assert_eq!(overlay.next_fit(&index, from, &room(need), None), scan);
        }

        #[test]
        fn grows_and_follows_changes(free in prop::collection::vec((0i64..8, 0i64..8), 1..200), need in (0i64..8, 0i64..8)) {
            let mut index = NodeIndex::default();
            for &free in &free {
                index.push(room(free));
            }
            let mut overlay = Overlay::default();
            overlay.reset(&index);
            let scan = free.iter().position(|&free| room(need).fits(&room(free)));
            prop_assert_eq!(overlay.next_fit(&index, 0, &room(need), None), scan);
        }
    }
}

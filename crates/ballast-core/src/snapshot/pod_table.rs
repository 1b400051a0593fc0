//! The pod table: which number a pod has, by namespace and name.
//!
//! Names are with the pods already. A table of numbers alone is a fifth of a map that has keys too, and with half a million
//! pods it is the reach for memory that costs.

use std::hash::{BuildHasher, BuildHasherDefault};

use rustc_hash::FxHasher;

/// Numbers of pods by the hash of their names, in open addressing: a number stands at the first free cell from its place on.
#[derive(Clone, Debug, Default)]
pub(super) struct PodTable {
    /// As many as a power of two, or none.
    cells: Vec<Cell>,
    len: usize,
}

/// A number, and enough of its hash to find its place and to tell most others apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    hash: u32,
    pod: u32,
}

/// No number.
const EMPTY: Cell = Cell { hash: 0, pod: u32::MAX };

/// The hash of a pod's names.
pub(super) fn hash_of(namespace: &str, name: &str) -> u32 {
    let hash = BuildHasherDefault::<FxHasher>::default().hash_one((namespace, name));
    (hash >> 32) as u32 ^ hash as u32
}

impl PodTable {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Makes room for so many in all.
    pub(super) fn reserve(&mut self, len: usize) {
        // At most two thirds are filled: beyond that, searches grow long.
        let cells = (len + len / 2 + 1).next_power_of_two().max(16);
        if cells > self.cells.len() {
            let before = std::mem::replace(&mut self.cells, vec![EMPTY; cells]);
            before.into_iter().filter(|cell| *cell != EMPTY).for_each(|cell| self.put(cell));
        }
    }

    /// Reads the cells of many, so that memory hands them over together: one after the other, each is waited for.
    pub(super) fn fetch(&self, hashes: impl Iterator<Item = u32>) {
        let mask = self.cells.len().wrapping_sub(1);
        let cells = hashes.filter_map(|hash| self.cells.get(hash as usize & mask));
        std::hint::black_box(cells.fold(0, |read, cell| read ^ cell.pod));
    }

    /// The number with this hash for which `is_it` holds.
    pub(super) fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.place_of(hash, is_it).map(|at| self.cells[at].pod)
    }

    /// Adds a number that is not there.
    pub(super) fn insert(&mut self, hash: u32, pod: u32) {
        self.len += 1;
        self.reserve(self.len);
        self.put(Cell { hash, pod });
    }

    /// Takes a number out.
    pub(super) fn remove(&mut self, hash: u32, pod: u32) {
        let Some(mut hole) = self.place_of(hash, |other| other == pod) else { return };
        self.len -= 1;
        let mask = self.cells.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let cell = self.cells[at];
            if cell == EMPTY {
                break;
            }
            // What would not be found past the hole moves into it.
            let way = |from: usize, to: usize| to.wrapping_sub(from) & mask;
            if way(cell.hash as usize & mask, at) >= way(hole, at) {
                self.cells[hole] = cell;
                hole = at;
            }
        }
        self.cells[hole] = EMPTY;
    }

    fn place_of(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<usize> {
        let mask = self.cells.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let cell = self.cells[at];
            if cell == EMPTY {
                return None;
            }
            if cell.hash == hash && is_it(cell.pod) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn put(&mut self, cell: Cell) {
        let mask = self.cells.len() - 1;
        let mut at = cell.hash as usize & mask;
        while self.cells[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.cells[at] = cell;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn holds_what_a_set_holds(changes in prop::collection::vec((any::<bool>(), 0u32..60), 0..300)) {
            // Few hashes, at the end of the table too: numbers crowd and wrap around.
            let hash = |pod: u32| if pod.is_multiple_of(2) { pod % 7 } else { u32::MAX - pod % 3 };
            let (mut table, mut set) = (PodTable::default(), BTreeSet::new());
            for (add, pod) in changes {
                match (add, set.contains(&pod)) {
                    (true, false) => table.insert(hash(pod), pod),
                    (false, true) => table.remove(hash(pod), pod),
                    _ => continue,
                }
                if !set.remove(&pod) {
                    set.insert(pod);
                }
                prop_assert_eq!(table.len(), set.len());
                for pod in 0..60 {
                    let found = table.find(hash(pod), |other| other == pod);
                    prop_assert_eq!(found.is_some(), set.contains(&pod));
                }
            }
        }
    }
}

//! Interning: equal values get one small number, counted, so that what nobody uses is forgotten.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// A value's number, and a serial that is never used twice: numbers are reused, serials are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interned {
    /// Where it stands.
    pub slot: u32,
    /// Which value it is, among all that ever stood anywhere.
    pub serial: u64,
}

/// Equal values by number.
#[derive(Clone, Debug)]
pub struct Interner<T> {
    by_value: FxHashMap<Arc<T>, u32>,
    entries: Vec<Option<Entry<T>>>,
    free: Vec<u32>,
    serial: u64,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    value: Arc<T>,
    serial: u64,
    users: u32,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { by_value: FxHashMap::default(), entries: Vec::new(), free: Vec::new(), serial: 0 }
    }
}

impl<T: Eq + Hash> Interner<T> {
    /// The number of a value, with one more user.
    pub fn take(&mut self, value: T) -> Interned {
        if let Some(&slot) = self.by_value.get(&value) {
            return self.take_again(slot);
        }
        self.serial += 1;
        let value = Arc::new(value);
        let entry = Some(Entry { value: value.clone(), serial: self.serial, users: 1 });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        self.by_value.insert(value, slot);
        Interned { slot, serial: self.serial }
    }

    /// One more user of a number that is in use.
    pub fn take_again(&mut self, slot: u32) -> Interned {
        let entry = self.entries[slot as usize].as_mut().expect("a number in use has a value");
        entry.users += 1;
        Interned { slot, serial: entry.serial }
    }

    /// One user less; the value is forgotten with its last. Returns it then.
    pub fn give_back(&mut self, slot: u32) -> Option<Arc<T>> {
        let entry = self.entries[slot as usize].as_mut().expect("a number in use has a value");
        entry.users -= 1;
        if entry.users > 0 {
            return None;
        }
        let entry = self.entries[slot as usize].take()?;
        self.by_value.remove(&entry.value);
        self.free.push(slot);
        Some(entry.value)
    }

    /// The value of a number in use.
    pub fn get(&self, slot: u32) -> &Arc<T> {
        &self.entries[slot as usize].as_ref().expect("a number in use has a value").value
    }

    /// The serial of a number in use; 0 where it is not.
    pub fn serial(&self, slot: u32) -> u64 {
        self.entries.get(slot as usize).and_then(Option::as_ref).map_or(0, |entry| entry.serial)
    }

    /// How many users a number has.
    pub fn users(&self, slot: u32) -> u32 {
        self.entries.get(slot as usize).and_then(Option::as_ref).map_or(0, |entry| entry.users)
    }

    /// Every value in use with its number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Arc<T>)> {
        let filled = |(slot, entry): (usize, &'_ Option<Entry<T>>)| entry.as_ref().map(|_| slot as u32);
        self.entries.iter().enumerate().filter_map(filled).map(|slot| (slot, self.get(slot)))
    }
}

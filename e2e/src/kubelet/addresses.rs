//! The addresses of pods: 253 of one subnet, each lent to one pod at a time.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

/// The first and the last address that a pod can have; the one before the first is the host's.
const FIRST: u8 = 2;
const LAST: u8 = 254;

/// A subnet of 24 bits, and who has which address of it.
#[derive(Clone)]
pub(super) struct Addresses {
    prefix: [u8; 3],
    lent: Arc<Mutex<Lent>>,
}

struct Lent {
    hosts: BTreeSet<u8>,
    next: u8,
}

/// An address that is given back with this value.
pub(super) struct Address {
    host: u8,
    addresses: Addresses,
}

impl Addresses {
    /// All of them are free.
    pub(super) fn new(prefix: [u8; 3]) -> Self {
        Self { prefix, lent: Arc::new(Mutex::new(Lent { hosts: BTreeSet::new(), next: FIRST })) }
    }

    /// The address of the host.
    pub(super) fn gateway(&self) -> Ipv4Addr {
        self.ip(FIRST - 1)
    }

    /// Lends the next free address: one that was given back comes again as late as possible.
    pub(super) fn lend(&self) -> Result<Address> {
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        let next = lent.next;
        let free = (next..=LAST).chain(FIRST..next).find(|host| !lent.hosts.contains(host));
        let host = free.context("all addresses of the subnet are in use: at most 253 pods run at once")?;
        lent.hosts.insert(host);
        lent.next = if host == LAST { FIRST } else { host + 1 };
        Ok(Address { host, addresses: self.clone() })
    }

    fn ip(&self, host: u8) -> Ipv4Addr {
        let [a, b, c] = self.prefix;
        Ipv4Addr::new(a, b, c, host)
    }
}

impl Address {
    /// As pods and Services name it.
    pub(super) fn ip(&self) -> Ipv4Addr {
        self.addresses.ip(self.host)
    }

    /// Its last byte, which tells it from all others of the subnet.
    pub(super) fn host(&self) -> u8 {
        self.host
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        self.addresses.lent.lock().unwrap_or_else(PoisonError::into_inner).hosts.remove(&self.host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_was_given_back_comes_again_last() {
        let addresses = Addresses::new([10, 231, 7]);
        let first = addresses.lend().expect("all are free");
        assert_eq!(first.ip(), Ipv4Addr::new(10, 231, 7, 2));
        drop(first);
        let lent: Vec<Address> = (FIRST..=LAST).map(|_| addresses.lend().expect("free")).collect();
        assert_eq!(lent[0].ip(), Ipv4Addr::new(10, 231, 7, 3));
        assert_eq!(lent[252].ip(), Ipv4Addr::new(10, 231, 7, 2));
        assert!(addresses.lend().is_err());
    }
}

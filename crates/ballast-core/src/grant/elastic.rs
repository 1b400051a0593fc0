//! Elastic workloads: what they hold above their floor counts as free until their turn comes.

use std::collections::BTreeMap;

use super::bins::{Bin, Bins};
use super::need::{Need, Tier};
use super::{Capacity, Grant, Place};
use crate::kube::Name;
use crate::snapshot::Snapshot;
use crate::wish::{ElasticWish, Wish};

/// An elastic workload while others are served.
pub(crate) struct Elastic<'a> {
    wish: &'a ElasticWish,
    need: Need<'a>,
    have: u32,
    /// Units above the floor: rank of the node and units.
    released: Vec<(usize, u32)>,
}

/// Gives what every elastic workload holds above its floor back, on trial.
pub(crate) fn release<'a>(
    bins: &mut Bins<'a>,
    snapshot: &'a Snapshot,
    wishes: &'a [ElasticWish],
) -> Vec<Elastic<'a>> {
    let mut all: Vec<Elastic<'a>> = wishes.iter().map(|wish| Elastic::new(snapshot, wish)).collect();
    for elastic in &all {
        for &(rank, units) in &elastic.released {
            bins.release(rank, &elastic.need.class.requests, elastic.need.class.gpu, units);
        }
    }
    all.sort_by(|a, b| {
        let order = |elastic: &Elastic<'_>| {
            (-i64::from(elastic.wish.priority), elastic.wish.namespace.clone(), elastic.wish.workload.clone())
        };
        order(a).cmp(&order(b))
    });
    all
}

/// Serves elastic workloads with what is left: first what they held, where they held it; then more, up to what they can use.
pub(crate) fn serve(bins: &mut Bins<'_>, elastic: &[Elastic<'_>]) -> Vec<Grant> {
    let kept: Vec<u32> = elastic.iter().map(|elastic| elastic.keep(bins)).collect();
    let serve = |(elastic, kept): (&Elastic<'_>, u32)| {
        let floor = elastic.wish.floor.min(elastic.have);
        let more = elastic.wish.at_most.saturating_sub(floor + kept);
        // Who gave something back does not ask for it again in the same breath.
        let gave = elastic.have > floor + kept;
        let placed = if gave { 0 } else { bins.place_on_nodes(&elastic.need, more) };
        let place = Place { capacity: Capacity::Free, pool: Name::default(), units: placed };
        Grant {
            scaler: elastic.wish.scaler,
            namespace: elastic.wish.namespace.clone(),
            workload: elastic.wish.workload.clone(),
            object: None,
            units: floor + kept + placed,
            places: if placed > 0 { vec![place] } else { Vec::new() },
        }
    };
    elastic.iter().zip(kept).map(serve).collect()
}

impl<'a> Elastic<'a> {
    fn new(snapshot: &'a Snapshot, wish: &'a ElasticWish) -> Self {
        let class = snapshot.class(wish.class);
        let mut held: BTreeMap<usize, u32> = BTreeMap::new();
        for (rank, node) in snapshot.nodes().enumerate() {
            let units = node.pods.iter().filter(|&&pod| snapshot.pod(pod).class == wish.class).count() as u32;
            if units > 0 {
                held.insert(rank, units);
            }
        }
        let have = held.values().sum();
        let mut keep = wish.floor;
        let mut released = Vec::new();
        for (rank, units) in held {
            let kept = units.min(keep);
            keep -= kept;
            if units > kept && snapshot.node_at(rank).takes_pods() {
                released.push((rank, units - kept));
            }
        }
        let need = Need {
            class,
            constraint: snapshot.constraint(class.constraint),
            constraint_serial: snapshot.constraints.serial(class.constraint),
            only_pool: None,
            count: wish.at_most,
            tier: Tier::Surplus,
            grows: false,
            priority: wish.priority,
            gang: None,
            wish: 0,
        };
        Self { wish, need, have, released }
    }

    /// Takes back what it held, where it held it, as far as it is still free. Returns how many units.
    fn keep(&self, bins: &mut Bins<'_>) -> u32 {
        let mut kept = 0;
        for &(rank, units) in &self.released {
            let units = units.min(bins.times_on(&self.need, Bin::Node(rank)));
            if units > 0 {
                bins.take_on_node(&self.need, rank, units);
                kept += units;
            }
        }
        kept
    }

    /// Its wish, as the plan shows it.
    pub(crate) fn wish(&self) -> Wish {
        Wish {
            scaler: self.wish.scaler,
            namespace: self.wish.namespace.clone(),
            workload: self.wish.workload.clone(),
            object: None,
            requests: self.need.class.amounts.clone(),
            have: self.have,
            floor: self.wish.floor,
            want: self.wish.floor,
            at_most: self.wish.at_most,
            priority: self.wish.priority,
            gang: false,
            yields: true,
            pending: 0,
        }
    }
}

//! What a template promises of new nodes, held against the nodes that are there.

use std::collections::{BTreeMap, BTreeSet};

use crate::kube::{Name, Node};
use crate::policy::NodeTemplate;
use crate::resources::is_gpu;
use crate::units::Quantity;

/// How far a template may be from the nodes of its pool: what the system keeps for itself differs by less between machines of
/// one type, and a machine of another type by more.
const APART_MOST: f64 = 0.05;

/// Resources of which a template has clearly more or less than every node of its pool: the name and both figures.
pub(super) fn apart<'t>(
    template: &'t NodeTemplate,
    nodes: &[&'t Node],
) -> Vec<(&'t str, Quantity, Quantity)> {
    let devices = nodes.iter().flat_map(|node| node.status.allocatable.keys()).filter(|name| is_gpu(name));
    let names: BTreeSet<&Name> = template.allocatable.keys().chain(devices).collect();
    let has =
        |amounts: &BTreeMap<Name, Quantity>, name: &Name| amounts.get(name).copied().unwrap_or_default();
    let figures = names.into_iter().filter_map(|name| {
        // Of nodes that differ the largest counts: one whose devices are not up yet has none.
        let largest = nodes.iter().map(|node| has(&node.status.allocatable, name)).max()?;
        Some((&**name, has(&template.allocatable, name), largest))
    });
    figures.filter(|(name, written, largest)| is_apart(name, written.as_f64(), largest.as_f64())).collect()
}

/// Devices are counted; of the rest the system takes a little more or less on every machine, and what no node tells of is not
/// known.
fn is_apart(name: &str, written: f64, seen: f64) -> bool {
    if is_gpu(name) { written != seen } else { seen > 0.0 && (written - seen).abs() > APART_MOST * seen }
}

//! What a ClusterPolicy may say.

use std::collections::BTreeMap;

use super::{Findings, Path, requests, shared};
use crate::documents::printable;
use crate::kube::Name;
use crate::policy::{ClusterPolicySpec, Limits, Mode};
use crate::resources::is_gpu;
use crate::units::{Money, Quantity};

pub(in crate::documents) fn cluster_policy(spec: &ClusterPolicySpec, found: &mut Findings) {
    let path = Path::default().key("spec");
    limits(found, &path.key("limits"), &spec.limits);
    if spec.mode == Mode::Enforce {
        enforce(found, &path, &spec.limits);
    }
    let removal = path.key("removal");
    shared::budget(found, &removal.key("perPool"), &spec.removal.per_pool);
    shared::budget(found, &removal.key("perCluster"), &spec.removal.per_cluster);
    shared::part_of_whole(found, path.key("health").key("maxUnreadyShare"), spec.health.max_unready_share);
    shared::part_of_whole(found, path.key("sources").key("maxShrink"), spec.sources.max_shrink);
    shared::positive(found, path.key("sources").key("maxAge"), spec.sources.max_age);
    if spec.health.strikes == 0 {
        let finding = found
            .invalid(path.key("health").key("strikes"), "every pool would be quarantined from the start");
        finding.allowed("a whole number from 1 up");
    }
    let is_currency =
        (1..=8).contains(&spec.currency.len()) && spec.currency.bytes().all(|b| b.is_ascii_uppercase());
    if !is_currency {
        let message = format!("`{}` is not a currency", printable(&spec.currency, 20));
        found
            .invalid(path.key("currency"), message)
            .allowed("capital letters, such as `USD`, `EUR` or `CNY`");
    }
    priorities(found, &path.key("priorities"), spec);
    guarantees(found, &path.key("guarantees"), spec);
    yields(found, &path.key("yields"), spec);
    tenants(found, &path.key("tenants"), spec);
    for (index, host) in spec.allowed_hosts.iter().enumerate() {
        allowed_host(found, path.key("allowedHosts").index(index), host);
    }
}

fn enforce(found: &mut Findings, path: &Path, limits: &Limits) {
    let missing = [("nodes", limits.nodes.is_none()), ("costPerHour", limits.cost_per_hour.is_none())];
    for (field, _) in missing.into_iter().filter(|(_, is_missing)| *is_missing) {
        found
            .missing(path.key("limits").key(field), format!("`mode: Enforce` needs the limit `{field}`"))
            .help("set it, or begin with `mode: Recommend`");
    }
}

fn limits(found: &mut Findings, path: &Path, limits: &Limits) {
    if let Some(nodes) = limits.nodes {
        shared::count(found, path.key("nodes"), nodes);
    }
    for (field, amount) in [("cores", limits.cores), ("memory", limits.memory)] {
        if amount.is_some_and(|amount| amount < Quantity::ZERO) {
            found.invalid(path.key(field), "a limit below zero").allowed("a quantity from 0 up");
        }
    }
    for (model, gpus) in &limits.gpus {
        if *gpus > 100 * shared::COUNT_MAX {
            found
                .invalid(path.key("gpus").key(model), format!("{gpus} is absurdly many"))
                .allowed("up to 10000000");
        }
    }
    if limits.cost_per_hour == Some(Money::ZERO) {
        found
            .invalid(path.key("costPerHour"), "no cost at all means no node at all")
            .help("to keep it from growing, use `pause: {up: true}`");
    }
}

fn priorities(found: &mut Findings, path: &Path, spec: &ClusterPolicySpec) {
    for (index, rule) in spec.priorities.iter().enumerate() {
        let path = path.index(index);
        shared::selector(found, &path.key("selector"), &rule.selector);
        let takes_all = rule.selector.is_empty() && rule.namespaces.is_empty();
        if takes_all && index + 1 < spec.priorities.len() {
            found
                .contradiction(path, "it selects everything, so that the rules after it never apply")
                .help("put it last, or give it `namespaces` or a `selector`");
        }
    }
}

fn guarantees(found: &mut Findings, path: &Path, spec: &ClusterPolicySpec) {
    let mut sums: BTreeMap<&Name, Quantity> = BTreeMap::new();
    for (index, guarantee) in spec.guarantees.iter().enumerate() {
        let path = path.index(index);
        shared::selector(found, &path.key("selector"), &guarantee.selector);
        if guarantee.selector.is_empty() && guarantee.namespaces.is_empty() {
            found
                .contradiction(path.clone(), "what is guaranteed to all is guaranteed to nobody")
                .help("give it `namespaces` or a `selector`");
        }
        if guarantee.resources.is_empty() {
            found.missing(path.key("resources"), "nothing is guaranteed").help("such as `{cpu: 64}`");
        }
        for (name, amount) in &guarantee.resources {
            let place = path.key("resources").key(name);
            if *amount <= Quantity::ZERO {
                found.invalid(place.clone(), "it guarantees nothing").allowed("a quantity above 0");
            }
            let sum = sums.entry(name).or_insert(Quantity::ZERO);
            *sum = Quantity::from_milli(sum.milli().saturating_add(amount.milli()));
            let limit = match &**name {
                "cpu" => spec.limits.cores,
                "memory" => spec.limits.memory,
                name if is_gpu(name) => {
                    spec.limits.gpus.get("*").map(|&most| Quantity::from_units(most.into()))
                }
                _ => None,
            };
            if let Some(limit) = limit.filter(|limit| *sum > *limit) {
                let message = format!("{sum} of {name} are guaranteed in all, and the limit is {limit}");
                found.contradiction(place, message).help("raise the limit, or guarantee less");
            }
        }
    }
}

fn yields(found: &mut Findings, path: &Path, spec: &ClusterPolicySpec) {
    for (index, given) in spec.yields.iter().enumerate() {
        let path = path.index(index);
        shared::narrow_selector(found, &path.key("from"), &given.from, "all would make room");
        shared::narrow_selector(found, &path.key("to"), &given.to, "room would be made for all");
        shared::part_of_whole(found, path.key("reserve"), given.reserve);
        if given.from == given.to && !given.from.is_empty() {
            found.contradiction(path.key("to"), "the same workloads would make room for themselves");
        }
    }
}

fn tenants(found: &mut Findings, path: &Path, spec: &ClusterPolicySpec) {
    for (index, tenant) in spec.tenants.iter().enumerate() {
        let path = path.index(index);
        shared::namespaces(found, &path.key("namespaces"), &tenant.namespaces);
        requests::names(found, &path.key("quota"), &tenant.quota);
        for (name, _) in tenant.quota.iter().filter(|(_, amount)| **amount < Quantity::ZERO) {
            found.invalid(path.key("quota").key(name), "a quota below zero").allowed("a quantity from 0 up");
        }
        if tenant.namespaces.is_empty() && index + 1 < spec.tenants.len() {
            found
                .contradiction(path, "it is for every namespace, so that the rules after it never apply")
                .help("put it last, or give it `namespaces`");
        }
    }
}

fn allowed_host(found: &mut Findings, path: Path, host: &Name) {
    let is_good = !host.is_empty()
        && host.len() <= 260
        && host.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'*' | b'[' | b']')
        });
    if !is_good {
        let finding = found.invalid(path, format!("`{}` is not a host", printable(host, 80)));
        finding.allowed(
            "a name or an address with an optional port, without a scheme: `prometheus.monitoring.svc:9090`",
        );
    }
}

//! Pools held against the nodes that are there and the policy of the cluster.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Documents;
use super::across::{Across, Spot};
use super::apart::apart;
use super::tree::Path;
use crate::kube::{Meta, Name, Node};
use crate::observation::{Body, Object};
use crate::policy::hosts::{host_and_port, is_listed};
use crate::policy::{ClusterPolicySpec, Mode, VmPoolSpec};
use crate::snapshot::{POOL_LABEL, PoolEntry};
use crate::units::Money;

/// A pool with its name and where it stands.
pub(super) type Pool<'d> = (&'d Name, &'d VmPoolSpec, Spot);

impl Across {
    /// What pools say of nodes, and what nodes are there.
    pub(super) fn pools_and_nodes(&mut self, documents: &Documents, pools: &[Pool<'_>]) {
        let entry = |(name, spec, _): &Pool<'_>| PoolEntry::new((*name).clone(), Arc::new((*spec).clone()));
        let entries: Vec<PoolEntry> = pools.iter().map(entry).collect();
        let nodes = documents.objects.iter().filter_map(|placed| match &placed.value {
            Object::Node(node) => Some(node),
            _ => None,
        });
        let nodes: Vec<&Node> = nodes.collect();
        self.nodes_in_two_pools(documents, &entries);
        self.templates(&nodes, &entries, pools);
        self.without_nodes(&nodes, &Claims { entries: &entries, told: instances(documents) }, pools);
    }

    /// What pools say that the policy of the cluster has a say in.
    pub(super) fn pools_and_policy(&mut self, policy: &ClusterPolicySpec, pools: &[Pool<'_>]) {
        self.modes(policy.mode, pools);
        self.hosts(&policy.allowed_hosts, pools);
        self.too_dear(policy.limits.cost_per_hour, pools);
    }

    /// Pools of which one node alone would cost more than the whole cluster may.
    fn too_dear(&mut self, limit: Option<Money>, pools: &[Pool<'_>]) {
        let dear = |(_, spec, _): &&Pool<'_>| {
            spec.price.per_hour.zip(limit).is_some_and(|(price, most)| price > most)
        };
        for (_, spec, spot) in pools.iter().filter(dear) {
            let [price, most] = [spec.price.per_hour, limit].map(Option::unwrap_or_default);
            let message = format!(
                "one node costs {price} an hour, more than `limits.costPerHour`, which is {most}: none could start"
            );
            self.clash(*spot, None, |found| {
                found
                    .doubt(Path::default().key("spec").key("price").key("perHour"), message)
                    .help("raise the limit");
            });
        }
    }

    /// Pools may overlap only in nodes that are there: by a prefix of one and a selector of the other.
    fn nodes_in_two_pools(&mut self, documents: &Documents, pools: &[PoolEntry]) {
        for (placed, spot) in documents.objects.iter().zip(self.objects.clone()) {
            let Object::Node(node) = &placed.value else { continue };
            let Meta { name, labels, .. } = &node.metadata;
            let mut owners = pools.iter().filter(|pool| pool.claims(name, labels));
            if let (Some(first), Some(second)) = (owners.next(), owners.next()) {
                let message = format!("it is a member of two pools, `{}` and `{}`", first.name, second.name);
                self.clash(spot, None, |found| {
                    let finding = found.conflict(Path::default().key("metadata"), message);
                    finding.help("a node belongs to one pool: let `members` of one of them be narrower");
                });
            }
        }
    }

    /// What a new node of a pool shall have, held against the nodes that it has.
    fn templates(&mut self, nodes: &[&Node], entries: &[PoolEntry], pools: &[Pool<'_>]) {
        for ((_, spec, spot), entry) in pools.iter().zip(entries) {
            let members = nodes.iter().filter(|node| is_member(node, entry));
            let members: Vec<&Node> = members.copied().collect();
            for (resource, written, largest) in apart(&spec.template, &members) {
                let path = ["spec", "template", "allocatable", resource];
                let path = path.iter().fold(Path::default(), |path, key| path.key(key));
                let message = format!(
                    "a new node would have {written} of {resource}, but the nodes of the pool have up to {largest}"
                );
                self.clash(*spot, None, |found| {
                    found
                        .doubt(path, message)
                        .help("write what `kubectl get node -o yaml` shows as `allocatable`");
                });
            }
        }
    }

    /// Pools that claim none of the nodes that are there, while some belong to no pool: probably a slip in `members`.
    fn without_nodes(&mut self, nodes: &[&Node], claims: &Claims<'_>, pools: &[Pool<'_>]) {
        let owners: Vec<Option<&Name>> = nodes.iter().map(|node| claims.owner(node)).collect();
        let strays = owners.iter().filter(|owner| owner.is_none()).count();
        let owners: FxHashSet<&Name> = owners.into_iter().flatten().collect();
        for (name, _, spot) in pools.iter().filter(|(name, ..)| strays > 0 && !owners.contains(name)) {
            let belong =
                if strays == 1 { "1 node belongs".to_owned() } else { format!("{strays} nodes belong") };
            let message = format!("no node belongs to the VmPool `{name}`, and {belong} to no pool");
            self.clash(*spot, None, |found| {
                found
                    .doubt(Path::default().key("spec").key("members"), message)
                    .help(format!("nodes belong by `members` or by the label {POOL_LABEL}={name}"));
            });
        }
    }

    /// A document may lower the cluster's mode for itself, never raise it.
    fn modes(&mut self, mode: Mode, pools: &[Pool<'_>]) {
        for (_, spec, spot) in pools.iter().filter(|(_, spec, _)| spec.mode.is_some_and(|own| own > mode)) {
            let message =
                format!("`{:?}` is more than the cluster's mode, `{mode:?}`", spec.mode.unwrap_or_default());
            self.clash(*spot, None, |found| {
                let finding = found.conflict(Path::default().key("spec").key("mode"), message);
                finding.help("a document may lower the mode for itself, never raise it");
            });
        }
    }

    /// Providers that may not be called, because the policy does not list their hosts.
    fn hosts(&mut self, allowed: &[Name], pools: &[Pool<'_>]) {
        for (_, spec, spot) in pools.iter().filter(|(_, spec, _)| &*spec.provider.kind == "External") {
            let endpoint = spec.provider.settings.get("endpoint");
            let Some((host, port)) = endpoint.and_then(|endpoint| host_and_port(endpoint)) else { continue };
            if is_listed(allowed, host, port) {
                continue;
            }
            let message =
                format!("`{host}` is not in `allowedHosts` of the ClusterPolicy, so it is never called");
            let path = ["spec", "provider", "settings", "endpoint"];
            let path = path.iter().fold(Path::default(), |path, key| path.key(key));
            let entry = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
            self.clash(*spot, None, |found| {
                found.doubt(path, message).help(format!("add `{entry}` to `allowedHosts`"));
            });
        }
    }
}

/// What makes nodes members of pools.
struct Claims<'d> {
    entries: &'d [PoolEntry],
    /// The pools of machines that were told, by their ids.
    told: FxHashMap<&'d Name, &'d Name>,
}

impl<'d> Claims<'d> {
    fn owner(&self, node: &Node) -> Option<&'d Name> {
        let claims = self.entries.iter().find(|entry| is_member(node, entry)).map(|entry| &entry.name);
        claims.or_else(|| self.told.get(&node.spec.provider_id).copied())
    }
}

/// The pools of machines that somebody told, by their ids.
fn instances(documents: &Documents) -> FxHashMap<&Name, &Name> {
    let told = documents.observations.iter().filter_map(|placed| match &placed.value.outcome {
        Ok(Body::Instances(instances)) => Some((&placed.value.source.name, instances)),
        _ => None,
    });
    told.flat_map(|(pool, instances)| instances.iter().map(move |instance| (&instance.id, pool))).collect()
}

fn is_member(node: &Node, pool: &PoolEntry) -> bool {
    pool.claims(&node.metadata.name, &node.metadata.labels)
}

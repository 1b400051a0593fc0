//! The objects of Kubernetes as the world would list them.

use std::sync::Arc;

use ballast_core::kube::{
    Labels, Meta, Name, Node, NodeCondition, NodeSpec, NodeStatus, PdbSpec, PdbStatus, Phase, Pod as KubePod,
    PodDisruptionBudget, PodStatus, Taint, TaintEffect,
};
use ballast_core::observation::Instance;
use ballast_core::resources::is_gpu;
use ballast_core::snapshot::CORDON_MARK;

use super::World;
use super::budget::BudgetState;
use super::devices::Taken;
use super::lifecycle::leaves_at;
use super::machine::{Machine, Power, Ready};
use super::pod::Life;

/// The annotation of the device that a GPU share lies on.
const GPU_INDEX_ANNOTATION: &str = "alibabacloud.com/gpu-index";
/// The taint of a node whose machine its cloud will take back.
const DOOMED_TAINT: &str = "cloud.google.com/impending-node-termination";
/// The taint of a node that does not answer.
const UNREACHABLE_TAINT: &str = "node.kubernetes.io/unreachable";

impl World {
    /// A pod as the API server tells of it.
    pub(crate) fn pod_object(&self, pod: u32) -> KubePod {
        let entry = &self.pods[pod];
        let class = &self.classes[entry.class as usize];
        let job = &self.jobs[entry.job];
        let mut annotations = job.annotations.clone();
        if let Taken::Share { device, .. } = entry.taken {
            Arc::make_mut(&mut annotations)
                .insert(self.text(GPU_INDEX_ANNOTATION), self.digits[usize::from(device)].clone());
        }
        let phase = match entry.life {
            Life::Waiting | Life::Starting => Phase::Pending,
            Life::Running => Phase::Running,
            Life::Leaving | Life::Lost | Life::Stranded if entry.ran => Phase::Running,
            Life::Leaving | Life::Lost | Life::Stranded => Phase::Pending,
        };
        let conditions = if entry.unschedulable { vec![self.unschedulable.clone()] } else { Vec::new() };
        let node_name = match entry.life {
            Life::Waiting => self.empty.clone(),
            _ => self.machines[entry.machine as usize].name.clone(),
        };
        KubePod {
            metadata: Meta {
                name: entry.name.clone(),
                namespace: class.namespace.clone(),
                uid: entry.uid.clone(),
                resource_version: self.empty.clone(),
                generation: None,
                labels: job.labels.clone(),
                annotations,
                owner_references: job.owner.iter().cloned().collect(),
                creation_timestamp: Some(entry.created),
                deletion_timestamp: leaves_at(entry, class.grace),
                deletion_grace_period_seconds: None,
            },
            spec: class.spec.clone(),
            node_name,
            status: PodStatus {
                phase,
                conditions,
                start_time: (entry.life == Life::Running).then_some(entry.since),
                nominated_node_name: self.empty.clone(),
            },
        }
    }

    /// A node as the API server tells of it; `None` where the machine has none.
    pub(crate) fn node_object(&self, machine: &Machine) -> Option<Node> {
        let node = machine.node.as_ref()?;
        let kind = &self.kinds[machine.kind as usize];
        let mut annotations = Labels::new();
        if !node.mark.is_empty() {
            annotations.insert(self.text(CORDON_MARK), node.mark.clone());
        }
        let mut taints = kind.taints.clone();
        if !node.devices_up {
            taints.extend(kind.startup_taints.iter().cloned());
        }
        if node.ready == Ready::Unknown {
            let key = self.text(UNREACHABLE_TAINT);
            taints.push(Taint { key, value: self.empty.clone(), effect: TaintEffect::NoSchedule });
        }
        if machine.doomed {
            let key = self.text(DOOMED_TAINT);
            taints.push(Taint { key, value: self.empty.clone(), effect: TaintEffect::NoSchedule });
        }
        let mut allocatable = kind.allocatable.clone();
        if !node.devices_up {
            allocatable.retain(|name, _| !is_gpu(name));
        }
        let status = match node.ready {
            Ready::Yes => "True",
            Ready::No => "False",
            Ready::Unknown => "Unknown",
        };
        let ready = NodeCondition {
            kind: self.text("Ready"),
            status: self.text(status),
            reason: self.empty.clone(),
            last_transition_time: Some(node.since),
        };
        Some(Node {
            metadata: Meta {
                name: machine.name.clone(),
                uid: node.uid.clone(),
                labels: node.labels.clone(),
                annotations: Arc::new(annotations),
                creation_timestamp: Some(node.created),
                ..Meta::default()
            },
            spec: NodeSpec { provider_id: machine.id.clone(), unschedulable: node.cordoned, taints },
            status: NodeStatus { allocatable, capacity: kind.allocatable.clone(), conditions: vec![ready] },
        })
    }

    /// A disruption budget as the API server tells of it.
    pub(crate) fn budget_object(&self, budget: &BudgetState) -> PodDisruptionBudget {
        PodDisruptionBudget {
            metadata: Meta {
                name: budget.name.clone(),
                namespace: budget.namespace.clone(),
                uid: budget.name.clone(),
                ..Meta::default()
            },
            spec: PdbSpec { selector: Some(budget.selector.clone()) },
            status: PdbStatus { disruptions_allowed: budget.allowed().max(0), observed_generation: None },
        }
    }

    /// The instances of a pool as its cloud tells of them.
    pub(crate) fn instances(&self, pool: usize) -> Arc<[Instance]> {
        let pool = &self.pools[pool];
        let machines = pool.machines.iter().map(|&machine| &self.machines[machine as usize]);
        let there = machines.filter(|machine| machine.power != Power::Gone);
        there.map(|machine| machine.instance(&self.kinds[machine.kind as usize], &pool.name)).collect()
    }

    /// The value that a list of texts has for one of them; for condition words and the like.
    pub(crate) fn known_texts() -> [&'static str; 9] {
        [
            GPU_INDEX_ANNOTATION,
            DOOMED_TAINT,
            UNREACHABLE_TAINT,
            CORDON_MARK,
            "Ready",
            "True",
            "False",
            "Unknown",
            "Job",
        ]
    }

    /// The condition of a pod that fits nowhere.
    pub(crate) fn unschedulable_condition() -> NodeCondition {
        let name = |text: &str| -> Name { text.into() };
        NodeCondition {
            kind: name("PodScheduled"),
            status: name("False"),
            reason: name("Unschedulable"),
            last_transition_time: None,
        }
    }
}

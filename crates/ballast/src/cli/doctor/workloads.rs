//! Checks on what runs in the cluster: what would keep Ballast from seeing what is needed, or from letting nodes go.

use std::collections::BTreeMap;

use ballast_core::kube::{Name, Node, Pod};
use ballast_core::observation::{Body, Object};
use ballast_live::doctor::Facts;
use serde_json::Value;

use super::Finding;
use super::checks::or_ok;
use crate::present::figures::plural;

/// Namespaces whose pods are told first.
const WORST: usize = 5;

pub(super) fn all(facts: &Facts) -> Vec<Finding> {
    let checks = [foreign_autoscalers, requests, disruption_budgets, ray_dashboards];
    checks.into_iter().flat_map(|check| check(facts)).collect()
}

fn objects(facts: &Facts) -> impl Iterator<Item = &Object> {
    let listed = facts.look.observations.iter().filter_map(|seen| match &seen.outcome {
        Ok(Body::Listed(objects)) => Some(objects),
        _ => None,
    });
    listed.flatten()
}

/// Nodes that carry the marks of another autoscaler.
fn foreign_autoscalers(facts: &Facts) -> Vec<Finding> {
    const ID: &str = "ForeignAutoscalers";
    let mut marked: BTreeMap<&str, u32> = BTreeMap::new();
    for object in objects(facts) {
        let Object::Node(node) = object else { continue };
        if let Some(whose) = foreign_mark(node) {
            *marked.entry(whose).or_default() += 1;
        }
    }
    let told = |(whose, count): (&str, u32)| {
        let detail = format!("{} with marks of {whose}", plural(count, "node"));
        Finding::warn(
            ID,
            detail,
            "two that decide on one node undo each other's work: leave its nodes out of every VmPool",
        )
    };
    or_ok(marked.into_iter().map(told).collect(), ID, || "no node carries marks of another".to_owned())
}

fn foreign_mark(node: &Node) -> Option<&'static str> {
    let has_taint = |key: &str| node.spec.taints.iter().any(|taint| &*taint.key == key);
    if has_taint("ToBeDeletedByClusterAutoscaler") || has_taint("DeletionCandidateOfClusterAutoscaler") {
        return Some("the Cluster Autoscaler");
    }
    let is_karpenters = node.metadata.labels.contains_key("karpenter.sh/nodepool");
    is_karpenters.then_some("Karpenter")
}

/// Pods that ask for nothing take room that nobody reckons with.
fn requests(facts: &Facts) -> Vec<Finding> {
    const ID: &str = "Requests";
    let mut by_namespace: BTreeMap<&Name, (u32, u32)> = BTreeMap::new();
    for object in objects(facts) {
        let Object::Pod(pod) = object else { continue };
        if pod.is_guest() {
            let (without, all) = by_namespace.entry(&pod.metadata.namespace).or_default();
            (*without, *all) = (*without + u32::from(asks_for_nothing(pod)), *all + 1);
        }
    }
    let (without, all) = by_namespace.values().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    if without == 0 {
        return vec![Finding::ok(ID, format!("all {} ask for CPU and memory", plural(all, "pod")))];
    }
    let mut worst: Vec<_> = by_namespace.into_iter().filter(|(_, (without, _))| *without > 0).collect();
    worst.sort_by_key(|(_, (without, _))| std::cmp::Reverse(*without));
    let worst: Vec<String> =
        worst.iter().take(WORST).map(|(name, (without, all))| format!("{name} {without} of {all}")).collect();
    let detail =
        format!("{without} of {} do not ask for CPU and memory: {}", plural(all, "pod"), worst.join(", "));
    vec![Finding::warn(ID, detail, "set requests: nodes are counted by what pods ask for")]
}

fn asks_for_nothing(pod: &Pod) -> bool {
    let asks = |of: &str| {
        let whole = pod.spec.resources.iter().any(|resources| resources.requests.contains_key(of));
        let containers = &pod.spec.containers;
        whole || containers.iter().all(|container| container.resources.requests.contains_key(of))
    };
    !asks("cpu") || !asks("memory")
}

/// Disruption budgets that never let a pod go keep its node for ever.
fn disruption_budgets(facts: &Facts) -> Vec<Finding> {
    const ID: &str = "DisruptionBudgets";
    let budgets = match &facts.budgets {
        Ok(list) => items(list),
        Err(error) => return vec![Finding::warn(ID, format!("cannot be seen: {error}"), "see Permissions")],
    };
    let never = budgets.iter().filter(|budget| {
        let number = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
        number("expectedPods") > 0 && number("desiredHealthy") >= number("expectedPods")
    });
    let told = |budget: &Value| {
        let detail = format!("{} allows no pod to leave, ever", named(budget));
        Finding::warn(
            ID,
            detail,
            "its nodes are never emptied: set maxUnavailable to 1 or more, or a replica more",
        )
    };
    or_ok(never.map(told).collect(), ID, || format!("each of {} lets pods go", budgets.len()))
}

/// Whoever reaches a Ray dashboard without a token runs code in the cluster.
fn ray_dashboards(facts: &Facts) -> Vec<Finding> {
    const ID: &str = "RayDashboards";
    let services = match &facts.services {
        Ok(list) => items(list),
        Err(error) => {
            return vec![Finding::warn(
                ID,
                format!("cannot be seen: {error}"),
                "it takes the right to list services",
            )];
        }
    };
    let is_shown = |service: &&Value| {
        let is_outside = matches!(service["spec"]["type"].as_str(), Some("LoadBalancer" | "NodePort"));
        let shows =
            |port: &Value| port["port"] == 8265 || port["targetPort"] == 8265 || port["name"] == "dashboard";
        is_outside && service["spec"]["ports"].as_array().is_some_and(|ports| ports.iter().any(shows))
    };
    let told = |service: &Value| {
        let detail = format!("{} shows a Ray dashboard to whoever reaches it", named(service));
        Finding::warn(
            ID,
            detail,
            "make it a ClusterIP, or turn on Ray's token authentication: its dashboard runs jobs for anybody",
        )
    };
    or_ok(services.iter().filter(is_shown).map(told).collect(), ID, || "none is shown outside".to_owned())
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn named(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

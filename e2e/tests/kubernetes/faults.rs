//! How the API may fail, as far as a real API server can be made to fail so. The other rows of the table are tried against a
//! stand-in, in the tests of `ballast-live`.

use anyhow::{Result, ensure};
use ballast_e2e::cluster::Daemon;

use crate::stage::Stage;

/// What a user who sees everything but pods may do.
const ALL_BUT_PODS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all-but-pods}
rules:
- apiGroups: ['*']
  resources: [nodes, poddisruptionbudgets, persistentvolumes, persistentvolumeclaims, daemonsets, priorityclasses, podtemplates,
              capacitybuffers, provisioningrequests, clusterpolicies, vmpools, configmaps, secrets, leases, pods/eviction]
  verbs: ['*']
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: pods}
rules: [{apiGroups: [''], resources: [pods], verbs: ['*']}]
";

/// Nobody may cordon a node.
const NO_CORDON: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-cordon}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [UPDATE], resources: [nodes]}]}
  validations: [{expression: '!has(object.spec.unschedulable) || !object.spec.unschedulable', message: no cordon here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-cordon}
spec: {policyName: no-cordon, validationActions: [Deny]}
";

/// None of these pods may be disrupted.
const BUDGET: &str = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, \
     spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}}";

fn says(stage: &Stage, ballast: &Daemon, words: &str) -> Result<()> {
    stage.cluster.wait(words, |_| {
        ensure!(ballast.ended().is_none(), "it ended:\n{}", ballast.last_lines());
        Ok(ballast.log()?.contains(words))
    })
}

fn stops(stage: &Stage) -> usize {
    stage.cloud.machines().asked.iter().filter(|asked| asked.starts_with("stop")).count()
}

fn bind(stage: &Stage, role: &str) -> Result<()> {
    let role_flag = format!("--clusterrole={role}");
    let told =
        stage.cluster.kubectl(&["create", "clusterrolebinding", role, &role_flag, "--user=ballast"])?;
    ensure!(told.success, "{}", told.error);
    Ok(())
}

#[test]
fn f_k10_a_kind_that_is_forbidden_mid_run_holds_what_depends_on_it_until_it_is_allowed_again() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(ALL_BUT_PODS)?;
    ["all-but-pods", "pods"].into_iter().try_for_each(|role| bind(&stage, role))?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast_by("one", &stage.cluster.kubeconfig("ballast"))?;
    stage.deployment("web", 2, "2")?;
    stage.settles("web", 2, 1, &ballast)?;
    // So much stays that what goes unseen is no sudden emptiness, on which nothing would go for an hour.
    stage.deployment("other", 4, "2")?;
    stage.settles("other", 4, 3, &ballast)?;
    ensure!(stage.cluster.kubectl(&["delete", "clusterrolebinding", "pods"])?.success);
    says(&stage, &ballast, "cannot see this kind kind=\"Pod\"")?;
    stage.deployment("web", 0, "2")?;
    stage.cluster.wait("no pod", |_| Ok(stage.running("web")? == 0))?;
    ensure!(stops(&stage) == 0, "a machine went though nobody sees what is on it");
    bind(&stage, "pods")?;
    stage.settles("other", 4, 2, &ballast)
}

#[test]
fn f_k11_what_admission_refuses_is_given_up_and_nothing_goes() -> Result<()> {
    let (stage, ballast) = Stage::at_work(1)?;
    stage.cluster.apply(NO_CORDON)?;
    stage.deployment("web", 0, "2")?;
    says(&stage, &ballast, "stays: ")?;
    ensure!(stops(&stage) == 0 && stage.cloud.running() == 1, "{:?}", stage.cloud.machines().asked);
    ensure!(stage.cordoned()?.is_empty(), "it is cordoned");
    Ok(())
}

#[test]
fn f_k12_without_our_kinds_it_says_how_to_install_them_and_goes_on_once_they_are() -> Result<()> {
    let stage = Stage::without_kinds()?;
    let ballast = stage.ballast("one")?;
    says(&stage, &ballast, "ballast crd | kubectl apply")?;
    stage.install_kinds()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    stage.deployment("web", 2, "2")?;
    stage.settles("web", 2, 1, &ballast)
}

#[test]
fn f_k13_a_budget_that_allows_nothing_keeps_its_node_until_it_is_gone() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    stage.cluster.apply(BUDGET)?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 3, "1900m")?;
    stage.settles("web", 3, 2, &ballast)?;
    // One pod is left on each machine, below half of it; the budget says that both stay.
    stage.deployment("web", 2, "1900m")?;
    stage.deployment("other", 4, "1900m")?;
    stage.settles("other", 4, 3, &ballast)?;
    stage.deployment("other", 0, "1900m")?;
    stage.settles("other", 0, 2, &ballast)?;
    ensure!(stage.running("web")? == 2 && stage.cordoned()?.is_empty(), "{:?}", stage.cordoned()?);
    ensure!(stage.cluster.kubectl(&["delete", "poddisruptionbudget", "web"])?.success);
    stage.settles("web", 2, 1, &ballast)
}

#[test]
fn f_k14_a_node_that_is_deleted_below_its_machine_costs_nothing_else() -> Result<()> {
    let stage = Stage::set()?;
    // A machine that runs may become a node until its deadline, and is counted on until then.
    let policies = stage.policies("Enforce").replace("{boot: 1s}", "{boot: 1s, bootDeadline: 20s}");
    stage.cluster.apply(&policies)?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 4, "2")?;
    stage.settles("web", 4, 2, &ballast)?;
    let nodes = stage.cluster.get(&["nodes", "-o", "name"])?;
    let node = nodes.lines().next().unwrap_or_default();
    ensure!(stage.cluster.kubectl(&["delete", node])?.success);
    let name = node.trim_start_matches("node/");
    let pods = format!("--field-selector=spec.nodeName={name}");
    // What the kubelet of a machine that is still there would have ended is ended here.
    let told = stage.cluster.kubectl(&["delete", "pods", &pods, "--force", "--grace-period=0"])?;
    ensure!(told.success, "{}", told.error);
    stage.cluster.wait("four pods to run again", |_| {
        ensure!(ballast.ended().is_none(), "it ended:\n{}", ballast.last_lines());
        Ok(stage.running("web")? == 4)
    })?;
    let asked = stage.cloud.machines().asked.clone();
    let other_stops =
        asked.iter().filter(|asked| asked.starts_with("stop") && !asked.ends_with(name)).count();
    ensure!(other_stops == 0, "only the machine without a node may go: {asked:?}");
    Ok(())
}

#[test]
fn f_k14_a_node_that_flaps_is_not_taken_for_an_empty_one() -> Result<()> {
    let (stage, ballast) = Stage::at_work(1)?;
    let nodes = stage.cluster.get(&["nodes", "-o", "name"])?;
    // kwok makes it ready again each time.
    let unready =
        "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"Test\"}]}}";
    for _ in 0..10 {
        let told = stage.cluster.kubectl(&["patch", nodes.trim(), "--subresource=status", "-p", unready])?;
        ensure!(told.success, "{}", told.error);
    }
    stage.deployment("web", 4, "2")?;
    stage.settles("web", 4, 2, &ballast)?;
    ensure!(stops(&stage) == 0, "{:?}", stage.cloud.machines().asked);
    Ok(())
}

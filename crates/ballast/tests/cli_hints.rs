//! What `ballast check` and `plan` tell beside errors and plans: what is probably not meant, and what to do instead.

mod support;

use snapbox::str;

use support::{CLUSTER, ballast, cluster};

#[test]
fn what_is_probably_not_meant_is_told_and_keeps_nothing_from_being_good() {
    let scenario = "apiVersion: ballast.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  until: 1h\n  pools:\n    - name: a\n      running: 3\n      spec:\n        provider: {kind: Simulated}\n        max: 2\n        template: {allocatable: {cpu: 8, memory: 32Gi, nvidia.com/gpu: 2}, gpuModel: H100}\n  workloads:\n    - {name: v, requests: {nvidia.com/gpu: 4}}\n    - {name: w, requests: {cpu: 1}, gpuModels: [h100]}\n";
    let told = ballast(&["check", "-"]).stdin(scenario).assert().success();
    told.stdout_eq(str![[r#"
KIND       GOOD
Scenario      1

"#]])
        .stderr_eq(str![[r#"
warning: spec.pools[0].running: 3 run at the start, more than `max`, which is 2
 --> -:8:16
  |
8 |       running: 3
  |                ^

warning: spec.workloads[0].requests["nvidia.com/gpu"]: 4 is more than any machine has, which is 2 at most
  --> -:14:44
   |
14 |     - {name: v, requests: {nvidia.com/gpu: 4}}
   |                                            ^

warning: spec.workloads[1].gpuModels: no machine has GPUs of the model `h100`; did you mean `H100`?
  --> -:15:37
   |
15 |     - {name: w, requests: {cpu: 1}, gpuModels: [h100]}
   |                                     ^^^^^^^^^


"#]]);
}

#[test]
fn what_a_pod_cannot_ask_for_is_refused_with_what_can_be() {
    let scenario = "apiVersion: ballast.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  until: 1h\n  workloads:\n    - {name: v, requests: {cpus: 1, nvidia.com/gpu: 0.5}}\n";
    ballast(&["check", "-"]).stdin(scenario).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: spec.workloads[0].requests.cpus: there is no resource `cpus`; did you mean `cpu`?
 --> -:7:34
  |
7 |     - {name: v, requests: {cpus: 1, nvidia.com/gpu: 0.5}}
  |                                  ^

error: spec.workloads[0].requests["nvidia.com/gpu"]: 0.5 is no whole number of GPUs; a share of one GPU is told in thousandths: write `gpuMilli: 500` instead
 --> -:7:53
  |
7 |     - {name: v, requests: {cpus: 1, nvidia.com/gpu: 0.5}}
  |                                                     ^^^

2 problems; nothing was loaded

"#]]);
    let fraction = scenario.replace("{cpus: 1, nvidia.com/gpu: 0.5}", "{cpu: 1}, gpuMilli: 0.5");
    ballast(&["check", "-"]).stdin(fraction).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: spec.workloads[0].gpuMilli: a share is told in thousandths of one GPU: did you mean `500`?
 --> -:7:47
  |
7 |     - {name: v, requests: {cpu: 1}, gpuMilli: 0.5}
  |                                               ^^^

1 problem; nothing was loaded

"#]]);
}

#[test]
fn a_template_that_is_not_like_its_nodes_is_told() {
    let smaller = cluster().replace("memory: 32Gi, pods", "memory: 16Gi, pods");
    ballast(&["check", "-"]).stdin(smaller).assert().success().stderr_eq(str![[r#"
warning: spec.template.allocatable.memory: a new node would have 32Gi of memory, but the nodes of the pool have up to 16Gi
 --> -:9:18
  |
9 | metadata: {name: plain}
  |                  ^^^^^
  = help: write what `kubectl get node -o yaml` shows as `allocatable`


"#]]);
}

#[test]
fn a_policy_by_a_name_that_no_cluster_takes_is_doubted() {
    let renamed = cluster().replacen("name: cluster", "name: default", 1);
    ballast(&["check", "-"]).stdin(renamed).assert().success().stderr_eq(str![[r#"
warning: metadata.name: a cluster would refuse the name `default`
 --> -:4:18
  |
4 | metadata: {name: default}
  |                  ^^^^^^^
  = help: its one ClusterPolicy is named `cluster`


"#]]);
}

#[test]
fn headroom_that_is_not_there_says_why() {
    let short = cluster().replace("  max: 4", "  max: 2\n  headroom: [{requests: {cpu: 8}, count: 3}]");
    let told = ballast(&["plan", "-f", "-"]).stdin(short).assert().code(2);
    told.stdout_eq(str![[r#"
...
Headroom that is not there:
  POOL    WHAT BINDS
  plain   the pool's max leaves too little room; raise it to let this pool serve

1 to start, 1 pod waiting, 1 pod that cannot be served, looks again in 1m

"#]]);
}

#[test]
fn a_plan_before_what_is_remembered_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first.json");
    let answer = ballast(&["plan", "-f", CLUSTER, "-o", "json"]).output().unwrap();
    std::fs::write(&first, answer.stdout).unwrap();
    let args = ["plan", "-f", CLUSTER, "--memory", first.to_str().unwrap(), "--now", "2026-11-15T05:00:00Z"];
    ballast(&args).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: the plan would be for 2026-11-15T05:00:00Z, before 2026-11-15T06:00:00Z, up to which the memory remembers

hint: give a later time, such as `--now 10m`: a duration counts from the memory's time

"#]]);
}

#[test]
fn a_plan_names_what_it_does_not_read_and_what_has_no_price() {
    let others = cluster().replace("  price: {perHour: 0.4}\n", "")
        + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n";
    ballast(&["plan", "-f", "-", "-o", "name"]).stdin(others).assert().code(2).stderr_eq(str![[r#"
note: not read: 1 Deployment (apps/v1)
note: no pool has a price, so each node counts as 1.00 USD an hour

"#]]);
}

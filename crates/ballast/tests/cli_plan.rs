//! `ballast plan` and `import` as people type them: what becomes of documents that are good.

mod support;

use snapbox::str;

use support::{CLUSTER, ballast, cluster, stdout};

#[test]
fn a_plan_names_what_it_does_not_act_upon_yet() {
    let ray = "../../docs/reference/examples/ray-scaler.yaml";
    ballast(&["plan", "-f", CLUSTER, "-f", ray, "-o", "name"]).assert().code(2).stderr_eq(str![[r#"
note: 1 of kind RayScaler read, but not acted upon yet

"#]]);
    let guaranteed = cluster().replace(
        "mode: Enforce,",
        "mode: Enforce, guarantees: [{namespaces: [serving], resources: {cpu: 4}}],",
    );
    ballast(&["plan", "-f", "-", "-o", "name"]).stdin(guaranteed).assert().code(2).stderr_eq(str![[r#"
note: 1 of the ClusterPolicy's guarantees read, but not acted upon yet

"#]]);
    let pool = "../../docs/reference/examples/vm-pool.yaml";
    let spot = std::fs::read_to_string(pool).unwrap().replace("price: {", "price: {spot: true, ");
    let told = ballast(&["plan", "-f", CLUSTER, "-f", "-", "-o", "name"]).stdin(spot).assert().code(2);
    told.stderr_eq(str![[r#"
warning: spec.provider.settings.endpoint: `machines.example.com` is not in `allowedHosts` of the ClusterPolicy, so it is never called
 --> -:3:18
  |
3 | metadata: {name: gpu-a100}
  |                  ^^^^^^^^
  = help: add `machines.example.com:443` to `allowedHosts`

note: 1 of the VmPools' price.spot read, but not acted upon yet
note: 1 of the VmPools' members.group read, but not acted upon yet
note: the instances of `gpu-a100` were not given: each of its nodes is taken to run, and none to be stopped

"#]]);
}

#[test]
fn a_plan_that_nobody_would_follow_says_so() {
    let observe = cluster().replace("mode: Enforce", "mode: Observe");
    ballast(&["plan", "-f", "-", "-o", "name"]).stdin(observe).assert().code(2).stderr_eq(str![[r#"
note: the ClusterPolicy says `mode: Observe`, so live nothing of this would be done: `Enforce` does it

"#]]);
    let recommend = cluster().replace("mode: Enforce", "mode: Recommend");
    ballast(&["plan", "-f", "-", "-o", "name"]).stdin(recommend).assert().code(2).stderr_eq(str![[r#"
note: the ClusterPolicy says `mode: Recommend`, so live this would be proposed: `ballast approve` lets it be done

"#]]);
    let pools = cluster()
        .replace("kind: VmPool", "kind: Pool")
        .replace("ballast.dev/v1alpha1\nkind: Pool", "example.com/v1\nkind: Pool");
    let documents: Vec<&str> =
        pools.split("---\n").filter(|text| !text.contains("kind: Observation")).collect();
    let told = ballast(&["plan", "-f", "-", "-o", "name"]).stdin(documents.join("---\n")).assert().code(0);
    told.stderr_eq(str![[r#"
note: not read: 1 Pool (example.com/v1)
note: there is no VmPool, so nothing can be started or stopped: add one

"#]]);
}

#[test]
fn since_when_a_pod_waits_is_told_where_it_says_when_it_was_made() {
    let told = |cluster: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cluster.yaml");
        std::fs::write(&path, cluster).unwrap();
        stdout(&["status", "--from", path.to_str().unwrap()])
    };
    let dated = cluster();
    assert!(told(&dated).contains(" × ml/"), "{}", told(&dated));
    assert!(told(&dated).contains(" for 2m:"), "{}", told(&dated));
    let bare: String = dated
        .lines()
        .map(|line| line.replace(", creationTimestamp: 2026-11-15T05:58:00Z", "") + "\n")
        .collect();
    assert!(!told(&bare).contains(" for 2"), "{}", told(&bare));
}

#[test]
fn a_pool_that_has_no_node_is_named() {
    let other = cluster().replace("labels: {pool: plain}}\nspec", "labels: {pool: plane}}\nspec");
    // Who tells its machines says by that which node is its own.
    ballast(&["plan", "-f", "-", "-o", "name"]).stdin(&*other).assert().stderr_eq(str![]);
    let other: Vec<&str> = other.split("---\n").filter(|text| !text.contains("kind: Observation")).collect();
    let other = other.join("---\n");
    ballast(&["plan", "-f", "-", "-o", "name"]).stdin(other).assert().stderr_eq(str![[r#"
warning: spec.members: no node belongs to the VmPool `plain`, and 1 node belongs to no pool
...
  = help: nodes belong by `members` or by the label ballast.dev/pool=plain


"#]]);
}

#[test]
fn an_imported_scenario_has_a_good_name() {
    let args = ["import", "kubectl", CLUSTER, "--name", "My Cluster"];
    ballast(&args).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: invalid value 'My Cluster' for '--name <NAME>': `My Cluster` is not a name that Kubernetes allows: write lower-case letters, digits, `-` and `.`, at most 253 in all, a letter or digit at each end of every part

For more information, try '--help'.

"#]]);
}

#[test]
fn a_pause_says_what_is_paused_and_why() {
    let why = "pause: {up: true, reason: disks are being moved}";
    let pool = cluster().replace("  max: 4", &format!("  max: 4\n  {why}"));
    let told = ballast(&["plan", "-f", "-"]).stdin(pool).assert().code(0);
    told.stdout_eq(str![[r#"
Held on purpose:
  SUBJECT      UNTIL   WHY
  pool plain           paused by a person: disks are being moved; `ballast resume` lifts it

Cannot be served:
  SUBJECT       WHERE               WHAT BINDS
  pod ml/huge   new node of plain   a new node of this pool would not do: too few free GPUs
  pod ml/huge   1 node there        too few free GPUs
  pod ml/b      new node of plain   the pool is paused: disks are being moved
  pod ml/b      1 node there        not enough cpu

Nothing to change, 2 pods that cannot be served, 1 held, looks again in 1m

"#]]);
    let whole = cluster().replace("mode: Enforce,", &format!("mode: Enforce, {why},"));
    let told = ballast(&["plan", "-f", "-"]).stdin(whole).assert().code(0);
    told.stdout_eq(str![[r#"
Held on purpose:
  SUBJECT   UNTIL   WHY
  cluster           paused by a person: disks are being moved; `ballast resume` lifts it

Cannot be served:
  SUBJECT       WHERE               WHAT BINDS
  pod ml/huge   new node of plain   a new node of this pool would not do: too few free GPUs
  pod ml/huge   1 node there        too few free GPUs
  pod ml/b      new node of plain   the cluster is paused: disks are being moved
  pod ml/b      1 node there        not enough cpu

Nothing to change, 2 pods that cannot be served, 1 held, looks again in 1m

"#]]);
}

#[test]
fn what_is_no_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.yaml");
    let plan = |memory: &str| {
        std::fs::write(&path, memory).unwrap();
        ballast(&["plan", "-f", CLUSTER, "-o", "name", "--memory", path.to_str().unwrap()]).assert()
    };
    plan("{}").code(2);
    plan("history: {idleSince: {plain-0: 2026-11-15T05:00:00Z}}").code(2);
    plan("histry: {idleSince: {plain-0: 2026-11-15T05:00:00Z}}").code(1).stdout_eq(str![]).stderr_eq(str![[
        r#"
error: histry: there is no field `histry`
 --> [..]memory.yaml:1:1
  |
1 | histry: {idleSince: {plain-0: 2026-11-15T05:00:00Z}}
  | ^^^^^^
  = allowed: `version`, `ledger` or `history`
  = help: did you mean `history`?

1 problem; nothing was loaded

hint: give what `ballast plan -o json` printed, or the `memory` in it

"#
    ]]);
    plan("now: 2026-11-15T05:00:00Z\nmemory: {history: {idle: {}}}").code(1).stderr_eq(str![[r#"
error: memory.history.idle: there is no field `idle`
 --> [..]memory.yaml:2:20
  |
2 | memory: {history: {idle: {}}}
  |                    ^^^^
  = allowed: `idleSince`, `boots`, `gangs`, `metrics`, `jobs`, `ray` or `spark`

1 problem; nothing was loaded

hint: give what `ballast plan -o json` printed, or the `memory` in it

"#]]);
    plan("version: 2").code(1).stderr_eq(str![[r#"
error: [..]memory.yaml is a memory of version 2

hint: this program knows version 1

"#]]);
    plan("").code(1).stderr_eq(str![[r#"
error: [..]memory.yaml is empty

hint: did the command that should have written it fail?

"#]]);
    plan(&"[".repeat(100_000)).code(1);
}

#[test]
fn a_duration_counts_from_the_answer_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("first.json");
    let bare = cluster()
        .split("---\n")
        .filter(|text| !text.contains("kind: Observation"))
        .collect::<Vec<_>>()
        .join("---\n");
    let plan = |args: &[&str]| {
        let args = [&["plan", "-f", "-", "-o", "json"], args].concat();
        let output = ballast(&args).stdin(bare.clone()).output().unwrap();
        (output.stdout.clone(), serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap())
    };
    std::fs::write(&path, plan(&["--now", "2026-11-15T06:00:00Z"]).0).unwrap();
    let (_, second) = plan(&["--memory", path.to_str().unwrap(), "--now", "10m"]);
    assert_eq!(second["now"], "2026-11-15T06:10:00Z");
}

#[test]
fn a_plan_says_what_would_be_done_and_what_not_and_why() {
    ballast(&["plan", "-f", CLUSTER])
        .assert()
        .code(2)
        .stdout_eq(str![[r#"
ACTION   TARGET    POOL    REASON
start    plain-1   plain   room is missing for 1 pending pod

Waiting:
  SUBJECT    WAITS FOR
  pod ml/b   fits on nodes of plain that this plan starts

Cannot be served:
  SUBJECT       WHERE               WHAT BINDS
  pod ml/huge   new node of plain   a new node of this pool would not do: too few free GPUs
  pod ml/huge   1 node there        too few free GPUs

1 to start, 1 pod waiting, 1 pod that cannot be served, looks again in 1m

"#]])
        .stderr_eq(str![]);
}

#[test]
fn a_wide_plan_says_more() {
    ballast(&["plan", "-f", CLUSTER, "-o", "wide"]).assert().code(2).stdout_eq(str![[r#"
ID   ACTION   TARGET    POOL    FROM      TO        AFTER   BOUND BY   REASON
a1   start    plain-1   plain   Stopped   Running                      room is missing for 1 pending pod

Waiting:
  SUBJECT    WAITS FOR
  pod ml/b   fits on nodes of plain that this plan starts

Cannot be served:
  SUBJECT       WHERE               WHAT BINDS
  pod ml/huge   new node of plain   a new node of this pool would not do: too few free GPUs
  pod ml/huge   1 node there        too few free GPUs

Weighed:
  WHAT                VERDICT
  pod ml/b on plain   taken: 1 node for 1 pod, 0.40 per hour, 62.5% unused

1 to start, 1 pod waiting, 1 pod that cannot be served, looks again in 1m

"#]]);
}

#[test]
fn a_plan_for_programs_has_the_published_form() {
    let plan: serde_json::Value =
        serde_json::from_str(&stdout(&["plan", "-f", CLUSTER, "-o", "json"])).unwrap();
    assert_eq!(plan["schemaVersion"], 1);
    assert_eq!(plan["now"], "2026-11-15T06:00:00Z", "the instant of the newest observation");
    assert_eq!(plan["actions"][0]["target"]["providerId"], "x://plain-1");
    assert_eq!(plan["memory"]["version"], 1);
    for part in ["holds", "skipped", "waiting", "infeasible", "unmodelled", "promises", "trace"] {
        assert!(plan["report"][part].is_array(), "{part}");
    }
    assert!(stdout(&["plan", "-f", CLUSTER, "-o", "yaml"]).contains("schemaVersion: 1\n"));
    assert_eq!(stdout(&["plan", "-f", CLUSTER, "-o", "name"]), "instance/plain-1\n");
}

#[test]
fn the_same_input_gives_the_same_bytes_from_a_file_or_a_pipe() {
    let args = ["plan", "-f", "-", "-o", "json"];
    let piped = ballast(&args).stdin(cluster()).output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), stdout(&["plan", "-f", CLUSTER, "-o", "json"]));
}

#[test]
fn memory_goes_in_bare_or_within_an_earlier_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, bare) = (folder.path().join("whole.json"), folder.path().join("bare.json"));
    let answer = stdout(&["plan", "-f", CLUSTER, "-o", "json"]);
    let value: serde_json::Value = serde_json::from_str(&answer).unwrap();
    std::fs::write(&whole, &answer).unwrap();
    std::fs::write(&bare, value["memory"].to_string()).unwrap();
    let with = |file: &std::path::Path| {
        stdout(&["plan", "-f", CLUSTER, "-o", "json", "--now", "1m", "--memory", file.to_str().unwrap()])
    };
    assert_eq!(with(&whole), with(&bare));
    assert!(with(&whole).contains("2026-11-15T06:01:00Z"));
    let bad = folder.path().join("bad.json");
    std::fs::write(&bad, "{\"ledger\": 7}").unwrap();
    let refused = ballast(&["plan", "-f", CLUSTER, "--memory", bad.to_str().unwrap()]).assert().code(1);
    refused.stdout_eq(str![]).stderr_eq(str![[r#"
error: ledger: the number 7 is not allowed here
 --> [..]bad.json:1:12
  |
1 | {"ledger": 7}
  |            ^
  = allowed: a mapping of fields

1 problem; nothing was loaded

hint: give what `ballast plan -o json` printed, or the `memory` in it

"#]]);
}

#[test]
fn nothing_to_change_ends_with_zero() {
    let all = cluster();
    let quiet =
        all.split("---\n").filter(|document| !document.contains("Pending")).collect::<Vec<_>>().join("---\n");
    let done = ballast(&["plan", "-f", "-"]).stdin(quiet).assert().code(0);
    done.stdout_eq(str![[r#"
Nothing to change, looks again in 1m

"#]])
        .stderr_eq(str![]);
}

#[test]
fn bad_input_prints_nothing_but_what_is_wrong() {
    for (bytes, words) in [
        (&b"\xff\xfe\x00"[..], "UTF-8"),
        (b"{\"a\": ", "cut off"),
        (b"kind: [", "error"),
        (b"apiVersion: ballast.dev/v1alpha1\nkind: VmPoll\nmetadata: {name: a}\nspec: {}\n", "VmPool"),
    ] {
        let refused = ballast(&["plan", "-f", "-"]).stdin(bytes.to_vec()).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(refused.stdout.is_empty());
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(told.contains(words), "{told}");
    }
    ballast(&["plan"]).assert().code(1).stdout_eq(str![]);
    ballast(&["plan", "-f", CLUSTER, "--now", "yesterday"]).assert().code(1).stderr_eq(str![[r#"
error: invalid value 'yesterday' for '--now <T>': write a time such as 2026-11-15T06:00:00Z or a duration such as 10m

For more information, try '--help'.

"#]]);
}

#[test]
fn a_dump_becomes_a_scenario_that_can_be_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("today.yaml");
    let to = to.to_str().unwrap();
    ballast(&["import", "kubectl", CLUSTER, "--name", "today", "--to", to])
        .assert()
        .success()
        .stdout_eq(str![]);
    ballast(&["check", "-f", to]).assert().success();
    assert_eq!(stdout(&["simulate", to, "--until", "1h", "-o", "name"]), "scenario/today\n");
}

#[test]
fn a_trace_becomes_a_scenario_or_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (nodes, pods) = (folder.path().join("nodes.csv"), folder.path().join("pods.csv"));
    std::fs::write(&nodes, "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,65536,2,T4\n").unwrap();
    let head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time";
    std::fs::write(&pods, format!("{head}\np0,1000,1024,1,1000,,LS,Running,0,3600,0\n")).unwrap();
    let args = ["import", "openb", nodes.to_str().unwrap(), pods.to_str().unwrap()];
    let scenario = stdout(&args);
    assert!(scenario.starts_with("apiVersion: ballast.dev/v1alpha1\nkind: Scenario\n"), "{scenario}");
    std::fs::write(&pods, format!("{head}\np0,many,1024,1,1000,,LS,Running,0,3600,0\n")).unwrap();
    let refused = ballast(&args).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("line 2, column 4"), "{told}");
}

#[test]
fn what_holds_nothing_of_a_cluster_is_not_an_empty_plan() {
    let scenario = "../../scenarios/demo.yaml";
    ballast(&["plan", "-f", scenario]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: there is nothing of a cluster in what was given

hint: give what `kubectl get nodes,pods,pdb -A -o json` printed, and VmPools; a Scenario is run by `ballast simulate`

"#]]);
    ballast(&["import", "kubectl", scenario]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: there is nothing of a cluster in what was given

hint: give what `kubectl get nodes,pods,pdb,daemonsets -A -o json` printed

"#]]);
}

#[test]
fn a_dump_that_was_not_made_is_no_cluster_without_nodes() {
    let pools = "../../docs/reference/examples/vm-pool.yaml";
    for command in [&["plan", "-f", "-", "-f", pools][..], &["import", "kubectl", "-", pools]] {
        ballast(command).stdin("\n").assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: standard input is empty

hint: did the command that should have written it fail?

"#]]);
    }
    let nothing = r#"{"apiVersion": "v1", "kind": "List", "items": []}"#;
    let planned = ballast(&["plan", "-f", "-", "-f", pools]).stdin(nothing).assert();
    let said = String::from_utf8_lossy(&planned.get_output().stderr).into_owned();
    assert!(said.contains("note: no node and no pod was given"), "{said}");
    ballast(&["import", "kubectl", "-", pools]).stdin(nothing).assert().code(1);
}

#[test]
fn machines_that_were_made_up_and_requests_of_others_are_told() {
    let more = "apiVersion: ballast.dev/v1alpha1
kind: VmPool
metadata: {name: other}
spec:
  provider: {kind: Simulated}
  members: {namePrefix: other-}
  template: {allocatable: {cpu: 8, memory: 32Gi}}
  max: 2
  price: {perHour: 9}
---
apiVersion: v1
kind: PodTemplate
metadata: {name: t, namespace: ml}
template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}
---
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata: {name: theirs, namespace: ml}
spec: {provisioningClassName: queued.example.com, podSets: [{podTemplateRef: {name: t}, count: 1}]}
---
apiVersion: v1
kind: Node
metadata: {name: other-0, uid: o0}
spec: {providerID: \"x://other-0\"}
status: {allocatable: {cpu: \"8\", memory: 32Gi, pods: \"110\"}, conditions: [{type: Ready, status: \"True\"}]}
";
    let told = ballast(&["plan", "-f", CLUSTER, "-f", "-", "-o", "name"]).stdin(more).assert();
    told.stderr_eq(str![[r#"
note: the instances of `other` were not given: each of its nodes is taken to run, and none to be stopped
note: 1 of kind ProvisioningRequest left to others, by `provisioningClassName`

"#]]);
}

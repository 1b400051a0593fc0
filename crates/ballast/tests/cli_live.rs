//! The commands that look at a cluster, here at documents and records instead: `status`, `plan`, `diff`, `record`.
#![cfg(feature = "live")]

use std::path::Path;

use snapbox::cmd::{Command, cargo_bin};
use snapbox::str;

const FROM: [&str; 2] = ["--from", "tests/documents"];

fn ballast(args: &[&str]) -> Command {
    Command::new(cargo_bin!("ballast"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("COLUMNS", "100")
        .env("KUBECONFIG", "/nowhere/config")
}

#[test]
fn status_tells_what_is_there() {
    ballast(&[&["status"], &FROM[..]].concat()).assert().code(0).stderr_eq(str![]).stdout_eq(str![[r#"
tests/documents   mode Enforce
2026-11-15 06:00:00 UTC   $0.40/h   2 pods waiting   1 plan

POOL    READY   STARTING   LEAVING   STOPPED   MAX   CPU             MEMORY          GPU   COST/H
plain       1          ·         ·         1     4   ██████░░  75%   ░░░░░░░░   0%   ·       0.40

waiting   ✓ 1 × ml/b for 2m: Nodes are being started for it (6 CPU each)
          ✕ 1 × ml/huge for 2m: No node of any pool could ever serve it (1 GPU, 60 CPU each)
plan      ▲ start plain-1: room is missing for 1 pending pod
sources   the oldest of [..] answers is 0s old: Instances of plain

"#]]);
    ballast(&[&["status", "-o", "name"], &FROM[..]].concat()).assert().code(0).stdout_eq(str![[r#"
vmpool/plain

"#]]);
}

#[test]
fn top_prints_the_status_once_where_nobody_watches() {
    let said = |command: &str| ballast(&[&[command], &FROM[..]].concat()).output().unwrap();
    let (top, status) = (said("top"), said("status"));
    assert_eq!((top.status.code(), top.stdout), (Some(0), status.stdout));
}

/// The status of documents that were changed a little.
fn status_of(change: impl Fn(&str) -> String) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.yaml");
    let cluster = std::fs::read_to_string("tests/documents/cluster.yaml").unwrap();
    std::fs::write(&path, change(&cluster)).unwrap();
    let seen = ballast(&["status", "--from", path.to_str().unwrap()]).output().unwrap();
    (String::from_utf8(seen.stdout).unwrap(), String::from_utf8(seen.stderr).unwrap())
}

/// The same documents with nobody telling of machines: a node is a pool's by `members` alone then.
fn without_instances(text: &str) -> String {
    text.split("---\n").filter(|part| !part.contains("kind: Observation")).collect::<Vec<_>>().join("---\n")
}

#[test]
fn status_promises_no_node_that_nobody_starts() {
    let told = |mode: &str| status_of(|text| text.replace("mode: Enforce", &format!("mode: {mode}"))).0;
    assert!(told("Enforce").contains("✓ 1 × ml/b for 2m: Nodes are being started for it"));
    assert!(told("Recommend").contains("… 1 × ml/b for 2m: Nodes for it are proposed; `ballast approve`"));
    assert!(told("Observe").contains("… 1 × ml/b for 2m: Nodes would be started for it in mode Enforce"));
}

#[test]
fn status_tells_nodes_that_belong_to_no_pool() {
    let (told, warned) = status_of(|text| {
        without_instances(&text.replace("labels: {pool: plain}}\nspec", "labels: {pool: plane}}\nspec"))
    });
    assert!(told.contains("no pool   1 node of no VmPool: plain-0"), "{told}");
    assert!(
        warned.contains("no node belongs to the VmPool `plain`, and 1 node belongs to no pool"),
        "{warned}"
    );
}

#[test]
fn status_names_a_gang() {
    let gang =
        "labels: {ballast.dev/gang: bert}, annotations: {ballast.dev/gang-size: '2'}, name: b, namespace: ml";
    let (told, _) = status_of(|text| text.replace("name: b, namespace: ml", gang));
    assert!(told.contains("… 1 × gang ml/bert for 2m: Waits for its gang"), "{told}");
}

#[test]
fn a_plan_of_documents_is_carried_out_by_nobody() {
    let get = ["get", "cpol", "-o", "json", "--from", "tests/documents"];
    let list: serde_json::Value = serde_json::from_slice(&ballast(&get).output().unwrap().stdout).unwrap();
    assert_eq!(list["items"][0]["status"]["plan"]["state"], "Planned");
}

#[test]
fn a_scenario_is_no_cluster() {
    for command in ["status", "get", "top", "plan"] {
        let said =
            ballast(&[command, "--from", "../../scenarios/demo.yaml"]).assert().code(1).stdout_eq(str![]);
        said.stderr_eq(str![[r#"
error: there is nothing of a cluster in what was given

hint: give what `kubectl get nodes,pods,pdb -A -o json` printed, and VmPools; a Scenario is run by `ballast simulate`

"#]]);
    }
}

#[test]
fn a_plan_from_what_was_kept_is_the_plan_from_the_documents() {
    let from = ballast(&[&["plan", "-o", "json"], &FROM[..]].concat()).output().unwrap();
    let files = ballast(&["plan", "-o", "json", "-f", "tests/documents"]).output().unwrap();
    assert_eq!((from.status.code(), files.status.code()), (Some(2), Some(2)));
    let actions = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap()["actions"].clone();
    assert_eq!(actions(&from.stdout), actions(&files.stdout));
    ballast(&["plan", "--now", "10m"]).assert().code(1).stderr_eq(str![[r#"
error: the following required arguments were not provided:
  --file <PATH>...

Usage: ballast plan --file <PATH>... --now <T>

For more information, try '--help'.

"#]]);
}

#[test]
fn diff_tells_what_only_one_plan_does() {
    let paused = std::fs::read_to_string("tests/documents/cluster.yaml").unwrap();
    let paused = paused.replace("  max: 4", "  max: 4\n  pause: {up: true}");
    ballast(&[&["diff", "-f", "-"], &FROM[..]].concat()).stdin(paused).assert().code(2).stdout_eq(str![[
        r#"
PLAN       ACTION   TARGET    WHY                                 WHY NOT IN THE OTHER
only now   start    plain-1   room is missing for 1 pending pod   the pool is paused

"#
    ]]);
    // Enforce to Observe plans the same, and nobody does it then.
    let observe = std::fs::read_to_string("tests/documents/cluster.yaml").unwrap();
    let observe = observe.replace("mode: Enforce", "mode: Observe");
    ballast(&[&["diff", "-f", "-"], &FROM[..]].concat()).stdin(observe).assert().code(2).stdout_eq(str![[
        r#"
mode Enforce now, Observe then: a plan is only made
both plans do the same

"#
    ]]);
    let same = ["diff", "-f", "tests/documents", "--from", "tests/documents"];
    ballast(&same).assert().code(0).stdout_eq(str![[r#"
both plans do the same

"#]]);
    ballast(&[&["diff", "-f", "tests/documents/observation.yaml"], &FROM[..]].concat()).assert().code(1);
}

#[test]
fn diff_with_a_new_pool_tells_what_it_would_do() {
    let pool = "apiVersion: ballast.dev/v1alpha1
kind: VmPool
metadata: {name: large}
spec:
  provider: {kind: External, settings: {endpoint: 'https://machines.example.com'}}
  members: {namePrefix: large-}
  template: {allocatable: {cpu: 64, memory: 256Gi, nvidia.com/gpu: 1}}
  max: 2
  price: {perHour: 5}
";
    ballast(&[&["diff", "-f", "-"], &FROM[..]].concat()).stdin(pool).assert().code(2).stdout_eq(str![[r#"
PLAN        ACTION   TARGET    WHY                                 WHY NOT IN THE OTHER
only then   create   large-[..]   room is missing for 1 pending pod

"#]]);
}

#[test]
fn what_is_recorded_replays_and_can_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records");
    let records = records.to_str().unwrap();
    for number in 1..=2 {
        let said = ballast(&[&["record", records], &FROM[..]].concat()).assert().code(0).get_output().clone();
        let said = String::from_utf8(said.stdout).unwrap();
        assert!(said.contains(&format!("ballast-0000000{number}.jsonl: 4 entries")), "{said}");
    }
    ballast(&["replay", records]).assert().code(0).stdout_eq(str![[r#"
8 entries and 2 plans, all as they were

"#]]);
    ballast(&["plan", "--from", records, "-o", "name"]).assert().code(2).stdout_eq(str![[r#"
instance/plain-1

"#]]);
    let file = Path::new(records).join("ballast-00000001.jsonl");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "a record is for the eyes of its owner alone");
}

#[test]
fn without_a_cluster_every_command_says_so_with_a_hint() {
    let commands: [&[&str]; 7] = [
        &["plan"],
        &["status"],
        &["top"],
        &["doctor"],
        &["record", "records"],
        &["pause", "cluster", "--reason", "a test"],
        &["resume", "cluster"],
    ];
    let folder = tempfile::tempdir().unwrap();
    for command in commands {
        ballast(command).current_dir(folder.path()).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: cannot connect to the cluster
  caused by: the kubeconfig /nowhere/config: [..]

hint: `kubectl config get-contexts` says what kubectl makes of it; another one is named by --kubeconfig and --context

"#]]);
    }
}

#[test]
fn get_takes_kinds_and_names_as_kubectl_does() {
    let name = |args: &[&str]| ballast(&[&["get", "-o", "name"], args, &FROM[..]].concat()).assert();
    name(&["vmpool/plain"]).code(0).stdout_eq(str![[r#"
vmpool.ballast.dev/plain

"#]]);
    name(&["vmpol"]).code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: there is no kind `vmpol`

hint: did you mean `VmPool`?

"#]]);
}

#[test]
fn a_context_is_of_no_use_for_what_was_kept() {
    ballast(&[&["status", "--context", "staging"], &FROM[..]].concat()).assert().code(1).stdout_eq(str![]);
    ballast(&["plan", "-f", "tests/documents", "--context", "staging"]).assert().code(1).stdout_eq(str![]);
}

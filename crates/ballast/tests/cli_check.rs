//! `ballast check` as people type it.

mod support;

use snapbox::str;

use support::{CLUSTER, ballast, cluster, stdout};

#[test]
fn good_documents_are_counted() {
    ballast(&["check", "-f", "tests/documents"])
        .assert()
        .success()
        .stdout_eq(str![[r#"
KIND            GOOD
ClusterPolicy      1
Node               1
Observation        1
Pod                3
VmPool             1

"#]])
        .stderr_eq(str![]);
}

#[test]
fn an_annotation_of_a_mebibyte_is_refused_with_its_place() {
    let value = "x".repeat(1 << 20);
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n    karpenter.sh/do-not-disrupt: {value}\n"
    );
    let told = str![[r#"
error: metadata.annotations["karpenter.sh/do-not-disrupt"]: the annotation has 1024 KiB, and an object's annotations at most 256 KiB
 --> [..]:6:34
...
1 problem; nothing was loaded

"#]];
    ballast(&["check", "-f", "-"]).stdin(pod).assert().code(1).stdout_eq(str![]).stderr_eq(told);
}

#[test]
fn every_slip_is_told_with_its_place_and_what_was_meant() {
    ballast(&["check", "-f", "tests/slips"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: spec.scaleDown.idelAfter: there is no field `idelAfter`
 --> tests/slips/pool.yaml:9:15
  |
9 |   scaleDown: {idelAfter: 5m, barePods: Blok}
  |               ^^^^^^^^^
  = allowed: `enabled`, `idleAfter`, `unreadyAfter`, `utilisation`, `coolDown`, `waitForCompletion`, `barePods`, `localStorage` or `payback`
  = help: did you mean `idleAfter`?

error: spec.scaleDown.barePods: `Blok` is not allowed here
 --> tests/slips/pool.yaml:9:40
  |
9 |   scaleDown: {idelAfter: 5m, barePods: Blok}
  |                                        ^^^^
  = allowed: `Block` or `Evict`
  = help: did you mean `Block`?

2 problems; nothing was loaded

"#]]);
}

#[test]
fn a_scenario_is_checked_as_finely() {
    let scenario = "apiVersion: ballast.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  until: 0s\n  expect: {cost: [2, 1]}\n";
    let told = ballast(&["check", "-f", "-"]).stdin(scenario).assert().code(1);
    told.stdout_eq(str![]).stderr_eq(str![[r#"
error: spec.until: a scenario lasts some time: write a duration such as `1d`
 --> -:5:10
  |
5 |   until: 0s
  |          ^^

error: spec.expect.cost: write the least and the greatest, the smaller first
 --> -:6:12
  |
6 |   expect: {cost: [2, 1]}
  |            ^^^^

2 problems; nothing was loaded

"#]]);
}

#[test]
fn a_scenario_says_nothing_in_vain() {
    let scenario = "apiVersion: ballast.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  until: 1h\n  workloads:\n    - {name: late, arrivals: {at: [2h]}, labels: {app: x}}\n  budgets:\n    - {name: b, selector: {matchLabels: {app: y}}, minAvailable: 1}\n";
    let told = ballast(&["check", "-"]).stdin(scenario).assert().code(1);
    told.stdout_eq(str![]).stderr_eq(str![[r#"
error: spec.workloads[0].arrivals: none ever comes: the first is due after 2h, the end is after 1h
 --> -:7:20
  |
7 |     - {name: late, arrivals: {at: [2h]}, labels: {app: x}}
  |                    ^^^^^^^^

error: spec.budgets[0].selector: it protects no pod: no workload of its namespace has labels that it selects
 --> -:9:17
  |
9 |     - {name: b, selector: {matchLabels: {app: y}}, minAvailable: 1}
  |                 ^^^^^^^^

2 problems; nothing was loaded

"#]]);
}

#[test]
fn nothing_is_not_good() {
    ballast(&["check", "-"]).stdin("# only a comment\n").assert().code(1).stdout_eq(str![]).stderr_eq(str![
        [r#"
error: there is no document in what was given

"#]
    ]);
    ballast(&["check", "/dev/null"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: /dev/null is empty

hint: did the command that should have written it fail?

"#]]);
    // A wrong folder does not pass in CI; beside what is read, what is not is counted.
    let web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n";
    ballast(&["check", "-"]).stdin(web).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: nothing in what was given is read: 1 Deployment (apps/v1)

hint: docs/reference says which kinds are; workloads are known by their pods

"#]]);
    let both = format!("{}---\n{web}", cluster());
    ballast(&["check", "-"]).stdin(both).assert().code(0);
    let by_place = stdout(&["check", CLUSTER]);
    assert_eq!(by_place, stdout(&["check", "-f", CLUSTER]));
    ballast(&["check"]).assert().code(1).stdout_eq(str![]);
}

#[test]
fn a_provider_that_nobody_speaks_to_yet_is_named() {
    let azure = cluster().replace("{kind: Simulated}", "{kind: Azure}");
    // It is a document like any other: what is doubtful is not thrown away.
    let checked = ballast(&["check", "-f", "-"]).stdin(azure.clone()).assert().success();
    let table = String::from_utf8_lossy(&checked.get_output().stdout).into_owned();
    assert!(table.lines().any(|line| line.starts_with("VmPool") && line.ends_with('1')), "{table}");
    for command in [&["check", "-f", "-"][..], &["plan", "-f", "-", "-o", "name"]] {
        ballast(command).stdin(azure.clone()).assert().stderr_eq(str![[r#"
warning: spec.provider.kind: no adapter for `Azure` in this release: nothing would be started
  --> -:11:20
...
   = help: machines of any cloud can be reached through `External`
...
"#]]);
    }
}

#[test]
fn text_that_looks_like_an_alias_is_told_as_such() {
    ballast(&["check", "-f", "-"]).stdin("**bold** words\n").assert().code(1).stderr_eq(str![[r#"
error: `*` begins an alias, and no anchor of that name stands before it; put quotes around text
...
"#]]);
}

#[test]
fn one_slip_in_a_distribution_or_a_range_is_one_problem() {
    let scenario = "\
apiVersion: ballast.dev/v1alpha1
kind: Scenario
metadata: {name: day}
spec:
  until: 1d
  workloads:
    - {name: a, requests: {cpu: 1}, duration: {exponential: {men: 1h}}}
    - {name: b, requests: {cpu: 1}, duration: {exponetial: {mean: 1h}}}
    - {name: c, requests: {cpu: 1}, duration: 10}
  expect: {unserved: [1, 2, 3], cpuUtilisation: [a, 90%]}
";
    ballast(&["check", "-"]).stdin(scenario).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: spec.workloads[0].duration.exponential.men: there is no field `men`
 --> -:7:62
  |
7 |     - {name: a, requests: {cpu: 1}, duration: {exponential: {men: 1h}}}
  |                                                              ^^^
  = allowed: `mean` or `most`
  = help: did you mean `mean`?

error: spec.workloads[1].duration.exponetial: `exponetial` is not allowed here
 --> -:8:48
  |
8 |     - {name: b, requests: {cpu: 1}, duration: {exponetial: {mean: 1h}}}
  |                                                ^^^^^^^^^^
  = allowed: `exponential`, `lognormal` or `uniform`
  = help: did you mean `exponential`?

error: spec.workloads[2].duration: the number 10 is not allowed here
 --> -:9:47
  |
9 |     - {name: c, requests: {cpu: 1}, duration: 10}
  |                                               ^^
  = allowed: a duration such as `5m`, or one of `exponential`, `lognormal` and `uniform`
  = help: add its unit: `10s` or `10m`

error: spec.expect.unserved: a list of 3 is not allowed here
  --> -:10:12
   |
10 |   expect: {unserved: [1, 2, 3], cpuUtilisation: [a, 90%]}
   |            ^^^^^^^^
   = allowed: a list of 2

error: spec.expect.cpuUtilisation[0]: `a` is not a number
  --> -:10:50
   |
10 |   expect: {unserved: [1, 2, 3], cpuUtilisation: [a, 90%]}
   |                                                  ^

5 problems; nothing was loaded

"#]]);
}

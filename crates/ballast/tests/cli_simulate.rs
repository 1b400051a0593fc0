//! `ballast simulate` as people type it.

use snapbox::cmd::{Command, cargo_bin};
use snapbox::str;

const SMALL: &str = "tests/simulate/small.yaml";
const MORNING: &str = "tests/simulate/morning.yaml";
const ROOMIER: &str = "tests/simulate/roomier.yaml";

fn simulate(args: &[&str]) -> Command {
    Command::new(cargo_bin!("ballast"))
        .arg("simulate")
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
}

fn stdout(args: &[&str]) -> String {
    let output = simulate(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_report_is_a_table() {
    simulate(&[SMALL])
        .assert()
        .success()
        .stdout_eq(str![[r#"
FIGURE                  A
cost                18.00
costPerHour          3.00
idleCost             1.46
cpuUtilisation      75.3%
memoryUtilisation   18.8%
gpuUtilisation          ·
pendingMean         7m45s
pendingP50             0s
pendingP90          9m14s
pendingP95          18m7s
pendingP99             5h
pendingMax             5h
unserved                1
assemblyP50             ·
assemblyP95             ·
adds                    0
removals                0
reversals               0
evictions               0
reclaims                0
lostWorkHours           0
lostGpuHours            0
fragmentation           ·
jobsEnded              52
brokenPromises          0
plans                   0

Time that pods waited for a node:
WORKLOAD   PODS   UNSERVED   P50    P90      P95      P99      MAX
etl          54          0    0s   8m8s   17m15s   19m34s   19m34s
huge          1          1    5h     5h       5h       5h       5h

"#]])
        .stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
small: 6h with seed 1, money in USD, simulated in [..]s

"#]]);
}

#[test]
fn several_policies_are_compared_seed_by_seed() {
    let told = simulate(&[MORNING, "--policy", ROOMIER, "--seeds", "3"]).assert().success();
    let output = told.get_output();
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    let note = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(note.starts_with("morning: 8h with 3 seeds from 1 to 3, money in USD, simulated in "), "{note}");
    let row = |name: &str| table.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
    assert!(table.starts_with("A: the scenario's own\nB: tests/simulate/roomier.yaml\n\n"), "{table}");
    assert!(row("FIGURE").ends_with("B - A (95 %)"), "{table}");
    // Three nodes instead of one through the night: dearer beyond chance, and used less.
    assert!(row("cost").contains('+') && row("cost").ends_with('*'), "{table}");
    assert!(row("cpuUtilisation").contains(" -") && row("cpuUtilisation").contains(" pp ± "), "{table}");
    assert!(row("brokenPromises").split_whitespace().eq(["brokenPromises", "0", "0", "·"]), "{table}");
    assert!(table.contains("(pods of all 3 seeds, times as means over them):\n"), "{table}");
    assert!(
        table.ends_with("* the interval leaves zero out: the policies differ beyond chance\n"),
        "{table}"
    );
}

#[test]
fn over_several_seeds_a_figure_tells_how_sure_it_is() {
    let table = stdout(&[MORNING, "--seeds", "3"]);
    assert!(table.starts_with("FIGURE") && table.lines().next().unwrap().contains("A (95 %)"), "{table}");
    assert!(table.lines().any(|line| line.starts_with("cost ") && line.contains(" ± ")), "{table}");
}

#[test]
fn what_machines_cost_is_no_matter_of_policy() {
    let table = stdout(&[SMALL, "--policy", "tests/simulate/dearer.yaml"]);
    let cost = table.lines().find(|line| line.starts_with("cost ")).unwrap();
    assert_eq!(cost.split_whitespace().collect::<Vec<_>>(), ["cost", "18.00", "18.00", "·"]);
}

#[test]
fn what_is_set_holds_for_every_policy() {
    let args = [MORNING, "--policy", ROOMIER, "--set", "VmPool/plain.min=2", "-o", "json"];
    let answer: serde_json::Value = serde_json::from_str(&stdout(&args)).unwrap();
    let policies = &answer["simulations"][0]["policies"];
    assert_eq!(policies[0]["scores"], policies[1]["scores"]);
}

#[test]
fn a_reader_that_went_away_changes_no_verdict() {
    let mut child = std::process::Command::new(cargo_bin!("ballast"))
        .args(["simulate", SMALL, "--fail-if", "cost >= 0"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_baseline_may_break_promises_where_its_scenario_says_so() {
    let openpai = "../../scenarios/openpai-loop.yaml";
    let run = |expected: &str| {
        let set = format!("Scenario/openpai-loop.expect={{brokenPromises: {expected}}}");
        simulate(&[openpai, "--until", "4h", "-o", "name", "--set", &set]).assert()
    };
    run("[1, 100000]").code(0);
    run("[0, 0]").code(3);
}

#[test]
fn a_scenario_without_its_data_keeps_no_other_from_being_run() {
    let openb = "../../scenarios/openb.yaml";
    let run = |args: &[&str]| simulate(args).env_remove("BALLAST_TRACES").assert();
    run(&[SMALL, openb, "-o", "name"]).code(0).stdout_eq("scenario/small\n").stderr_eq(str![[r#"
left out: cannot run openb: cannot read a file of the scenario: BALLAST_TRACES is not set
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most

"#]]);
    run(&[openb]).code(1).stdout_eq(str![]);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let run = |seed| stdout(&[SMALL, "-o", "json", "--seed", seed]);
    assert_eq!(run("4"), run("4"));
    assert_ne!(run("4"), run("5"));
}

#[test]
fn json_holds_every_figure_for_programs() {
    let text = stdout(&[SMALL, "-o", "json", "--seeds", "2", "--policy", "tests/simulate/dearer.yaml"]);
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["schemaVersion"], 1);
    let told = &answer["simulations"][0];
    assert_eq!(told["policies"].as_array().unwrap().len(), 2);
    assert_eq!(told["policies"][1]["scores"].as_array().unwrap().len(), 2);
    assert!(told["policies"][0]["scores"][0]["pendingByWorkload"]["etl"]["p95"].is_number());
    assert_eq!(told["comparisons"]["B"]["differences"][0]["figure"], "cost");
    let yaml = stdout(&[SMALL, "-o", "yaml"]);
    assert!(yaml.starts_with("schemaVersion: 1\n"), "{yaml}");
    assert_eq!(stdout(&[SMALL, "-o", "name"]), "scenario/small\n");
}

#[test]
fn a_gate_that_holds_ends_with_three() {
    let held = simulate(&[SMALL, "--fail-if", "unserved.huge > 0"]).assert().code(3);
    held.stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
small: 6h with seed 1, money in USD, simulated in [..]s
fail: small: unserved.huge > 0 (1 > 0)

"#]]);
    let held =
        simulate(&[SMALL, "-o", "name", "--fail-if", "cost > 1000 || pendingMax > 10m"]).assert().code(3);
    held.stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
fail: small: cost > 1000 || pendingMax > 10m
  cost > 1000 does not hold (18.00 > 1000.00)
  pendingMax > 10m holds (5h > 10m)

"#]]);
    simulate(&[SMALL, "--fail-if", "cost > 1000 || pendingP95.etl > 30d"]).assert().code(0);
}

#[test]
fn a_gate_that_makes_no_sense_is_told_before_anything_is_run() {
    simulate(&[SMALL, "--fail-if", "cots > 5"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
error: cannot use `--fail-if`: there is no figure `cots`; did you mean `cost`?
  | cots > 5
  | ^^^^

"#]]);
    simulate(&[SMALL, "--fail-if", "B.cost > 5"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
error: cannot use `--fail-if`: there is no policy B: each `--policy` adds one after A
  | B.cost > 5
  | ^^^^^^

"#]]);
    simulate(&[SMALL, "--fail-if", "cost >"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: invalid value 'cost >' for '--fail-if <EXPR>': a number or a name is missing here
  | cost >
  |       ^

For more information, try '--help'.

"#]]);
    simulate(&[SMALL, "--fail-if", "cost.nobody > 5"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[
        r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
error: cannot use `--fail-if`: there is no pool `nobody`; there are plain
  | cost.nobody > 5
  | ^^^^^^^^^^^

"#
    ]]);
}

#[test]
fn a_gate_on_what_has_no_value_is_neither_open_nor_closed() {
    let gate = [SMALL, "-o", "name", "--fail-if", "assemblyP95 < 10m"];
    simulate(&gate).assert().code(1).stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
error: cannot judge `--fail-if` of small: `assemblyP95` has no value here: there was nothing to measure
  | assemblyP95 < 10m
  | ^^^^^^^^^^^

hint: a figure without a value is neither small nor large

"#]]);
}

#[test]
fn a_gate_that_mixes_units_is_refused() {
    simulate(&[SMALL, "--fail-if", "cost > 5m"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
error: cannot use `--fail-if`: `5m` is a time, but `cost` is money: write a plain number such as `5`
  | cost > 5m
  |        ^^

"#]]);
    simulate(&[SMALL, "--fail-if", "cpuUtilisation < 90"])
        .assert()
        .code(1)
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
error: cannot use `--fail-if`: `cpuUtilisation` is a share: write a percentage such as `90%` or a number from 0 to 1
  | cpuUtilisation < 90
  |                  ^^

"#]]);
    let typo = [SMALL, "--fail-if", "requests.StartInstanse > 5"];
    simulate(&typo).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
error: cannot use `--fail-if`: there is no kind of request `StartInstanse`; did you mean `StartInstance`?
  | requests.StartInstanse > 5
  | ^^^^^^^^^^^^^^^^^^^^^^

"#]]);
}

#[test]
fn programs_are_told_what_came_of_each_gate() {
    let args = [SMALL, "-o", "json", "--fail-if", "cost > 1000", "--fail-if", "unserved > 0"];
    let answer: serde_json::Value = serde_json::from_str(&stdout(&args)).unwrap();
    let told = serde_json::json!([
        {"failIf": "cost > 1000", "holds": false,
            "conditions": [{"condition": "cost > 1000", "left": 18.0, "right": 1000.0, "holds": false}]},
        {"failIf": "unserved > 0", "holds": true,
            "conditions": [{"condition": "unserved > 0", "left": 1.0, "right": 0.0, "holds": true}]},
    ]);
    assert_eq!(answer["simulations"][0]["gates"], told);
}

#[test]
fn a_range_may_be_written_with_its_unit() {
    let with = |expect: &str| {
        let set = format!("Scenario/small.expect={{{expect}}}");
        simulate(&[SMALL, "--seeds", "2", "-o", "name", "--set", &set]).assert()
    };
    with("pendingMax: [4h, 6h], cpuUtilisation: [10%, 90%]").code(0);
    with("pendingMax: [0s, 10m]").code(3).stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
fail: small: pendingMax is 5h with seed 1, expected 0s to 10m (2 of 2 seeds missed it)

"#]]);
    with("cost: [0s, 10m]").code(1).stderr_eq(str![[r#"
error: spec.expect.cost: `cost` is money: write a plain number such as `5`
 --> --set:1:16
  |
1 | Scenario/small.expect={cost: [0s, 10m]}
  |                ^^^^^^

1 problem; nothing was loaded

"#]]);
    with("pendinMax: [0, 1]").code(1).stderr_eq(str![[r#"
error: spec.expect.pendinMax: there is no figure `pendinMax`; did you mean `pendingMax`?
 --> --set:1:16
  |
1 | Scenario/small.expect={pendinMax: [0, 1]}
  |                ^^^^^^

1 problem; nothing was loaded

"#]]);
}

#[test]
fn a_missed_range_ends_with_three() {
    let args = [SMALL, "--set", "Scenario/small.expect={cost: [1, 2]}", "-o", "name"];
    simulate(&args).assert().code(3).stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
fail: small: cost is 18.00, expected 1.00 to 2.00

"#]]);
}

#[test]
fn ranges_are_judged_at_the_scenarios_own_length_alone() {
    let own = std::fs::read_to_string(SMALL).unwrap() + "    cost: [1, 2]\n";
    let run = |more: &[&str]| simulate(&[&["-", "-o", "name"], more].concat()).stdin(own.clone()).assert();
    run(&[]).code(3);
    run(&["--until", "1h"]).code(0).stderr_eq(str![[r#"
note: the ranges of small are meant for 6h: with `--until 1h` they are not judged
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most

"#]]);
    run(&["--until", "6h"]).code(3);
    run(&["--until", "1h", "--set", "Scenario/small.expect={cost: [100, 200]}"]).code(3);
}

#[test]
fn a_day_in_which_nothing_can_happen_says_so() {
    let observed = [MORNING, "--set", "ClusterPolicy/cluster.mode=Recommend", "-o", "name"];
    simulate(&observed).assert().stderr_eq(str![[r#"
note: policy A of morning has `mode: Recommend`, so nothing is started or stopped: set `Enforce`
...
"#]]);
}

#[test]
fn a_field_can_be_set() {
    let price = [SMALL, "--set", "VmPool/plain.price.perHour=3", "-o", "json"];
    let answer: serde_json::Value = serde_json::from_str(&stdout(&price)).unwrap();
    let cost = answer["simulations"][0]["policies"][0]["scores"][0]["cost"].as_f64().unwrap();
    assert!((cost - 36.0).abs() < 0.01, "{cost}");
    simulate(&[SMALL, "--until", "0s"]).assert().code(1).stdout_eq(str![]);
    for (set, code) in [("VmPool/gpu.max=1", 1), ("VmPool/plain.maxx=1", 1), ("Scenario/other.until=1h", 1)] {
        simulate(&[SMALL, "--set", set]).assert().code(code).stdout_eq(str![]);
    }
    simulate(&[SMALL, "--set", "VmPool/plain.min=1", "--set", "VmPool/plain.maxx=1"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: spec.pools[0].spec.maxx: there is no field `maxx`
 --> --set:1:14
  |
1 | VmPool/plain.maxx=1
  |              ^^^^
  = allowed: `mode`, `pause`, `members`, `provider`, `template`, `min`, `max`, `create`, `price`, `times`, `stop`, `strategy`, `priority`, `balanceGroup`, `headroom`, `scaleDown`, `schedule` or `budget`
  = help: did you mean `max`?

1 problem; nothing was loaded

"#]]);
    simulate(&[SMALL, "--set", "VmPool/gpu.max=1"]).assert().code(1).stderr_eq(str![[r#"
error: cannot set `VmPool/gpu.max=1`: there is no `gpu` among its pools: plain

"#]]);
}

#[test]
fn a_policy_for_a_pool_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.yaml");
    let text = std::fs::read_to_string("tests/simulate/dearer.yaml").unwrap();
    std::fs::write(&other, text.replace("name: plain", "name: gpu")).unwrap();
    let refused = simulate(&[SMALL, "--policy", other.to_str().unwrap()]).assert().code(1);
    refused.stdout_eq(str![]).stderr_eq(str![[r#"
warning: small: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
error: [..]other.yaml speaks of a pool `gpu` that small does not have

hint: its pools are plain

"#]]);
}

#[test]
fn the_page_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    simulate(&[SMALL, "--html", page.to_str().unwrap()]).assert().success();
    let html = std::fs::read_to_string(&page).unwrap();
    simulate(&[SMALL, "--html", page.to_str().unwrap()]).assert().success();
    assert_eq!(html, std::fs::read_to_string(&page).unwrap(), "one seed, one page");
    let gates =
        ["--fail-if", "cost > 1000", "--fail-if", "unserved > 0 && adds > 5", "--fail-if", "unserved > 0"];
    simulate(&[&[SMALL, "--html", page.to_str().unwrap()], &gates[..]].concat()).assert().code(3);
    let gated = std::fs::read_to_string(&page).unwrap();
    for shown in [
        "✓ Would have failed if <code>cost &gt; 1000 (18.00 &gt; 1000.00)</code>",
        "✓ Would have failed if <code>unserved &gt; 0 &amp;&amp; adds &gt; 5</code>",
        "<li>unserved &gt; 0 holds (1 &gt; 0)</li><li>adds &gt; 5 does not hold (0 &gt; 5)</li>",
        "✕ Failed if <code>unserved &gt; 0 (1 &gt; 0)</code>",
    ] {
        assert!(gated.contains(shown) && !html.contains(shown), "{shown}");
    }
    assert!(html.contains("<svg") && html.contains("Simulation of small"));
    for other in ["http://", "https://", "<script", "<link", "@import", "url("] {
        assert!(!html.contains(other), "{other}");
    }
}

#[test]
fn what_is_not_there_is_told() {
    simulate(&["nowhere.yaml"]).assert().code(1).stderr_eq(str![[r#"
error: cannot read nowhere.yaml
  caused by: No such file or directory (os error 2)

"#]]);
    simulate(&["tests/simulate/dearer.yaml"]).assert().code(1).stderr_eq(str![[r#"
error: there is no scenario in what was given

hint: a scenario is a document of `kind: Scenario`; there are some in the folder `scenarios`

"#]]);
    simulate(&["tests/console"]).assert().code(1).stderr_eq(str![[r#"
error: no document in tests/console

hint: files that end with .yaml, .yml or .json are read from a folder

"#]]);
}

#[test]
fn what_is_left_says_why() {
    let scenario = "apiVersion: ballast.dev/v1alpha1\nkind: Scenario\nmetadata: {name: tight}\nspec:\n  until: 2h\n  policy: {mode: Enforce, limits: {nodes: 10, costPerHour: 100}}\n  pools:\n    - name: a\n      spec:\n        provider: {kind: Simulated}\n        template: {allocatable: {cpu: 4, memory: 16Gi}}\n        max: 2\n  workloads:\n    - {name: web, requests: {cpu: 4}, members: 5, owner: ReplicaSet}\n    - {name: huge, requests: {cpu: 64}, arrivals: {at: [1h]}}\n    - {name: late, requests: {cpu: 1}, arrivals: {at: [119m59s]}}\n";
    let told = simulate(&["-"]).stdin(scenario).assert().success();
    let output = told.get_output();
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    let (_, left) = table.split_once("Pods without a node at the end:\n").expect(&table);
    snapbox::assert_data_eq!(
        left,
        str![[r#"
WORKLOAD   PODS   POOL   WHY THEY STILL WAIT
huge          1   a      a new node of this pool would not do: not enough cpu
late          1          came after the last plan
web           3   a      the pool's max leaves too little room

"#]]
    );
    told.stderr_eq(str![[r#"
warning: tight: workloads[1].requests.cpu: 64 is more than any machine has, which is 4 at most
tight: 2h with seed 1, money in USD, simulated in [..]s
note: no pool has a price, so each node counts as 1.00 USD an hour

"#]]);
}

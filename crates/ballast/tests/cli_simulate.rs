//! `ballast simulate` as people type it.

use snapbox::cmd::{Command, cargo_bin};
use snapbox::str;

const SMALL: &str = "tests/simulate/small.yaml";

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
gpuUtilisation       0.0%
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
fragmentation        0.0%
jobsEnded              52
brokenPromises          0
plans                   0

Time that pods waited for a node:
WORKLOAD   PODS   UNSERVED   P50    P90      P95      P99      MAX
etl          54          0    0s   8m8s   17m15s   19m34s   19m34s
huge          1          1    5h     5h       5h       5h       5h

"#]])
        .stderr_eq(str![[r#"
small: 6h with seed 1, money in USD, simulated in [..]s

"#]]);
}

#[test]
fn several_policies_are_compared_seed_by_seed() {
    let args = [SMALL, "--policy", "tests/simulate/dearer.yaml", "--seeds", "3"];
    simulate(&args)
        .assert()
        .success()
        .stdout_eq(str![[r#"
A: the scenario's own
B: tests/simulate/dearer.yaml

FIGURE                   A        B     B - A (95 %)
cost                 18.00    24.00   +6.00 ± 0.00 *
costPerHour           3.00     4.00   +1.00 ± 0.00 *
idleCost              2.14     2.85   +0.71 ± 1.20
cpuUtilisation       67.9%    67.9%              ·
memoryUtilisation    17.0%    17.0%              ·
gpuUtilisation        0.0%     0.0%              ·
pendingMean             7m       7m              ·
pendingP50              0s       0s              ·
pendingP90           5m48s    5m48s              ·
pendingP95          11m56s   11m56s              ·
pendingP99              5h       5h              ·
pendingMax              5h       5h              ·
unserved                 1        1              ·
assemblyP50              ·        ·              ·
assemblyP95              ·        ·              ·
adds                     0        0              ·
removals                 0        0              ·
reversals                0        0              ·
evictions                0        0              ·
reclaims                 0        0              ·
lostWorkHours            0        0              ·
lostGpuHours             0        0              ·
fragmentation         0.0%     0.0%              ·
jobsEnded               50       50              ·
brokenPromises           0        0              ·
plans                    0        0              ·

Time that pods waited for a node:
WORKLOAD   POLICY   PODS   UNSERVED   P50    P90     P95     P99     MAX
etl        A         159          0    0s   5m4s   9m49s   13m6s   13m6s
etl        B         159          0    0s   5m4s   9m49s   13m6s   13m6s
huge       A           3          3    5h     5h      5h      5h      5h
huge       B           3          3    5h     5h      5h      5h      5h

* the interval leaves zero out: the policies differ beyond chance

"#]])
        .stderr_eq(str![[r#"
small: 6h with 3 seeds from 1 to 3, money in USD, simulated in [..]s

"#]]);
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
small: 6h with seed 1, money in USD, simulated in [..]s
fail: small: unserved.huge > 0

"#]]);
    simulate(&[SMALL, "--fail-if", "cost > 1000 || pendingP95.etl > 30d"]).assert().code(0);
}

#[test]
fn a_gate_that_makes_no_sense_is_told_before_anything_is_run() {
    simulate(&[SMALL, "--fail-if", "cots > 5"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: cannot use `--fail-if`: there is no figure `cots`; did you mean `cost`?
  | cots > 5
  | ^^^^

"#]]);
    simulate(&[SMALL, "--fail-if", "B.cost > 5"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
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
    simulate(&[SMALL, "--fail-if", "cost.nobody > 5"]).assert().code(1).stderr_eq(str![[r#"
small: 6h with seed 1, money in USD, simulated in [..]s
error: cannot judge `--fail-if`: this run has no figure `cost.nobody`
  | cost.nobody > 5
  | ^^^^^^^^^^^

"#]]);
}

#[test]
fn a_missed_range_ends_with_three() {
    let args = [SMALL, "--set", "Scenario/small.expect={cost: [1, 2]}", "-o", "name"];
    simulate(&args).assert().code(3).stderr_eq(str![[r#"
fail: small: cost is 18.00, expected 1.00 to 2.00

"#]]);
}

#[test]
fn a_field_can_be_set() {
    let price = [SMALL, "--set", "VmPool/plain.price.perHour=3", "-o", "json"];
    let answer: serde_json::Value = serde_json::from_str(&stdout(&price)).unwrap();
    let cost = answer["simulations"][0]["policies"][0]["scores"][0]["cost"].as_f64().unwrap();
    assert!((cost - 36.0).abs() < 0.01, "{cost}");
    for (set, code) in [("VmPool/gpu.max=1", 1), ("VmPool/plain.maxx=1", 1), ("Scenario/other.until=1h", 1)] {
        simulate(&[SMALL, "--set", set]).assert().code(code).stdout_eq(str![]);
    }
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
error: [..]other.yaml speaks of a pool `gpu` that small does not have

hint: its pools are plain

"#]]);
}

#[test]
fn the_page_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    simulate(&[SMALL, "--html", page.to_str().unwrap()]).assert().success();
    let html = std::fs::read_to_string(page).unwrap();
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

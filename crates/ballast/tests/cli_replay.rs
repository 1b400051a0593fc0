//! `ballast replay` as people type it: the same again, or what another policy would have decided.

use std::path::Path;

use snapbox::cmd::{Command, cargo_bin};
use snapbox::str;
use tempfile::TempDir;

fn ballast(folder: &Path, args: &[&str]) -> Command {
    Command::new(cargo_bin!("ballast")).args(args).current_dir(folder).env("COLUMNS", "100")
}

/// A folder with the record of a morning on which a small pool grows.
fn recorded() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy("tests/replay/morning.yaml", folder.path().join("morning.yaml")).unwrap();
    std::fs::copy("tests/replay/tight.yaml", folder.path().join("tight.yaml")).unwrap();
    ballast(folder.path(), &["simulate", "morning.yaml", "--record", "record.jsonl", "-o", "name"])
        .assert()
        .success();
    folder
}

#[test]
fn the_same_program_decides_the_same_again() {
    let folder = recorded();
    ballast(folder.path(), &["replay", "record.jsonl"]).assert().code(0).stderr_eq(str![]).stdout_eq(str![[
        r#"
[..] entries and [..] plans, all as they were

"#
    ]]);
}

#[test]
fn another_policy_is_told_where_it_differs() {
    let folder = recorded();
    let args = ["replay", "record.jsonl", "--policy", "tight.yaml"];
    ballast(folder.path(), &args).assert().code(3).stderr_eq(str![]).stdout_eq(str![[r#"
The first difference, at 2026-01-05T00:10:51.05Z after entry 80:
           ACTION   TARGET    POOL    REASON
recorded   create   plain-3   plain   room is missing for 2 pending pods

All of them:
ENTRY   AT                         PLANS   ONLY AS RECORDED         ONLY UNDER tight.yaml
   80   2026-01-05T00:10:51.05Z        1   create plain-3           nothing
  109   2026-01-05T00:11:06.05Z        1   create plain-4           nothing
  196   2026-01-05T00:25:06Z           1   nothing                  drain and stop plain-0
  200   2026-01-05T00:25:55.894Z       1   nothing                  drain and stop plain-1
  203   2026-01-05T00:26:10.894Z       1   nothing                  drain and stop plain-2
  207   2026-01-05T00:26:39.03Z        1   nothing                  drain and stop plain-3
  209   2026-01-05T00:27:26.368Z       3   nothing                  drain and stop plain-4
  221   2026-01-05T00:30:06Z           1   drain and stop plain-0   drain and stop plain-4

10 of 112 plans would have done something else

"#]]);
    let json = ballast(folder.path(), &[&args[..], &["-o", "json"]].concat()).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json.status.code(), Some(3));
    assert_eq!(answer["schemaVersion"], 1);
    let first = &answer["differing"][0];
    assert_eq!(first["recorded"][0]["target"]["pool"], "plain");
    assert!(first["other"].as_array().unwrap().len() < first["recorded"].as_array().unwrap().len());
}

#[test]
fn what_cannot_be_replayed_is_told() {
    let folder = recorded();
    let strange = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n";
    std::fs::write(folder.path().join("node.yaml"), strange).unwrap();
    let tight = std::fs::read_to_string(folder.path().join("tight.yaml")).unwrap();
    std::fs::write(folder.path().join("gpu.yaml"), tight.replace("name: plain", "name: gpu")).unwrap();
    let replay = |policy| ballast(folder.path(), &["replay", "record.jsonl", "--policy", policy]);
    replay("node.yaml").assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: there is no policy in node.yaml

hint: `--policy` takes a file with a ClusterPolicy, with VmPools, or with both

"#]]);
    replay("gpu.yaml").assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: gpu.yaml speaks of a pool `gpu` that the record does not have

hint: its pools are plain

"#]]);
    ballast(folder.path(), &["replay", "tight.yaml"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[
        r#"
error: cannot replay tight.yaml
  caused by: line 1 is not an entry of a record
  caused by: expected value at line 1 column 1

hint: a record is what `ballast record` or `ballast simulate --record` wrote

"#
    ]]);
}

#[test]
fn an_empty_or_cut_record_is_no_proof() {
    let folder = recorded();
    let whole = std::fs::read_to_string(folder.path().join("record.jsonl")).unwrap();
    let replay = |text: &str| {
        std::fs::write(folder.path().join("cut.jsonl"), text).unwrap();
        ballast(folder.path(), &["replay", "cut.jsonl"]).assert()
    };
    replay("").code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: cannot replay cut.jsonl
  caused by: there is no entry in it

hint: a record is what `ballast record` or `ballast simulate --record` wrote

"#]]);
    replay("[[").code(1).stdout_eq(str![]);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    replay(&format!("{}{}", lines[0], &lines[1][..20])).code(1).stdout_eq(str![]).stderr_eq(str![[r#"
note: the last line of the record is cut off and was left out
error: nothing was decided in this record: it holds 1 entry and no plan

"#]]);
    let missing = [&lines[..20], &lines[25..]].concat().concat();
    replay(&missing).code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: cannot replay cut.jsonl
  caused by: line 21 is entry 26 where 21 follows: only a whole record can be replayed

hint: a record is what `ballast record` or `ballast simulate --record` wrote

"#]]);
    replay(&whole[..whole.len() - 10]).code(0).stderr_eq(str![[r#"
note: the last line of the record is cut off and was left out

"#]]);
}

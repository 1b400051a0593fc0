//! The commands that a person runs against a cluster, on one stage.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::stage::{Stage, ballast};

/// What a command said.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Stage {
    /// Runs a command as a user of the cluster.
    fn says(&self, user: &str, args: &[&str]) -> Result<Said> {
        let output = Command::new(ballast()?)
            .args(args)
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig(user))
            .env("NO_COLOR", "1")
            .output()
            .context("cannot run ballast")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or(-1);
        Ok(Said { code, out: text(&output.stdout), err: text(&output.stderr) })
    }

    fn json(&self, args: &[&str]) -> Result<Value> {
        let said = self.says("admin", &[args, &["-o", "json"]].concat())?;
        serde_json::from_str(&said.out).with_context(|| format!("{args:?}: {}{}", said.out, said.err))
    }
}

#[test]
fn commands_tell_what_is_there_and_change_nothing_but_what_they_say() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    stage.deployment("web", 3, "2")?;
    stage.cluster.wait("pods", |_| {
        Ok(stage.cluster.get(&["pods", "-l", "app=web", "-o", "name"])?.lines().count() == 3)
    })?;
    plans_before_anybody_runs(&stage)?;
    without_rights_it_says_so(&stage)?;
    doctor_names_what_is_wrong(&stage)?;
    a_look_is_recorded_and_replays(&stage)?;
    let process = stage.ballast("one")?;
    stage.settles("web", 3, 2, &process)?;
    status_shows_who_leads(&stage)?;
    as_a_plugin_of_kubectl(&stage)?;
    diff_tells_what_documents_would_change(&stage)?;
    top_shows_every_node(&stage)?;
    get_prints_what_kubectl_prints(&stage)?;
    what_is_followed_knows_what_the_leader_knows(&stage)?;
    a_pause_holds_and_is_lifted(&stage)?;
    stage.settles("web", 0, 0, &process)
}

/// Nobody runs yet: the plan is reckoned from one look, by the rights of a user who may only read.
fn plans_before_anybody_runs(stage: &Stage) -> Result<()> {
    stage.cluster.apply(include_str!("../../../deploy/rbac/observe.yaml"))?;
    let bind = ["create", "clusterrolebinding", "reader", "--clusterrole=ballast", "--user=ballast"];
    ensure!(stage.cluster.kubectl(&bind)?.success, "cannot bind the role");
    // The cloud is asked with what Ballast asks it with, or not at all.
    let said = stage.says("ballast", &["plan"])?;
    ensure!(said.out.contains("Instances/workers failed (not allowed)"), "{}{}", said.out, said.err);
    let bind = ["create", "rolebinding", "reader", "-n", "ballast", "--role=ballast", "--user=ballast"];
    ensure!(stage.cluster.kubectl(&bind)?.success, "cannot bind the role");
    let said = stage.says("ballast", &["plan"])?;
    ensure!(said.code == 2 && said.out.contains("create   workers-1"), "{}{}", said.out, said.err);
    ensure!(said.err.contains("what Ballast remembers is not known"), "{}", said.err);
    // Nobody has written a status: what it would say is reckoned too.
    let got = stage.json(&["get", "vmpools", "workers"])?;
    let status = &got["items"][0]["status"];
    ensure!(status["current"] == 0 && status["desired"] == 2, "{got:#}");
    let plan = stage.json(&["plan"])?;
    ensure!(plan["actions"].as_array().is_some_and(|actions| actions.len() == 2), "{plan:#}");
    let written: Vec<_> =
        stage.cluster.asked_by("ballast")?.into_iter().filter(|asked| asked.writes()).collect();
    ensure!(
        written.is_empty() && stage.cloud.machines().asked.is_empty(),
        "something was changed: {written:#?}"
    );
    for unbind in [
        &["delete", "clusterrolebinding", "reader"][..],
        &["delete", "rolebinding", "reader", "-n", "ballast"],
    ] {
        ensure!(stage.cluster.kubectl(unbind)?.success, "cannot unbind the role");
    }
    Ok(())
}

/// Where a process leads and has written all of it, both tell the same.
fn get_prints_what_kubectl_prints(stage: &Stage) -> Result<()> {
    // The age grows from one call to the next.
    let words = |text: &str| -> Vec<Vec<String>> {
        let row = |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
        text.lines().map(row).map(|mut row| (row.pop(), row).1).collect()
    };
    for args in [&["get", "vmpools", "-o", "wide"][..], &["get", "clusterpolicies"]] {
        stage.cluster.wait("both tables to be the same", |cluster| {
            let (theirs, ours) = (cluster.kubectl(args)?, stage.says("admin", args)?);
            ensure!(words(&theirs.text) == words(&ours.out), "{}\n{}{}", theirs.text, ours.out, ours.err);
            Ok(words(&ours.out).len() == 2)
        })?;
    }
    let names = stage.says("admin", &["get", "-o", "name"])?.out;
    ensure!(names == stage.cluster.get(&["ballast", "-o", "name"])?.trim_end().to_owned() + "\n", "{names}");
    let none = stage.says("admin", &["get", "vmp", "nowhere"])?;
    ensure!(none.code == 1 && none.err.contains("there is no VmPool `nowhere`"), "{}", none.err);
    Ok(())
}

/// Who only watches has no memory of its own, and takes that of the process that leads: a node is idle for as long as that one
/// has seen it idle. The segment is smaller than the first lists could be; it does not begin anew for that.
fn what_is_followed_knows_what_the_leader_knows(stage: &Stage) -> Result<()> {
    let folder = stage.cluster.path("followed");
    let folder = folder.to_string_lossy();
    let said = stage.says("admin", &["record", &folder, "--follow", "--for", "8s", "--size", "1"])?;
    ensure!(said.code == 0, "{}{}", said.out, said.err);
    let replay = Command::new(ballast()?).args(["replay", &folder]).output().context("cannot replay")?;
    let text = String::from_utf8_lossy(&replay.stdout).into_owned();
    ensure!(replay.status.success() && text.contains("all as they were"), "{text}");
    let segments: Vec<_> = std::fs::read_dir(&*folder)?.collect::<std::io::Result<_>>()?;
    ensure!(segments.len() == 1, "{segments:?}");
    let record = std::fs::read_to_string(segments[0].path())?;
    let led = record.lines().filter(|line| line.contains("\"entry\":\"Led\"")).count();
    let followed = record.lines().filter(|line| line.contains("\"entry\":\"Followed\"")).count();
    ensure!(led > 0 && led == followed, "{led} {followed}");
    Ok(())
}

fn without_rights_it_says_so(stage: &Stage) -> Result<()> {
    let said = stage.says("ballast", &["status"])?;
    ensure!(said.code == 1 && said.out.is_empty(), "{}", said.out);
    ensure!(said.err.contains("cannot see the nodes of") && said.err.contains("hint: "), "{}", said.err);
    Ok(())
}

fn doctor_names_what_is_wrong(stage: &Stage) -> Result<()> {
    stage.cluster.apply(
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: never}, \
         spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}}",
    )?;
    stage.cluster.wait("the budget to be reckoned", |_| {
        Ok(stage.cluster.get(&["pdb", "never", "-o", "jsonpath={.status.expectedPods}"])? == "3")
    })?;
    stage.cluster.apply("{apiVersion: v1, kind: Service, metadata: {name: head}, spec: {type: NodePort, ports: [{port: 8265}]}}")?;
    let odd = stage.policies("Enforce").replace("workers", "odd");
    let odd = odd.replacen("max: 5", "max: 5\n  schedule: [{start: now and then, duration: 1h}]", 1);
    stage.cluster.apply(&odd)?;
    let answer = stage.json(&["doctor"])?;
    let results = |id: &str| -> Vec<String> {
        let findings = answer["findings"].as_array().cloned().unwrap_or_default();
        let its = findings.iter().filter(|finding| finding["id"] == id);
        its.map(|finding| format!("{} {}", finding["result"], finding["detail"])).collect()
    };
    let says = |id: &str, word: &str| results(id).iter().any(|found| found.contains(word));
    ensure!(says("Reach", "\"Ok\""), "{answer:#}");
    ensure!(says("Kinds", "\"Ok\""), "{answer:#}");
    // The service account has the role of Observe, the policy says Enforce.
    ensure!(says("Permissions", "may not update leases") && says("Permissions", "\"Fail\""), "{answer:#}");
    ensure!(says("Leader", "nobody leads"), "{answer:#}");
    ensure!(says("Documents", "VmPool/odd is invalid") && says("Documents", "\"Fail\""), "{answer:#}");
    let status = stage.says("admin", &["status"])?;
    ensure!(status.err.contains("note: VmPool/odd is invalid and passed over"), "{}", status.err);
    ensure!(says("Pools", "\"Ok\"") && says("Sources", "\"Ok\""), "{answer:#}");
    ensure!(says("DisruptionBudgets", "default/never allows no pod to leave"), "{answer:#}");
    ensure!(says("RayDashboards", "default/head"), "{answer:#}");
    ensure!(stage.says("admin", &["doctor"])?.code == 1, "a check that fails is an error");
    stage.cluster.apply(include_str!("../../../deploy/rbac/enforce.yaml"))?;
    stage.cluster.kubectl(&["delete", "pdb", "never"])?;
    stage.cluster.kubectl(&["delete", "service", "head"])?;
    stage.cluster.kubectl(&["delete", "vmpool", "odd"])?;
    let said = stage.says("admin", &["doctor"])?;
    ensure!(said.code == 0, "{}{}", said.out, said.err);
    Ok(())
}

fn a_look_is_recorded_and_replays(stage: &Stage) -> Result<()> {
    let folder = stage.cluster.path("record");
    let folder = folder.to_string_lossy();
    let said = stage.says("admin", &["record", &folder])?;
    ensure!(said.code == 0, "{}{}", said.out, said.err);
    let replay = Command::new(ballast()?).args(["replay", &folder]).output().context("cannot replay")?;
    let text = String::from_utf8_lossy(&replay.stdout).into_owned();
    ensure!(replay.status.success() && text.contains("1 plan, all as they were"), "{text}");
    let from = Command::new(ballast()?).args(["plan", "--from", &folder]).output().context("cannot plan")?;
    ensure!(from.status.code() == Some(2), "{}", String::from_utf8_lossy(&from.stderr));
    Ok(())
}

fn status_shows_who_leads(stage: &Stage) -> Result<()> {
    let said = stage.says("admin", &["status"])?;
    ensure!(said.code == 0, "{}", said.err);
    for part in ["mode Enforce", "led by one", "workers"] {
        ensure!(said.out.contains(part), "no {part} in\n{}", said.out);
    }
    let view = stage.json(&["status"])?;
    ensure!(view["pools"][0]["ready"] == 2, "{view:#}");
    Ok(())
}

/// kubectl finds it by its name, and hands on what it is asked.
fn as_a_plugin_of_kubectl(stage: &Stage) -> Result<()> {
    let folder = stage.cluster.path("plugins");
    std::fs::create_dir_all(&folder)?;
    std::os::unix::fs::symlink(ballast()?, folder.join("kubectl-ballast")).context("cannot make a link")?;
    let kubeconfig = stage.cluster.kubeconfig("admin");
    let mut kubectl = stage.cluster.kubectl_command();
    let output = kubectl
        .args(["ballast", "status"])
        .env("PATH", &folder)
        .env("KUBECONFIG", &kubeconfig)
        .env("NO_COLOR", "1")
        .output()
        .context("cannot run kubectl")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    ensure!(text(&output.stdout).contains("led by one"), "{}", text(&output.stdout));
    let mut kubectl = stage.cluster.kubectl_command();
    let output = kubectl.args(["ballast", "plan", "--help"]).env("PATH", &folder).output()?;
    ensure!(text(&output.stdout).contains("Usage: kubectl ballast plan"), "{}", text(&output.stdout));
    Ok(())
}

/// What a lower limit would change in the plan of the cluster as it is.
fn diff_tells_what_documents_would_change(stage: &Stage) -> Result<()> {
    let file = stage.cluster.path("other.yaml");
    let file = file.to_str().context("the path is no text")?;
    // A pool that wants two machines more than there are.
    std::fs::write(file, stage.policies("Enforce").replacen("max: 5", "min: 4\n  max: 5", 1))?;
    let same = stage.says("admin", &["diff", "-f", file, "-o", "json"])?;
    ensure!(same.code == 2, "{}{}", same.out, same.err);
    ensure!(same.out.matches("CreateInstance").count() >= 2, "{}", same.out);
    std::fs::write(file, stage.policies("Enforce"))?;
    let same = stage.says("admin", &["diff", "-f", file])?;
    ensure!(same.code == 0, "{}{}", same.out, same.err);
    Ok(())
}

/// On a terminal, which `script` makes; and `q` ends it.
fn top_shows_every_node(stage: &Stage) -> Result<()> {
    let screen = stage.cluster.path("top.screen");
    let command = format!(
        "stty rows 40 cols 120; exec {} top --kubeconfig {}",
        ballast()?.to_string_lossy(),
        stage.cluster.kubeconfig("admin").display()
    );
    let mut top = Command::new("script")
        .args(["-qefc", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(std::fs::File::create(&screen)?)
        .spawn()
        .context("cannot run script")?;
    let nodes = stage.cluster.get(&["nodes", "-o", "name"])?;
    let shown = stage.cluster.wait("every node on the terminal", |_| {
        let drawn = String::from_utf8_lossy(&std::fs::read(&screen)?).into_owned();
        Ok(nodes.lines().all(|node| drawn.contains(node.trim_start_matches("node/"))))
    });
    top.stdin.take().context("no terminal")?.write_all(b"q")?;
    let top = std::cell::RefCell::new(top);
    let ended = stage.cluster.wait("the end of top", |_| Ok(top.borrow_mut().try_wait()?.is_some()));
    if ended.is_err() {
        top.borrow_mut().kill()?;
    }
    shown.and(ended)
}

fn a_pause_holds_and_is_lifted(stage: &Stage) -> Result<()> {
    let dry = stage.says("admin", &["pause", "pool/workers", "--down", "--reason", "a test", "--dry-run"])?;
    ensure!(dry.code == 0 && dry.out.contains("(dry run)"), "{}{}", dry.out, dry.err);
    let pause = || stage.cluster.get(&["vmpool", "workers", "-o", "jsonpath={.spec.pause}"]);
    ensure!(pause()?.is_empty(), "a dry run changed it");
    let said =
        stage.says("admin", &["pause", "pool/workers", "--down", "--reason", "a test", "--for", "1h"])?;
    ensure!(
        said.code == 0 && said.out.starts_with("paused the pool workers: removal, until "),
        "{}{}",
        said.out,
        said.err
    );
    ensure!(pause()?.contains("\"until\":\""), "{}", pause()?);
    stage.deployment("web", 0, "2")?;
    stage.cluster.wait("no pods", |_| Ok(stage.running("web")? == 0))?;
    let status = stage.json(&["status"])?;
    let held = status["holds"].to_string();
    ensure!(held.contains("Paused") && held.contains("a test"), "{status:#}");
    ensure!(stage.cloud.running() == 2, "machines went though it is paused");
    let missing = stage.says("admin", &["pause", "pool/none", "--reason", "a test"])?;
    ensure!(missing.code == 1 && missing.err.contains("hint: "), "{}", missing.err);
    let said = stage.says("admin", &["resume", "pool/workers"])?;
    ensure!(said.code == 0 && said.out == "resumed the pool workers\n", "{}{}", said.out, said.err);
    let again = stage.says("admin", &["resume", "pool/workers"])?;
    ensure!(again.out == "the pool workers is not paused\n", "{}", again.out);
    Ok(())
}

//! Whether Ballast is ready, asked of the running program; and that what nobody should read is told nowhere.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ballast_core::policy::Mode;
use ballast_e2e::cloud;
use ballast_e2e::cluster::Daemon;
use serde_json::json;

use crate::rbac;
use crate::stage::{Stage, ballast as program};

/// What a path of the page answers: the whole answer, its first line included.
fn asked(ballast: &Daemon, path: &str) -> Result<String> {
    let log = ballast.log()?;
    let address = log.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let mut stream = TcpStream::connect(address.context("the page has no address yet")?)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Waits until `/readyz` answers so, with these words.
fn answers(stage: &Stage, ballast: &Daemon, status: &str, words: &str) -> Result<()> {
    let so = |answer: &str| answer.starts_with(&format!("HTTP/1.0 {status}")) && answer.contains(words);
    let waited = stage.cluster.wait(words, |_| Ok(asked(ballast, "/readyz").is_ok_and(|told| so(&told))));
    waited.with_context(|| format!("{:?}\n{}", asked(ballast, "/readyz"), ballast.last_lines()))
}

#[test]
fn it_is_ready_while_it_can_decide_and_act_and_says_what_is_missing() -> Result<()> {
    let stage = Stage::set()?;
    let ballast = rbac::run(&stage, Mode::Enforce)?;
    answers(&stage, &ballast, "200", "[+] leads: the lease is kept, and what is begun is stored")?;
    // The role is taken away while it runs, and given again.
    let role = stage.cluster.get(&["clusterrolebinding", "ballast", "-o", "json"])?;
    ensure!(stage.cluster.kubectl(&["delete", "clusterrolebinding", "ballast"])?.success);
    answers(&stage, &ballast, "503", "[-] acts: the API refuses ")?;
    let mut role: serde_json::Value = serde_json::from_str(&role)?;
    role["metadata"] = json!({"name": "ballast"});
    stage.cluster.apply(&role.to_string())?;
    answers(&stage, &ballast, "200", "[+] acts: mode Enforce, nothing is refused")?;
    let metrics = asked(&ballast, "/metrics")?;
    ensure!(metrics.contains("\nballast_ready{} 1"), "{metrics}");
    Ok(())
}

/// What is in the words of a cloud, in settings and in annotations that nobody reads.
const CANARY: &str = "hunter2-canary";

#[test]
fn what_looks_like_a_secret_and_what_moves_a_cursor_is_told_nowhere() -> Result<()> {
    let stage = Stage::set()?;
    let said = format!("quota\u{1b}[2J for token {CANARY}");
    // Also as what the cloud is asked with; and the cloud says so.
    stage.cluster.apply(&cloud::SECRET.replace(cloud::TOKEN, CANARY))?;
    stage.cloud.machines().demands = Some(CANARY.to_owned());
    stage.cloud.machines().refuse.extend([0; 30].map(|_| json!({"class": "StockOut", "message": said})));
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 1, "2")?;
    let annotated = format!("example.com/note={CANARY}");
    ensure!(stage.cluster.kubectl(&["annotate", "pods", "-l", "app=web", &annotated])?.success);
    stage.cluster.wait("a launch to fail", |cluster| {
        Ok(cluster.get(&["events", "-A", "-o", "json"])?.contains("LaunchFailed"))
    })?;
    let status = || stage.cluster.get(&["clusterpolicies,vmpools", "-o", "jsonpath={.items[*].status}"]);
    stage.cluster.wait("the pool to say so", |_| Ok(status()?.contains("BackOff")))?;
    // The cloud wants another one, and repeats what it is shown.
    stage.cloud.machines().demands = Some("another".to_owned());
    stage.cluster.wait("the pool to say so", |_| Ok(status()?.contains("ProviderUnusable")))?;
    let folder = stage.cluster.path("record");
    let run = |args: &[&str]| -> Result<String> {
        let mut command = Command::new(program()?);
        command.args(args).arg("--kubeconfig").arg(stage.cluster.kubeconfig("admin"));
        let told = command.output().with_context(|| format!("cannot run ballast {args:?}"))?;
        Ok(String::from_utf8_lossy(&[told.stdout, told.stderr].concat()).into_owned())
    };
    let recorded = run(&["record", &folder.to_string_lossy()])?;
    let mut record = String::new();
    for file in std::fs::read_dir(&folder).with_context(|| recorded.clone())? {
        record.push_str(&std::fs::read_to_string(file?.path())?);
    }
    let places = [
        ("log", ballast.log()?),
        ("status", status()?),
        ("events", stage.cluster.get(&["events", "-A", "-o", "json"])?),
        ("metrics", asked(&ballast, "/metrics")?),
        ("page", asked(&ballast, "/")?),
        ("record", record),
        ("doctor", run(&["doctor", "--namespace", "ballast"])?),
        ("status of the command", run(&["status", "--namespace", "ballast"])?),
    ];
    for (place, text) in places {
        ensure!(!text.is_empty(), "{place} is empty");
        ensure!(!text.contains(CANARY), "{place} tells it");
        ensure!(!text.contains('\u{1b}'), "{place} moves the cursor");
    }
    Ok(())
}

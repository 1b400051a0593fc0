//! Alerts and dashboard, judged by promtool and by a real Prometheus that scrapes a real Ballast.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ballast_e2e::cloud::{self, Cloud};
use ballast_e2e::cluster::{Cluster, Daemon, Kwok, free_ports};
use serde_json::Value;

use crate::uninstall::{running, web};
use crate::{clone, variable};

fn promtool(args: &[&str]) -> Result<std::process::Output> {
    let mut command = Command::new(variable("BALLAST_PROMETHEUS")?.join("promtool"));
    command.args(args).current_dir(clone("deploy/prometheus")).output().context("cannot run promtool")
}

fn accepts(args: &[&str]) -> Result<()> {
    let told = promtool(args)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(told.status.success(), "promtool {args:?}: {}{}", text(&told.stdout), text(&told.stderr));
    Ok(())
}

fn read(path: &str) -> Result<Value> {
    let text = std::fs::read_to_string(clone(path)).with_context(|| format!("cannot read {path}"))?;
    serde_saphyr::from_str(&text).with_context(|| format!("{path} is no YAML"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn each_alert_fires_when_it_should_and_only_then() -> Result<()> {
    accepts(&["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"])?;
    accepts(&["test", "rules", "tests.yaml"])?;
    let (rules, tests) = (read("deploy/prometheus/rules.yaml")?, read("deploy/prometheus/tests.yaml")?);
    let page = std::fs::read_to_string(clone("docs/how-to/monitor.md")).context("no page")?;
    for rule in list(&rules["groups"]).iter().flat_map(|group| list(&group["rules"])) {
        let cases = list(&tests["tests"]).iter().flat_map(|test| list(&test["alert_rule_test"]));
        let expected: BTreeSet<bool> = cases
            .filter(|case| case["alertname"] == rule["alert"])
            .map(|case| !list(&case["exp_alerts"]).is_empty())
            .collect();
        ensure!(expected.len() == 2, "{} is not tried both ways", rule["alert"]);
        let heading = format!("### {}\n", text(&rule["alert"]));
        ensure!(page.contains(&heading), "no page says what {} means", rule["alert"]);
    }
    Ok(())
}

#[test]
fn every_query_of_dashboard_and_rules_is_answered_by_a_prometheus_that_scrapes_ballast() -> Result<()> {
    let cluster = Cluster::start()?;
    let _kwok = Kwok::start(&cluster)?;
    let cloud = Cloud::start(&cluster, "4")?;
    let [metrics, own] = free_ports()?;
    let kinds =
        Command::new(variable("BALLAST_BIN")?).arg("crd").output().context("cannot run ballast crd")?;
    cluster.apply(&String::from_utf8_lossy(&kinds.stdout))?;
    cluster.apply(cloud::HOME)?;
    cluster.apply(cloud::SECRET)?;
    cluster.apply(&cloud::policies("Enforce", cloud.address()))?;
    let mut command = Command::new(variable("BALLAST_BIN")?);
    command.args(["run", "--namespace", "ballast", "--identity", "one", "--instances-every", "1s"]);
    command.arg("--metrics").arg(format!("127.0.0.1:{metrics}"));
    command.arg("--kubeconfig").arg(cluster.kubeconfig("admin"));
    let ballast = Daemon::start("ballast", command, &cluster.path(""))?;
    let (_prometheus, server) = (prometheus(&cluster, metrics, own)?, format!("http://127.0.0.1:{own}"));
    // Its life is scraped from the start: a counter that is first seen at 1 has not grown.
    cluster.wait("a scrape", |_| Ok(!ask(&server, "ballast_build_info")?.is_empty()))?;
    web(&cluster, 2)?;
    cluster
        .wait("two pods on a machine", |cluster| Ok(running(cluster)? == 2 && cloud.running() == 1))
        .with_context(|| format!("ballast said last:\n{}", ballast.last_lines()))?;
    let joined = "sum(increase(ballast_receipts_total{receipt=\"Joined\"}[5m])) > 0";
    cluster.wait("the machine to be scraped", |_| Ok(!ask(&server, joined)?.is_empty()))?;

    let shown = read("deploy/grafana/ballast.json")?;
    let shown = list(&shown["panels"])
        .iter()
        .flat_map(|panel| list(&panel["targets"]))
        .map(|target| text(&target["expr"]));
    let rules = read("deploy/prometheus/rules.yaml")?;
    let rules =
        list(&rules["groups"]).iter().flat_map(|group| list(&group["rules"])).map(|rule| text(&rule["expr"]));
    let all: Vec<String> = shown.chain(rules).collect();
    ensure!(all.len() > 30, "only {} queries", all.len());
    for query in &all {
        ask(&server, query)?;
    }
    // An alert is silent now, and a hold may be none; but whatever is asked for is there.
    let names: BTreeSet<&str> = all.iter().flat_map(|query| names(query)).collect();
    let unknown: Vec<&&str> =
        names.iter().filter(|name| ask(&server, name).is_ok_and(|found| found.is_empty())).collect();
    ensure!(unknown.is_empty(), "nobody serves {unknown:?}");
    Ok(())
}

/// The metrics that a query asks for.
fn names(query: &str) -> impl Iterator<Item = &str> {
    let words = query.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("ballast_") || word.starts_with("process_"))
}

/// What Prometheus answers to a query now.
fn ask(server: &str, query: &str) -> Result<Vec<Value>> {
    let told = promtool(&["query", "instant", "--format=json", server, query])?;
    let error = String::from_utf8_lossy(&told.stderr).into_owned();
    ensure!(told.status.success(), "{query}: {error}");
    let found: Value = serde_json::from_slice(&told.stdout).with_context(|| format!("{query}: no JSON"))?;
    Ok(list(&found).to_vec())
}

/// A Prometheus that scrapes a port of loopback every second.
fn prometheus(cluster: &Cluster, scraped: u16, own: u16) -> Result<Daemon> {
    let (config, data) = (cluster.path("prometheus.yaml"), cluster.path("prometheus"));
    let rules = clone("deploy/prometheus/rules.yaml").canonicalize().context("no rules")?;
    let settings = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{}']\n\
         scrape_configs: [{{job_name: ballast, static_configs: [{{targets: ['127.0.0.1:{scraped}']}}]}}]\n",
        rules.display()
    );
    std::fs::write(&config, settings).context("cannot write the settings of Prometheus")?;
    let mut command = Command::new(variable("BALLAST_PROMETHEUS")?.join("prometheus"));
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", data.display()));
    command.arg(format!("--web.listen-address=127.0.0.1:{own}"));
    Daemon::start("prometheus", command, &cluster.path(""))
}

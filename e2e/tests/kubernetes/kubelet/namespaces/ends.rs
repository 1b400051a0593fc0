//! Ends that are brought about: hook, SIGTERM, grace, SIGKILL. A finalizer of the test's own keeps the object, so that its last
//! status can be read.

use anyhow::{Result, ensure};

use super::{Case, Plot, runs};

pub(super) const CASES: &[Case] = &[
    ("preStop, then SIGTERM, then SIGKILL", killed),
    ("a container that heeds SIGTERM ends by itself", heeds),
    ("an eviction ends a pod gracefully", evicted),
    ("a pod that is deleted by force is gone", forced),
];

const STATE: &str = "{.status.containerStatuses[0].state.terminated.exitCode}";

/// A pod whose container says when it hears SIGTERM, and does this then. It is ready only when it would hear it.
fn pod(plot: &Plot<'_>, then: &str, grace: u32) -> Result<()> {
    plot.apply(&format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, finalizers: [ballast.dev/held]}}, spec: {{terminationGracePeriodSeconds: {grace}, \
         containers: [{{name: c, image: none, command: [sh, -c, 'trap \"echo term; {then}\" TERM; echo begun; touch /begun; while :; do sleep 0.1; done'], \
         readinessProbe: {{exec: {{command: [test, -e, /begun]}}, periodSeconds: 1}}, \
         lifecycle: {{preStop: {{exec: {{command: [sh, -c, 'echo hook > /proc/1/fd/1']}}}}}}}}]}}}}"
    ))?;
    plot.wait("pod/p", "condition=Ready")
}

/// Waits for the end, then lets the object go.
fn ended(plot: &Plot<'_>, code: &str, log: &str) -> Result<()> {
    plot.wait("pod/p", &format!("jsonpath={STATE}={code}"))?;
    plot.expect("pod/p", "{.status.conditions[?(@.type=='Ready')].status}", "False")?;
    let said = plot.log("p")?;
    ensure!(said == log, "{said:?}");
    plot.wait("pod/p", "jsonpath={.metadata.deletionGracePeriodSeconds}=0")?;
    plot.kubectl(&["patch", "pod", "p", "--type=merge", "-p", "{\"metadata\":{\"finalizers\":null}}"])?;
    plot.wait("pod/p", "delete")
}

fn killed(plot: &Plot<'_>) -> Result<()> {
    pod(plot, ":", 2)?;
    plot.kubectl(&["delete", "pod", "p", "--wait=false"])?;
    ended(plot, "137", "begun\nhook\nterm\n")
}

fn heeds(plot: &Plot<'_>) -> Result<()> {
    pod(plot, "exit 0", 60)?;
    plot.kubectl(&["delete", "pod", "p", "--wait=false"])?;
    ended(plot, "0", "begun\nhook\nterm\n")
}

fn evicted(plot: &Plot<'_>) -> Result<()> {
    pod(plot, "exit 9", 60)?;
    let eviction = format!(
        "{{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{{\"name\":\"p\",\"namespace\":\"{}\"}}}}",
        plot.namespace
    );
    let path = format!("/api/v1/namespaces/{}/pods/p/eviction", plot.namespace);
    plot.kubectl_with(&["create", "--raw", &path, "-f", "-"], &eviction)?;
    ended(plot, "9", "begun\nhook\nterm\n")
}

fn forced(plot: &Plot<'_>) -> Result<()> {
    let mark = format!("86400.{}", plot.yard.cluster.address().port());
    plot.pod("p", &format!("containers: [{{name: c, image: none, command: [sleep, '{mark}']}}]"))?;
    plot.wait("pod/p", "condition=Ready")?;
    ensure!(runs(&mark), "it does not run");
    plot.kubectl(&["delete", "pod", "p", "--force", "--grace-period=0"])?;
    plot.yard.cluster.wait("the process to be gone", |_| Ok(!runs(&mark)))
}

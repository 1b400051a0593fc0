//! Workloads of the real controllers.

use anyhow::{Result, ensure};

use super::{Case, PEER, Plot, runs};

pub(super) const CASES: &[Case] = &[
    ("a Deployment becomes available and scales", deployment),
    ("a Job completes, also where a pod fails first", job),
    ("a node that leaves takes its pods along", node),
    ("a node that comes again begins its pods anew", node_again),
];

fn deployment(plot: &Plot<'_>) -> Result<()> {
    plot.apply(&format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{replicas: 2, selector: {{matchLabels: {{app: web}}}}, \
         template: {{metadata: {{labels: {{app: web}}}}, spec: {{terminationGracePeriodSeconds: 1, containers: [{{name: c, image: none, \
         command: ['{PEER}', serve, '8080', hello], readinessProbe: {{tcpSocket: {{port: 8080}}, periodSeconds: 1}}}}]}}}}}}}}"
    ))?;
    plot.wait("deployment/web", "jsonpath={.status.availableReplicas}=2")?;
    plot.kubectl(&["scale", "deployment/web", "--replicas=1"])?;
    plot.wait("deployment/web", "jsonpath={.status.replicas}=1")?;
    plot.kubectl(&["delete", "deployment", "web"])?;
    plot.kubectl(&["wait", "--for=delete", "pod", "-l", "app=web", "--timeout=60s"]).map(drop)
}

fn job(plot: &Plot<'_>) -> Result<()> {
    plot.apply(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: sums}, spec: {completions: 2, parallelism: 2, backoffLimit: 3, \
         completionMode: Indexed, template: {spec: {restartPolicy: OnFailure, volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: none, \
         command: [sh, -c, 'test -e /v/been || { touch /v/been; exit 1; }; echo index $JOB_COMPLETION_INDEX'], \
         volumeMounts: [{name: v, mountPath: /v}]}]}}}}",
    )?;
    plot.wait("job/sums", "condition=Complete")?;
    plot.expect("job/sums", "{.status.succeeded}", "2")
}

fn node(plot: &Plot<'_>) -> Result<()> {
    plot.yard.kubelet.register("leaves", "1", "1Gi")?;
    let mark = format!("86401.{}", plot.yard.cluster.address().port());
    plot.pod(
        "p",
        &format!("nodeName: leaves, containers: [{{name: c, image: none, command: [sleep, '{mark}']}}]"),
    )?;
    plot.wait("pod/p", "condition=Ready")?;
    ensure!(runs(&mark), "it does not run");
    plot.kubectl(&["delete", "node", "leaves"])?;
    plot.yard.cluster.wait("the process to be gone", |_| Ok(!runs(&mark)))?;
    ensure!(plot.get("node/n1", "{.status.conditions[?(@.type=='Ready')].status}")? == "True");
    Ok(())
}

fn node_again(plot: &Plot<'_>) -> Result<()> {
    plot.yard.kubelet.register("returns", "1", "1Gi")?;
    let mark = format!("86402.{}", plot.yard.cluster.address().port());
    // It is well for as long as its volume is.
    plot.pod(
        "p",
        &format!(
            "nodeName: returns, volumes: [{{name: v, emptyDir: {{}}}}], containers: [{{name: c, image: none, \
             command: [sh, -c, 'touch /v/here; echo life; exec sleep {mark}'], volumeMounts: [{{name: v, mountPath: /v}}], \
             readinessProbe: {{exec: {{command: [test, -e, /v/here]}}, periodSeconds: 1, successThreshold: 3}}}}]"
        ),
    )?;
    plot.wait("pod/p", "condition=Ready")?;
    let started = "{.status.containerStatuses[0].state.running.startedAt}";
    let first = plot.get("pod/p", started)?;
    plot.kubectl(&["delete", "node", "returns"])?;
    plot.yard.cluster.wait("the process to be gone", |_| Ok(!runs(&mark)))?;
    plot.yard.kubelet.register("returns", "1", "1Gi")?;
    plot.yard.cluster.wait("a second life", |_| {
        let second = plot.get("pod/p", started)?;
        Ok(!second.is_empty() && second != first)
    })?;
    plot.wait("pod/p", "condition=Ready")?;
    let said = plot.log("p")?;
    ensure!(said == "life\nlife\n", "{said:?}");
    Ok(())
}

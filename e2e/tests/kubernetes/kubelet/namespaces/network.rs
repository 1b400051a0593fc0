//! Pods that talk to each other, and to the API.

use anyhow::{Result, ensure};

use super::{Case, PEER, Plot};

pub(super) const CASES: &[Case] = &[
    ("two pods talk over the bridge by the name of a Service", by_name),
    ("readiness decides which endpoints are ready", readiness),
    ("a pod reaches the API with its own token", api),
];

fn by_name(plot: &Plot<'_>) -> Result<()> {
    plot.apply("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 8080}]}}")?;
    plot.pod(
        "asks",
        &format!(
            "restartPolicy: Never, containers: [{{name: c, image: none, command: [sh, -c, \
             'until {PEER} ask web:8080; do sleep 0.2; done; {PEER} ask web.$NS.svc.cluster.local:8080; uname -n'], \
             env: [{{name: NS, valueFrom: {{fieldRef: {{fieldPath: metadata.namespace}}}}}}]}}]"
        ),
    )?;
    plot.pod(
        "web",
        &format!(
            "containers: [{{name: c, image: none, command: ['{PEER}', serve, '8080', hello], \
             readinessProbe: {{tcpSocket: {{port: 8080}}, periodSeconds: 1}}}}]"
        ),
    )?;
    let said = plot.said("asks")?;
    ensure!(said.ends_with("hello\nhello\nasks\n"), "{said:?}");
    ensure!(
        plot.get("pod/asks", "{.status.podIP}")? != plot.get("pod/web", "{.status.podIP}")?,
        "two pods have one address"
    );
    Ok(())
}

fn readiness(plot: &Plot<'_>) -> Result<()> {
    plot.apply("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 8080}]}}")?;
    plot.pod(
        "web",
        &format!(
            "containers: [{{name: c, image: none, command: ['{PEER}', serve, '8080', hello], ports: [{{name: http, containerPort: 8080}}], \
             readinessProbe: {{httpGet: {{path: /, port: http}}, periodSeconds: 1, failureThreshold: 1}}}}]"
        ),
    )?;
    plot.wait("pod/web", "condition=Ready")?;
    let slice =
        plot.kubectl(&["get", "endpointslices", "-l", "kubernetes.io/service-name=web", "-o", "name"])?;
    let endpoints = |ready: bool| {
        plot.wait(slice.trim(), &format!("jsonpath={{.endpoints[0].conditions.ready}}={ready}"))
    };
    endpoints(true)?;
    plot.ask("web", 8080, "/close")?;
    plot.wait("pod/web", "condition=Ready=false")?;
    plot.expect("pod/web", "{.status.containerStatuses[0].ready}", "false")?;
    endpoints(false)?;
    plot.ask("web", 8080, "/open")?;
    plot.wait("pod/web", "condition=Ready")?;
    endpoints(true)?;
    plot.expect("pod/web", "{.status.containerStatuses[0].restartCount}", "0")
}

fn api(plot: &Plot<'_>) -> Result<()> {
    let kubectl = plot.yard.cluster.program("kubectl").display().to_string();
    plot.pod(
        "who",
        &format!(
            "restartPolicy: Never, containers: [{{name: c, image: none, \
             command: ['{kubectl}', auth, whoami, -o, 'jsonpath={{.status.userInfo.username}}']}}]"
        ),
    )?;
    let said = plot.said("who")?;
    ensure!(said == format!("system:serviceaccount:{}:default", plot.namespace), "{said:?}");
    Ok(())
}

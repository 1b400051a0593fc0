//! Where namespaces are not allowed: addresses of loopback.

use anyhow::{Result, ensure};
use ballast_e2e::kubelet::Kubelet;

use super::yard::{PEER, Plot, Yard};

#[test]
fn pods_on_loopback_have_addresses_of_their_own_and_fail_where_they_need_more() -> Result<()> {
    let yard = Yard::open(Kubelet::on_loopback)?;
    ensure!(!yard.kubelet.has_namespaces(), "there are namespaces");
    let plot = Plot::fence(&yard, "loopback")?;
    let serves = |word: &str| {
        format!(
            "automountServiceAccountToken: false, terminationGracePeriodSeconds: 5, containers: [{{name: c, image: none, \
             command: ['{PEER}', serve, '8080', {word}], \
             env: [{{name: POD_IP, valueFrom: {{fieldRef: {{fieldPath: status.podIP}}}}}}], \
             readinessProbe: {{tcpSocket: {{port: 8080}}, periodSeconds: 1}}}}]"
        )
    };
    plot.pod("one", &serves("first"))?;
    plot.pod("two", &serves("second"))?;
    plot.pod(
        "volume",
        "containers: [{name: c, image: none, command: ['true'], volumeMounts: [{name: v, mountPath: /v}]}], \
         volumes: [{name: v, emptyDir: {}}]",
    )?;
    plot.wait("pod/one", "condition=Ready")?;
    plot.wait("pod/two", "condition=Ready")?;
    // The same port twice: only the addresses tell them apart.
    ensure!(plot.ask("one", 8080, "/")? == "first");
    ensure!(plot.ask("two", 8080, "/")? == "second");
    plot.wait_for_phase("volume", "Failed")?;
    let message = plot.get("pod/volume", "{.status.message}")?;
    ensure!(message.contains("spec.containers[0].volumeMounts without mount namespaces"), "{message}");
    plot.kubectl(&["delete", "pod", "one", "--timeout=60s"])?;
    ensure!(plot.ask("two", 8080, "/")? == "second", "the other is gone too");
    Ok(())
}

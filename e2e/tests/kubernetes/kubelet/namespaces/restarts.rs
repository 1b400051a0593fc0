//! Ends that a container brings about itself, and what comes after.

use anyhow::{Result, ensure};

use super::{Case, PEER, Plot};

pub(super) const CASES: &[Case] = &[
    ("liveness restarts", liveness),
    ("never again: the exit code and the message are told", never),
    ("on failure, until it succeeds", on_failure),
    ("always, with a back-off", always),
    ("an init container that fails, fails its pod", init_fails),
    ("longer than its deadline", overdue),
    ("what cannot be done fails the pod by name", unsupported),
];

const STATUS: &str = "{.status.containerStatuses[0]";

fn liveness(plot: &Plot<'_>) -> Result<()> {
    plot.pod(
        "p",
        &format!(
            "terminationGracePeriodSeconds: 1, containers: [{{name: c, image: none, command: ['{PEER}', serve, '8080', hello], \
             livenessProbe: {{httpGet: {{path: /, port: 8080}}, periodSeconds: 1, failureThreshold: 2}}, \
             startupProbe: {{tcpSocket: {{port: 8080}}, periodSeconds: 1, failureThreshold: 30}}}}]"
        ),
    )?;
    plot.wait("pod/p", "condition=Ready")?;
    plot.ask("p", 8080, "/close")?;
    plot.wait("pod/p", &format!("jsonpath={STATUS}.restartCount}}=1"))?;
    plot.wait("pod/p", "condition=Ready")?;
    // The first process of its namespace without a handler hears no SIGTERM.
    plot.expect("pod/p", &format!("{STATUS}.lastState.terminated.exitCode}}"), "137")?;
    let message = plot.get("pod/p", &format!("{STATUS}.lastState.terminated.message}}"))?;
    ensure!(message.contains("failed liveness probe"), "{message:?}");
    Ok(())
}

fn never(plot: &Plot<'_>) -> Result<()> {
    plot.pod(
        "p",
        "restartPolicy: Never, containers: [{name: c, image: none, command: [sh, -c, 'echo why > /dev/termination-log; exit 3']}]",
    )?;
    plot.wait_for_phase("p", "Failed")?;
    let path = format!(
        "{STATUS}.state.terminated.exitCode}} {STATUS}.state.terminated.reason}} {STATUS}.state.terminated.message}}"
    );
    plot.expect("pod/p", &path, "3 Error why\n")?;
    plot.expect("pod/p", "{.status.conditions[?(@.type=='Ready')].status}", "False")
}

fn on_failure(plot: &Plot<'_>) -> Result<()> {
    plot.pod(
        "p",
        "restartPolicy: OnFailure, volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: none, \
         command: [sh, -c, 'echo turn; test -e /v/been || { touch /v/been; exit 7; }'], volumeMounts: [{name: v, mountPath: /v}]}]",
    )?;
    ensure!(plot.said("p")? == "turn\nturn\n");
    plot.expect(
        "pod/p",
        &format!("{STATUS}.restartCount}} {STATUS}.lastState.terminated.exitCode}}"),
        "1 7",
    )?;
    plot.expect("pod/p", &format!("{STATUS}.state.terminated.reason}}"), "Completed")
}

fn always(plot: &Plot<'_>) -> Result<()> {
    plot.pod("p", "containers: [{name: c, image: none, command: ['true']}]")?;
    plot.yard.cluster.wait("two restarts", |_| {
        Ok(plot.get("pod/p", &format!("{STATUS}.restartCount}}"))?.parse::<u32>()? >= 2)
    })?;
    plot.wait("pod/p", &format!("jsonpath={STATUS}.state.waiting.reason}}=CrashLoopBackOff"))?;
    plot.expect("pod/p", "{.status.phase}", "Running")
}

fn init_fails(plot: &Plot<'_>) -> Result<()> {
    plot.pod(
        "p",
        "restartPolicy: Never, initContainers: [{name: i, image: none, command: [sh, -c, 'exit 4']}], \
         containers: [{name: c, image: none, command: ['true']}]",
    )?;
    plot.wait_for_phase("p", "Failed")?;
    plot.expect("pod/p", "{.status.initContainerStatuses[0].state.terminated.exitCode}", "4")?;
    plot.expect("pod/p", &format!("{STATUS}.state.waiting.reason}}"), "PodInitializing")?;
    ensure!(plot.log("p").is_err(), "the container ran");
    Ok(())
}

fn overdue(plot: &Plot<'_>) -> Result<()> {
    plot.pod(
        "p",
        "activeDeadlineSeconds: 1, terminationGracePeriodSeconds: 1, containers: [{name: c, image: none, command: [sleep, infinity]}]",
    )?;
    plot.wait_for_phase("p", "Failed")?;
    plot.expect("pod/p", "{.status.reason}", "DeadlineExceeded")
}

fn unsupported(plot: &Plot<'_>) -> Result<()> {
    plot.pod(
        "p",
        "hostNetwork: true, volumes: [{name: far, nfs: {server: s, path: /}}], containers: [{name: c, image: none}]",
    )?;
    plot.wait_for_phase("p", "Failed")?;
    plot.expect("pod/p", "{.status.reason}", "Unsupported")?;
    let message = plot.get("pod/p", "{.status.message}")?;
    for part in ["spec.hostNetwork", "spec.volumes[0].nfs", "spec.containers[0].command is missing"] {
        ensure!(message.contains(part), "{message:?} does not name {part}");
    }
    Ok(())
}

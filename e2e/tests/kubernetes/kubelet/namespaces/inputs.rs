//! What a container is given: init containers before it, environment, volumes, and who it is.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{Case, Plot};

pub(super) const CASES: &[Case] = &[
    ("init containers run in order, and sidecars beside", inits),
    ("the environment, from values, maps, secrets, fields and amounts", environment),
    ("volumes of every kind, at their places", volumes),
    ("what is missing is waited for", missing),
    ("as whom a container runs", credentials),
];

fn inits(plot: &Plot<'_>) -> Result<()> {
    let says = |name: &str| {
        format!(
            "{{name: {name}, image: none, command: [sh, -c, 'echo {name} >> /shared/order'], \
             volumeMounts: [{{name: shared, mountPath: /shared}}]}}"
        )
    };
    plot.pod(
        "p",
        &format!(
            "restartPolicy: Never, volumes: [{{name: shared, emptyDir: {{}}}}], initContainers: [{}, \
             {{name: beside, image: none, restartPolicy: Always, command: [sh, -c, \
             'echo beside >> /shared/order; trap \"echo done >> /shared/order; cat /shared/order; exit 0\" TERM; while :; do sleep 0.1; done'], \
             startupProbe: {{exec: {{command: [grep, beside, /shared/order]}}, periodSeconds: 1}}, \
             volumeMounts: [{{name: shared, mountPath: /shared}}]}}, {}], containers: [{}]",
            says("first"),
            says("second"),
            says("c"),
        ),
    )?;
    plot.wait_for_phase("p", "Succeeded")?;
    let order = plot.yard.kubelet.log(&plot.namespace, "p", "beside")?;
    ensure!(order.split_whitespace().eq(["first", "beside", "second", "c", "done"]), "{order:?}");
    plot.expect("pod/p", "{.status.conditions[?(@.type=='Initialized')].status}", "True")?;
    plot.expect(
        "pod/p",
        "{.status.initContainerStatuses[*].state.terminated.reason}",
        "Completed Completed Completed",
    )
}

fn environment(plot: &Plot<'_>) -> Result<()> {
    plot.apply(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {key: from-map, OTHER: all-of-map}}\n---\n\
         {apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {key: from-secret}}",
    )?;
    plot.pod(
        "p",
        "restartPolicy: Never, containers: [{name: c, image: none, workingDir: /usr, \
         command: [sh, -c, 'echo $A $B $C $D $E $F $G $H $OTHER $PRE_key ${NONE-none} $0 $PWD; id -u; test -z \"$CARGO\"', 'arg-$(A)'], \
         resources: {requests: {memory: 64Mi}, limits: {cpu: 1500m, memory: 64Mi}}, \
         envFrom: [{configMapRef: {name: map}}, {prefix: PRE_, secretRef: {name: secret}}, {configMapRef: {name: nowhere, optional: true}}], env: [\
         {name: A, value: a}, {name: B, value: '$(A)b$$(A)'}, \
         {name: C, valueFrom: {configMapKeyRef: {name: map, key: key}}}, \
         {name: D, valueFrom: {secretKeyRef: {name: secret, key: key}}}, \
         {name: E, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['app']\"}}}, \
         {name: F, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, \
         {name: G, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}, \
         {name: H, valueFrom: {resourceFieldRef: {resource: requests.memory, divisor: 1Mi}}}, \
         {name: NONE, valueFrom: {configMapKeyRef: {name: map, key: nothing, optional: true}}}]}]",
    )?;
    let said = plot.said("p")?;
    let told = "a ab$(A) from-map from-secret p n1 2 64 all-of-map from-secret none arg-a /usr\n0\n";
    ensure!(said == told, "{said:?}");
    Ok(())
}

fn volumes(plot: &Plot<'_>) -> Result<()> {
    plot.apply(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {a: text-a, b: text-b}}\n---\n\
         {apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {key: hidden}}",
    )?;
    let leak = format!("/leak-of-{}-{}", plot.namespace, std::process::id());
    plot.pod(
        "p",
        &format!(
            "restartPolicy: Never, containers: [{{name: c, image: none, command: [sh, -ec, '\
             cat /map/a /one/deep/file /secret/key /down/name; \
             for i in 1 2 3 4 5 6 7 8 9; do test -e /disk/word || sleep 1; done; cat /disk/word /memory/word /part/inner; \
             cut -c1-2 /var/run/secrets/kubernetes.io/serviceaccount/token; cat /var/run/secrets/kubernetes.io/serviceaccount/namespace; echo; \
             head -1 /var/run/secrets/kubernetes.io/serviceaccount/ca.crt; stat -c %a /secret/key; \
             touch {leak}; touch /map/x 2>/dev/null || echo refused; findmnt -n -o FSTYPE /memory'], \
             volumeMounts: [{{name: map, mountPath: /map}}, {{name: one, mountPath: /one}}, {{name: secret, mountPath: /secret}}, \
             {{name: down, mountPath: /down}}, {{name: disk, mountPath: /disk}}, {{name: memory, mountPath: /memory}}, \
             {{name: disk, mountPath: /part, subPath: below}}]}}, \
             {{name: writer, image: none, command: [sh, -ec, 'echo in-memory > /memory/word; mkdir -p /disk/below; echo below > /disk/below/inner; echo on-disk > /disk/word'], \
             volumeMounts: [{{name: disk, mountPath: /disk}}, {{name: memory, mountPath: /memory}}]}}], volumes: [\
             {{name: map, configMap: {{name: map}}}}, \
             {{name: one, configMap: {{name: map, items: [{{key: b, path: deep/file}}]}}}}, \
             {{name: secret, secret: {{secretName: secret, defaultMode: 256}}}}, \
             {{name: down, downwardAPI: {{items: [{{path: name, fieldRef: {{fieldPath: metadata.name}}}}]}}}}, \
             {{name: disk, emptyDir: {{}}}}, {{name: memory, emptyDir: {{medium: Memory, sizeLimit: 1Mi}}}}]"
        ),
    )?;
    let said = plot.said("p")?;
    let told = format!(
        "text-atext-bhiddenpon-disk\nin-memory\nbelow\ney\n{}\n-----BEGIN CERTIFICATE-----\n400\nrefused\ntmpfs\n",
        plot.namespace
    );
    ensure!(said == told, "{said:?}");
    ensure!(!Path::new(&leak).exists(), "what a container writes is seen outside");
    Ok(())
}

fn missing(plot: &Plot<'_>) -> Result<()> {
    plot.pod(
        "p",
        "restartPolicy: Never, containers: [{name: c, image: none, command: [cat, /map/a], volumeMounts: [{name: map, mountPath: /map}]}], \
         volumes: [{name: map, configMap: {name: late}}]",
    )?;
    let waiting = "{.status.containerStatuses[0].state.waiting.message}";
    plot.wait("pod/p", &format!("jsonpath={waiting}"))?;
    let message = plot.get("pod/p", waiting)?;
    ensure!(message.contains("configmap \"late\" not found"), "{message:?}");
    plot.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {a: at-last}}")?;
    ensure!(plot.said("p")? == "at-last");

    plot.pod(
        "q",
        "restartPolicy: Never, containers: [{name: c, image: none, command: [sh, -c, 'echo $WORD'], \
         env: [{name: WORD, valueFrom: {secretKeyRef: {name: late, key: word}}}]}]",
    )?;
    let reason = "{.status.containerStatuses[0].state.waiting.reason}";
    plot.wait("pod/q", &format!("jsonpath={reason}=CreateContainerConfigError"))?;
    plot.expect("pod/q", waiting, "secret \"late\" not found")?;
    plot.apply("{apiVersion: v1, kind: Secret, metadata: {name: late}, stringData: {word: at-last}}")?;
    ensure!(plot.said("q")? == "at-last\n");
    Ok(())
}

fn credentials(plot: &Plot<'_>) -> Result<()> {
    plot.pod(
        "p",
        "restartPolicy: Never, securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65531, fsGroup: 65530, \
         seccompProfile: {type: RuntimeDefault}}, containers: [{name: c, image: none, command: [sh, -c, \
         'id -u; id -g; id -G; echo x > /data/file && stat -c %g /data/file; touch /usr/x 2>/dev/null || echo refused; \
         grep -e CapEff -e NoNewPrivs /proc/self/status | cut -f2; echo left > /dev/termination-log'], \
         volumeMounts: [{name: data, mountPath: /data}], securityContext: {readOnlyRootFilesystem: true, \
         allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}], volumes: [{name: data, emptyDir: {}}]",
    )?;
    let said = plot.said("p")?;
    let told = "65532\n65531\n65531 65530\n65530\nrefused\n0000000000000000\n1\n";
    ensure!(said == told, "{said:?}");
    plot.expect("pod/p", "{.status.containerStatuses[0].state.terminated.message}", "left\n")
}

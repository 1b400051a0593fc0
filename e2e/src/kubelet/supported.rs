//! What this kubelet can do. Whatever else a pod asks for makes it fail, with the field by name: nothing is passed over.
//!
//! Read from the object as the API sends it, so that a field which is newer than our types is seen too.

use serde_json::Value;

/// Places in the spec of a pod, and the fields that are known there: honoured, or without meaning where there are no images, no
/// limits and no devices.
const KNOWN: &[(&str, &str)] = &[
    (
        "",
        "activeDeadlineSeconds affinity automountServiceAccountToken containers dnsPolicy enableServiceLinks hostAliases \
         hostname imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority \
         priorityClassName readinessGates restartPolicy schedulerName securityContext serviceAccount serviceAccountName \
         subdomain terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes",
    ),
    (
        "securityContext",
        "fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser seccompProfile supplementalGroups",
    ),
    ("*ontainers[]", CONTAINER),
    ("*ontainers[].securityContext", CONTAINER_SECURITY),
    ("*ontainers[].ports[]", "containerPort name protocol"),
    ("*ontainers[].volumeMounts[]", "mountPath name readOnly subPath subPathExpr"),
    ("*ontainers[].env[].valueFrom", "configMapKeyRef fieldRef resourceFieldRef secretKeyRef"),
    ("*ontainers[].lifecycle", "postStart preStop"),
    ("*ontainers[].lifecycle.postStart", "exec httpGet sleep"),
    ("*ontainers[].lifecycle.preStop", "exec httpGet sleep"),
    ("*ontainers[].livenessProbe", PROBE),
    ("*ontainers[].readinessProbe", PROBE),
    ("*ontainers[].startupProbe", PROBE),
    ("volumes[]", "configMap downwardAPI emptyDir name projected secret"),
    ("volumes[].emptyDir", "medium sizeLimit"),
    ("volumes[].projected.sources[]", "configMap downwardAPI secret serviceAccountToken"),
];
const CONTAINER: &str = "args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe \
                         resizePolicy resources restartPolicy securityContext startupProbe terminationMessagePath \
                         terminationMessagePolicy volumeMounts workingDir";
const CONTAINER_SECURITY: &str = "allowPrivilegeEscalation capabilities privileged readOnlyRootFilesystem runAsGroup \
                                  runAsNonRoot runAsUser seccompProfile";
const PROBE: &str = "exec failureThreshold httpGet initialDelaySeconds periodSeconds successThreshold tcpSocket \
                     terminationGracePeriodSeconds timeoutSeconds";

/// Values that are not as they would have to be: the place, the field, and whether it can be honoured.
type Judge = fn(&Value) -> bool;
const VALUES: &[(&str, &str, Judge)] = &[
    ("securityContext", "seccompProfile", is_no_file),
    ("*ontainers[].securityContext", "seccompProfile", is_no_file),
    ("volumes[].emptyDir", "medium", |medium| matches!(medium.as_str(), Some("" | "Memory"))),
    ("containers[]", "restartPolicy", |_| false),
    ("initContainers[]", "restartPolicy", |policy| policy == "Always"),
];

/// What needs a mount namespace.
const MOUNTED: &[(&str, &str)] = &[
    ("*ontainers[]", "volumeMounts"),
    ("*ontainers[].securityContext", "readOnlyRootFilesystem"),
    ("", "hostAliases"),
];

/// Everything that a pod asks for and this kubelet cannot do, in words; nothing: it can run.
pub(super) fn complaints(spec: &Value, has_namespaces: bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for (place, known) in KNOWN {
        for (path, object) in objects(spec, place) {
            let fields = object.as_object().into_iter().flatten();
            let unknown = fields
                .filter(|(field, value)| !is_nothing(value) && known.split(' ').all(|known| known != *field));
            complaints.extend(unknown.map(|(field, _)| format!("{path}{field}")));
        }
    }
    for (place, field, can) in VALUES {
        let refused = objects(spec, place)
            .into_iter()
            .filter(|(_, object)| object.get(field).is_some_and(|value| !is_nothing(value) && !can(value)));
        complaints.extend(refused.map(|(path, object)| format!("{path}{field}: {}", object[*field])));
    }
    for (path, container) in objects(spec, "*ontainers[]") {
        if container.get("command").is_none_or(is_nothing) {
            complaints.push(format!("{path}command is missing: there are no images that would name one"));
        }
    }
    for (place, field) in MOUNTED.iter().filter(|_| !has_namespaces) {
        let asked = objects(spec, place).into_iter();
        let asked = asked.filter(|(_, object)| object.get(field).is_some_and(|value| !is_nothing(value)));
        complaints.extend(asked.map(|(path, _)| format!("{path}{field} without mount namespaces")));
    }
    complaints
}

fn is_no_file(profile: &Value) -> bool {
    profile["type"] != "Localhost"
}

/// Asks for nothing.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Objects at a place such as `volumes[].emptyDir`, each with its path and a dot. `*` stands for any beginning of a name.
fn objects<'a>(spec: &'a Value, place: &str) -> Vec<(String, &'a Value)> {
    let mut found = vec![("spec.".to_owned(), spec)];
    for step in place.split('.').filter(|step| !step.is_empty()) {
        let name = step.trim_end_matches("[]");
        found = found.into_iter().flat_map(|(path, object)| fields(&path, object, name)).collect();
        if step.ends_with("[]") {
            found = found.into_iter().flat_map(|(path, list)| items(&path, list)).collect();
        }
    }
    found
}

fn fields<'a>(path: &str, object: &'a Value, name: &str) -> Vec<(String, &'a Value)> {
    let matches = |field: &str| match name.strip_prefix('*') {
        Some(end) => field.ends_with(end),
        None => field == name,
    };
    let fields = object.as_object().into_iter().flatten().filter(|(field, _)| matches(field));
    fields.map(|(field, value)| (format!("{path}{field}."), value)).collect()
}

fn items<'a>(path: &str, list: &'a Value) -> Vec<(String, &'a Value)> {
    let path = path.trim_end_matches('.');
    let items = list.as_array().into_iter().flatten().enumerate();
    items.map(|(index, item)| (format!("{path}[{index}]."), item)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_be_done_is_named_by_its_place() {
        let spec = json!({
            "hostNetwork": true,
            "hostPID": false,
            "containers": [{"name": "c", "command": ["x"], "livenessProbe": {"grpc": {"port": 1}}}],
            "initContainers": [{"name": "i", "restartPolicy": "Never"}],
            "volumes": [{"name": "v", "emptyDir": {}}, {"name": "n", "nfs": {"server": "s"}}],
        });
        let mut complaints = complaints(&spec, true);
        complaints.sort();
        assert_eq!(
            complaints,
            [
                "spec.containers[0].livenessProbe.grpc",
                "spec.hostNetwork",
                "spec.initContainers[0].command is missing: there are no images that would name one",
                "spec.initContainers[0].restartPolicy: \"Never\"",
                "spec.volumes[1].nfs",
            ]
        );
    }

    #[test]
    fn volumes_need_a_mount_namespace() {
        let spec =
            json!({"containers": [{"command": ["x"], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]});
        assert_eq!(complaints(&spec, true), [""; 0]);
        assert_eq!(complaints(&spec, false), ["spec.containers[0].volumeMounts without mount namespaces"]);
    }
}

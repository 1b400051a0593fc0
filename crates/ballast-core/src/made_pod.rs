//! Pods that Ballast makes for a document, and whether it may make them.
//!
//! Who writes a document is not who makes its pods: Ballast does, with rights that the author may not have. So a pod is made only
//! in the namespace of its document, belongs to it, runs as an account that the administrator lets that namespace's documents
//! name, and keeps the Pod Security Standard of its namespace: `restricted`, unless the ClusterPolicy says less. The API may
//! refuse more; this is judged before it is asked, and says why.

use std::fmt;

use serde_json::{Value, json};

use crate::kube::Name;
use crate::policy::{ClusterPolicySpec, PodSecurity};

/// The account of a pod that names none.
const DEFAULT_ACCOUNT: &str = "default";
/// Volumes that `restricted` knows; no other kind is allowed.
const VOLUMES: [&str; 8] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
];
/// Capabilities that `baseline` lets a container add.
const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
/// Settings of the kernel that `baseline` lets a pod make.
const SYSCTLS: [&str; 10] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
];
/// Types of SELinux that `baseline` knows.
const SELINUX: [&str; 5] = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

/// A pod that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct MadePod {
    /// Its name.
    pub name: Name,
    /// The document that it is made for: the pod lives in its namespace, and goes with it.
    pub owner: Owner,
    /// Its labels.
    pub labels: crate::kube::Labels,
    /// Its spec, as the author of the document wrote it.
    pub spec: Value,
}

/// The document that a pod is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its API version.
    pub api_version: Name,
    /// Its kind.
    pub kind: Name,
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// Its identity.
    pub uid: Name,
}

/// Why a pod is not made. Containers are told by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodRefusal {
    /// Its document has no namespace or no identity: nobody would own the pod.
    NoOwner,
    /// It has no containers that could be judged.
    NoContainers,
    /// It names an account that the ClusterPolicy does not let its namespace's documents name.
    ServiceAccount(Name),
    /// It names the node itself, past the scheduler.
    NodeName,
    /// It shares a namespace of the node: its network, processes or memory.
    HostNamespace(&'static str),
    /// It has a volume of the node.
    HostPath(Name),
    /// It has a volume of a kind that is not among those allowed.
    Volume(Name),
    /// It takes a port of the node.
    HostPort(Name),
    /// A hook or probe of it calls another host.
    ProbeHost(Name),
    /// It is privileged.
    Privileged(Name),
    /// It runs as a process of a Windows host.
    HostProcess(Name),
    /// It adds a capability.
    Capability(Name, Name),
    /// It does not drop all capabilities.
    CapabilitiesKept(Name),
    /// It may gain privileges.
    PrivilegeEscalation(Name),
    /// Nothing keeps it from running as root.
    MayBeRoot(Name),
    /// It says that it runs as root.
    Root(Name),
    /// It has no profile of seccomp, or none that confines it.
    Seccomp(Name),
    /// It takes AppArmor off.
    AppArmor(Name),
    /// It chooses its own label of SELinux.
    SeLinux(Name),
    /// It sees all of `/proc`.
    ProcMount(Name),
    /// It sets something of the kernel.
    Sysctl(Name),
}

impl fmt::Display for PodRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOwner => f.write_str("its document has no namespace or no identity"),
            Self::NoContainers => f.write_str("it has no containers"),
            Self::ServiceAccount(name) => {
                write!(
                    f,
                    "`tenants` of the ClusterPolicy does not list the account `{name}` for its namespace"
                )
            }
            Self::NodeName => f.write_str("it names its node itself"),
            Self::HostNamespace(which) => write!(f, "{which} is set"),
            Self::HostPath(name) => write!(f, "the volume `{name}` is a path of the node"),
            Self::Volume(name) => write!(f, "the volume `{name}` is of a kind that is not allowed"),
            Self::HostPort(name) => write!(f, "`{name}` takes a port of the node"),
            Self::ProbeHost(name) => write!(f, "a probe or hook of `{name}` calls another host"),
            Self::Privileged(name) => write!(f, "`{name}` is privileged"),
            Self::HostProcess(name) => write!(f, "`{name}` is a process of the host"),
            Self::Capability(name, capability) => write!(f, "`{name}` adds the capability {capability}"),
            Self::CapabilitiesKept(name) => write!(f, "`{name}` does not drop ALL capabilities"),
            Self::PrivilegeEscalation(name) => {
                write!(f, "`{name}` does not set allowPrivilegeEscalation: false")
            }
            Self::MayBeRoot(name) => write!(f, "`{name}` does not set runAsNonRoot: true"),
            Self::Root(name) => write!(f, "`{name}` sets runAsUser: 0"),
            Self::Seccomp(name) => write!(f, "`{name}` has no seccompProfile RuntimeDefault or Localhost"),
            Self::AppArmor(name) => write!(f, "`{name}` takes AppArmor off"),
            Self::SeLinux(name) => write!(f, "`{name}` chooses its label of SELinux"),
            Self::ProcMount(name) => write!(f, "`{name}` sees all of /proc"),
            Self::Sysctl(name) => write!(f, "it sets {name} of the kernel"),
        }
    }
}

impl MadePod {
    /// Why it is not made; empty where it is.
    pub fn refusals(&self, policy: &ClusterPolicySpec) -> Vec<PodRefusal> {
        let tenant = policy.tenant(&self.owner.namespace);
        let mut found = Vec::new();
        if self.owner.namespace.is_empty() || self.owner.uid.is_empty() {
            found.push(PodRefusal::NoOwner);
        }
        let account = ["serviceAccountName", "serviceAccount"].map(|key| text(&self.spec[key]));
        for account in account.into_iter().filter(|name| !name.is_empty() && *name != DEFAULT_ACCOUNT) {
            if !tenant.is_some_and(|tenant| tenant.service_accounts.iter().any(|name| &**name == account)) {
                found.push(PodRefusal::ServiceAccount(account.into()));
            }
        }
        if !text(&self.spec["nodeName"]).is_empty() {
            found.push(PodRefusal::NodeName);
        }
        let level = tenant.map_or(PodSecurity::Restricted, |tenant| tenant.pod_security);
        judge(&self.spec, level, &mut found);
        found.sort();
        found.dedup();
        found
    }

    /// As the API is asked for it: in its document's namespace, owned by it.
    pub fn manifest(&self) -> Value {
        let Owner { api_version, kind, namespace, name, uid } = &self.owner;
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": &*self.name,
                "namespace": &**namespace,
                "labels": self.labels,
                "ownerReferences": [{
                    "apiVersion": &**api_version, "kind": &**kind, "name": &**name, "uid": &**uid,
                    "controller": true, "blockOwnerDeletion": false,
                }],
            },
            "spec": self.spec,
        })
    }
}

fn judge(spec: &Value, level: PodSecurity, found: &mut Vec<PodRefusal>) {
    let containers: Vec<&Value> = ["initContainers", "containers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|key| spec[key].as_array().into_iter().flatten())
        .collect();
    if spec["containers"].as_array().is_none_or(Vec::is_empty) {
        found.push(PodRefusal::NoContainers);
    }
    if level == PodSecurity::Privileged {
        return;
    }
    for which in ["hostNetwork", "hostPID", "hostIPC"] {
        if spec[which] == true {
            found.push(PodRefusal::HostNamespace(which));
        }
    }
    volumes(spec, level, found);
    let own = &spec["securityContext"];
    let sysctls = own["sysctls"].as_array().into_iter().flatten().map(|one| text(&one["name"]));
    found.extend(sysctls.filter(|name| !SYSCTLS.contains(name)).map(|name| PodRefusal::Sysctl(name.into())));
    confined(own, "pod".into(), found);
    for container in containers {
        baseline(container, found);
        if level == PodSecurity::Restricted {
            restricted(container, own, found);
        }
    }
}

fn volumes(spec: &Value, level: PodSecurity, found: &mut Vec<PodRefusal>) {
    for volume in spec["volumes"].as_array().into_iter().flatten() {
        let name: Name = text(&volume["name"]).into();
        if !volume["hostPath"].is_null() {
            found.push(PodRefusal::HostPath(name));
            continue;
        }
        let kinds = volume.as_object().into_iter().flat_map(|own| own.keys()).filter(|key| *key != "name");
        if level == PodSecurity::Restricted && kinds.into_iter().any(|kind| !VOLUMES.contains(&&**kind)) {
            found.push(PodRefusal::Volume(name));
        }
    }
}

/// What a pod and each of its containers may say alike.
fn confined(context: &Value, name: Name, found: &mut Vec<PodRefusal>) {
    if text(&context["appArmorProfile"]["type"]) == "Unconfined" {
        found.push(PodRefusal::AppArmor(name.clone()));
    }
    if text(&context["seccompProfile"]["type"]) == "Unconfined" {
        found.push(PodRefusal::Seccomp(name.clone()));
    }
    let label = &context["seLinuxOptions"];
    let is_own = !text(&label["user"]).is_empty() || !text(&label["role"]).is_empty();
    if is_own || !SELINUX.contains(&text(&label["type"])) {
        found.push(PodRefusal::SeLinux(name.clone()));
    }
    if context["windowsOptions"]["hostProcess"] == true {
        found.push(PodRefusal::HostProcess(name));
    }
}

/// What `baseline` says of a container.
fn baseline(container: &Value, found: &mut Vec<PodRefusal>) {
    let name: Name = text(&container["name"]).into();
    let context = &container["securityContext"];
    confined(context, name.clone(), found);
    if context["privileged"] == true {
        found.push(PodRefusal::Privileged(name.clone()));
    }
    let added = context["capabilities"]["add"].as_array().into_iter().flatten().map(text);
    let added = added.filter(|added| !CAPABILITIES.contains(added));
    found.extend(added.map(|added| PodRefusal::Capability(name.clone(), added.into())));
    if !matches!(text(&context["procMount"]), "" | "Default") {
        found.push(PodRefusal::ProcMount(name.clone()));
    }
    let ports = container["ports"].as_array().into_iter().flatten();
    if ports.into_iter().any(|port| port["hostPort"].as_i64().is_some_and(|port| port != 0)) {
        found.push(PodRefusal::HostPort(name.clone()));
    }
    let hook = &container["lifecycle"];
    let probes = ["livenessProbe", "readinessProbe", "startupProbe"].map(|key| &container[key]);
    let calls = probes.into_iter().chain([&hook["preStop"], &hook["postStart"]]);
    let hosts = calls.flat_map(|call| [&call["httpGet"]["host"], &call["tcpSocket"]["host"]]);
    if hosts.into_iter().any(|host| !text(host).is_empty()) {
        found.push(PodRefusal::ProbeHost(name));
    }
}

/// What `restricted` says of a container beside that; what it does not say itself its pod may.
fn restricted(container: &Value, pod: &Value, found: &mut Vec<PodRefusal>) {
    let name: Name = text(&container["name"]).into();
    let context = &container["securityContext"];
    let inherited = |key: &str| if context[key].is_null() { &pod[key] } else { &context[key] };
    if context["allowPrivilegeEscalation"] != false {
        found.push(PodRefusal::PrivilegeEscalation(name.clone()));
    }
    if *inherited("runAsNonRoot") != true {
        found.push(PodRefusal::MayBeRoot(name.clone()));
    }
    if *inherited("runAsUser") == 0 || pod["runAsUser"] == 0 {
        found.push(PodRefusal::Root(name.clone()));
    }
    if !matches!(text(&inherited("seccompProfile")["type"]), "RuntimeDefault" | "Localhost") {
        found.push(PodRefusal::Seccomp(name.clone()));
    }
    let capabilities = &context["capabilities"];
    if !capabilities["drop"].as_array().is_some_and(|drop| drop.iter().any(|one| one == "ALL")) {
        found.push(PodRefusal::CapabilitiesKept(name.clone()));
    }
    let added = capabilities["add"].as_array().into_iter().flatten().map(text);
    let added = added.filter(|added| *added != "NET_BIND_SERVICE");
    found.extend(added.map(|added| PodRefusal::Capability(name.clone(), added.into())));
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Tenant;

    fn a_spec() -> Value {
        json!({
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "c", "image": "c", "securityContext": {
                "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
            }}],
        })
    }

    fn a_pod(spec: Value) -> MadePod {
        let owner = Owner {
            api_version: "ballast.dev/v1alpha1".into(),
            kind: "SparkPool".into(),
            namespace: "team".into(),
            name: "jhub".into(),
            uid: "u1".into(),
        };
        MadePod { name: "w-1".into(), owner, labels: Default::default(), spec }
    }

    fn refused(at: &str, value: Value, level: PodSecurity) -> Vec<PodRefusal> {
        let mut spec = a_spec();
        let (place, key) = at.rsplit_once('/').expect("a pointer");
        spec.pointer_mut(place).expect("a place")[key] = value;
        let tenant =
            Tenant { pod_security: level, service_accounts: vec!["worker".into()], ..Tenant::default() };
        let policy = ClusterPolicySpec { tenants: vec![tenant], ..ClusterPolicySpec::default() };
        a_pod(spec).refusals(&policy)
    }

    #[test]
    fn every_rule_refuses_what_it_names_at_its_level() {
        use PodRefusal as R;
        use PodSecurity::{Baseline, Privileged, Restricted};
        let (c, v): (Name, Name) = ("c".into(), "v".into());
        let own = "/containers/0/securityContext";
        let in_own = |key: &str| format!("{own}/{key}");
        let cases = [
            ("/hostNetwork".into(), json!(true), R::HostNamespace("hostNetwork"), Baseline),
            ("/hostPID".into(), json!(true), R::HostNamespace("hostPID"), Baseline),
            ("/hostIPC".into(), json!(true), R::HostNamespace("hostIPC"), Baseline),
            ("/volumes".into(), json!([{"name": "v", "hostPath": {}}]), R::HostPath(v.clone()), Baseline),
            ("/volumes".into(), json!([{"name": "v", "nfs": {}}]), R::Volume(v), Restricted),
            ("/containers/0/ports".into(), json!([{"hostPort": 80}]), R::HostPort(c.clone()), Baseline),
            (
                "/containers/0/livenessProbe".into(),
                json!({"httpGet": {"host": "169.254.169.254"}}),
                R::ProbeHost(c.clone()),
                Baseline,
            ),
            (in_own("privileged"), json!(true), R::Privileged(c.clone()), Baseline),
            (in_own("windowsOptions"), json!({"hostProcess": true}), R::HostProcess(c.clone()), Baseline),
            (
                in_own("capabilities"),
                json!({"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
                R::Capability(c.clone(), "SYS_ADMIN".into()),
                Baseline,
            ),
            (
                in_own("capabilities"),
                json!({"drop": ["ALL"], "add": ["CHOWN"]}),
                R::Capability(c.clone(), "CHOWN".into()),
                Restricted,
            ),
            (in_own("capabilities"), json!({}), R::CapabilitiesKept(c.clone()), Restricted),
            (in_own("allowPrivilegeEscalation"), json!(true), R::PrivilegeEscalation(c.clone()), Restricted),
            (in_own("runAsNonRoot"), json!(false), R::MayBeRoot(c.clone()), Restricted),
            (in_own("runAsUser"), json!(0), R::Root(c.clone()), Restricted),
            (in_own("seccompProfile"), json!({"type": "Unconfined"}), R::Seccomp(c.clone()), Baseline),
            ("/securityContext/seccompProfile".into(), json!(null), R::Seccomp(c.clone()), Restricted),
            (in_own("appArmorProfile"), json!({"type": "Unconfined"}), R::AppArmor(c.clone()), Baseline),
            (in_own("seLinuxOptions"), json!({"type": "spc_t"}), R::SeLinux(c.clone()), Baseline),
            (in_own("procMount"), json!("Unmasked"), R::ProcMount(c), Baseline),
            (
                "/securityContext/sysctls".into(),
                json!([{"name": "kernel.msgmax"}]),
                R::Sysctl("kernel.msgmax".into()),
                Baseline,
            ),
        ];
        for (at, value, refusal, level) in cases {
            let seen = |level| refused(&at, value.clone(), level);
            assert_eq!(seen(Restricted), std::slice::from_ref(&refusal), "{at}");
            let at_baseline = if level == Baseline { vec![refusal.clone()] } else { Vec::new() };
            assert_eq!(seen(Baseline), at_baseline, "{at}");
            assert_eq!(seen(Privileged), [], "{at}");
            assert!(!refusal.to_string().is_empty());
        }
    }

    #[test]
    fn a_pod_belongs_to_its_document_and_runs_as_an_account_that_is_listed() {
        let level = PodSecurity::Privileged;
        assert_eq!(refused("/serviceAccountName", json!("worker"), level), []);
        assert_eq!(refused("/serviceAccountName", json!("default"), level), []);
        let other = [PodRefusal::ServiceAccount("admin".into())];
        assert_eq!(refused("/serviceAccountName", json!("admin"), level), other);
        assert_eq!(refused("/serviceAccount", json!("admin"), level), other, "the old name of the field");
        assert_eq!(refused("/nodeName", json!("n1"), level), [PodRefusal::NodeName]);
        let nobody = ClusterPolicySpec::default();
        assert_eq!(a_pod(json!({})).refusals(&nobody), [PodRefusal::NoContainers]);
        let mut pod = a_pod(a_spec());
        assert_eq!(pod.refusals(&nobody), [], "restricted holds where nobody says otherwise");
        let made = pod.manifest();
        assert_eq!(made["metadata"]["namespace"], "team");
        assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "u1");
        pod.owner.uid = "".into();
        assert_eq!(pod.refusals(&nobody), [PodRefusal::NoOwner]);
    }
}

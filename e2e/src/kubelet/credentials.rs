//! As whom a container runs: its security context as arguments of `setpriv`.

use k8s_openapi::api::core::v1::{Container, PodSpec};

/// Who a container is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Credentials {
    /// Arguments of `setpriv`.
    pub(super) setpriv: Vec<String>,
    /// Nothing but volumes can be written.
    pub(super) read_only: bool,
}

impl Credentials {
    /// Of a container; what the pod says holds where the container says nothing.
    ///
    /// # Errors
    ///
    /// When it must not be root and nothing says who else it is.
    pub(super) fn of(spec: &PodSpec, container: &Container) -> Result<Self, String> {
        let pod = spec.security_context.clone().unwrap_or_default();
        let own = container.security_context.clone().unwrap_or_default();
        let user = own.run_as_user.or(pod.run_as_user).unwrap_or(0);
        let group = own.run_as_group.or(pod.run_as_group).unwrap_or(0);
        if user == 0 && own.run_as_non_root.or(pod.run_as_non_root) == Some(true) {
            return Err("runAsNonRoot is set, and neither pod nor container says runAsUser".to_owned());
        }
        let mut setpriv = Vec::new();
        let groups: Vec<String> =
            pod.supplemental_groups.iter().flatten().chain(&pod.fs_group).map(i64::to_string).collect();
        if user != 0 || group != 0 || !groups.is_empty() {
            setpriv.extend([format!("--reuid={user}"), format!("--regid={group}")]);
            setpriv.push(match groups.as_slice() {
                [] => "--clear-groups".to_owned(),
                groups => format!("--groups={}", groups.join(",")),
            });
        }
        if let Some(capabilities) = own.capabilities {
            let set: Vec<String> = capabilities
                .drop
                .iter()
                .flatten()
                .map(|name| format!("-{}", name.to_lowercase()))
                .chain(capabilities.add.iter().flatten().map(|name| format!("+{}", name.to_lowercase())))
                .collect();
            if !set.is_empty() {
                setpriv.extend(["--inh-caps=-all".to_owned(), format!("--bounding-set={}", set.join(","))]);
            }
        }
        if own.allow_privilege_escalation == Some(false) {
            setpriv.push("--no-new-privs".to_owned());
        }
        Ok(Self { setpriv, read_only: own.read_only_root_filesystem == Some(true) })
    }
}

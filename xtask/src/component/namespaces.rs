//! Namespaces of the kernel, in which the test kubelet runs each pod.

use std::process::{Command, Stdio};

use super::{Component, Found};

pub(super) const COMPONENT: Component =
    Component { name: "namespaces", needed_by: &["kubernetes"], find, install: None };

/// What the kubelet itself tries.
const TRIAL: &str = include_str!("../../../e2e/src/kubelet/trial.sh");

fn find() -> Found {
    let why = match Command::new("sh").args(["-c", TRIAL]).stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => {
            let version = "network, process and mount namespaces for each pod of the test kubelet".into();
            return Found::Here { version, path: None };
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "),
        Err(error) => format!("cannot run a shell: {error}"),
    };
    Found::Missing(format!("{why}: pods of the test kubelet get loopback addresses and no volumes"))
}

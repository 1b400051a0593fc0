//! What the API server itself says it was asked for by Ballast.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Cluster;

/// Only what Ballast asks is written down, under either of its names; a watch already when it begins.
pub(super) const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [ballast, 'system:serviceaccount:ballast:ballast']}
- {level: None}
";

/// One request.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// What was done, as roles name it.
    pub verb: String,
    /// The address.
    #[serde(rename = "requestURI")]
    pub address: String,
    /// To what; nothing where it is no object.
    #[serde(default, rename = "objectRef")]
    pub to: AskedOf,
    user: User,
    #[serde(default)]
    response_status: Status,
}

/// What a request was about.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct AskedOf {
    /// The group.
    #[serde(rename = "apiGroup")]
    pub group: String,
    resource: String,
    subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
struct User {
    username: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
struct Status {
    #[serde(default)]
    code: u16,
}

impl Asked {
    /// Whether it was refused for want of a right.
    pub fn is_denied(&self) -> bool {
        matches!(self.response_status.code, 401 | 403)
    }

    /// Whether it was done.
    pub fn is_accepted(&self) -> bool {
        (200..300).contains(&self.response_status.code)
    }

    /// Who asked.
    pub fn by(&self) -> &str {
        &self.user.username
    }

    /// Whether it could have changed something.
    pub fn writes(&self) -> bool {
        !matches!(&*self.verb, "get" | "list" | "watch")
    }
}

impl AskedOf {
    /// The resource, with the subresource where it is one.
    pub fn resource(&self) -> String {
        match &*self.subresource {
            "" => self.resource.clone(),
            sub => format!("{}/{sub}", self.resource),
        }
    }
}

impl Cluster {
    /// Everything that was asked for by a user so far.
    ///
    /// # Errors
    ///
    /// When the log of the API server cannot be read.
    pub fn asked_by(&self, user: &str) -> Result<Vec<Asked>> {
        Ok(self.asked()?.into_iter().filter(|asked| asked.by() == user).collect())
    }

    /// Everything that was asked for under any name of Ballast so far, in the order in which it was answered.
    ///
    /// # Errors
    ///
    /// When the log of the API server cannot be read.
    pub fn asked(&self) -> Result<Vec<Asked>> {
        let text = std::fs::read_to_string(self.path("audit.log")).context("cannot read the audit log")?;
        // A last line without an end is still being written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let asked =
            whole.lines().map(|line| serde_json::from_str::<Asked>(line).with_context(|| line.to_owned()));
        asked.collect()
    }

    /// The kubeconfig of a service account of the namespace `ballast`, with a token of its own.
    ///
    /// # Errors
    ///
    /// When there is no such account.
    pub fn service_account(&self, name: &str) -> Result<PathBuf> {
        let told = self.kubectl(&["create", "token", name, "--namespace=ballast", "--duration=1h"])?;
        ensure!(told.success, "kubectl create token: {}", told.error);
        let file = format!("sa-{name}");
        self.write(&format!("{file}.kubeconfig"), &self.kubeconfig_text(&self.server(), told.text.trim()))?;
        Ok(self.kubeconfig(&file))
    }
}

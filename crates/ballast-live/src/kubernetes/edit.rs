//! Changes that a person makes to a document of ours through a command, with their own rights: read, then written only if
//! nobody wrote it meanwhile.

use kube::Client;
use serde_json::{Value, json};

use ballast_core::observation::SourceError;
use ballast_core::policy::Pause;

use super::FIELD_MANAGER;
use super::crd::{KINDS, Kind};
use super::plain;

/// A document of ours in a cluster.
pub struct Document {
    /// Its kind.
    pub kind: &'static Kind,
    /// Its namespace; empty where its kind has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Document {
    /// The document that is written `cluster`, `pool/NAME` or `KIND/[NAMESPACE/]NAME`; `namespace` holds where none is written.
    pub fn named(text: &str, namespace: &str) -> Result<Self, String> {
        if text == "cluster" {
            return Self::named("ClusterPolicy/cluster", namespace);
        }
        let unknown = || format!("`{text}` names nothing: write cluster, pool/NAME or KIND/[NAMESPACE/]NAME");
        let (kind, rest) = text.split_once('/').ok_or_else(unknown)?;
        let word = if kind == "pool" { "VmPool" } else { kind };
        let kind = KINDS.iter().find(|known| known.is_called(word)).ok_or_else(|| {
            let known: Vec<&str> = KINDS.iter().map(|kind| kind.kind).collect();
            format!("there is no kind `{kind}`: write one of {}", known.join(", "))
        })?;
        let (namespace, name) = match rest.split_once('/') {
            Some(_) if !kind.is_namespaced() => return Err(format!("a {} has no namespace", kind.kind)),
            Some((namespace, name)) => (namespace, name),
            None => (if kind.is_namespaced() { namespace } else { "" }, rest),
        };
        if name.is_empty() || name.contains('/') || (kind.is_namespaced() && namespace.is_empty()) {
            return Err(unknown());
        }
        Ok(Self { kind, namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// As it is in the cluster.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub async fn read(&self, client: &Client) -> Result<Value, SourceError> {
        plain::get(client, &self.path()).await
    }

    /// Puts another pause in the place of the one that was read, or none; nothing is kept where it is only tried.
    ///
    /// # Errors
    ///
    /// When the API refuses, and with `Conflict` where somebody wrote it meanwhile.
    pub async fn set_pause(
        &self,
        client: &Client,
        read: &Value,
        pause: Option<&Pause>,
        only_tried: bool,
    ) -> Result<(), SourceError> {
        // What is not said is taken away: a merge would else keep the reason of an older pause.
        let pause = pause.map(
            |pause| json!({"up": pause.up, "down": pause.down, "reason": pause.reason, "until": pause.until}),
        );
        let version = &read["metadata"]["resourceVersion"];
        let body = json!({"metadata": {"resourceVersion": version}, "spec": {"pause": pause}});
        let tried = if only_tried { "&dryRun=All" } else { "" };
        let path = format!("{}?fieldManager={FIELD_MANAGER}{tried}", self.path());
        plain::merge(client, &path, &body).await.map(drop)
    }

    fn path(&self) -> String {
        format!("{}/{}", self.kind.path(&self.namespace), self.name)
    }
}

impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.kind.kind, &*self.namespace) {
            ("ClusterPolicy", _) => f.write_str("the cluster"),
            ("VmPool", _) => write!(f, "the pool {}", self.name),
            (kind, namespace) => write!(f, "{kind} {namespace}/{}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_named_as_people_name_it() {
        let path = |text| Document::named(text, "here").map(|document| document.path());
        let ours = "/apis/ballast.dev/v1alpha1";
        let good = [
            ("cluster", "clusterpolicies/cluster"),
            ("pool/a", "vmpools/a"),
            ("VmPool/a", "vmpools/a"),
            ("vmp/a", "vmpools/a"),
            ("metricscalers/web", "namespaces/here/metricscalers/web"),
            ("msc/there/web", "namespaces/there/metricscalers/web"),
        ];
        for (text, expected) in good {
            assert_eq!(path(text), Ok(format!("{ours}/{expected}")));
        }
        for text in ["", "pool", "pool/", "pool/a/b", "Pod/a", "msc/a/b/c", "clusters"] {
            assert!(path(text).is_err(), "{text}");
        }
    }
}

//! The way to a cluster: a kubeconfig as kubectl reads it, or the service account of the pod that we are.

use std::path::PathBuf;
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::error::chain;
use super::tally::Tally;

/// No connection takes longer to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Which cluster, as people name it on the command line.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The kubeconfig; else `$KUBECONFIG`, `~/.kube/config`, or the pod's own service account.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it; else its current one.
    pub context: Option<String>,
}

/// A connection that was set up, not yet used.
#[derive(Clone)]
pub struct Connection {
    /// The client.
    pub client: Client,
    /// The namespace of the context, or of the pod that we are.
    pub namespace: String,
    /// The address of the API, for people.
    pub server: String,
    /// Counts what the client asks for.
    pub tally: Tally,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("the kubeconfig {file}: {why}")]
    Kubeconfig {
        /// Which.
        file: String,
        /// Why not, with the place where there is one.
        why: String,
    },
    /// Neither a kubeconfig nor a service account.
    #[error("there is no kubeconfig, and this is no pod of a cluster")]
    Nowhere,
    /// The client cannot be made.
    #[error("{0}")]
    Client(String),
}

impl ConnectError {
    /// What a person may do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Kubeconfig { .. } => {
                "`kubectl config get-contexts` says what kubectl makes of it; another one is named by --kubeconfig and --context"
            }
            Self::Nowhere => "name one by --kubeconfig or $KUBECONFIG; `ballast demo` needs no cluster",
            Self::Client(_) => "look at the certificates and the proxy that the kubeconfig names",
        }
    }
}

impl Place {
    /// Sets the connection up.
    pub async fn connect(&self) -> Result<Connection, ConnectError> {
        let mut config = self.config().await?;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        config.default_retry = false;
        let (namespace, server) = (config.default_namespace.clone(), config.cluster_url.to_string());
        let builder = ClientBuilder::try_from(config).map_err(|error| ConnectError::Client(chain(&error)))?;
        let tally = Tally::default();
        let client = builder.with_layer(&tally).build();
        Ok(Connection { client, namespace, server, tally })
    }

    async fn config(&self) -> Result<Config, ConnectError> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let read = match &self.kubeconfig {
            Some(path) => match Kubeconfig::read_from(path) {
                Ok(kubeconfig) => Config::from_custom_kubeconfig(kubeconfig, &options).await,
                Err(error) => Err(error),
            },
            None => Config::from_kubeconfig(&options).await,
        };
        match read {
            Ok(config) => Ok(config),
            Err(error) if self.names_none() && is_missing(&error) => {
                Config::incluster().map_err(|_| ConnectError::Nowhere)
            }
            Err(error) => Err(ConnectError::Kubeconfig { file: self.file(), why: why(&error) }),
        }
    }

    /// Whether nobody has said that there is a kubeconfig.
    fn names_none(&self) -> bool {
        self.kubeconfig.is_none() && self.context.is_none() && from_environment().is_none()
    }

    /// The kubeconfig that is read, for people.
    fn file(&self) -> String {
        let named = self.kubeconfig.clone().map(PathBuf::into_os_string);
        let named = named.or_else(from_environment);
        named.map_or_else(|| "~/.kube/config".to_owned(), |file| file.to_string_lossy().into_owned())
    }
}

fn from_environment() -> Option<std::ffi::OsString> {
    std::env::var_os("KUBECONFIG").filter(|named| !named.is_empty())
}

fn is_missing(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(error, _) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// The error without the file, which is told before it.
fn why(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::ReadConfig(error, _) => error.to_string(),
        // Its first line has the place; what follows is a picture of it.
        KubeconfigError::Parse(error) => {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
        KubeconfigError::LoadContext(context) => format!("it has no context `{context}`"),
        KubeconfigError::CurrentContextNotSet => "it has no current context".to_owned(),
        error => chain(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a kubeconfig with this text, without the folder.
    async fn said(text: Option<&str>, context: Option<&str>) -> String {
        crate::install_crypto();
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config");
        if let Some(text) = text {
            std::fs::write(&file, text).expect("a file");
        }
        let place = Place { kubeconfig: Some(file), context: context.map(str::to_owned) };
        let error = place.connect().await.err().expect("it cannot be used");
        error.to_string().replace(&*folder.path().to_string_lossy(), "")
    }

    #[tokio::test]
    async fn an_unusable_kubeconfig_is_named_with_its_slip_once() {
        let missing = said(None, None).await;
        assert_eq!(missing, "the kubeconfig /config: No such file or directory (os error 2)");
        let broken = said(Some("clusters: [\n  {name: a\n"), None).await;
        assert_eq!(broken, "the kubeconfig /config: line 2 column 3: unclosed bracket '{'");
        let text =
            "{apiVersion: v1, kind: Config, contexts: [], clusters: [], users: [], current-context: a}";
        assert_eq!(said(Some(text), None).await, "the kubeconfig /config: it has no context `a`");
        assert_eq!(said(Some(text), Some("b")).await, "the kubeconfig /config: it has no context `b`");
    }
}

//! The way to a cluster: a kubeconfig as kubectl reads it, or the service account of the pod that we are.

use std::path::PathBuf;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// No answer of the API takes longer than this; a watch is told apart by its own limit.
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
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// Neither a kubeconfig nor a service account.
    #[error(
        "no cluster to talk to: there is no kubeconfig and this is no pod of a cluster\n\n\
         hint: name one by --kubeconfig or $KUBECONFIG"
    )]
    Nowhere(#[from] kube::config::InferConfigError),
    /// The client cannot be made.
    #[error("cannot set up the connection")]
    Client(#[from] kube::Error),
}

impl Place {
    /// Sets the connection up.
    pub async fn connect(&self) -> Result<Connection, ConnectError> {
        let mut config = self.config().await?;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        config.default_retry = false;
        let (namespace, server) = (config.default_namespace.clone(), config.cluster_url.to_string());
        Ok(Connection { client: Client::try_from(config)?, namespace, server })
    }

    async fn config(&self) -> Result<Config, ConnectError> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Ok(match &self.kubeconfig {
            Some(path) => Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?,
            None if self.context.is_some() => Config::from_kubeconfig(&options).await?,
            None => Config::infer().await?,
        })
    }
}

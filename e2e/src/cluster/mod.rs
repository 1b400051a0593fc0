//! A real Kubernetes control plane for a test: etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback,
//! with a folder and free ports of their own, ended with the value that holds them.

mod audit;
mod daemon;
mod nodes;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

pub use audit::{Asked, AskedOf};
pub use daemon::Daemon;
pub use nodes::Kwok;

/// Whoever may ask: token, user, and group.
const USERS: &[(&str, &str, &str)] = &[
    ("admin-token", "admin", "system:masters"),
    ("kcm-token", "system:kube-controller-manager", ""),
    ("sched-token", "system:kube-scheduler", ""),
    ("ballast-token", "ballast", ""),
];
/// The longest that anything may take to come up on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running control plane.
pub struct Cluster {
    folder: TempDir,
    programs: PathBuf,
    ports: Ports,
    /// In the order in which they are ended.
    scheduler: Option<Daemon>,
    controllers: Option<Daemon>,
    apiserver: Option<Daemon>,
    etcd: Option<Daemon>,
}

#[derive(Clone, Copy)]
struct Ports {
    client: u16,
    peer: u16,
    api: u16,
}

impl Cluster {
    /// Starts a control plane and waits until namespaces have their service accounts.
    ///
    /// # Errors
    ///
    /// When a part does not come up in time; its log is part of the error.
    pub fn start() -> Result<Self> {
        let programs = std::env::var_os("BALLAST_KUBERNETES")
            .context("BALLAST_KUBERNETES is not set\n\nhint: run the suite by `cargo xtask test`")?;
        let [client, peer, api] = free_ports()?;
        let mut cluster = Self {
            folder: tempfile::tempdir().context("cannot make a folder")?,
            programs: programs.into(),
            ports: Ports { client, peer, api },
            scheduler: None,
            controllers: None,
            apiserver: None,
            etcd: None,
        };
        cluster.write_files()?;
        cluster.start_etcd()?;
        cluster.start_apiserver()?;
        cluster.start_controllers()?;
        cluster.wait("the default service account", |cluster| {
            Ok(cluster.kubectl(&["get", "serviceaccount", "default", "-o", "name"])?.success)
        })?;
        Ok(cluster)
    }

    /// The address of the API.
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api)
    }

    /// The host and the port of the API.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports.api).into()
    }

    /// A file below the folder of this cluster.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The kubeconfig of a user: `admin`, or `ballast`, who may do nothing until it is allowed.
    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.path(&format!("{user}.kubeconfig"))
    }

    /// A program of the control plane.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Runs kubectl as the admin.
    ///
    /// # Errors
    ///
    /// When it cannot be run.
    pub fn kubectl(&self, args: &[&str]) -> Result<Told> {
        self.kubectl_with(args, "")
    }

    /// kubectl, without any argument.
    pub fn kubectl_command(&self) -> Command {
        Command::new(self.programs.join("kubectl"))
    }

    /// Runs kubectl as the admin with this on its standard input.
    ///
    /// # Errors
    ///
    /// When it cannot be run.
    pub fn kubectl_with(&self, args: &[&str], input: &str) -> Result<Told> {
        use std::io::Write;
        let mut child = self
            .kubectl_command()
            .arg("--kubeconfig")
            .arg(self.kubeconfig("admin"))
            .args(args)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .context("cannot run kubectl")?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).context("kubectl does not read its input")?;
        }
        let output = child.wait_with_output().context("cannot await kubectl")?;
        Ok(Told {
            success: output.status.success(),
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
            error: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Applies documents; what the API refuses is an error.
    ///
    /// # Errors
    ///
    /// When something is refused.
    pub fn apply(&self, documents: &str) -> Result<()> {
        let told =
            self.kubectl_with(&["apply", "--server-side", "--force-conflicts", "-f", "-"], documents)?;
        ensure!(told.success, "kubectl apply: {}", told.error);
        Ok(())
    }

    /// What kubectl prints for a path of objects.
    ///
    /// # Errors
    ///
    /// When kubectl fails.
    pub fn get(&self, args: &[&str]) -> Result<String> {
        let told = self.kubectl(&[&["get"], args].concat())?;
        ensure!(told.success, "kubectl get {args:?}: {}", told.error);
        Ok(told.text)
    }

    /// Waits until something holds.
    ///
    /// # Errors
    ///
    /// When it does not in time, or cannot be told.
    pub fn wait(&self, what: &str, holds: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        let mut last = None;
        while Instant::now() < until {
            match holds(self) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => last = Some(error),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        match last {
            Some(error) => Err(error.context(format!("waited in vain for {what}"))),
            None => bail!("waited in vain for {what}"),
        }
    }

    /// Ends the API server and starts it anew, with everything it knew in etcd.
    ///
    /// # Errors
    ///
    /// When it does not come up again.
    pub fn restart_apiserver(&mut self) -> Result<()> {
        self.apiserver = None;
        self.start_apiserver()
    }

    /// Ends etcd and starts it anew on the same data.
    ///
    /// # Errors
    ///
    /// When it does not come up again.
    pub fn restart_etcd(&mut self) -> Result<()> {
        self.etcd = None;
        self.start_etcd()?;
        self.wait_for_api()
    }

    fn write_files(&self) -> Result<()> {
        let key = rcgen::KeyPair::generate().context("cannot make a key")?;
        self.write("sa.key", &key.serialize_pem())?;
        self.write("sa.pub", &key.public_key_pem())?;
        let tokens: String = USERS
            .iter()
            .map(|(token, user, group)| match *group {
                "" => format!("{token},{user},{user}\n"),
                group => format!("{token},{user},{user},\"{group}\"\n"),
            })
            .collect();
        self.write("tokens.csv", &tokens)?;
        self.write("audit.yaml", audit::POLICY)?;
        for (token, user, _) in USERS {
            let file = user.trim_start_matches("system:");
            self.write(&format!("{file}.kubeconfig"), &self.kubeconfig_text(&self.server(), token))?;
        }
        Ok(())
    }

    /// A kubeconfig for an API that is reached by another way, and needs nobody's name there.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn kubeconfig_by(&self, server: &str) -> Result<PathBuf> {
        self.write("by.kubeconfig", &self.kubeconfig_text(server, "none"))?;
        Ok(self.kubeconfig("by"))
    }

    fn kubeconfig_text(&self, server: &str, token: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             contexts: [{{name: test, context: {{cluster: test, user: test, namespace: default}}}}]\n\
             clusters: [{{name: test, cluster: {{server: '{server}', certificate-authority: '{}'}}}}]\n\
             users: [{{name: test, user: {{token: {token}}}}}]\n",
            self.path("certs/apiserver.crt").display(),
        )
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        std::fs::write(self.path(name), text).with_context(|| format!("cannot write {name}"))
    }

    fn daemon(&self, name: &str) -> Command {
        Command::new(self.programs.join(name))
    }

    fn start_etcd(&mut self) -> Result<()> {
        let Ports { client, peer, .. } = self.ports;
        let (client, peer) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let mut command = self.daemon("etcd");
        command
            .args(["--name", "t", "--unsafe-no-fsync", "--log-level", "warn"])
            .arg("--data-dir")
            .arg(self.path("etcd"))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("t={peer}")]);
        self.etcd = Some(Daemon::start("etcd", command, self.folder.path())?);
        Ok(())
    }

    fn start_apiserver(&mut self) -> Result<()> {
        let mut command = self.daemon("kube-apiserver");
        command
            .arg(format!("--etcd-servers=http://127.0.0.1:{}", self.ports.client))
            .args([
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none",
            ])
            .arg(format!("--secure-port={}", self.ports.api))
            .args(["--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC"])
            .args(["--service-account-issuer=https://kubernetes.default.svc", "--profiling=false"])
            .arg(option("cert-dir", &self.path("certs")))
            .arg(option("token-auth-file", &self.path("tokens.csv")))
            .arg(option("audit-policy-file", &self.path("audit.yaml")))
            .arg(option("audit-log-path", &self.path("audit.log")))
            .arg(option("service-account-key-file", &self.path("sa.pub")))
            .arg(option("service-account-signing-key-file", &self.path("sa.key")));
        self.apiserver = Some(Daemon::start("kube-apiserver", command, self.folder.path())?);
        self.wait_for_api()
    }

    fn wait_for_api(&mut self) -> Result<()> {
        let ended = |cluster: &Self| {
            let parts = [("etcd", &cluster.etcd), ("kube-apiserver", &cluster.apiserver)];
            parts.into_iter().find_map(|(name, part)| Some((name, part.as_ref()?.ended()?)))
        };
        self.wait("the API to be ready", |cluster| {
            Ok(ended(cluster).is_some() || cluster.kubectl(&["get", "--raw", "/readyz"])?.success)
        })?;
        match ended(self) {
            Some((name, log)) => bail!("{name} ended: {log}"),
            None => Ok(()),
        }
    }

    fn start_controllers(&mut self) -> Result<()> {
        let mut command = self.daemon("kube-controller-manager");
        command
            .arg(option("kubeconfig", &self.kubeconfig("kube-controller-manager")))
            .args(["--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=true"])
            .arg(option("service-account-private-key-file", &self.path("sa.key")))
            .arg(option("root-ca-file", &self.path("certs/apiserver.crt")))
            // Nobody renews the leases of nodes that have no kubelet, but for those that kwok keeps.
            .args(["--node-monitor-grace-period=24h"]);
        self.controllers = Some(Daemon::start("kube-controller-manager", command, self.folder.path())?);
        let mut command = self.daemon("kube-scheduler");
        command
            .arg(option("kubeconfig", &self.kubeconfig("kube-scheduler")))
            .args(["--leader-elect=false", "--secure-port=0"]);
        self.scheduler = Some(Daemon::start("kube-scheduler", command, self.folder.path())?);
        Ok(())
    }
}

/// What kubectl said.
pub struct Told {
    /// It succeeded.
    pub success: bool,
    /// On its standard output.
    pub text: String,
    /// On its standard error.
    pub error: String,
}

fn option(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

/// Ports that nobody listens on now, and that nobody is given by chance: they are below those that the system gives away, and
/// no two clusters of one process are given the same, so that a part can be ended and started again on its own.
pub fn free_ports<const N: usize>() -> Result<[u16; N]> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const RANGE: std::ops::Range<u32> = 20_000..30_000;
    // Processes begin far from each other.
    let first = std::process::id().wrapping_mul(101);
    let mut ports = [0; N];
    for port in &mut ports {
        let mut tries = RANGE.map(|_| {
            let number = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
            (RANGE.start + number % (RANGE.end - RANGE.start)) as u16
        });
        let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
        *port = tries.find(is_free).context("cannot find a free port")?;
    }
    Ok(ports)
}

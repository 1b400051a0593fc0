//! The life of one pod, from the moment it is bound to a node of ours to the moment it is gone.
//!
//! ```text
//! sandbox ──▶ volumes ──▶ init containers, one after the other ──▶ containers ──▶ sidecars, last first ──▶ over ──▶ deleted
//!                         └── a sidecar runs on beside them ─────────────────────┘
//! ```
//!
//! Beside it two listen: one turns what happens to the object into orders, the other tells the API how the pod is.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use futures::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use kube::ResourceExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::container::{self, Restart};
use super::credentials::Credentials;
use super::environment::Environment;
use super::lookup::Lookup;
use super::orders::{Order, Orders};
use super::sandbox::{Mount, Sandbox};
use super::view::{Seen, State, View};
use super::{Shared, hosts, report, status, supported, volumes};

/// What could not be filled, for want of a ConfigMap or a Secret, is tried again after this.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// What a pod has to end by itself where it does not say.
const GRACE_SECONDS: i64 = 30;

/// A pod that lives, or did.
pub(super) struct Life {
    /// What pods share.
    pub(super) shared: Arc<Shared>,
    /// As it was when it came to us.
    pub(super) pod: Arc<Pod>,
    /// Its spec.
    pub(super) spec: PodSpec,
    /// Where its files are.
    pub(super) folder: PathBuf,
    /// What is known of it.
    pub(super) view: watch::Sender<View>,
    sandbox: OnceLock<Sandbox>,
}

/// Lives the life of a pod. The object is told by `changes`; when nobody tells any more, the pod is gone, or its node is, and it
/// ends at once.
pub(super) async fn live(shared: Arc<Shared>, mut changes: watch::Receiver<Arc<Pod>>) {
    let life = Life::new(shared, changes.borrow().clone());
    let phase = life.pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if !matches!(phase, Some("Succeeded" | "Failed")) {
        let (orders, _) = watch::channel(Order::Run);
        tokio::select! {
            _ = async { tokio::join!(life.work(&orders), report::keep(&life, changes.clone())) } => {}
            never = life.listen(changes.clone(), &orders) => match never {},
        }
    }
    if let Some(sandbox) = life.sandbox.into_inner() {
        sandbox.remove().await;
    }
    // Logs are elsewhere, and stay.
    let _ = std::fs::remove_dir_all(&life.folder);
    while changes.borrow_and_update().metadata.deletion_timestamp.is_none() {
        if changes.changed().await.is_err() {
            return;
        }
    }
    report::delete(&life.shared.client, &life.pod, &changes).await;
}

impl Life {
    fn new(shared: Arc<Shared>, pod: Arc<Pod>) -> Self {
        let spec = pod.spec.clone().unwrap_or_default();
        let folder = shared.folder.join("pods").join(pod.uid().unwrap_or_default());
        let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
        let containers = containers.map(|container| (container.name.clone(), Seen::default())).collect();
        let view = View { since: Some(Timestamp::now()), containers, ..View::default() };
        Self { shared, pod, spec, folder, view: watch::Sender::new(view), sandbox: OnceLock::new() }
    }

    /// Turns what happens to the object, to Services and to the clock into orders and a hosts file.
    async fn listen(
        &self,
        mut changes: watch::Receiver<Arc<Pod>>,
        orders: &watch::Sender<Order>,
    ) -> std::convert::Infallible {
        let (mut services, mut slices) = (self.shared.services.clone(), self.shared.slices.clone());
        loop {
            if let Some(grace) = deletion_grace(&changes.borrow_and_update()) {
                self.stop(orders, grace);
            }
            // One that cannot be written now is written at the next change; a pod without a sandbox has none.
            let _ = self.write_hosts();
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    self.stop(orders, Duration::ZERO);
                    return std::future::pending().await;
                },
                _ = services.changed() => {}
                _ = slices.changed() => {}
                () = self.overdue(), if orders.borrow().by().is_none() => {
                    self.fail("DeadlineExceeded", "Pod was active on the node longer than the specified deadline");
                    self.stop(orders, self.grace());
                }
            }
        }
    }

    /// Everything that a pod does; it is over afterwards.
    async fn work(&self, orders: &watch::Sender<Order>) {
        let sidecars: Vec<(&Container, watch::Sender<Order>)> = self
            .inits()
            .filter(|init| status::is_sidecar(init))
            .map(|init| (init, watch::Sender::new(Order::Wait)))
            .collect();
        let beside = sidecars
            .iter()
            .map(|(sidecar, orders)| container::run(self, sidecar, Restart::Always, Orders::from(orders)));
        let in_order = async {
            self.sequence(orders, &sidecars).await;
            let by = orders.borrow().by().unwrap_or_else(|| Instant::now() + self.grace());
            for (sidecar, orders) in sidecars.iter().rev() {
                orders.send_replace(Order::Stop(by));
                self.until(&sidecar.name, |seen| seen.is_over).await;
            }
        };
        tokio::join!(join_all(beside), in_order);
        self.view.send_modify(|view| view.is_over = true);
    }

    async fn sequence(&self, orders: &watch::Sender<Order>, sidecars: &[(&Container, watch::Sender<Order>)]) {
        let mut stop = Orders::from(orders);
        let set_up = tokio::select! {
            set_up = self.set_up() => set_up,
            _ = stop.stop() => false,
        };
        if !set_up {
            return;
        }
        let restart = Restart::of(self.spec.restart_policy.as_deref());
        for init in self.inits() {
            if let Some((_, orders)) = sidecars.iter().find(|(sidecar, _)| sidecar.name == init.name) {
                orders.send_replace(Order::Run);
                tokio::select! {
                    () = self.until(&init.name, |seen| seen.started) => {}
                    _ = stop.stop() => return,
                }
                continue;
            }
            let restart = if restart == Restart::Never { Restart::Never } else { Restart::OnFailure };
            container::run(self, init, restart, Orders::from(orders)).await;
            if !self.view.borrow().containers[&init.name].succeeded() || stop.by().is_some() {
                return;
            }
        }
        let runs = self.spec.containers.iter();
        join_all(runs.map(|container| container::run(self, container, restart, Orders::from(orders)))).await;
    }

    /// Sandbox and volumes; false when the pod has failed.
    async fn set_up(&self) -> bool {
        let spec = report::raw_spec(&self.shared.client, &self.pod).await;
        let complaints = supported::complaints(&spec, self.shared.network.has_namespaces());
        if !complaints.is_empty() {
            self.fail("Unsupported", &format!("the test kubelet cannot do: {}", complaints.join(", ")));
            return false;
        }
        if let Err(error) = self.make_sandbox().await {
            self.fail("SandboxFailed", &format!("{error:#}"));
            return false;
        }
        while let Err(error) = volumes::fill(&self.folder, &self.spec, &self.lookup()).await {
            let why = State::Waiting("ContainerCreating", format!("{error:#}"));
            self.view.send_modify(|view| {
                view.containers.values_mut().for_each(|seen| seen.state = why.clone());
            });
            sleep(TRY_AGAIN).await;
        }
        true
    }

    async fn make_sandbox(&self) -> Result<()> {
        volumes::prepare(&self.folder, &self.spec)?;
        let host_name = hosts::host_name(&self.pod);
        for (file, text) in [("resolv.conf", ""), ("hostname", &format!("{host_name}\n"))] {
            std::fs::write(self.folder.join(file), text).context("cannot write the folder of a pod")?;
        }
        let sandbox = Sandbox::make(&self.shared.network, &self.folder, &host_name).await?;
        self.view.send_modify(|view| view.ip = Some(sandbox.ip()));
        let _ = self.sandbox.set(sandbox);
        self.write_hosts()
    }

    fn write_hosts(&self) -> Result<()> {
        let (services, slices) = (self.shared.services.borrow(), self.shared.slices.borrow());
        let ip = self.sandbox()?.ip();
        let text = hosts::lines(&self.pod, ip, self.shared.network.gateway(), &services, &slices);
        hosts::write(&self.folder.join("hosts"), &text)
    }

    fn stop(&self, orders: &watch::Sender<Order>, grace: Duration) {
        let by = Instant::now() + grace;
        self.view.send_modify(|view| view.ending = true);
        orders.send_modify(|order| *order = Order::Stop(order.by().map_or(by, |earlier| earlier.min(by))));
    }

    fn fail(&self, reason: &'static str, message: &str) {
        self.view.send_modify(|view| view.failure = Some((reason, message.to_owned())));
    }

    async fn overdue(&self) {
        match self.spec.active_deadline_seconds {
            Some(seconds) => {
                let since = self.view.borrow().since.unwrap_or_else(Timestamp::now);
                let left = seconds - Timestamp::now().duration_since(since).as_secs();
                sleep(Duration::from_secs(u64::try_from(left).unwrap_or(0))).await;
            }
            None => std::future::pending().await,
        }
    }

    fn inits(&self) -> impl Iterator<Item = &Container> {
        self.spec.init_containers.iter().flatten()
    }

    async fn until(&self, container: &str, holds: fn(&Seen) -> bool) {
        // The view is ours: it is not gone before us.
        let _ = self.view.subscribe().wait_for(|view| holds(&view.containers[container])).await;
    }

    fn lookup(&self) -> Lookup {
        let (client, pod) = (self.shared.client.clone(), self.pod.clone());
        Lookup { client, pod, ip: self.ip(), gateway: self.shared.network.gateway() }
    }

    /// Changes what is known of a container.
    pub(super) fn see(&self, container: &str, change: impl FnOnce(&mut Seen)) {
        self.view.send_modify(|view| {
            if let Some(seen) = view.containers.get_mut(container) {
                change(seen);
            }
        });
    }

    /// What its containers share, once it is there.
    pub(super) fn sandbox(&self) -> Result<&Sandbox> {
        self.sandbox.get().context("there is no sandbox yet")
    }

    /// The address of the pod; unspecified until it has one.
    pub(super) fn ip(&self) -> Ipv4Addr {
        self.view.borrow().ip.unwrap_or(Ipv4Addr::UNSPECIFIED)
    }

    /// Asks for pages.
    pub(super) fn web(&self) -> &reqwest::Client {
        &self.shared.web
    }

    /// What it has to end by itself.
    pub(super) fn grace(&self) -> Duration {
        let seconds = self.spec.termination_grace_period_seconds.unwrap_or(GRACE_SECONDS);
        Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    }

    /// The environment of a container, and who it is.
    pub(super) async fn environment(&self, container: &Container) -> Result<Environment> {
        let credentials = Credentials::of(&self.spec, container).map_err(anyhow::Error::msg)?;
        let host_name = hosts::host_name(&self.pod);
        Environment::of(container, &self.lookup(), credentials, &host_name, self.shared.api.clone()).await
    }

    /// The files that every container of a pod has.
    pub(super) fn files(&self) -> Vec<Mount> {
        let mount =
            |name| Mount { source: self.folder.join(name), target: format!("/etc/{name}"), writable: true };
        ["hosts", "resolv.conf", "hostname"].into_iter().map(mount).collect()
    }

    /// Where what a container says goes.
    pub(super) fn log(&self, container: &str) -> Result<PathBuf> {
        let namespace = self.pod.namespace().unwrap_or_default();
        let log = self.shared.log(&namespace, &self.pod.name_any(), container);
        std::fs::create_dir_all(log.parent().context("a log without a folder")?)
            .context("cannot make the folder of a log")?;
        Ok(log)
    }
}

/// How long a pod that is deleted has left.
fn deletion_grace(pod: &Pod) -> Option<Duration> {
    pod.metadata.deletion_timestamp.as_ref()?;
    let seconds = pod.metadata.deletion_grace_period_seconds.unwrap_or(GRACE_SECONDS);
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

//! A small honest world around an engine: it carries requests out at once, lets time pass, and shows everything it has.

use crate::engine::{Engine, Outcome, RequestId};
use crate::fixtures::{Cluster, a_pool};
use crate::kube::{Labels, Name};
use crate::memory::Ledger;
use crate::observation::{ErrorClass, InstanceState, Observation, SourceError, SourceKind};
use crate::policy::StopMode;
use crate::procedure::{LiveNode, LivePod, Reply, Request};
use crate::publish::Event;
use crate::snapshot::CORDON_MARK;
use crate::units::{Span, Time};

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Refused(ErrorClass),
    AnswerLost,
    RequestLost,
    CrashBefore,
    CrashAfter,
}

/// A small world with an engine in it.
pub(super) struct World {
    pub(super) cluster: Cluster,
    pub(super) engine: Engine,
    pub(super) stored: Option<(u64, String)>,
    pub(super) stored_history: Option<String>,
    /// Requests so far, in words.
    pub(super) log: Vec<String>,
    /// What befalls the request of this number.
    pub(super) fault: Option<(usize, Fault)>,
    /// Every launch is refused like this.
    pub(super) refuses: Option<ErrorClass>,
    /// Every stop is refused like this.
    pub(super) refuses_stops: Option<ErrorClass>,
    /// Every write of the ledger is refused like this.
    pub(super) refuses_writes: Option<ErrorClass>,
    /// Providers do not list their machines.
    pub(super) unanswered: bool,
    /// So many evictions are refused by a disruption budget.
    pub(super) refuses_evictions: u32,
    /// Everything that was told on an object.
    pub(super) told: Vec<Event>,
    /// Nothing that is started ever joins.
    pub(super) never_joins: bool,
    /// How long what was made takes to join.
    pub(super) boot: Span,
    pub(super) made: u32,
    pub(super) stops: u32,
    pub(super) restarts: u32,
    pub(super) plans: u32,
}

/// A pool of nodes of four cores.
pub(super) fn four_cores(cluster: &mut Cluster) {
    cluster.pool("cpu", a_pool(&[("cpu", "4"), ("memory", "16Gi")], 10, 1.0));
}

impl World {
    pub(super) fn new(cluster: Cluster) -> Self {
        Self {
            cluster,
            engine: Engine::new(None).expect("no ledger is a ledger"),
            stored: None,
            stored_history: None,
            log: Vec::new(),
            fault: None,
            refuses: None,
            refuses_stops: None,
            refuses_writes: None,
            unanswered: false,
            refuses_evictions: 0,
            told: Vec::new(),
            never_joins: false,
            boot: Span::ZERO,
            made: 0,
            stops: 0,
            restarts: 0,
            plans: 0,
        }
    }

    /// Ticks once a while and carries out what is asked for, until `span` has passed.
    pub(super) fn run(&mut self, span: Span) {
        let until = self.cluster.now + span;
        while self.cluster.now < until {
            self.tick();
            let now = self.cluster.now;
            self.cluster.now = until.min(now + Span::from_secs(4));
            self.passes();
        }
    }

    /// One tick and everything that follows from it at once.
    pub(super) fn tick(&mut self) {
        let mut observations = self.cluster.observations();
        let is_list = |told: &&mut Observation| told.source.kind == SourceKind::Instances;
        for list in observations.iter_mut().filter(is_list).filter(|_| self.unanswered) {
            list.outcome = Err(SourceError { class: ErrorClass::Transient, message: "503".to_owned() });
        }
        let outcome = self.engine.tick(self.cluster.now, observations);
        self.take(outcome);
    }

    fn take(&mut self, outcome: Outcome) {
        self.plans += u32::from(outcome.plan.is_some());
        self.told.extend(self.engine.events(&outcome));
        let incarnation = self.restarts;
        for (id, request) in outcome.requests {
            self.send(id, &request);
            if self.restarts != incarnation {
                return;
            }
        }
    }

    fn send(&mut self, id: RequestId, request: &Request) {
        let number = self.log.len();
        self.log.push(words(request));
        let fault = self.fault.filter(|(at, _)| *at == number).map(|(_, fault)| fault);
        let reply = match fault {
            None => self.carry_out(request),
            Some(Fault::Refused(class)) => failed(class),
            Some(Fault::AnswerLost) => {
                self.carry_out(request);
                Reply::TimedOut
            }
            Some(Fault::RequestLost) => Reply::TimedOut,
            Some(Fault::CrashBefore) => return self.restart(),
            Some(Fault::CrashAfter) => {
                self.carry_out(request);
                return self.restart();
            }
        };
        let eviction = self.engine.eviction(id, request);
        self.told.extend(eviction.and_then(|eviction| self.engine.evicted(&eviction, &reply)));
        let outcome = self.engine.settle(self.cluster.now, id, reply);
        self.take(outcome);
    }

    /// The process ends and a new one begins.
    pub(super) fn restart(&mut self) {
        self.restarts += 1;
        let stored = self.stored.as_ref().map(|(_, body)| body.as_str());
        self.engine = Engine::new(stored).expect("we wrote it").with_history(self.stored_history.as_deref());
    }

    fn carry_out(&mut self, request: &Request) -> Reply {
        match request {
            Request::WriteLedger { version, body } => match self.refuses_writes {
                Some(class) => failed(class),
                None => self.write(*version, body),
            },
            Request::WriteHistory { body } => {
                self.stored_history = Some(body.to_string());
                Reply::Done
            }
            Request::ReadLedger => Reply::Ledger(self.stored.as_ref().map(|(_, body)| body.clone())),
            Request::StartInstance { id, .. } => self.start(id),
            Request::CreateInstance { name, token, .. } => self.create(name, token),
            Request::StopInstance { id, mode, .. } => self.stop(id, *mode),
            Request::ReadInstance { id, token, .. } => {
                let is_it = |instance: &&crate::observation::Instance| {
                    if id.is_empty() { instance.token == *token } else { instance.id == *id }
                };
                let found = self.cluster.instances.values().find(is_it);
                found.cloned().map_or(failed(ErrorClass::NotFound), Reply::Instance)
            }
            Request::ReadNode { name, provider_id } => {
                let bears = |node: &&crate::kube::Node| node.spec.provider_id == *provider_id;
                let by_id = self.cluster.nodes.values().find(bears).map(|node| &node.metadata.name);
                self.live(by_id.unwrap_or(name)).map_or(failed(ErrorClass::NotFound), Reply::Node)
            }
            Request::Cordon { name, mark, .. } => self.cordon(name, mark),
            Request::Uncordon { name, mark, .. } => self.uncordon(name, mark),
            Request::Evict { .. } if self.refuses_evictions > 0 => {
                self.refuses_evictions -= 1;
                failed(ErrorClass::Throttled)
            }
            Request::Evict { uid, .. } => {
                self.cluster.pods.retain(|pod| pod.metadata.uid != *uid);
                Reply::Done
            }
        }
    }

    fn write(&mut self, version: u64, body: &str) -> Reply {
        assert!(body.len() <= 64 * 1024, "a ledger of {} bytes", body.len());
        match &self.stored {
            Some((stored, same)) if *stored == version && same == body => return Reply::Done,
            stored if stored.as_ref().map_or(0, |(stored, _)| *stored) + 1 != version => {
                return failed(ErrorClass::Conflict);
            }
            _ => {}
        }
        assert!(Ledger::parse(body).is_ok());
        self.stored = Some((version, body.to_owned()));
        Reply::Done
    }

    fn start(&mut self, id: &Name) -> Reply {
        if let Some(class) = self.refuses {
            return failed(class);
        }
        match self.cluster.instances.get_mut(id) {
            None => failed(ErrorClass::NotFound),
            Some(instance) => {
                if instance.state == InstanceState::Stopped {
                    instance.state = InstanceState::Starting;
                }
                Reply::Done
            }
        }
    }

    fn create(&mut self, name: &Name, token: &Name) -> Reply {
        if let Some(class) = self.refuses {
            return failed(class);
        }
        if let Some(same) = self.cluster.instances.values().find(|instance| instance.token == *token) {
            return Reply::Instance(same.clone());
        }
        self.made += 1;
        self.cluster.instance(name, "cpu", InstanceState::Starting);
        let now = self.cluster.now;
        let made = self.cluster.instances.values_mut().find(|instance| instance.name == *name);
        let made = made.expect("it was made above");
        made.token = token.clone();
        made.since = Some(now);
        Reply::Instance(made.clone())
    }

    fn stop(&mut self, id: &Name, mode: StopMode) -> Reply {
        if let Some(class) = self.refuses_stops {
            return failed(class);
        }
        let Some(instance) = self.cluster.instances.get_mut(id) else { return failed(ErrorClass::NotFound) };
        let name = instance.name.clone();
        if matches!(instance.state, InstanceState::Running | InstanceState::Starting) {
            self.stops += 1;
            instance.state = InstanceState::Stopping;
        }
        if mode == StopMode::Delete {
            self.cluster.instances.remove(id);
            self.cluster.nodes.remove(&name);
        }
        let in_use = self.cluster.pods.iter().any(|pod| pod.node_name == name);
        assert!(!in_use, "{name} was stopped while in use");
        Reply::Done
    }

    pub(super) fn live(&self, name: &Name) -> Option<LiveNode> {
        let node = self.cluster.nodes.get(name)?;
        let on_it = self.cluster.pods.iter().filter(|pod| pod.node_name == *name);
        let pods = on_it.filter(|pod| !pod.status.phase.is_terminal()).map(|pod| LivePod {
            namespace: pod.metadata.namespace.clone(),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
            leaving: pod.metadata.deletion_timestamp.map(|_| Span::from_secs(30)),
        });
        Some(LiveNode {
            name: name.clone(),
            uid: node.metadata.uid.clone(),
            unschedulable: node.spec.unschedulable,
            mark: node.metadata.annotation(CORDON_MARK).unwrap_or_default().into(),
            ready: node.is_ready(),
            pods: pods.collect(),
        })
    }

    fn cordon(&mut self, name: &Name, mark: &Name) -> Reply {
        match self.live(name) {
            None => failed(ErrorClass::NotFound),
            Some(node) if node.unschedulable && node.mark != *mark => failed(ErrorClass::Conflict),
            Some(_) => {
                self.mark(name, Some(mark));
                Reply::Done
            }
        }
    }

    fn uncordon(&mut self, name: &Name, mark: &Name) -> Reply {
        match self.live(name) {
            None => failed(ErrorClass::NotFound),
            Some(node) if node.mark != *mark => failed(ErrorClass::Conflict),
            Some(_) => {
                self.mark(name, None);
                Reply::Done
            }
        }
    }

    /// Cordons a node with a mark, or uncordons it.
    pub(super) fn mark(&mut self, name: &str, mark: Option<&Name>) {
        let node = self.cluster.nodes.get_mut(name).expect("it is there");
        node.spec.unschedulable = mark.is_some();
        let annotations: &mut Labels = std::sync::Arc::make_mut(&mut node.metadata.annotations);
        annotations.remove(CORDON_MARK);
        annotations.extend(mark.map(|mark| (Name::from(CORDON_MARK), mark.clone())));
    }

    /// Machines come up and go down, nodes join, and pods that wait are placed where there is an empty node.
    fn passes(&mut self) {
        let mut up: Vec<Name> = Vec::new();
        for instance in self.cluster.instances.values_mut() {
            match instance.state {
                InstanceState::Starting => instance.state = InstanceState::Running,
                InstanceState::Stopping => instance.state = InstanceState::Stopped,
                _ => {}
            }
            if instance.state == InstanceState::Running {
                up.push(instance.name.clone());
            }
        }
        if !self.never_joins {
            for name in &up {
                let (id, instance) = self.instance_named(name);
                let joins = instance.since.is_none_or(|since| self.cluster.now.since(since) >= self.boot);
                if joins && !self.cluster.nodes.contains_key(name) {
                    self.cluster.node(name, "cpu");
                    self.cluster.instances.insert(id, instance);
                }
            }
        }
        for (name, node) in &mut self.cluster.nodes {
            let ready = up.contains(name);
            for condition in &mut node.status.conditions {
                condition.status = if ready { "True" } else { "Unknown" }.into();
            }
        }
        self.place();
    }

    fn instance_named(&self, name: &Name) -> (Name, crate::observation::Instance) {
        let found = self.cluster.instances.iter().find(|(_, instance)| instance.name == *name);
        let (id, instance) = found.expect("it is up");
        (id.clone(), instance.clone())
    }

    fn place(&mut self) {
        let open: Vec<Name> = self.cluster.nodes.keys().cloned().collect();
        for name in open {
            let node = self.live(&name).expect("it is there");
            let taken = self.cluster.pods.iter().any(|pod| pod.node_name == name);
            if node.unschedulable || !node.ready || taken {
                continue;
            }
            let waiting = self.cluster.pods.iter_mut().find(|pod| pod.node_name.is_empty());
            if let Some(pod) = waiting {
                pod.node_name = name;
                pod.status.phase = crate::kube::Phase::Running;
            }
        }
    }

    /// How many pods wait.
    pub(super) fn waiting(&self) -> usize {
        self.cluster.pods.iter().filter(|pod| pod.node_name.is_empty()).count()
    }

    /// How many instances are up or on their way.
    pub(super) fn up(&self) -> usize {
        let rising = [InstanceState::Running, InstanceState::Starting];
        self.cluster.instances.values().filter(|instance| rising.contains(&instance.state)).count()
    }

    /// The requests of a kind, by the beginning of their words.
    pub(super) fn count(&self, start: &str) -> usize {
        self.log.iter().filter(|words| words.starts_with(start)).count()
    }

    /// Nodes that take no pods although their machine runs.
    pub(super) fn cordoned(&self) -> Vec<&Name> {
        let held = self.cluster.nodes.iter().filter(|(_, node)| node.spec.unschedulable && node.is_ready());
        held.map(|(name, _)| name).collect()
    }

    pub(super) fn now(&self) -> Time {
        self.cluster.now
    }
}

pub(super) fn failed(class: ErrorClass) -> Reply {
    Reply::Failed(SourceError { class, message: "said the test".into() })
}

fn words(request: &Request) -> String {
    match request {
        Request::WriteLedger { version, .. } => format!("write {version}"),
        Request::ReadLedger => "read-ledger".into(),
        Request::WriteHistory { .. } => "write-history".into(),
        Request::StartInstance { id, .. } => format!("start {id}"),
        Request::CreateInstance { name, .. } => format!("create {name}"),
        Request::StopInstance { id, mode, .. } => format!("stop {id} {mode:?}"),
        Request::ReadInstance { .. } => "read-instance".into(),
        Request::ReadNode { name, .. } => format!("read-node {name}"),
        Request::Cordon { name, .. } => format!("cordon {name}"),
        Request::Uncordon { name, .. } => format!("uncordon {name}"),
        Request::Evict { name, .. } => format!("evict {name}"),
    }
}

//! Requests to the world: one in, carried out at once, its reply out.

use std::sync::Arc;

use ballast_core::kube::Name;
use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::policy::StopMode;
use ballast_core::procedure::{LiveNode, LivePod, Reply, Request};
use ballast_core::units::Span;

use super::World;
use super::machine::{NONE, Power};
use super::pod::Life;
use super::queue::Event;

/// The durable store of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerStore {
    /// The version that is stored; 0 before the first.
    pub(crate) version: u64,
    /// What is stored.
    pub(crate) body: Option<Arc<str>>,
}

fn failed(class: ErrorClass, message: impl Into<String>) -> Reply {
    Reply::Failed(SourceError { class, message: message.into() })
}

impl World {
    /// Carries out a request.
    pub(crate) fn carry_out(&mut self, request: &Request) -> Reply {
        match request {
            Request::WriteLedger { version, body } => self.write_ledger(*version, body),
            Request::WriteHistory { body } => {
                self.history = Some(body.clone());
                Reply::Done
            }
            Request::ReadLedger => Reply::Ledger(self.ledger.body.as_deref().map(str::to_owned)),
            Request::StartInstance { id, .. } => self.start_instance(id),
            Request::CreateInstance { pool, zone, name, token } => {
                self.create_instance(pool, zone, name, token)
            }
            Request::StopInstance { id, mode, .. } => self.stop_instance(id, *mode),
            Request::ReadInstance { id, token, .. } => self.read_instance(id, token),
            Request::ReadNode { name, provider_id } => self.read_node(name, provider_id),
            Request::Cordon { name, uid, mark } => self.cordon(name, uid, mark),
            Request::Uncordon { name, uid, mark } => self.uncordon(name, uid, mark),
            Request::Evict { namespace, name, uid } => self.evict(namespace, name, uid),
        }
    }

    fn write_ledger(&mut self, version: u64, body: &Arc<str>) -> Reply {
        if version == self.ledger.version && self.ledger.body.as_ref() == Some(body) {
            return Reply::Done;
        }
        if version != self.ledger.version + 1 {
            return failed(ErrorClass::Conflict, format!("version {} is stored", self.ledger.version));
        }
        self.ledger = LedgerStore { version, body: Some(body.clone()) };
        Reply::Done
    }

    fn start_instance(&mut self, id: &Name) -> Reply {
        let Some(&machine) = self.by_id.get(id) else {
            return failed(ErrorClass::NotFound, "no such instance");
        };
        match self.machines[machine as usize].power {
            Power::Starting | Power::Running => Reply::Done,
            Power::Stopping(_) => failed(ErrorClass::Conflict, "the instance is stopping"),
            Power::Gone => failed(ErrorClass::NotFound, "no such instance"),
            Power::Stopped => {
                if let Some(refusal) = self.refusal_of_launch(machine_kind(self, machine), false) {
                    return refusal;
                }
                self.power_on(machine);
                Reply::Done
            }
        }
    }

    fn create_instance(&mut self, pool: &Name, zone: &Name, name: &Name, token: &Name) -> Reply {
        if let Some(&machine) = self.by_token.get(token) {
            return self.tell_instance(machine);
        }
        let of_pool = |kind: &super::machine::Kind| {
            kind.pool != NONE && self.pools[kind.pool as usize].name == *pool && kind.zone == *zone
        };
        let Some(kind) = self.kinds.iter().position(of_pool) else {
            return failed(ErrorClass::Invalid, format!("pool `{pool}` has no zone `{zone}`"));
        };
        if self.by_name.contains_key(name) {
            return failed(ErrorClass::Conflict, format!("there is an instance `{name}`"));
        }
        if let Some(refusal) = self.refusal_of_launch(kind as u32, true) {
            return refusal;
        }
        self.instances_made += 1;
        let id: Name = format!("sim://{pool}/i-{}", self.instances_made).into();
        let machine = self.add_machine(kind as u32, name.clone(), id);
        self.machines[machine as usize].token = token.clone();
        self.by_token.insert(token.clone(), machine);
        self.power_on(machine);
        self.tell_instance(machine)
    }

    /// Why the cloud gives no machine now.
    fn refusal_of_launch(&self, kind: u32, new: bool) -> Option<Reply> {
        let kind = &self.kinds[kind as usize];
        let pool = &self.pools[kind.pool as usize];
        if self.faults.is_out_of_stock(&pool.name, &kind.zone) {
            return Some(failed(ErrorClass::StockOut, "no capacity of this type is left in this zone"));
        }
        let exist = pool.machines.len() as u32;
        match self.faults.quota(&pool.name) {
            Some(limit) if new && exist >= limit => {
                Some(failed(ErrorClass::Quota, format!("a quota of {limit} instances is used up")))
            }
            _ => None,
        }
    }

    fn stop_instance(&mut self, id: &Name, mode: StopMode) -> Reply {
        let Some(&machine) = self.by_id.get(id) else {
            return failed(ErrorClass::NotFound, "no such instance");
        };
        let for_good = mode == StopMode::Delete;
        let entry = &self.machines[machine as usize];
        match entry.power {
            Power::Stopping(gone) if gone || !for_good => return Reply::Done,
            Power::Stopped if !for_good => return Reply::Done,
            Power::Gone => return failed(ErrorClass::NotFound, "no such instance"),
            _ => {}
        }
        let kind = &self.kinds[entry.kind as usize];
        let mut takes = Span::ZERO;
        // One that is off, or on its way there, has been removed before and takes no time to go for good.
        if matches!(entry.power, Power::Starting | Power::Running) {
            let mut dice = self.streams.stream("stop", &format!("{}/{}", entry.name, entry.epoch));
            takes = self.pools[kind.pool as usize].stop.draw(&mut dice);
            self.meter.removed(kind.pool, self.now, entry.was_launched && !entry.was_used);
        }
        self.set_power(machine, Power::Stopping(for_good));
        let epoch = self.machines[machine as usize].epoch;
        self.queue.plan(self.now + takes, Event::MachineDown { machine, epoch });
        Reply::Done
    }

    fn tell_instance(&self, machine: u32) -> Reply {
        let entry = &self.machines[machine as usize];
        let kind = &self.kinds[entry.kind as usize];
        match entry.power {
            Power::Gone => failed(ErrorClass::NotFound, "no such instance"),
            _ => Reply::Instance(entry.instance(kind, &self.pools[kind.pool as usize].name)),
        }
    }

    fn read_instance(&self, id: &Name, token: &Name) -> Reply {
        let found = if id.is_empty() { self.by_token.get(token) } else { self.by_id.get(id) };
        match found {
            Some(&machine) => self.tell_instance(machine),
            None => failed(ErrorClass::NotFound, "no such instance"),
        }
    }

    fn read_node(&self, name: &Name, provider_id: &Name) -> Reply {
        let machine = self.by_id.get(provider_id).or_else(|| self.by_name.get(name));
        let machine = machine.map(|&machine| &self.machines[machine as usize]);
        let Some((machine, node)) = machine.and_then(|machine| Some((machine, machine.node.as_ref()?)))
        else {
            return failed(ErrorClass::NotFound, format!("no node `{name}`"));
        };
        let guests = machine.pods.iter().filter(|&&pod| !self.classes[self.pods[pod].class as usize].daemon);
        let pods = guests.map(|&pod| {
            let pod = &self.pods[pod];
            LivePod {
                namespace: self.classes[pod.class as usize].namespace.clone(),
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                leaving: pod.is_told_to_leave().then_some(self.classes[pod.class as usize].grace),
            }
        });
        Reply::Node(LiveNode {
            name: machine.name.clone(),
            uid: node.uid.clone(),
            unschedulable: node.cordoned,
            mark: node.mark.clone(),
            ready: machine.is_whole(),
            pods: pods.collect(),
        })
    }

    fn node_of(&mut self, name: &Name, uid: &Name) -> Result<u32, Reply> {
        let missing = || failed(ErrorClass::NotFound, format!("no node `{name}`"));
        let machine = *self.by_name.get(name).ok_or_else(missing)?;
        let node = self.machines[machine as usize].node.as_ref().ok_or_else(missing)?;
        if node.uid != *uid {
            return Err(failed(ErrorClass::Conflict, "the node is another one of the same name"));
        }
        Ok(machine)
    }

    fn cordon(&mut self, name: &Name, uid: &Name, mark: &Name) -> Reply {
        let machine = match self.node_of(name, uid) {
            Ok(machine) => machine,
            Err(reply) => return reply,
        };
        let Some(node) = &mut self.machines[machine as usize].node else { return Reply::Done };
        if node.cordoned && node.mark != *mark {
            return failed(ErrorClass::Conflict, "it is cordoned by someone else");
        }
        node.cordoned = true;
        node.mark = mark.clone();
        self.touch_node(machine);
        self.rerank(machine);
        Reply::Done
    }

    fn uncordon(&mut self, name: &Name, uid: &Name, mark: &Name) -> Reply {
        let machine = match self.node_of(name, uid) {
            Ok(machine) => machine,
            Err(reply) => return reply,
        };
        let Some(node) = &mut self.machines[machine as usize].node else { return Reply::Done };
        if !node.cordoned && node.mark.is_empty() {
            return Reply::Done;
        }
        if node.mark != *mark {
            return failed(ErrorClass::Conflict, "it does not carry this mark");
        }
        node.cordoned = false;
        node.mark = Name::default();
        self.touch_node(machine);
        self.freed(machine);
        Reply::Done
    }

    /// The pod of an identity.
    pub(crate) fn pod_of(&self, uid: &Name) -> Option<u32> {
        let serial = uid.strip_prefix('p')?.parse::<u64>().ok()?;
        self.by_serial.get(&serial).copied()
    }

    fn evict(&mut self, namespace: &Name, name: &Name, uid: &Name) -> Reply {
        let is_it = |pod: &u32| {
            let entry = &self.pods[*pod];
            entry.name == *name && self.classes[entry.class as usize].namespace == *namespace
        };
        let Some(pod) = self.pod_of(uid).filter(is_it) else {
            return failed(ErrorClass::NotFound, format!("no pod `{namespace}/{name}` of this identity"));
        };
        let entry = &self.pods[pod];
        if matches!(entry.life, Life::Leaving | Life::Lost | Life::Stranded) {
            return Reply::Done;
        }
        let budgets = &self.classes[entry.class as usize].budgets;
        // A pod that does not run yet may always be evicted: it keeps nothing up.
        let blocked =
            budgets.iter().map(|&budget| &self.budgets[budget as usize]).find(|budget| budget.allowed() <= 0);
        if let (Some(budget), Life::Running) = (blocked, entry.life) {
            return failed(ErrorClass::Throttled, format!("disruption budget `{}` allows none", budget.name));
        }
        self.meter.evicted();
        self.tell_to_leave(pod);
        Reply::Done
    }
}

fn machine_kind(world: &World, machine: u32) -> u32 {
    world.machines[machine as usize].kind
}

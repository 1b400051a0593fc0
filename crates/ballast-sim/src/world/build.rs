//! A world from its scenario: everything that is there before the first instant.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use ballast_core::kube::{Labels, Name, PodSpec};
use ballast_core::policy::{Price, StopMode};
use ballast_core::resources::ResourceNames;
use ballast_core::units::{Money, Quantity, Span};

use super::budget::BudgetState;
use super::class::{Class, Recipe};
use super::faults::Faults;
use super::fit::fits_kind;
use super::lifecycle::NewJob;
use super::machine::{Kind, Models, NONE};
use super::queue::Event;
use super::schedule::Scheduler;
use super::{Pool, Source, World};
use crate::placement::{Need, Typical};
use crate::random::Streams;
use crate::scenario::{Distribution, Owner, Scenario, ScenarioPool, ScenarioSpec, TracedJob, Workload};
use crate::score::Meter;

impl World {
    /// The world of a scenario at its first instant.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let spec = &scenario.spec;
        let streams = Streams::new(seed);
        let mut names = ResourceNames::default();
        let mut models = Models::default();
        let mut builder =
            Builder { classes: Vec::new(), workloads: Vec::new(), by_recipe: FxHashMap::default() };
        let sources: Vec<Source> = spec
            .workloads
            .iter()
            .map(|workload| builder.source(workload, streams, &mut names, &mut models))
            .collect();
        let recorded: Vec<u32> =
            spec.jobs.iter().map(|job| builder.recorded(job, &mut names, &mut models)).collect();
        let daemons = builder.daemons(spec, &mut names, &mut models);
        let Builder { mut classes, workloads, .. } = builder;
        let budgets: Vec<BudgetState> = spec.budgets.iter().map(BudgetState::new).collect();
        classes.iter_mut().for_each(|class| class.budgets = budgets_of(class, &budgets));
        let mut kinds = Vec::new();
        let assumed = Price::assumed(spec.pools.iter().map(ScenarioPool::price));
        let pools: Vec<Pool> = (0..)
            .zip(&spec.pools)
            .map(|(at, pool)| pool_of(at, pool, assumed, &mut kinds, &names, &mut models))
            .collect();
        let groups: Vec<(u32, u32)> =
            spec.nodes.iter().map(|group| kinds_of(group, &mut kinds, &names, &mut models)).collect();
        settle_classes(&mut classes, &kinds);
        let pods = pods_to_come(spec, &sources, &recorded, &classes);
        let gpu_shapes = Typical::weighed(pods.iter().copied().filter(|(need, _)| need.gpus > 0));
        let typical = Typical::weighed(pods);
        let mut scheduler = Scheduler::new(spec.placement, streams, &workloads, typical);
        scheduler.resize(classes.len(), kinds.len());
        let meter = Meter::new(&workloads, &kinds);
        let mut world = Self {
            now: spec.start,
            start: spec.start,
            streams,
            queue: super::queue::Queue::default(),
            gang_scheduling: spec.gang_scheduling,
            pools,
            kinds,
            machines: Vec::new(),
            by_name: FxHashMap::default(),
            by_id: FxHashMap::default(),
            by_token: FxHashMap::default(),
            classes,
            sources,
            recorded: spec.jobs.iter().cloned().zip(recorded).collect(),
            jobs: super::slab::Slab::default(),
            pods: super::slab::Slab::default(),
            by_serial: FxHashMap::default(),
            serial: 0,
            nodes_made: 0,
            instances_made: 0,
            scheduler,
            gpu_shapes,
            budgets,
            daemons: daemons.iter().map(|(class, _)| *class).collect(),
            daemon_names: daemons.into_iter().map(|(_, name)| name).collect(),
            faults: Faults::new(spec.faults.clone()),
            changes: super::changes::Changes::default(),
            ledger: super::requests::LedgerStore::default(),
            history: None,
            meter,
            texts: Self::known_texts().into_iter().map(|text| (text, text.into())).collect(),
            digits: (0..super::devices::Devices::MOST).map(|digit| digit.to_string().into()).collect(),
            empty: Name::default(),
            unschedulable: Self::unschedulable_condition(),
        };
        world.populate(spec, &groups);
        world
    }

    /// Machines that are there from the start, and the first events.
    fn populate(&mut self, spec: &ScenarioSpec, groups: &[(u32, u32)]) {
        for (group, &(first, zones)) in spec.nodes.iter().zip(groups) {
            for number in 0..group.count {
                let name: Name = if group.count == 1 {
                    group.name.clone()
                } else {
                    format!("{}-{number}", group.name).into()
                };
                let machine =
                    self.add_machine(first + number % zones, name.clone(), format!("sim://{name}").into());
                self.bring_up(machine);
            }
        }
        for (pool, written) in spec.pools.iter().enumerate() {
            let zones = self.pools[pool].kinds.clone();
            for number in 0..written.running + written.stopped {
                let name: Name = format!("{}-{number}", written.name).into();
                let kind = zones[number as usize % zones.len()];
                let machine =
                    self.add_machine(kind, name.clone(), format!("sim://{}/{name}", written.name).into());
                if number < written.running {
                    self.bring_up(machine);
                } else if !self.pools[pool].deletes {
                    // It has been a node before; a machine that is only off keeps its node object.
                    self.make_node(machine, super::machine::Ready::Unknown);
                }
            }
        }
        for source in 0..self.sources.len() as u32 {
            self.plan_arrival(source);
        }
        for (at, (job, _)) in (0..).zip(&self.recorded) {
            self.queue.plan(self.start + job.at, Event::Recorded { job: at });
        }
        let faults: Vec<(u32, Span)> = self.faults.iter().map(|(at, fault)| (at, fault.at)).collect();
        for (fault, at) in faults {
            self.queue.plan(self.start + at, Event::FaultBegins { fault });
        }
        self.schedule();
        self.meter.begin();
    }

    /// Puts a machine into the state of one that has run for long.
    fn bring_up(&mut self, machine: u32) {
        self.set_power(machine, super::machine::Power::Starting);
        let epoch = self.machines[machine as usize].epoch;
        self.machine_up(machine, epoch);
        let epoch = self.machines[machine as usize].epoch;
        self.devices_up(machine, epoch);
    }

    /// A recorded job comes.
    pub(crate) fn recorded_arrives(&mut self, at: u32) {
        let (job, class) = &self.recorded[at as usize];
        let new = NewJob {
            class: *class,
            name: job.name.clone(),
            members: job.members,
            gang: job.gang,
            work: job.duration,
        };
        self.make_job(new);
    }
}

fn pool_of(
    at: u32,
    pool: &ScenarioPool,
    assumed: Money,
    kinds: &mut Vec<Kind>,
    names: &ResourceNames,
    models: &mut Models,
) -> Pool {
    let (template, price) = (pool.template(), pool.price());
    let first = kinds.len() as u32;
    for zone in zones_of(&template.zones) {
        let mut kind = Kind::new(template, zone, names, models).of_pool(at, &pool.name);
        kind.per_hour = price.per_hour.unwrap_or(assumed);
        kind.stopped_per_hour = price.stopped_per_hour;
        kinds.push(kind);
    }
    Pool {
        name: pool.name.clone(),
        kinds: (first..kinds.len() as u32).collect(),
        machines: Vec::new(),
        boot: pool.boot(),
        devices: pool.cloud.devices.unwrap_or(Distribution::Fixed(Span::ZERO)),
        stop: pool.stop(),
        latency: pool.cloud.latency.unwrap_or(Span::from_secs(1)),
        reclaim: pool.cloud.reclaim,
        deletes: pool.spec.stop == StopMode::Delete,
        nodes_stay: pool.cloud.nodes_stay,
        dirty: true,
        taken_back: Vec::new(),
    }
}

/// The kinds of a group of nodes: the first, and how many.
fn kinds_of(
    group: &crate::scenario::NodeGroup,
    kinds: &mut Vec<Kind>,
    names: &ResourceNames,
    models: &mut Models,
) -> (u32, u32) {
    let first = kinds.len() as u32;
    for zone in zones_of(&group.template.zones) {
        let mut kind = Kind::new(&group.template, zone, names, models);
        kind.per_hour = group.per_hour;
        kinds.push(kind);
    }
    (first, kinds.len() as u32 - first)
}

fn zones_of(zones: &[Name]) -> Vec<Name> {
    if zones.is_empty() { vec![Name::default()] } else { zones.to_vec() }
}

/// The budgets that protect the pods of a class, by their numbers.
fn budgets_of(class: &Class, budgets: &[BudgetState]) -> Vec<u32> {
    let covers =
        |budget: &BudgetState| budget.namespace == class.namespace && budget.selector.matches(&class.labels);
    (0..).zip(budgets).filter(|(_, budget)| covers(budget)).map(|(at, _)| at).collect()
}

/// What the classes cannot know of themselves: the kinds they fit, and who keeps away from them.
fn settle_classes(classes: &mut [Class], kinds: &[Kind]) {
    let kept_away: Vec<bool> =
        classes.iter().map(|class| classes.iter().any(|other| other.keeps_away_from(class))).collect();
    for (class, kept_away) in classes.iter_mut().zip(kept_away) {
        class.is_picky |= kept_away;
        class.fits = kinds.iter().map(|kind| fits_kind(class, kind)).collect();
    }
}

/// Pods of one shape that are reckoned with at the most: sums and products of them stay far from overflowing.
const PODS_MAX: f64 = 1e9;

/// The shapes of pods that usually come, with how many of each: recorded ones counted, others as many as are to be expected.
fn pods_to_come(
    spec: &ScenarioSpec,
    sources: &[Source],
    recorded: &[u32],
    classes: &[Class],
) -> Vec<(Need, i64)> {
    let need = |class: u32| classes[class as usize].need;
    let by_number = spec.jobs.iter().zip(recorded).map(|(job, &class)| (need(class), i64::from(job.members)));
    let by_rule = sources.iter().flat_map(|source| {
        let jobs = source.arrivals.expected(spec.until);
        let weights: u64 = source.sizes.iter().map(|size| u64::from(size.weight)).sum();
        source.sizes.iter().map(move |size| {
            let share = f64::from(size.weight) / weights.max(1) as f64;
            let pods = jobs * share * f64::from(size.members);
            (need(size.class), pods.clamp(1.0, PODS_MAX) as i64)
        })
    });
    by_number.chain(by_rule).collect()
}

/// Classes as they are gathered.
struct Builder {
    classes: Vec<Class>,
    /// Workloads that figures are told under.
    workloads: Vec<Name>,
    by_recipe: FxHashMap<String, u32>,
}

impl Builder {
    fn workload(&mut self, name: &Name) -> u32 {
        let known = self.workloads.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.workloads.push(name.clone());
            self.workloads.len() - 1
        }) as u32
    }

    fn source(
        &mut self,
        workload: &Workload,
        streams: Streams,
        names: &mut ResourceNames,
        models: &mut Models,
    ) -> Source {
        let number = self.workload(&workload.name);
        let whole =
            [crate::scenario::Size { weight: 1, members: None, requests: BTreeMap::new(), gpu_milli: None }];
        let written = if workload.sizes.is_empty() { &whole[..] } else { &workload.sizes };
        let mut sizes = Vec::new();
        for size in written {
            let own = !size.requests.is_empty();
            let recipe = Recipe {
                workload: number,
                namespace: &workload.namespace,
                owner: workload.owner,
                requests: if own { &size.requests } else { &workload.requests },
                gpu_milli: if own { size.gpu_milli } else { size.gpu_milli.or(workload.gpu_milli) },
                gpu_models: &workload.gpu_models,
                labels: &workload.labels,
                annotations: &workload.annotations,
                spec: &workload.pod_spec,
                priority: workload.priority,
                start_up: workload.start_up,
                checkpoint: workload.checkpoint,
            };
            self.classes.push(Class::new(recipe, names, models));
            sizes.push(super::SourceSize {
                class: self.classes.len() as u32 - 1,
                weight: size.weight,
                members: size.members.unwrap_or(workload.members),
            });
        }
        Source {
            name: workload.name.clone(),
            arrivals: workload.arrivals.clone(),
            duration: workload.duration,
            gang: workload.gang,
            runs_on: workload.runs_on.clone(),
            sizes,
            // One stream for what comes of a workload: when, how large, and for how long.
            dice: streams.stream("arrivals", &workload.name),
            came: 0,
            made: 0,
        }
    }

    fn recorded(&mut self, job: &TracedJob, names: &mut ResourceNames, models: &mut Models) -> u32 {
        let key = format!("{:?} {:?} {:?} {}", job.requests, job.gpu_milli, job.gpu_models, job.workload);
        if let Some(&class) = self.by_recipe.get(&key) {
            return class;
        }
        let recipe = Recipe {
            workload: self.workload(&job.workload),
            namespace: &"default".into(),
            owner: Owner::Job,
            requests: &job.requests,
            gpu_milli: job.gpu_milli,
            gpu_models: &job.gpu_models,
            labels: &Labels::new(),
            annotations: &Labels::new(),
            spec: &PodSpec::default(),
            priority: 0,
            start_up: Distribution::Fixed(Span::from_secs(5)),
            checkpoint: None,
        };
        self.classes.push(Class::new(recipe, names, models));
        let class = self.classes.len() as u32 - 1;
        self.by_recipe.insert(key, class);
        class
    }

    fn daemons(
        &mut self,
        spec: &ScenarioSpec,
        names: &mut ResourceNames,
        models: &mut Models,
    ) -> Vec<(u32, Name)> {
        let mut daemons = Vec::new();
        for daemon in &spec.daemons {
            let pod_spec = daemon_spec(&daemon.node_selector);
            let recipe = Recipe {
                workload: NONE,
                namespace: &daemon.namespace,
                owner: Owner::None,
                requests: &daemon.requests,
                gpu_milli: None,
                gpu_models: &[],
                labels: &Labels::new(),
                annotations: &Labels::new(),
                spec: &pod_spec,
                priority: 0,
                start_up: Distribution::Fixed(Span::ZERO),
                checkpoint: None,
            };
            let mut class = Class::new(recipe, names, models);
            class.daemon = true;
            self.classes.push(class);
            daemons.push((self.classes.len() as u32 - 1, daemon.name.clone()));
        }
        daemons
    }
}

/// A daemon's pods bear every taint.
pub(crate) fn daemon_spec(selector: &Labels) -> PodSpec {
    let toleration = ballast_core::kube::Toleration {
        operator: Some(ballast_core::kube::TolerationOperator::Exists),
        ..Default::default()
    };
    PodSpec { node_selector: selector.clone(), tolerations: vec![toleration], ..Default::default() }
}

/// The spec of a daemon set's pods, requests included.
pub(crate) fn daemon_template(selector: &Labels, requests: &BTreeMap<Name, Quantity>) -> PodSpec {
    let mut spec = daemon_spec(selector);
    let mut container = ballast_core::kube::Container::default();
    container.resources.requests = requests.clone();
    spec.containers.push(container);
    spec
}

//! What a type cannot say of a scenario: values that are absurd, contradict each other or lead nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::figures::unknown;
use super::{Arrivals, Budget, Distribution, DocumentChange, Fault, FaultKind, ScenarioSpec, Workload};
use ballast_core::documents::{
    Finding, Findings, Path, ProblemCode, check_cluster_policy, check_requests, check_vm_pool,
};
use ballast_core::kube::Name;
use ballast_core::policy::NodeTemplate;
use ballast_core::units::{Quantity, Share, Span};

use crate::score::Amount;

/// Something that is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The field, such as `pools[0].spec.max`.
    pub path: String,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// The most machines of one scenario: ten times the largest cluster that Kubernetes is tested for.
pub struct MachinesMax;

impl MachinesMax {
    /// The number.
    pub const COUNT: u64 = 150_000;
}

/// Ten years: longer runs are typing errors.
const UNTIL_MAX: Span = Span::from_hours(24 * 3660);
/// The most pods of one job, and jobs of one arrival.
const MEMBERS_MAX: u32 = 100_000;

/// Complaints as they are gathered.
struct Complaints(Vec<Complaint>);

impl Complaints {
    fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(Complaint { path: path.into(), message: message.into() });
    }

    fn require(&mut self, holds: bool, path: impl Into<String>, message: impl Into<String>) {
        if !holds {
            self.add(path, message);
        }
    }

    /// What the documents themselves would be refused for; `place` is where their spec stands.
    fn findings(&mut self, place: &str, Findings(found): Findings) {
        // What is doubtful of a live cluster is no fault of a simulated one, where every provider is there.
        let wrong = found.into_iter().filter(|finding| finding.code != ProblemCode::Doubtful);
        for Finding { path, message, allowed, suggestion, .. } in wrong {
            let field = Path(path.0.into_iter().skip(1).collect()).behind(place);
            let more = allowed.map(|allowed| format!("; allowed is {allowed}"));
            let more = more.or(suggestion.map(|suggestion| format!("; {suggestion}")));
            self.add(field, format!("{message}{}", more.unwrap_or_default()));
        }
    }

    fn distribution(&mut self, path: String, distribution: Option<&Distribution>) {
        if let Some(trouble) = distribution.and_then(Distribution::trouble) {
            self.add(path, trouble);
        }
    }
}

impl ScenarioSpec {
    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        let mut told = Complaints(Vec::new());
        told.require(
            self.until > Span::ZERO,
            "until",
            "a scenario lasts some time: write a duration such as `1d`",
        );
        told.require(self.until <= UNTIL_MAX, "until", "more than ten years");
        told.require(self.pace.interval >= Span::from_millis(100), "pace.interval", "less than 100ms");
        told.require(self.pace.instances >= Span::from_secs(1), "pace.instances", "less than 1s");
        told.findings("policy", check_cluster_policy(&self.policy));
        self.check_machines(&mut told);
        self.check_workloads(&mut told);
        for (at, fault) in self.faults.iter().enumerate() {
            self.check_fault(&mut told, &format!("faults[{at}]"), fault);
        }
        for (at, change) in self.changes.iter().enumerate() {
            self.check_change(&mut told, &format!("changes[{at}]"), change);
        }
        for (name, range) in &self.expect {
            self.check_expected(&mut told, name, *range);
        }
        told.0
    }

    /// What can be run and still leads nowhere: work that never comes, and budgets that protect nobody. A shorter run or
    /// another policy may have such parts; a scenario as it is written may not.
    pub fn check_story(&self) -> Vec<Complaint> {
        let mut told = Complaints(Vec::new());
        for (at, workload) in self.workloads.iter().enumerate() {
            let first = workload.arrivals.at.first().copied().unwrap_or(workload.arrivals.from);
            let message =
                format!("none ever comes: the first is due after {first}, the end is after {}", self.until);
            told.require(first < self.until, format!("workloads[{at}].arrivals"), message);
        }
        for (at, budget) in self.budgets.iter().enumerate() {
            // What a trace brings is known only when it is read.
            let protects = self.openb.is_some() || self.protects_some(budget);
            let message = "it protects no pod: no workload of its namespace has labels that it selects";
            told.require(protects, format!("budgets[{at}].selector"), message);
        }
        told.0
    }

    /// Whether a budget selects pods of any workload.
    pub(crate) fn protects_some(&self, budget: &Budget) -> bool {
        let is_of = |workload: &Workload| {
            workload.namespace == budget.namespace && budget.selector.matches(&workload.labels)
        };
        self.workloads.iter().any(is_of)
    }

    fn check_expected(&self, told: &mut Complaints, name: &str, range: [Amount; 2]) {
        let path = format!("expect.{name}");
        let figure = match self.figure(name) {
            Ok(figure) => figure,
            Err(why) => return told.add(path, why),
        };
        let [least, most] = range.map(|bound| bound.value);
        let ordered = least.is_finite() && most.is_finite() && least <= most;
        told.require(ordered, path.clone(), "write the least and the greatest, the smaller first");
        let (what, form) = (figure.unit.what(), figure.unit.form());
        let fits = range.into_iter().all(|bound| figure.unit.takes(bound));
        told.require(fits, path, format!("`{name}` is {what}: write {form}"));
    }

    fn check_change(&self, told: &mut Complaints, path: &str, change: &DocumentChange) {
        if let Some(policy) = &change.policy {
            told.findings(&format!("{path}.policy"), check_cluster_policy(policy));
        }
        if let Some(spec) = &change.spec {
            told.findings(&format!("{path}.spec"), check_vm_pool(spec));
        }
        if let Some(pool) = change.pool.as_ref().filter(|pool| !self.pool_names().contains(pool)) {
            told.add(
                format!("{path}.pool"),
                unknown("pool", pool, self.pool_names().into_iter().map(|name| &**name)),
            );
        }
        told.require(
            change.pool.is_some() == change.spec.is_some(),
            path,
            "`pool` and `spec` belong together",
        );
        told.require(
            change.policy.is_some() || change.spec.is_some(),
            path,
            "it changes nothing: give it `policy`, or `pool` and `spec`",
        );
    }

    fn check_machines(&self, told: &mut Complaints) {
        let mut names = BTreeSet::new();
        let mut machines = 0;
        for (at, pool) in self.pools.iter().enumerate() {
            let path = format!("pools[{at}]");
            check_name(told, &mut names, &path, &pool.name);
            told.findings(&format!("{path}.spec"), check_vm_pool(&pool.spec));
            let exist = u64::from(pool.running) + u64::from(pool.stopped);
            machines += u64::from(pool.spec.max).max(exist);
            if let Some(template) = &pool.cloud.template {
                check_template(told, &format!("{path}.cloud.template"), template);
            }
            told.distribution(format!("{path}.cloud.boot"), pool.cloud.boot.as_ref());
            told.distribution(format!("{path}.cloud.devices"), pool.cloud.devices.as_ref());
            told.distribution(format!("{path}.cloud.stop"), pool.cloud.stop.as_ref());
            told.distribution(format!("{path}.cloud.reclaim"), pool.cloud.reclaim.as_ref());
        }
        for (at, group) in self.nodes.iter().enumerate() {
            let path = format!("nodes[{at}]");
            check_name(told, &mut names, &path, &group.name);
            check_template(told, &format!("{path}.template"), &group.template);
            machines += u64::from(group.count);
        }
        let most = MachinesMax::COUNT;
        told.require(machines <= most, "pools", format!("{machines} machines are more than {most}"));
    }

    fn check_workloads(&self, told: &mut Complaints) {
        let mut names = BTreeSet::new();
        for (at, workload) in self.workloads.iter().enumerate() {
            let path = format!("workloads[{at}]");
            check_name(told, &mut names, &path, &workload.name);
            check_arrivals(told, &format!("{path}.arrivals"), &workload.arrivals);
            check_members(told, &format!("{path}.members"), workload.members);
            self.check_places(told, &format!("{path}.runsOn"), workload);
            check_share(told, &path, workload.gpu_milli);
            check_resources(told, &path, &workload.requests);
            for (number, size) in workload.sizes.iter().enumerate() {
                let path = format!("{path}.sizes[{number}]");
                check_members(told, &format!("{path}.members"), size.members.unwrap_or(1));
                check_share(told, &path, size.gpu_milli);
                check_resources(told, &path, &size.requests);
            }
            let weights = workload.sizes.iter().map(|size| u64::from(size.weight)).sum::<u64>();
            told.require(
                workload.sizes.is_empty() || weights > 0,
                format!("{path}.sizes"),
                "no size has a weight",
            );
            told.distribution(format!("{path}.duration"), workload.duration.as_ref());
            told.distribution(format!("{path}.startUp"), Some(&workload.start_up));
            let checkpoint = workload.checkpoint.is_none_or(|span| span > Span::ZERO);
            told.require(checkpoint, format!("{path}.checkpoint"), "a checkpoint every 0s");
            for (number, volume) in workload.pod_spec.volumes.iter().enumerate() {
                let message = "a simulated cluster has no volumes that could be claimed: leave it out";
                told.require(!volume.claims(), format!("{path}.podSpec.volumes[{number}]"), message);
            }
        }
        for (at, job) in self.jobs.iter().enumerate() {
            check_members(told, &format!("jobs[{at}].members"), job.members);
            check_share(told, &format!("jobs[{at}]"), job.gpu_milli);
            check_resources(told, &format!("jobs[{at}]"), &job.requests);
        }
        for (at, budget) in self.budgets.iter().enumerate() {
            let given = [
                budget.min_available.is_some(),
                budget.max_unavailable.is_some(),
                budget.max_unavailable_share.is_some(),
            ];
            let one = given.iter().filter(|given| **given).count() == 1;
            told.require(
                one,
                format!("budgets[{at}]"),
                "write one of minAvailable, maxUnavailable and maxUnavailableShare",
            );
        }
    }

    /// Only what comes at the start can run from the start, on nodes that are there.
    fn check_places(&self, told: &mut Complaints, path: &str, workload: &Workload) {
        if workload.runs_on.is_empty() {
            return;
        }
        let groups = self.nodes.iter().map(|group| (&group.name, group.count, group.count == 1));
        let pools = self.pools.iter().map(|pool| (&pool.name, pool.running, false));
        let places: Vec<(&Name, u32, bool)> = groups.chain(pools).collect();
        for node in workload.runs_on.keys() {
            let is_of = |(name, count, alone): &(&Name, u32, bool)| match node.strip_prefix(&***name) {
                Some("") => *alone,
                Some(number) => {
                    let number = number.strip_prefix('-').and_then(|number| number.parse::<u32>().ok());
                    !alone && number.is_some_and(|number| number < *count)
                }
                None => false,
            };
            let message = format!("there is no node `{node}` at the start");
            told.require(places.iter().any(is_of), path, message);
        }
        let placed: u64 = workload.runs_on.values().map(|count| u64::from(*count)).sum();
        let message = format!("{placed} pods are more than the {} members", workload.members);
        told.require(placed <= u64::from(workload.members), path, message);
        let first = workload.arrivals.at.first().copied().unwrap_or(workload.arrivals.from);
        told.require(first == Span::ZERO, path, "only what comes at the start runs from the start");
    }

    fn check_fault(&self, told: &mut Complaints, path: &str, fault: &Fault) {
        if let Some(pool) = &fault.pool {
            let names: Vec<&str> = self.pools.iter().map(|pool| &*pool.name).collect();
            let known = names.contains(&&**pool);
            told.require(known, format!("{path}.pool"), unknown("pool", pool, names));
        }
        if let Some(zone) = &fault.zone {
            let zones: BTreeSet<&Name> = self.pools.iter().flat_map(|pool| &pool.template().zones).collect();
            let known: Vec<&str> = zones.iter().map(|zone| &***zone).collect();
            let message = unknown("zone", zone, known);
            told.require(zones.contains(zone), format!("{path}.zone"), message);
        }
        let given = [
            ("pool", fault.pool.is_some()),
            ("zone", fault.zone.is_some()),
            ("view", fault.view.is_some()),
            ("class", fault.class.is_some()),
            ("share", fault.share.is_some()),
            ("limit", fault.limit.is_some()),
            ("span", fault.span.is_some()),
        ];
        for (field, _) in given.iter().filter(|(field, given)| *given && !fault.heeds(field)) {
            told.add(format!("{path}.{field}"), format!("{:?} does not look at it", fault.kind));
        }
        let is_told = !fault.kind.is_of_view() || fault.view.is_some();
        told.require(is_told, format!("{path}.view"), "say which view: Nodes, Pods, Budgets or Instances");
        let is_told = fault.kind != FaultKind::Quota || fault.limit.is_some();
        told.require(is_told, format!("{path}.limit"), "say how many machines may exist");
        let share = fault.share.is_none_or(|share| share <= Share::percent(100));
        told.require(share, format!("{path}.share"), "more than 100%");
        let lasting = fault.lasts.is_none() || !fault.kind.is_instant();
        told.require(lasting, format!("{path}.for"), format!("{:?} happens at an instant", fault.kind));
    }
}

fn check_name<'a>(told: &mut Complaints, names: &mut BTreeSet<&'a Name>, path: &str, name: &'a Name) {
    told.require(!name.is_empty(), format!("{path}.name"), "it has no name");
    told.require(names.insert(name), format!("{path}.name"), format!("`{name}` is there twice"));
}

fn check_template(told: &mut Complaints, path: &str, template: &NodeTemplate) {
    let cpu = template.allocatable.get("cpu").is_some_and(|cpu| cpu.milli() > 0);
    told.require(cpu, format!("{path}.allocatable"), "a node without `cpu`");
}

fn check_members(told: &mut Complaints, path: &str, members: u32) {
    told.require(
        (1..=MEMBERS_MAX).contains(&members),
        path,
        format!("write a number from 1 to {MEMBERS_MAX}"),
    );
}

fn check_share(told: &mut Complaints, path: &str, milli: Option<u16>) {
    let good = milli.is_none_or(|milli| (1..1000).contains(&milli));
    told.require(
        good,
        format!("{path}.gpuMilli"),
        "a share is from 1 to 999; whole GPUs stand in `requests`",
    );
}

fn check_resources(told: &mut Complaints, path: &str, requests: &BTreeMap<Name, Quantity>) {
    told.findings(&format!("{path}.requests"), check_requests(requests, "gpuMilli"));
}

fn check_arrivals(told: &mut Complaints, path: &str, arrivals: &Arrivals) {
    let ways = [!arrivals.at.is_empty(), arrivals.every.is_some(), arrivals.per_hour.is_some()];
    let one = ways.iter().filter(|way| **way).count() <= 1;
    told.require(one, path, "write one of at, every and perHour");
    told.require(arrivals.at.is_sorted(), format!("{path}.at"), "write the times in order");
    let rate = arrivals.per_hour.is_none_or(|rate| (0.0..=1e6).contains(&rate));
    told.require(rate, format!("{path}.perHour"), "write a number from 0 to 1000000");
    told.require((0.0..=1.0).contains(&arrivals.wave), format!("{path}.wave"), "write a number from 0 to 1");
    told.require(
        (0.0..24.0).contains(&arrivals.peak_hour),
        format!("{path}.peakHour"),
        "write an hour from 0 to 23",
    );
    told.require(
        (0.0..=10.0).contains(&arrivals.weekend),
        format!("{path}.weekend"),
        "write a number from 0 to 10",
    );
    let begins = arrivals.until.is_none_or(|end| arrivals.from < end);
    told.require(begins, format!("{path}.until"), "they end before they begin");
    let every = arrivals.every.is_none_or(|every| every > Span::ZERO);
    told.require(every, format!("{path}.every"), "every 0s never ends");
    let count = (1..=MEMBERS_MAX).contains(&arrivals.count);
    told.require(count, format!("{path}.count"), format!("write a number from 1 to {MEMBERS_MAX}"));
}

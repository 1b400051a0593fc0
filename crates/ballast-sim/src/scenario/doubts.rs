//! What can be run and is probably not what is meant: work that no machine of the scenario could ever do.

use std::collections::{BTreeMap, BTreeSet};

use super::{Complaint, Distribution, ScenarioSpec, Size, Workload};
use ballast_core::documents::{Path, nearest};
use ballast_core::kube::Name;
use ballast_core::policy::NodeTemplate;
use ballast_core::resources::is_gpu;
use ballast_core::snapshot::GPU_MODEL_LABELS;
use ballast_core::units::{Quantity, Span};

/// Nobody counts memory in less.
const LEAST_BYTES: Quantity = Quantity::from_units(1 << 10);

/// Machines of one kind, and how many of them there may be.
struct Offer<'a> {
    template: &'a NodeTemplate,
    most: u64,
}

/// What the pods of one job ask for, and where that is written.
struct Shape<'a> {
    requests: (String, &'a BTreeMap<Name, Quantity>),
    gpu_models: (String, &'a [Name]),
    members: (String, u32),
    gpu_milli: Option<u16>,
    gang: bool,
}

impl ScenarioSpec {
    /// What is probably not what is meant. It can be run all the same: a story may be about work that nobody can do.
    pub fn doubts(&self) -> Vec<Complaint> {
        let mut doubts = Vec::new();
        let mut tell = |path: String, message: String| doubts.push(Complaint { path, message });
        for (at, pool) in self.pools.iter().enumerate() {
            let (running, max) = (pool.running, pool.spec.max);
            if running > max {
                let message = format!("{running} run at the start, more than `max`, which is {max}");
                tell(format!("pools[{at}].running"), message);
            }
        }
        for (at, workload) in self.workloads.iter().enumerate() {
            if workload.duration == Some(Distribution::Fixed(Span::ZERO)) {
                let message = "its pods end as soon as they run; work without an end has no `duration`";
                tell(format!("workloads[{at}].duration"), message.to_owned());
            }
        }
        // Which machines a trace has is known only when it is read.
        if self.openb.is_none() {
            let offers = self.offers();
            let workloads = self.workloads.iter().enumerate();
            for shape in workloads.flat_map(|(at, workload)| workload.shapes(&format!("workloads[{at}]"))) {
                if let Some((path, message)) = shape.trouble(&offers).filter(|_| !offers.is_empty()) {
                    tell(path, message);
                }
            }
        }
        doubts
    }

    fn offers(&self) -> Vec<Offer<'_>> {
        let pools = self.pools.iter().map(|pool| Offer {
            template: pool.template(),
            most: u64::from(pool.spec.max).max(u64::from(pool.running) + u64::from(pool.stopped)),
        });
        let groups =
            self.nodes.iter().map(|group| Offer { template: &group.template, most: group.count.into() });
        pools.chain(groups).collect()
    }
}

impl Workload {
    /// What its jobs ask for: one shape, or one for each size.
    fn shapes<'a>(&'a self, path: &str) -> Vec<Shape<'a>> {
        let at = |place: &str, field: &str| format!("{place}.{field}");
        let shape = |requests, members, gpu_milli| Shape {
            requests,
            gpu_models: (at(path, "gpuModels"), &self.gpu_models),
            members,
            gpu_milli,
            gang: self.gang,
        };
        let requests = || (at(path, "requests"), &self.requests);
        let members = || (at(path, "members"), self.members);
        if self.sizes.is_empty() {
            return vec![shape(requests(), members(), self.gpu_milli)];
        }
        let of_size = |(number, size): (usize, &'a Size)| {
            let place = format!("{path}.sizes[{number}]");
            let own = Some((at(&place, "requests"), &size.requests)).filter(|(_, own)| !own.is_empty());
            let milli = if own.is_some() { size.gpu_milli } else { size.gpu_milli.or(self.gpu_milli) };
            let count = size.members.map(|count| (at(&place, "members"), count));
            shape(own.unwrap_or_else(requests), count.unwrap_or_else(members), milli)
        };
        self.sizes.iter().enumerate().map(of_size).collect()
    }
}

impl Shape<'_> {
    /// The field that keeps it from ever being served, and why; `None` where it can be, for all that is known.
    fn trouble(&self, offers: &[Offer<'_>]) -> Option<(String, String)> {
        let named = offers.iter().flat_map(|offer| offer.template.allocatable.keys()).map(|name| &**name);
        let named: BTreeSet<&str> = named.collect();
        let (path, requests) = &self.requests;
        for (name, amount) in requests.iter().filter(|(_, amount)| **amount > Quantity::ZERO) {
            let path = || Path::default().key(name).behind(path);
            let most = offers.iter().map(|offer| offer.has(name)).max().unwrap_or_default();
            if matches!(&**name, "memory" | "ephemeral-storage") && *amount < LEAST_BYTES {
                // `20m` are thousandths of a byte.
                let meant = if *amount < Quantity::from_units(1) { amount.milli() } else { amount.units() };
                return Some((path(), format!("{amount} is that many bytes; did you mean `{meant}Mi`?")));
            }
            if !named.contains(&**name) {
                return Some((path(), missing("", name, &named)));
            } else if *amount > most {
                return Some((
                    path(),
                    format!("{amount} is more than any machine has, which is {most} at most"),
                ));
            }
        }
        if let Some(message) = self.model_trouble(offers) {
            return Some((self.gpu_models.0.clone(), message));
        }
        let fit: Vec<(u64, u64)> =
            offers.iter().map(|offer| (offer.most, self.fit_on(offer.template))).collect();
        if fit.iter().all(|(_, pods)| *pods == 0) {
            return Some((path.clone(), "no machine has all of it at once".to_owned()));
        }
        let room =
            fit.iter().fold(0, |room: u64, (most, pods)| room.saturating_add(most.saturating_mul(*pods)));
        let (path, members) = &self.members;
        (self.gang && room < u64::from(*members)).then(|| {
            let message = format!(
                "a gang of {members} never comes together: all machines that there may be hold {room} of it"
            );
            (path.clone(), message)
        })
    }

    /// A model that no machine has: a slip where one has it in other letters, or where no other would do either.
    fn model_trouble(&self, offers: &[Offer<'_>]) -> Option<String> {
        let models: BTreeSet<&str> = offers.iter().filter_map(|offer| model_of(offer.template)).collect();
        let wanted = self.gpu_models.1;
        let is_served = wanted.iter().any(|model| models.contains(&**model));
        let is_slip = |model: &&Name| models.iter().any(|known| known.eq_ignore_ascii_case(model));
        let mut unknown = wanted.iter().filter(|model| !models.contains(&***model));
        let told = if is_served { unknown.find(is_slip) } else { unknown.next() };
        told.map(|model| missing("GPUs of the model ", model, &models))
    }

    /// How many of its pods an empty machine holds.
    fn fit_on(&self, template: &NodeTemplate) -> u64 {
        let (requests, models) = (self.requests.1, self.gpu_models.1);
        let is_allowed = models.is_empty()
            || model_of(template).is_some_and(|model| models.iter().any(|known| **known == *model));
        if !is_allowed {
            return 0;
        }
        let is_counted = |name: &Name| !is_gpu(name) || self.gpu_milli.is_none();
        let by_amount =
            requests.iter().filter(|(name, amount)| **amount > Quantity::ZERO && is_counted(name));
        let by_amount = by_amount.map(|(name, amount)| {
            let has = template.allocatable.get(name).copied().unwrap_or_default();
            (has.milli() / amount.milli().max(1)).max(0) as u64
        });
        let by_share = self.gpu_milli.map(|milli| {
            let gpus = template.allocatable.iter().filter(|(name, _)| is_gpu(name));
            let gpus: i64 = gpus.map(|(_, count)| count.units()).sum();
            gpus.max(0) as u64 * u64::from(1000 / milli.max(1))
        });
        by_amount.chain(by_share).min().unwrap_or(u64::from(u32::MAX))
    }
}

impl Offer<'_> {
    fn has(&self, name: &Name) -> Quantity {
        self.template.allocatable.get(name).copied().unwrap_or_default()
    }
}

/// The model of a machine's GPUs.
fn model_of(template: &NodeTemplate) -> Option<&str> {
    let labelled = || GPU_MODEL_LABELS.iter().find_map(|label| template.labels.get(*label));
    template.gpu_model.as_ref().or_else(labelled).map(|model| &**model)
}

/// What no machine has, with what was meant or what there is.
fn missing(what: &str, name: &str, known: &BTreeSet<&str>) -> String {
    let more = match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "none has any".to_owned(),
        None => format!("there are {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
    };
    format!("no machine has {what}`{name}`; {more}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn doubts(workload: serde_json::Value) -> Vec<String> {
        let spec: ScenarioSpec = serde_json::from_value(json!({
            "until": "1h",
            "pools": [{"name": "a", "running": 1, "spec": {"provider": {"kind": "Simulated"}, "max": 2, "template": {
                "allocatable": {"cpu": 8, "memory": "32Gi", "nvidia.com/gpu": 2}, "gpuModel": "H100"}}}],
            "nodes": [{"name": "n", "template": {"allocatable": {"cpu": 16, "memory": "8Gi"}}}],
            "workloads": [workload],
        }))
        .expect("a scenario");
        assert_eq!(spec.check(), [], "it can be run");
        spec.doubts().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn work_that_no_machine_could_do_is_doubted() {
        for (workload, told) in [
            (json!({"requests": {"cpu": 16}}), None),
            (
                json!({"requests": {"cpu": 17}}),
                Some("requests.cpu: 17 is more than any machine has, which is 16 at most"),
            ),
            (
                json!({"requests": {"cpu": 16, "memory": "16Gi"}}),
                Some("requests: no machine has all of it at once"),
            ),
            (
                json!({"requests": {"nvidia.com/gpus": 1}}),
                Some(
                    "requests[\"nvidia.com/gpus\"]: no machine has `nvidia.com/gpus`; did you mean `nvidia.com/gpu`?",
                ),
            ),
            (
                json!({"requests": {"memory": "20m"}}),
                Some("requests.memory: 20m is that many bytes; did you mean `20Mi`?"),
            ),
            (json!({"requests": {"cpu": 1}, "gpuMilli": 300, "members": 12, "gang": true}), None),
            (
                json!({"requests": {"cpu": 1}, "gpuMilli": 300, "members": 13, "gang": true}),
                Some(
                    "members: a gang of 13 never comes together: all machines that there may be hold 12 of it",
                ),
            ),
            (json!({"requests": {"cpu": 1, "nvidia.com/gpu": 1}, "members": 13}), None),
            (
                json!({"requests": {"nvidia.com/gpu": 1}, "gpuModels": ["h100"]}),
                Some("gpuModels: no machine has GPUs of the model `h100`; did you mean `H100`?"),
            ),
            (json!({"requests": {"nvidia.com/gpu": 1}, "gpuModels": ["GB300", "H100"]}), None),
            (
                json!({"requests": {"nvidia.com/gpu": 1}, "gpuModels": ["V"]}),
                Some("gpuModels: no machine has GPUs of the model `V`; there are H100"),
            ),
            (
                json!({"requests": {"cpu": 1}, "duration": "0s"}),
                Some("duration: its pods end as soon as they run; work without an end has no `duration`"),
            ),
            (
                json!({"requests": {"cpu": 1}, "sizes": [{}, {"requests": {"cpu": 32}}]}),
                Some("sizes[1].requests.cpu: 32 is more than any machine has, which is 16 at most"),
            ),
        ] {
            let mut named = workload.clone();
            named["name"] = "w".into();
            let wanted: Vec<String> = told.iter().map(|told| format!("workloads[0].{told}")).collect();
            assert_eq!(doubts(named), wanted, "{workload}");
        }
    }
}

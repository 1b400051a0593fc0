//! The openb trace as a scenario: the nodes of the cluster, and every pod at the time at which it came.

use std::collections::BTreeMap;

use ballast_core::kube::Name;
use ballast_core::policy::{ClusterPolicySpec, NodeTemplate, Price, Provider, VmPoolSpec};
use ballast_core::units::{Money, Quantity, Span};

use crate::openb::{Node, Pod, Trace, TraceError};
use crate::scenario::{Cloud, NodeGroup, OpenbTrace, Scenario, ScenarioPool, ScenarioSpec, TracedJob};

/// The resource name of GPUs.
const GPU: &str = "nvidia.com/gpu";
/// The trace tells no prices. These put the ones of its machines into the proportions of public price lists: what a core and
/// what a GPU costs in an hour.
const CORE_PER_HOUR: f64 = 0.04;
const GPU_PER_HOUR: f64 = 1.0;

/// Reads the two files of the trace into a scenario that nobody decides in.
pub fn openb(nodes: &[u8], pods: &[u8]) -> Result<Scenario, TraceError> {
    let trace = Trace::parse(nodes, pods)?;
    let mut spec = empty_spec();
    spec.story = format!(
        "{} nodes and {} pods of the openb trace (Alibaba, 2023), each at the time at which it came",
        trace.nodes.len(),
        trace.pods.len()
    );
    spec.controller = crate::scenario::Controller::None;
    let options =
        OpenbTrace { nodes: Name::default(), pods: Name::default(), from: Span::ZERO, as_pools: false };
    fill(&mut spec, &trace, &options);
    spec.until =
        spec.jobs.iter().map(|job| job.at + job.duration.unwrap_or_default()).max().unwrap_or_default();
    spec.until = spec.until.max(Span::from_hours(1));
    Ok(Scenario { name: "openb".into(), spec })
}

/// Adds the nodes and the jobs of a trace to a scenario.
pub(crate) fn fill(spec: &mut ScenarioSpec, trace: &Trace, options: &OpenbTrace) {
    let mut shapes: BTreeMap<(String, i64, i64, u8), u32> = BTreeMap::new();
    for node in &trace.nodes {
        *shapes.entry(shape_of(node)).or_default() += 1;
    }
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    for ((model, cpu, memory, gpus), count) in shapes {
        let base = match gpus {
            0 => format!("cpu-{}", cpu / 1000),
            _ => format!("{}x{gpus}-{}", model.to_lowercase(), cpu / 1000),
        };
        let number = names.entry(base.clone()).or_default();
        *number += 1;
        let name: Name = if *number == 1 { base.into() } else { format!("{base}-{number}").into() };
        let template = template_of(&model, cpu, memory, gpus);
        let cost = CORE_PER_HOUR * cpu as f64 / 1000.0 + GPU_PER_HOUR * f64::from(gpus);
        let per_hour = Money::from_f64(cost).unwrap_or_default();
        if options.as_pools && gpus > 0 {
            spec.pools.push(pool_of(name, count, template, per_hour));
        } else {
            spec.nodes.push(NodeGroup { name, count, template, per_hour });
        }
    }
    let mut jobs: Vec<TracedJob> = trace.pods.iter().filter_map(|pod| job_of(pod, options.from)).collect();
    jobs.sort_by(|a, b| (a.at, &a.name).cmp(&(b.at, &b.name)));
    spec.jobs.extend(jobs);
}

/// Model, CPU, memory and GPUs: what makes machines alike.
fn shape_of(node: &Node) -> (String, i64, i64, u8) {
    (node.model.clone(), node.cpu, node.memory, node.gpus)
}

fn template_of(model: &str, cpu: i64, memory: i64, gpus: u8) -> NodeTemplate {
    let mut template = NodeTemplate::default();
    template.allocatable.insert("cpu".into(), Quantity::from_milli(cpu));
    template.allocatable.insert("memory".into(), Quantity::from_units(memory));
    // What the published runs allow: the trace has nodes with hundreds of small pods.
    template.allocatable.insert("pods".into(), Quantity::from_units(1001));
    if gpus > 0 {
        template.allocatable.insert(GPU.into(), Quantity::from_units(gpus.into()));
        template.gpu_model = Some(model.into());
    }
    template
}

fn pool_of(name: Name, count: u32, template: NodeTemplate, per_hour: Money) -> ScenarioPool {
    let spec = VmPoolSpec {
        mode: None,
        pause: Default::default(),
        members: Default::default(),
        provider: Provider { kind: "Simulated".into(), settings: BTreeMap::new(), bearer: None },
        template,
        min: 0,
        max: count,
        create: false,
        price: Price { per_hour: Some(per_hour), ..Price::default() },
        times: Default::default(),
        stop: Default::default(),
        strategy: Default::default(),
        priority: 0,
        balance_group: None,
        headroom: Vec::new(),
        scale_down: Default::default(),
        schedule: Vec::new(),
        budget: None,
    };
    ScenarioPool { name, spec, running: 0, stopped: count, cloud: Cloud::default() }
}

/// A pod as a job. One that was there at `from` comes at the start; one that was gone by then does not come.
fn job_of(pod: &Pod, from: Span) -> Option<TracedJob> {
    let from = from.as_millis() / 1000;
    let came = pod.created.unwrap_or(0).max(from);
    let at = Span::from_secs(came - from);
    let lasts = pod.deleted.map(|deleted| deleted - came);
    let mut requests = BTreeMap::new();
    requests.insert("cpu".into(), Quantity::from_milli(pod.need.cpu));
    requests.insert("memory".into(), Quantity::from_units(pod.need.memory));
    if pod.need.gpus > 0 {
        requests.insert(GPU.into(), Quantity::from_units(pod.need.gpus.into()));
    }
    let models = pod.models.split('|').filter(|model| !model.is_empty());
    let is_there = lasts.is_none_or(|lasts| lasts > 0 || came > from);
    is_there.then(|| TracedJob {
        name: pod.name.as_str().into(),
        workload: if pod.qos.is_empty() { "jobs".into() } else { pod.qos.to_lowercase().into() },
        at,
        duration: lasts.map(|lasts| Span::from_secs(lasts.max(1))),
        requests,
        gpu_milli: pod.need.is_share().then_some(pod.need.gpu_milli),
        gpu_models: models.map(Name::from).collect(),
        members: 1,
        gang: false,
    })
}

/// A scenario of nothing.
pub(super) fn empty_spec() -> ScenarioSpec {
    ScenarioSpec {
        story: String::new(),
        start: crate::scenario::monday(),
        until: Span::from_hours(24),
        seed: 1,
        placement: Default::default(),
        gang_scheduling: true,
        controller: Default::default(),
        pace: Default::default(),
        policy: ClusterPolicySpec::default(),
        pools: Vec::new(),
        nodes: Vec::new(),
        daemons: Vec::new(),
        budgets: Vec::new(),
        workloads: Vec::new(),
        jobs: Vec::new(),
        openb: None,
        faults: Vec::new(),
        changes: Vec::new(),
        expect: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Simulation;

    #[test]
    fn a_trace_becomes_a_scenario_that_runs() {
        let nodes =
            b"sn,cpu_milli,memory_mib,gpu,model\nn0,32000,65536,2,T4\nn1,32000,65536,2,T4\nn2,8000,1024,0,\n";
        let pods = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time\n\
            p0,1000,10,1,460,T4|V100,LS,5,65\np1,1000,10,1,1000,V100,BE,0,90\np2,1000,10,0,0,,BE,10,40\n";
        let scenario = openb(nodes, pods).expect("a good trace");
        assert!(scenario.spec.check().is_empty());
        assert_eq!(scenario.spec.nodes.len(), 2, "two shapes");
        let score = Simulation::new(&scenario, 1).finish();
        assert_eq!(score.jobs_ended, 2);
        assert_eq!(score.get("unserved.be"), Some(1.0), "no V100 is there");
    }
}

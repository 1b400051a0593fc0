//! What an ElasticJobPolicy may say.

use super::{Findings, Path, shared};
use crate::policy::{ElasticJobPolicySpec, SizeRule};
use crate::units::Share;

pub(in crate::documents) fn elastic_job_policy(spec: &ElasticJobPolicySpec, found: &mut Findings) {
    let path = Path::default().key("spec");
    shared::selector(found, &path.key("selector"), &spec.selector);
    shared::namespaces(found, &path.key("namespaces"), &spec.namespaces);
    shared::positive(found, path.key("period"), spec.period);
    shared::part_of_whole(found, path.key("maxLoadDesired"), spec.max_load_desired);
    if spec.max_load_desired == Share::default() {
        found.invalid(path.key("maxLoadDesired"), "at no load at all nothing ever grows").allowed("above 0");
    }
    sizes(found, &path.key("sizes"), spec);
    for (index, other) in spec.yield_to.iter().enumerate() {
        let path = path.key("yieldTo").index(index);
        shared::selector(found, &path.key("selector"), &other.selector);
        shared::namespaces(found, &path.key("namespaces"), &other.namespaces);
        if other.selector.is_empty() && other.namespaces.is_empty() {
            found
                .invalid(
                    path.key("selector"),
                    "an empty selector selects everything: jobs would make room for themselves",
                )
                .help("give it labels, or name `namespaces`");
        }
    }
    curve(found, &path.key("goodput").key("curve"), spec);
    shared::positive(found, path.key("goodput").key("horizon"), spec.goodput.horizon);
}

fn sizes(found: &mut Findings, path: &Path, spec: &ElasticJobPolicySpec) {
    match (spec.sizes.rule, spec.sizes.multiple_of) {
        (SizeRule::Multiples, None) => {
            found.missing(path.key("multipleOf"), "`Multiples` of what?").help("add `multipleOf`");
        }
        (SizeRule::Multiples, Some(0)) => {
            found
                .invalid(path.key("multipleOf"), "0 has no multiples but 0")
                .allowed("a whole number from 1 up");
        }
        (SizeRule::Any | SizeRule::PowersOfTwo, Some(_)) => {
            found
                .contradiction(path.key("multipleOf"), "only `rule: Multiples` has a step")
                .help("leave it out");
        }
        _ => {}
    }
}

fn curve(found: &mut Findings, path: &Path, spec: &ElasticJobPolicySpec) {
    let curve = &spec.goodput.curve;
    for (index, point) in curve.iter().enumerate() {
        let path = path.index(index);
        if !point.speed_up.is_finite() || point.speed_up <= 0.0 {
            found.invalid(path.key("speedUp"), "not a speed-up").allowed("a number above 0");
        }
        if point.workers == 0 {
            found.invalid(path.key("workers"), "no workers do nothing").allowed("a whole number from 1 up");
        }
        if index > 0 && curve[index - 1].workers >= point.workers {
            found.contradiction(path.key("workers"), "the points are not in the order of their workers");
        }
    }
}

//! What a MetricScaler may say: what the API server demands of an HPA, and the rules of what goes beyond.

use super::{Findings, Path, shared};
use crate::documents::printable;
use crate::policy::{
    DemandKind, FallbackKind, MetricKind, MetricScalerSpec, MetricSpec, MetricTarget, MetricTargetKind,
    ObjectReference, Parameter, ParameterKind, PrometheusMetric, ScalingRules,
};
use crate::units::{Quantity, Span};

pub(in crate::documents) fn metric_scaler(spec: &MetricScalerSpec, found: &mut Findings) {
    let path = Path::default().key("spec");
    replicas(found, &path, spec);
    reference(found, &path.key("scaleTargetRef"), &spec.scale_target_ref);
    for (index, metric) in spec.metrics.iter().enumerate() {
        self::metric(found, &path.key("metrics").index(index), metric);
    }
    if let Some(behavior) = &spec.behavior {
        let path = path.key("behavior");
        for (field, rules) in [("scaleUp", &behavior.scale_up), ("scaleDown", &behavior.scale_down)] {
            if let Some(rules) = rules {
                scaling_rules(found, &path.key(field), rules);
            }
        }
    }
    bands(found, &path.key("bands"), spec);
    demand(found, &path.key("demand"), spec);
    fallback(found, &path.key("fallback"), spec);
    let bound = |replicas: i32| u32::try_from(replicas).unwrap_or_default();
    let (min, max) = (bound(spec.min_replicas), bound(spec.max_replicas));
    shared::schedule(found, &path.key("schedule"), &spec.schedule, min, max);
    controller(found, &path.key("controller"), spec);
    shared::positive(found, path.key("followDeadline"), spec.follow_deadline);
    if let Some(paths) = &spec.paths {
        let path = path.key("paths");
        field_path(found, path.key("replicas"), &paths.replicas);
        field_path(found, path.key("current"), &paths.current);
        if let Some(selector) = &paths.selector {
            field_path(found, path.key("selector"), selector);
        }
    }
    if let Some(number) = spec.cache.as_ref().and_then(|cache| cache.bytes_metric) {
        metric_number(found, path.key("cache").key("bytesMetric"), number, spec);
    }
}

fn replicas(found: &mut Findings, path: &Path, spec: &MetricScalerSpec) {
    let (min, max) = (spec.min_replicas, spec.max_replicas);
    if max < 1 {
        found
            .invalid(path.key("maxReplicas"), format!("{max} replicas at most"))
            .allowed("a whole number from 1 up");
    } else {
        shared::count(found, path.key("maxReplicas"), max as u32);
    }
    if min < 0 {
        found
            .invalid(path.key("minReplicas"), format!("{min} replicas at least"))
            .allowed("a whole number from 0 up");
    }
    if min > max && max >= 1 {
        let message = format!("`minReplicas` is {min}, more than `maxReplicas`, which is {max}");
        found
            .contradiction(path.key("minReplicas"), message)
            .help("lower `minReplicas` or raise `maxReplicas`");
    }
    let wakes = |metric: &MetricSpec| {
        matches!(metric.kind, MetricKind::Object | MetricKind::External | MetricKind::Prometheus)
    };
    let can_wake = spec.metrics.iter().any(wakes) || !spec.demand.is_empty() || !spec.schedule.is_empty();
    if min == 0 && !can_wake {
        found
            .contradiction(
                path.key("minReplicas"),
                "from 0 replicas nothing would ever wake it: metrics of pods need pods",
            )
            .help("add an Object, External or Prometheus metric, a demand or a schedule");
    }
}

fn reference(found: &mut Findings, path: &Path, reference: &ObjectReference) {
    for (field, text) in [("kind", &reference.kind), ("name", &reference.name)] {
        if text.is_empty() {
            found.missing(path.key(field), format!("the `{field}` is empty"));
        }
    }
}

fn metric(found: &mut Findings, path: &Path, metric: &MetricSpec) {
    let given = [
        ("resource", MetricKind::Resource, metric.resource.as_ref().map(|metric| &metric.target)),
        (
            "containerResource",
            MetricKind::ContainerResource,
            metric.container_resource.as_ref().map(|metric| &metric.target),
        ),
        ("pods", MetricKind::Pods, metric.pods.as_ref().map(|metric| &metric.target)),
        ("object", MetricKind::Object, metric.object.as_ref().map(|metric| &metric.target)),
        ("external", MetricKind::External, metric.external.as_ref().map(|metric| &metric.target)),
        ("prometheus", MetricKind::Prometheus, metric.prometheus.as_ref().map(|metric| &metric.target)),
    ];
    for (field, kind, target) in given {
        match target {
            None if kind == metric.kind => {
                found.missing(path.key(field), format!("`type: {kind:?}` needs the field `{field}`"));
            }
            Some(_) if kind != metric.kind => {
                found
                    .contradiction(
                        path.key(field),
                        format!("`{field}` does not belong to `type: {:?}`", metric.kind),
                    )
                    .help(format!("write `type: {kind:?}`, or leave `{field}` out"));
            }
            Some(target) => self::target(found, &path.key(field).key("target"), kind, target),
            None => {}
        }
    }
    if let Some(prometheus) = &metric.prometheus {
        query(found, &path.key("prometheus"), prometheus);
    }
}

fn target(found: &mut Findings, path: &Path, kind: MetricKind, target: &MetricTarget) {
    let fits = match kind {
        MetricKind::Resource | MetricKind::ContainerResource => {
            matches!(target.kind, MetricTargetKind::Utilization | MetricTargetKind::AverageValue)
        }
        // The API server asks a Pods metric for its averageValue alone, whatever the type says; so do we.
        MetricKind::Pods => true,
        _ => target.kind != MetricTargetKind::Utilization,
    };
    if !fits {
        let message = format!("a {kind:?} metric has no target of `type: {:?}`", target.kind);
        found.contradiction(path.key("type"), message);
    }
    let needed = match (kind, target.kind) {
        (MetricKind::Pods, _) | (_, MetricTargetKind::AverageValue) => "averageValue",
        (_, MetricTargetKind::Utilization) => "averageUtilization",
        (_, MetricTargetKind::Value) => "value",
    };
    let given = [
        ("value", target.value.is_some()),
        ("averageValue", target.average_value.is_some()),
        ("averageUtilization", target.average_utilization.is_some()),
    ];
    for (field, is_given) in given {
        if field == needed && !is_given {
            found.missing(path.key(field), format!("`type: {:?}` needs the field `{field}`", target.kind));
        }
        if field != needed && is_given {
            found
                .contradiction(
                    path.key(field),
                    format!("`{field}` does not belong to `type: {:?}`", target.kind),
                )
                .help("leave it out");
        }
    }
    for (field, amount) in [("value", target.value), ("averageValue", target.average_value)] {
        if amount.is_some_and(|amount| amount <= Quantity::ZERO) {
            found.invalid(path.key(field), "nothing can be divided by it").allowed("a quantity above 0");
        }
    }
    if target.average_utilization.is_some_and(|percent| percent < 1) {
        found
            .invalid(path.key("averageUtilization"), "nothing can be divided by it")
            .allowed("a whole number from 1 up");
    }
}

fn query(found: &mut Findings, path: &Path, metric: &PrometheusMetric) {
    if metric.query.trim().is_empty() {
        found.missing(path.key("query"), "the query is empty");
    }
    if !metric.server.starts_with("http://") && !metric.server.starts_with("https://") {
        let message = format!("`{}` is not an address", printable(&metric.server, 80));
        found.invalid(path.key("server"), message).allowed("`http://…` or `https://…`");
    }
    for (index, parameter) in metric.parameters.iter().enumerate() {
        let path = path.key("parameters").index(index);
        self::parameter(found, &path, parameter);
        if metric.parameters[..index].iter().any(|other| other.name == parameter.name) {
            found.contradiction(
                path.key("name"),
                format!("the parameter `{}` stands twice", printable(&parameter.name, 40)),
            );
        }
        if !metric.query.contains(&format!("${}", parameter.name)) {
            found.contradiction(
                path.key("name"),
                format!("the query does not use `${}`", printable(&parameter.name, 40)),
            );
        }
    }
}

fn parameter(found: &mut Findings, path: &Path, parameter: &Parameter) {
    let is_word = !parameter.name.is_empty()
        && !parameter.name.starts_with(|letter: char| letter.is_ascii_digit())
        && parameter.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_word {
        let message = format!("`{}` is not a name", printable(&parameter.name, 40));
        found.invalid(path.key("name"), message).allowed("letters, digits and `_`, a letter first");
    }
    let says_all = matches!(parameter.kind, ParameterKind::Namespace | ParameterKind::Target);
    let trouble = match (&parameter.value, parameter.kind) {
        (None, _) if !says_all => Some("a parameter of this type needs a value"),
        (Some(_), _) if says_all => Some("the type says it all"),
        (Some(value), ParameterKind::Number) if !value.parse().is_ok_and(f64::is_finite) => {
            Some("it is not a number")
        }
        (Some(value), ParameterKind::Duration) if value.parse::<Span>().is_err() => {
            Some("it is not a duration such as `5m`")
        }
        _ => None,
    };
    if let Some(trouble) = trouble {
        found.invalid(path.key("value"), trouble);
    }
}

fn scaling_rules(found: &mut Findings, path: &Path, rules: &ScalingRules) {
    if rules.stabilization_window_seconds.is_some_and(|seconds| !(0..=3600).contains(&seconds)) {
        found.invalid(path.key("stabilizationWindowSeconds"), "out of range").allowed("from 0 to 3600");
    }
    if rules.tolerance.is_some_and(|tolerance| tolerance < Quantity::ZERO) {
        found.invalid(path.key("tolerance"), "below zero").allowed("from 0 up, such as `0.05`");
    }
    for (index, policy) in rules.policies.iter().enumerate() {
        let path = path.key("policies").index(index);
        if policy.value < 1 {
            found
                .invalid(path.key("value"), "a policy that allows nothing")
                .allowed("from 1 up")
                .help("to allow no change, write `selectPolicy: Disabled`");
        }
        if !(1..=1800).contains(&policy.period_seconds) {
            found.invalid(path.key("periodSeconds"), "out of range").allowed("from 1 to 1800");
        }
    }
}

fn metric_number(found: &mut Findings, path: Path, number: u32, spec: &MetricScalerSpec) {
    let count = spec.metrics.len();
    if number as usize >= count {
        let message = format!("there is no metric of number {number}: `metrics` has {count}");
        found.contradiction(path, message).allowed("numbers count from 0");
    }
}

fn bands(found: &mut Findings, path: &Path, spec: &MetricScalerSpec) {
    for (index, band) in spec.bands.iter().enumerate() {
        let path = path.index(index);
        metric_number(found, path.key("metric"), band.metric, spec);
        match (band.above, band.below) {
            (None, None) => {
                found.missing(path.clone(), "a band needs a level").help("give it `above` or `below`");
            }
            (Some(_), Some(_)) => {
                found.contradiction(path.key("below"), "a band has one level").help("write two bands");
            }
            (Some(level), None) if band.until.is_some_and(|until| until > level) => {
                found
                    .contradiction(path.key("until"), "it would end before it begins")
                    .allowed("at most `above`");
            }
            (None, Some(level)) if band.until.is_some_and(|until| until < level) => {
                found
                    .contradiction(path.key("until"), "it would end before it begins")
                    .allowed("at least `below`");
            }
            _ => {}
        }
        if band.step.is_some_and(|step| step.value == 0) {
            found
                .invalid(path.key("step").key("value"), "a step of nothing")
                .allowed("a whole number from 1 up");
        }
    }
    for (index, high) in spec.bands.iter().enumerate() {
        let crosses = spec.bands.iter().any(|low| {
            low.metric == high.metric
                && matches!((low.below, high.above), (Some(below), Some(above)) if below > above)
        });
        if crosses {
            let message = "at some levels it would grow and shrink at once: a band `below` reaches above it";
            found.contradiction(path.index(index).key("above"), message);
        }
    }
}

fn demand(found: &mut Findings, path: &Path, spec: &MetricScalerSpec) {
    for (index, demand) in spec.demand.iter().enumerate() {
        let path = path.index(index);
        if demand.per_replica <= Quantity::ZERO {
            found
                .invalid(path.key("perReplica"), "nothing can be divided by it")
                .allowed("a quantity above 0");
        }
        match (demand.kind, demand.metric) {
            (DemandKind::DatasetSize, Some(_)) => {
                found
                    .contradiction(path.key("metric"), "`DatasetSize` is read from the Dataset")
                    .help("leave it out");
            }
            (DemandKind::Misses | DemandKind::Metric, None) => {
                found
                    .missing(path.key("metric"), "which metric tells it?")
                    .help("give its number in `metrics`, from 0");
            }
            (_, Some(number)) => metric_number(found, path.key("metric"), number, spec),
            _ => {}
        }
    }
}

fn fallback(found: &mut Findings, path: &Path, spec: &MetricScalerSpec) {
    let fallback = &spec.fallback;
    let path = path.key("replicas");
    match (fallback.kind, fallback.replicas) {
        (FallbackKind::Hold, Some(_)) => {
            found
                .contradiction(path, "`Hold` keeps the size there is")
                .help("leave it out, or write `kind: Static`");
        }
        (FallbackKind::Static | FallbackKind::CurrentIfHigher, None) => {
            found.missing(path, "to which size?").help("add `replicas`");
        }
        (_, Some(replicas)) if replicas < spec.min_replicas || replicas > spec.max_replicas => {
            let message =
                format!("{replicas} replicas lie outside of {} to {}", spec.min_replicas, spec.max_replicas);
            found.contradiction(path, message);
        }
        _ => {}
    }
}

fn controller(found: &mut Findings, path: &Path, spec: &MetricScalerSpec) {
    shared::positive(found, path.key("syncPeriod"), spec.controller.sync_period);
    if spec.controller.tolerance < Quantity::ZERO {
        found.invalid(path.key("tolerance"), "below zero").allowed("from 0 up, such as `0.1`");
    }
}

/// A path to a field of an object: `.spec.worker.replicas`.
fn field_path(found: &mut Findings, path: Path, text: &str) {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    let is_good = text.strip_prefix('.').is_some_and(|rest| rest.split('.').all(is_part));
    if !is_good {
        let finding = found.invalid(path, format!("`{}` is not a path to a field", printable(text, 80)));
        finding.allowed("names after points, such as `.spec.worker.replicas`");
    }
}

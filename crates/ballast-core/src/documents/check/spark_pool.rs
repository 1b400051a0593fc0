//! What a SparkPool may say.

use super::{Findings, Path, shared};
use crate::documents::printable;
use crate::policy::{MasterKind, SparkMaster, SparkPoolSpec, SparkWorkers};
use crate::units::Quantity;

pub(in crate::documents) fn spark_pool(spec: &SparkPoolSpec, found: &mut Findings) {
    let path = Path::default().key("spec");
    shared::range(found, &path, spec.min, spec.max);
    if spec.idle > spec.max {
        let message =
            format!("{} workers stand ready, more than the most there may be, {}", spec.idle, spec.max);
        found.contradiction(path.key("idle"), message).help("lower `idle` or raise `max`");
    }
    master(found, &path.key("master"), &spec.master);
    workers(found, &path.key("workers"), &spec.workers);
    for (index, window) in spec.schedule.iter().enumerate() {
        let path = path.key("schedule").index(index);
        shared::window(found, &path, &window.start, window.duration, window.offset.as_ref());
        if window.idle.is_none() && window.min.is_none() && window.max.is_none() {
            found.missing(path.clone(), "the window changes nothing").help("give it `idle`, `min` or `max`");
        }
        let (min, max) = (window.min.unwrap_or(spec.min), window.max.unwrap_or(spec.max));
        let least = min.max(window.idle.unwrap_or(spec.idle));
        if least > max {
            found.contradiction(path, format!("while it holds, the least is {least} and the most is {max}"));
        }
    }
    let access = path.key("access");
    for (field, secret) in
        [("bearer", &spec.access.bearer), ("basic", &spec.access.basic), ("ca", &spec.access.ca)]
    {
        if let Some(secret) = secret {
            shared::secret(found, &access.key(field), secret);
        }
    }
    if spec.access.bearer.is_some() && spec.access.basic.is_some() {
        found
            .contradiction(access.key("basic"), "a token and a password at once")
            .help("leave one of the two");
    }
}

fn master(found: &mut Findings, path: &Path, master: &SparkMaster) {
    let given = [
        ("url", master.url.is_some()),
        ("webUi", master.web_ui.is_some()),
        ("image", master.image.is_some()),
    ];
    for (field, is_given) in given {
        let needed_by = if field == "image" { MasterKind::Create } else { MasterKind::Adopt };
        if !is_given && master.kind == needed_by {
            found.missing(path.key(field), format!("`kind: {needed_by:?}` needs the field `{field}`"));
        }
        if is_given && master.kind != needed_by {
            found
                .contradiction(
                    path.key(field),
                    format!("`{field}` does not belong to `kind: {:?}`", master.kind),
                )
                .help("leave it out");
        }
    }
    for (field, text, starts) in
        [("url", &master.url, &["spark://"][..]), ("webUi", &master.web_ui, &["http://", "https://"][..])]
    {
        if let Some(text) = text.as_ref().filter(|text| !starts.iter().any(|start| text.starts_with(start))) {
            let message = format!("`{}` is not such an address", printable(text, 80));
            found
                .invalid(path.key(field), message)
                .allowed(format!("an address that begins with `{}`", starts.join("` or `")));
        }
    }
    shared::amounts(found, &path.key("resources").key("requests"), &master.resources.requests);
    shared::amounts(found, &path.key("resources").key("limits"), &master.resources.limits);
}

fn workers(found: &mut Findings, path: &Path, workers: &SparkWorkers) {
    if workers.cores == 0 {
        found.invalid(path.key("cores"), "a worker without cores takes no work").allowed("from 1 up");
    }
    if workers.cores > 1024 {
        found.invalid(path.key("cores"), format!("{} is absurdly many", workers.cores)).allowed("up to 1024");
    }
    if workers.memory < Quantity::from_units(1 << 20) {
        let finding =
            found.invalid(path.key("memory"), format!("{} is too little for a worker", workers.memory));
        finding.allowed("from 1Mi up, such as `2Gi`");
    }
    if workers.image.trim().is_empty() {
        found.missing(path.key("image"), "the image is empty");
    }
    shared::amounts(found, &path.key("resources").key("requests"), &workers.resources.requests);
    shared::amounts(found, &path.key("resources").key("limits"), &workers.resources.limits);
    shared::labels(found, &path.key("placement").key("nodeSelector"), &workers.placement.node_selector);
    if let Some(selector) = &workers.adopt {
        let harm = "every pod of the namespace would be taken for a worker";
        shared::narrow_selector(found, &path.key("adopt"), selector, harm);
    }
    shared::positive(found, path.key("startDeadline"), workers.start_deadline);
}

//! What a VmPool may say.

use super::{Findings, Path, requests, shared};
use crate::documents::{printable, read::words_in_words, suggest};
use crate::policy::hosts::host_and_port;
use crate::policy::{NodeTemplate, Price, Provider, Times, VmPoolSpec};
use crate::snapshot::{HOSTNAME_LABEL, POOL_LABEL, TYPE_LABEL, ZONE_LABEL};
use crate::units::{Money, Quantity, Span};

/// What an hour of the dearest machine costs, many times over; more is a slip of the point.
const PRICE_MAX: Money = Money::from_micros(100_000 * 1_000_000);
/// The smallest machines have a hundred times as much.
const LEAST_BYTES: Quantity = Quantity::from_units(1 << 20);
/// What takes longer to start or drain will never be done.
const LONG_TIME: Span = Span::from_hours(7 * 24);

pub(in crate::documents) fn vm_pool(spec: &VmPoolSpec, found: &mut Findings) {
    let path = Path::default().key("spec");
    shared::range(found, &path, spec.min, spec.max);
    members(found, &path.key("members"), spec);
    provider(found, &path.key("provider"), &spec.provider);
    template(found, &path.key("template"), &spec.template);
    price(found, &path.key("price"), &spec.price);
    times(found, &path.key("times"), &spec.times);
    headroom(found, &path.key("headroom"), spec);
    shared::part_of_whole(found, path.key("scaleDown").key("utilisation"), spec.scale_down.utilisation);
    shared::schedule(found, &path.key("schedule"), &spec.schedule, spec.min, spec.max);
    if let Some(budget) = &spec.budget {
        shared::budget(found, &path.key("budget"), budget);
    }
}

fn members(found: &mut Findings, path: &Path, spec: &VmPoolSpec) {
    if let Some(selector) = &spec.members.selector {
        let harm = "every node of the cluster would belong to the pool and could be stopped";
        shared::narrow_selector(found, &path.key("selector"), selector, harm);
        let NodeTemplate { labels, instance_type, .. } = &spec.template;
        let mut labels = labels.clone();
        labels.extend(instance_type.iter().map(|given| (TYPE_LABEL.into(), given.clone())));
        // What the cluster itself gives to a node is in no template.
        let keys = selector.match_labels.keys().chain(selector.match_expressions.iter().map(|one| &one.key));
        let is_open = keys.into_iter().any(|key| [POOL_LABEL, ZONE_LABEL, HOSTNAME_LABEL].contains(&&**key));
        if !selector.is_empty() && !is_open && !selector.matches(&labels) {
            let message = "it does not select the nodes that `template` describes";
            found
                .contradiction(path.key("selector"), message)
                .help("write the labels that its nodes have into `template.labels`");
        }
    }
    for (field, given) in [("namePrefix", &spec.members.name_prefix), ("group", &spec.members.group)] {
        if given.as_ref().is_some_and(|given| given.trim().is_empty()) {
            found
                .invalid(path.key(field), "it is empty: every node of the cluster would belong to the pool")
                .help("leave it out, or write how the names begin");
        }
    }
}

fn provider(found: &mut Findings, path: &Path, provider: &Provider) {
    let kind = &*provider.kind;
    if let Some(why) = provider.without_adapter() {
        found.doubt(path.key("kind"), why).help("machines of any cloud can be reached through `External`");
    }
    if kind == "External" {
        external(found, &path.key("settings"), provider);
    }
    if !Provider::KINDS.contains(&kind) {
        let finding =
            found.invalid(path.key("kind"), format!("there is no provider `{}`", printable(kind, 60)));
        finding.allowed(words_in_words(&Provider::KINDS));
        if let Some(meant) = suggest::nearest(kind, Provider::KINDS) {
            finding.help(format!("did you mean `{meant}`?"));
        }
    }
    if let Some(bearer) = &provider.bearer {
        let path = path.key("bearer");
        shared::secret(found, &path, bearer);
        if *bearer.name != *Provider::SECRET {
            let message = format!("Ballast's roles let it read the Secret `{}` alone", Provider::SECRET);
            found
                .doubt(path.key("name"), message)
                .help("put the entry there, or let Ballast's account `get` this one");
        }
    }
}

/// What `External` needs to know.
fn external(found: &mut Findings, path: &Path, provider: &Provider) {
    const ENDPOINT: &str = "endpoint";
    let settings = &provider.settings;
    for key in settings.keys().filter(|key| &***key != ENDPOINT) {
        let message = format!("`External` heeds no setting `{}`", printable(key, 60));
        let finding = found.doubt(path.key(key), message).allowed(format!("`{ENDPOINT}`"));
        if let Some(meant) = suggest::nearest(key, [ENDPOINT]) {
            finding.help(format!("did you mean `{meant}`?"));
        }
    }
    match settings.get(ENDPOINT) {
        // A slip in its name is told of as such.
        None if settings.keys().any(|key| suggest::nearest(key, [ENDPOINT]).is_some()) => {}
        None => {
            found
                .doubt(path.key(ENDPOINT), "without an `endpoint` nobody knows whom to ask for machines")
                .help("write `settings: {endpoint: \"https://machines.example.com\"}`");
        }
        // It is not told word for word: an address may hold a password.
        Some(endpoint) if host_and_port(endpoint).is_none() => {
            found
                .doubt(path.key(ENDPOINT), "the endpoint is no address that can be called")
                .allowed("an address that begins with `https://` or `http://`");
        }
        Some(_) => {}
    }
}

fn template(found: &mut Findings, path: &Path, template: &NodeTemplate) {
    let allocatable = path.key("allocatable");
    shared::amounts(found, &allocatable, &template.allocatable);
    requests::names(found, &allocatable, &template.allocatable);
    for name in ["cpu", "memory"] {
        if template.allocatable.get(name).is_none_or(|amount| *amount == Quantity::ZERO) {
            found.missing(allocatable.key(name), format!("a node without {name} could hold no pod")).help(
                format!("add `{name}`, such as `{}`", if name == "cpu" { "cpu: 16" } else { "memory: 64Gi" }),
            );
        }
    }
    odd_amounts(found, &allocatable, template);
    let is_gpu = |name: &str| name.ends_with("/gpu") || name.ends_with(".gpu") || name.contains("gpu");
    if template.gpu_model.is_some() && !template.allocatable.keys().any(|name| is_gpu(name)) {
        found
            .contradiction(path.key("gpuModel"), "the node has a model of GPUs but no GPUs")
            .help("add `nvidia.com/gpu` to `allocatable`");
    }
    shared::labels(found, &path.key("labels"), &template.labels);
    shared::taints(found, &path.key("taints"), &template.taints);
    shared::taints(found, &path.key("startupTaints"), &template.startup_taints);
    for (index, zone) in template.zones.iter().enumerate() {
        let path = path.key("zones").index(index);
        if zone.is_empty() {
            found.invalid(path, "a zone without a name");
        } else if template.zones[..index].contains(zone) {
            found.contradiction(path, format!("the zone `{}` stands twice", printable(zone, 60)));
        }
    }
}

/// Amounts that are a slip: bytes where GiB were meant, a part of a device.
fn odd_amounts(found: &mut Findings, path: &Path, template: &NodeTemplate) {
    for (name, &amount) in &template.allocatable {
        let is_bytes = matches!(&**name, "memory" | "ephemeral-storage");
        if is_bytes && amount > Quantity::ZERO && amount < LEAST_BYTES {
            found
                .invalid(path.key(name), format!("{amount} is that many bytes, too few for any node"))
                .help(format!("did you mean `{}Gi`?", amount.units().max(1)));
        } else if !is_bytes && &**name != "cpu" && amount.milli() % 1000 != 0 {
            found
                .invalid(path.key(name), format!("{amount} is no whole number, and {name} is not divided"))
                .allowed("whole numbers");
        }
    }
}

fn price(found: &mut Findings, path: &Path, price: &Price) {
    for (field, amount) in [("perHour", price.per_hour), ("stoppedPerHour", Some(price.stopped_per_hour))] {
        if amount.is_some_and(|amount| amount > PRICE_MAX) {
            found.invalid(path.key(field), "absurdly dear for one machine").allowed("up to 100000 an hour");
        }
    }
    if price.per_hour.is_some_and(|running| price.stopped_per_hour > running) {
        found.contradiction(
            path.key("stoppedPerHour"),
            "a stopped machine would cost more than a running one",
        );
    }
}

fn times(found: &mut Findings, path: &Path, times: &Times) {
    let Times { boot, boot_deadline, stop, drain_deadline, gang_deadline } = *times;
    for (field, span) in [
        ("boot", boot),
        ("bootDeadline", boot_deadline),
        ("stop", stop),
        ("drainDeadline", drain_deadline),
        ("gangDeadline", gang_deadline),
    ] {
        if span > LONG_TIME {
            found.invalid(path.key(field), format!("{span} is absurdly long")).allowed("up to 7d");
        }
    }
    shared::positive(found, path.key("bootDeadline"), boot_deadline);
    shared::positive(found, path.key("drainDeadline"), drain_deadline);
    if boot > boot_deadline && boot_deadline > Span::ZERO {
        let message =
            format!("every launch would be given up: a boot takes {boot}, the deadline is {boot_deadline}");
        found
            .contradiction(path.key("bootDeadline"), message)
            .help("a deadline of three to five boots is usual");
    }
    if gang_deadline < boot {
        let message = format!(
            "no gang could ever start: a boot takes {boot}, a gang is given up after {gang_deadline}"
        );
        found.contradiction(path.key("gangDeadline"), message);
    }
}

fn headroom(found: &mut Findings, path: &Path, spec: &VmPoolSpec) {
    for (index, unit) in spec.headroom.iter().enumerate() {
        let path = path.index(index);
        let place = path.key("requests");
        shared::amounts(found, &place, &unit.requests);
        requests::names(found, &place, &unit.requests);
        shared::count(found, path.key("count"), unit.count);
        if unit.requests.values().all(|amount| *amount == Quantity::ZERO) {
            found.missing(place.clone(), "a unit that requests nothing keeps nothing free");
        }
        for (name, amount) in unit.requests.iter().filter(|(name, _)| requests::is_name(name)) {
            let room = spec.template.allocatable.get(name).copied().unwrap_or_default();
            if *amount > room {
                let message = format!("a node has {room} of {name}, so that a unit of {amount} fits on none");
                found.contradiction(place.key(name), message);
            }
        }
    }
}

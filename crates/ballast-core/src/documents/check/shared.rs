//! Checks that many kinds of document share.

use std::collections::BTreeMap;

use super::{Findings, Path, requests};
use crate::documents::meta::namespace_trouble;
use crate::documents::printable;
use crate::kube::{LabelSelector, Labels, Name, NodeSelectorOperator, Taint};
use crate::policy::{RemovalBudget, ScheduleWindow, SecretKey};
use crate::units::{Cron, Quantity, Share, Span, UtcOffset};

/// Nodes, replicas or workers of one document at most: the largest clusters have a tenth of it.
pub(super) const COUNT_MAX: u32 = 100_000;
/// Shares above this remove too much at once for anybody who did not say so on purpose.
const REMOVAL_SHARE_MAX: Share = Share::percent(34);
/// A budget over less time than it takes to see what came of a removal holds nothing back.
const BUDGET_WINDOW_MIN: Span = Span::from_mins(1);
/// A window that lasts longer is a size, not a window; schedules look back no further.
const WINDOW_MAX: Span = Span::from_hours(31 * 24);

/// A number of things that somebody would have to run.
pub(super) fn count(found: &mut Findings, path: Path, count: u32) {
    if count > COUNT_MAX {
        found.invalid(path, format!("{count} is absurdly many")).allowed(format!("up to {COUNT_MAX}"));
    }
}

/// `min` and `max` beside each other.
pub(super) fn range(found: &mut Findings, path: &Path, min: u32, max: u32) {
    count(found, path.key("max"), max);
    if min > max {
        let finding =
            found.contradiction(path.key("min"), format!("`min` is {min}, more than `max`, which is {max}"));
        finding.help("lower `min` or raise `max`");
    }
}

/// A share of a whole that cannot be more than the whole.
pub(super) fn part_of_whole(found: &mut Findings, path: Path, share: Share) {
    if share > Share::percent(100) {
        let finding =
            found.invalid(path, format!("{share} is more than the whole")).allowed("from `0%` to `100%`");
        // Whoever writes 10 means ten of a hundred, not ten times the whole.
        if share.as_milli().is_multiple_of(1000) {
            finding.help(format!("did you mean `{}%`?", share.as_milli() / 1000));
        }
    }
}

/// A length of time that must pass.
pub(super) fn positive(found: &mut Findings, path: Path, span: Span) {
    if span <= Span::ZERO {
        found.invalid(path, "no time at all").allowed("a duration above 0");
    }
}

/// A removal budget.
pub(super) fn budget(found: &mut Findings, path: &Path, budget: &RemovalBudget) {
    part_of_whole(found, path.key("share"), budget.share);
    if budget.window < BUDGET_WINDOW_MIN {
        found
            .invalid(path.key("window"), format!("{} is too short to hold anything back", budget.window))
            .allowed(format!("`{BUDGET_WINDOW_MIN}` or longer"));
    }
    if budget.share > REMOVAL_SHARE_MAX && budget.share <= Share::percent(100) && !budget.unlimited {
        found
            .invalid(path.key("share"), format!("{} at once is more than the ceiling", budget.share))
            .allowed(format!("up to `{REMOVAL_SHARE_MAX}`"))
            .help("if it is meant, add `unlimited: true` beside it");
    }
}

/// A label selector.
pub(super) fn selector(found: &mut Findings, path: &Path, selector: &LabelSelector) {
    labels(found, &path.key("matchLabels"), &selector.match_labels);
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        let path = path.key("matchExpressions").index(index);
        label_key(found, path.key("key"), &requirement.key);
        let values = requirement.values.len();
        match requirement.operator {
            NodeSelectorOperator::In | NodeSelectorOperator::NotIn if values == 0 => {
                found.missing(path.key("values"), "the operator needs values to compare with");
            }
            NodeSelectorOperator::Exists | NodeSelectorOperator::DoesNotExist if values > 0 => {
                found
                    .contradiction(path.key("values"), "the operator takes no values")
                    .help("leave `values` out");
            }
            NodeSelectorOperator::Gt | NodeSelectorOperator::Lt => {
                found
                    .invalid(path.key("operator"), "labels of objects are not compared as numbers")
                    .allowed("`In`, `NotIn`, `Exists` or `DoesNotExist`");
            }
            _ => {}
        }
    }
}

/// A selector where the empty one, which selects everything, would do harm.
pub(super) fn narrow_selector(found: &mut Findings, path: &Path, given: &LabelSelector, harm: &str) {
    if given.is_empty() {
        found
            .invalid(path.clone(), format!("an empty selector selects everything: {harm}"))
            .help("name a label, such as `matchLabels: {team: a}`");
    }
    selector(found, path, given);
}

/// Labels as the API server takes them.
pub(super) fn labels(found: &mut Findings, path: &Path, labels: &Labels) {
    for (key, value) in labels {
        label_key(found, path.key(key), key);
        label_value(found, path.key(key), value);
    }
}

fn label_key(found: &mut Findings, path: Path, key: &str) {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    let prefix_is_good =
        prefix.is_empty() && !key.starts_with('/') || crate::documents::meta::is_subdomain(prefix);
    if !prefix_is_good || !is_label_word(name) || name.is_empty() {
        found.invalid(path, format!("`{}` is not a label's key", printable(key, 80))).allowed(
            "letters, digits, `-`, `_` and `.`, at most 63, with an optional DNS name and `/` before",
        );
    }
}

fn label_value(found: &mut Findings, path: Path, value: &str) {
    if !is_label_word(value) {
        found
            .invalid(path, format!("`{}` is not a label's value", printable(value, 80)))
            .allowed("letters, digits, `-`, `_` and `.`, at most 63, a letter or digit at each end");
    }
}

fn is_label_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_end = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    bytes.len() <= 63
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Taints.
pub(super) fn taints(found: &mut Findings, path: &Path, taints: &[Taint]) {
    for (index, taint) in taints.iter().enumerate() {
        let path = path.index(index);
        label_key(found, path.key("key"), &taint.key);
        label_value(found, path.key("value"), &taint.value);
    }
}

/// Amounts by resource name: none below zero, none beyond what any machine has.
pub(super) fn amounts(found: &mut Findings, path: &Path, amounts: &BTreeMap<Name, Quantity>) {
    // A name that there is not is told of as such.
    for (name, amount) in amounts.iter().filter(|(name, _)| requests::is_name(name)) {
        let most = most_of(name);
        if *amount < Quantity::ZERO {
            found.invalid(path.key(name), format!("{amount} is below zero")).allowed("a quantity from 0 up");
        } else if *amount > most {
            found
                .invalid(path.key(name), format!("{amount} is absurdly much"))
                .allowed(format!("up to {most}"));
        }
    }
}

/// Whether [`amounts`] would complain.
pub(super) fn is_odd(name: &str, amount: Quantity) -> bool {
    amount < Quantity::ZERO || amount > most_of(name)
}

/// Names of namespaces.
pub(super) fn namespaces(found: &mut Findings, path: &Path, namespaces: &[Name]) {
    for (index, namespace) in namespaces.iter().enumerate() {
        if let Some(trouble) = namespace_trouble(namespace) {
            found.invalid(path.index(index), trouble);
        }
    }
}

/// A reference to an entry of a Secret.
pub(super) fn secret(found: &mut Findings, path: &Path, secret: &SecretKey) {
    for (field, text) in [("name", &secret.name), ("key", &secret.key)] {
        if text.is_empty() {
            found.missing(path.key(field), format!("the `{field}` is empty"));
        }
    }
}

/// What no single machine has more of.
fn most_of(resource: &str) -> Quantity {
    match resource {
        "cpu" => Quantity::from_units(100_000),
        "pods" => Quantity::from_units(10_000),
        "memory" | "ephemeral-storage" => Quantity::from_units(1 << 60),
        _ if resource.starts_with("hugepages-") => Quantity::from_units(1 << 60),
        _ => Quantity::from_units(1_000_000_000),
    }
}

/// When a window begins and how long it lasts.
pub(super) fn window(found: &mut Findings, path: &Path, start: &str, duration: Span, offset: Option<&Name>) {
    match start.parse::<Cron>() {
        Err(error) => {
            found.invalid(path.key("start"), error.to_string());
        }
        Ok(cron) if !cron.ever_comes() => {
            found.invalid(path.key("start"), format!("`{}` is a day that never comes", printable(start, 40)));
        }
        Ok(_) => {}
    }
    positive(found, path.key("duration"), duration);
    if duration > WINDOW_MAX {
        found
            .invalid(path.key("duration"), format!("{duration} is longer than a window may last"))
            .allowed("up to 31d");
    }
    if let Some(Err(error)) = offset.map(|offset| offset.parse::<UtcOffset>()) {
        found.invalid(path.key("offset"), error.to_string());
    }
}

/// Windows with other sizes.
pub(super) fn schedule(found: &mut Findings, path: &Path, windows: &[ScheduleWindow], min: u32, max: u32) {
    for (index, given) in windows.iter().enumerate() {
        let path = path.index(index);
        window(found, &path, &given.start, given.duration, given.offset.as_ref());
        if given.min.is_none() && given.max.is_none() {
            found.missing(path.clone(), "the window changes nothing").help("give it `min`, `max` or both");
        }
        let (least, most) = (given.min.unwrap_or(min), given.max.unwrap_or(max));
        if least > most {
            let finding = found.contradiction(
                path.clone(),
                format!("while it holds, the least is {least} and the most is {most}"),
            );
            finding.help("what a window does not name is taken from the document");
        }
        let is_same = |other: &ScheduleWindow| {
            (&other.start, other.duration, &other.offset) == (&given.start, given.duration, &given.offset)
        };
        if windows[..index].iter().any(is_same) {
            found
                .contradiction(path, "an earlier window holds at the very same times")
                .help("leave one of the two");
        }
    }
}

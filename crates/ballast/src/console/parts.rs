//! Small pieces that several pages share: bars, chips, links, cells.

use ballast_core::plan::{Action, ActionKind, Subject};
use ballast_core::view::{NodeState, NodeView, Usage};
use maud::{Markup, html};

use crate::present::figures;

/// GPUs of a node that a cell can show one by one.
const DEVICES_MAX: i64 = 16;

/// A part of a path: everything but letters, digits, `-`, `_` and `.` is encoded.
pub(super) fn segment(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => text.push(char::from(byte)),
            // `.` and `..` alone would be read as steps of the path.
            b'.' if name.bytes().any(|byte| byte != b'.') => text.push('.'),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

pub(super) fn node_path(name: &str) -> String {
    format!("/nodes/{}", segment(name))
}

pub(super) fn pool_path(name: &str) -> String {
    format!("/pools/{}", segment(name))
}

pub(super) fn pending_path(namespace: &str, workload: &str) -> String {
    format!("/pending/{}/{}", segment(namespace), segment(workload))
}

/// A subject as a link to its page, where it has one.
pub(super) fn subject(subject: &Subject) -> Markup {
    let path = match subject {
        Subject::Cluster => None,
        Subject::Pool { name } => Some(pool_path(name)),
        Subject::Node { name } | Subject::Instance { name } => Some(node_path(name)),
        Subject::Pods { namespace, workload, .. } | Subject::Workload { namespace, name: workload, .. } => {
            Some(pending_path(namespace, workload))
        }
    };
    html! {
        @match path {
            Some(path) => a href=(path) { bdi { (subject) } },
            None => bdi { (subject) },
        }
    }
}

/// A bar with its name and numbers; it says the same to those who do not see it.
pub(super) fn bar(name: &str, part: i64, whole: i64, figure: impl Fn(i64) -> String) -> Markup {
    let percent = figures::percent(part, whole);
    let told = format!("{} of {}", figure(part), figure(whole));
    html! {
        div class="bar-row" {
            span class="bar-name" { (name) }
            svg class="bar" role="img" aria-label={ (name) ": " (told) ", " (percent) " percent" } width="100%" height="8" {
                rect class="bar-back" width="100%" height="8" rx="4" {}
                @if percent > 0 {
                    rect class={ "bar-fill " (name.to_lowercase()) } width={ (percent.min(100)) "%" } height="8" rx="4" {}
                }
            }
            span class="bar-percent" { (percent) "%" }
            span class="bar-told" { (told) }
        }
    }
}

/// Bars for CPU, memory and, where there are any, GPUs.
pub(super) fn bars(usage: &Usage) -> Markup {
    html! {
        div class="bars" {
            (bar("CPU", usage.cpu_requested, usage.cpu, figures::milli))
            (bar("Memory", usage.memory_requested, usage.memory, figures::bytes))
            @if usage.gpu > 0 {
                (bar("GPU", usage.gpu_requested, usage.gpu, figures::milli))
            }
        }
    }
}

/// A state in a word.
pub(super) const fn state_word(state: NodeState) -> &'static str {
    match state {
        NodeState::Starting => "starting",
        NodeState::Ready => "ready",
        NodeState::Unready => "unwell",
        NodeState::Cordoned => "cordoned",
        NodeState::Draining => "draining",
        NodeState::Stopping => "stopping",
        NodeState::Stopped => "stopped",
    }
}

/// The share of what is scarcest on a node: its GPUs where it has some, else the greater of CPU and memory.
pub(super) fn fullness(usage: &Usage) -> u32 {
    if usage.gpu > 0 {
        return figures::percent(usage.gpu_requested, usage.gpu);
    }
    let cpu = figures::percent(usage.cpu_requested, usage.cpu);
    cpu.max(figures::percent(usage.memory_requested, usage.memory))
}

/// What a cell says to those who point at it, or hear it.
fn told(node: &NodeView) -> String {
    let (word, full) = (state_word(node.state), fullness(&node.usage));
    match node.state {
        NodeState::Stopped | NodeState::Starting => format!("{}: {word}", node.name),
        _ => format!("{}: {word}, {full}% full, {}", node.name, figures::plural(node.pods, "pod")),
    }
}

/// A node as a small cell: its state by shape and colour, how full it is by the height of its filling.
pub(super) fn cell(node: &NodeView) -> Markup {
    let level = (fullness(&node.usage).min(100) + 12) / 25;
    let (word, told) = (state_word(node.state), told(node));
    html! { a class={ "cell " (word) " f" (level) } href=(node_path(&node.name)) title=(told) aria-label=(told) {} }
}

/// A node as a cell that shows its GPUs one by one, where it has some and they can be told apart.
pub(super) fn cell_with_devices(node: &NodeView) -> Markup {
    let devices = node.usage.gpu / 1000;
    let is_up = matches!(node.state, NodeState::Ready | NodeState::Draining);
    if !is_up || !(1..=DEVICES_MAX).contains(&devices) {
        return cell(node);
    }
    let columns = match devices {
        1..=2 => 1,
        3..=8 => 2,
        _ => 4,
    };
    let rows = (devices + columns - 1) / columns;
    // Requests are known, not devices: whole ones are drawn first, then what is left as a shared one.
    let fill = |device: i64| match node.usage.gpu_requested - device * 1000 {
        ..=0 => "free",
        1..1000 => "shared",
        _ => "taken",
    };
    let told = told(node);
    html! {
        a class={ "cell devices " (state_word(node.state)) } href=(node_path(&node.name)) title=(told) aria-label=(told) {
            svg viewBox={ "0 0 " (columns * 6 - 1) " " (rows * 5 - 1) } preserveAspectRatio="none" aria-hidden="true" {
                @for device in 0..devices {
                    rect class=(fill(device)) x=(device % columns * 6) y=(device / columns * 5) width="5" height="4" {}
                }
            }
        }
    }
}

/// A count of nodes in a state, with the state's own cell before it.
pub(super) fn count(state: NodeState, number: u32) -> Markup {
    let word = state_word(state);
    html! { span class="count" { i class={ "cell f4 " (word) } aria-hidden="true" {} b { (number) } " " (word) } }
}

/// A sign for what an action does: up, down, or neither.
pub(super) fn action_sign(kind: ActionKind) -> Markup {
    let (sign, class, word) = match kind {
        ActionKind::StartInstance => ("▲", "up", "up"),
        ActionKind::CreateInstance | ActionKind::CreateSparkWorker => ("+", "up", "up"),
        ActionKind::StopInstance
        | ActionKind::ReleaseInstance
        | ActionKind::RemoveRayWorker
        | ActionKind::RemoveSparkWorker => ("▼", "down", "down"),
        ActionKind::CordonNode => ("◫", "down", "cordon"),
        ActionKind::UncordonNode => ("◻", "up", "uncordon"),
        ActionKind::ResizeJob | ActionKind::SetReplicas | ActionKind::ResizeRayGroup => {
            ("↕", "same", "resize")
        }
    };
    html! { span class={ "sign " (class) } role="img" aria-label=(word) { (sign) } }
}

/// What an action is done to, as a link where there is a page.
pub(super) fn action_target(action: &Action) -> Markup {
    let target = &action.target;
    html! {
        a href=(node_path(&target.name)) { bdi { (target.name) } }
        @if !target.pool.is_empty() { span class="dim" { " in " a href=(pool_path(&target.pool)) { (target.pool) } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_one_part_of_a_path() {
        assert_eq!(segment("a-b_c.d9"), "a-b_c.d9");
        assert_eq!(segment("../x y"), "..%2Fx%20y");
        assert_eq!(segment(".."), "%2E%2E");
        assert_eq!(segment("<é>"), "%3C%C3%A9%3E");
    }
}

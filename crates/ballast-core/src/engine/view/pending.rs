//! Pods that wait, by class, with what the last plan said of them.

use crate::kube::Name;
use crate::plan::{Plan, Subject};
use crate::resources::{GpuNeed, Resources};
use crate::snapshot::{Class, Snapshot};
use crate::units::{Quantity, Time};
use crate::view::PendingView;

/// Pods of a class that are named.
const NAMED: usize = 100;

/// Pods that wait, the longest first.
pub(super) fn pending(snapshot: &Snapshot, plan: Option<&Plan>, now: Time) -> Vec<PendingView> {
    let mut views: Vec<PendingView> = Vec::with_capacity(snapshot.pending.len());
    for (&slot, queue) in &snapshot.pending {
        let Some((oldest, name, _)) = queue.first() else { continue };
        let key = &snapshot.class(slot).key;
        let workload = key.owner.as_ref().map_or_else(|| name.clone(), |(_, owner)| owner.clone());
        let namespace = key.namespace.clone();
        let meant = |subject: &Subject| is_meant(subject, &namespace, &workload, name);
        let report = plan.map(|plan| &plan.report);
        let waiting = report.map(|report| report.waiting.as_slice()).unwrap_or_default();
        let infeasible = report.map(|report| report.infeasible.as_slice()).unwrap_or_default();
        views.push(PendingView {
            pods: queue.iter().take(NAMED).map(|(_, name, _)| name.clone()).collect(),
            count: queue.len() as u32,
            requests: in_words(snapshot.class(slot)),
            // A pod in a file that was written by hand may not say when it was made.
            waited: (*oldest != Time::ZERO).then(|| now.since(*oldest)),
            waiting: waiting.iter().filter(|entry| meant(&entry.subject)).cloned().collect(),
            infeasible: infeasible.iter().find(|entry| meant(&entry.subject)).cloned(),
            namespace,
            workload,
        });
    }
    views.sort_by(|a, b| {
        b.waited.cmp(&a.waited).then_with(|| (&a.namespace, &a.workload).cmp(&(&b.namespace, &b.workload)))
    });
    views
}

/// Whether a report speaks of a class: by its first pod, or, where that one has been placed since, by its workload.
fn is_meant(subject: &Subject, namespace: &Name, workload: &Name, first: &Name) -> bool {
    match subject {
        Subject::Pods { namespace: of, workload: whose, name, .. } => {
            of == namespace && (name == first || whose == workload)
        }
        _ => false,
    }
}

/// `8 GPU, 90 CPU, 1000Gi memory each; gang of 4`.
fn in_words(class: &Class) -> String {
    let mut parts = Vec::new();
    match class.gpu {
        GpuNeed::None => {}
        GpuNeed::Whole(count) => parts.push(format!("{count} GPU")),
        GpuNeed::Share(milli) => parts.push(format!("{:.3} GPU", f64::from(milli) / 1000.0)),
    }
    let cpu = class.requests[Resources::CPU];
    if cpu > 0 {
        parts.push(format!("{} CPU", Quantity::from_milli(cpu)));
    }
    let memory = class.requests[Resources::MEMORY];
    if memory > 0 {
        parts.push(format!("{} memory", bytes(memory)));
    }
    let each = if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") };
    let gang = class.gang.as_ref().filter(|gang| gang.size > 0);
    gang.map_or_else(|| format!("{each} each"), |gang| format!("{each} each; gang of {}", gang.size))
}

/// Bytes in the largest binary unit that keeps them whole, or nearly.
fn bytes(bytes: i64) -> String {
    let units = [("Ti", 1_i64 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let whole = units.iter().find(|(_, size)| bytes >= *size && bytes % size == 0);
    match whole.or_else(|| units.iter().find(|(_, size)| bytes >= *size)) {
        Some((unit, size)) if bytes % size == 0 => format!("{}{unit}", bytes / size),
        Some((unit, size)) => format!("{:.1}{unit}", bytes as f64 / *size as f64),
        None => format!("{bytes}"),
    }
}

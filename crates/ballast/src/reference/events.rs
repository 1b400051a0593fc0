//! The page of what is told on objects.

use ballast_core::publish::{EventReason, EventRow};

/// The page.
pub(super) fn page() -> String {
    let mut text = String::from(
        "# Events\n\nWritten by `cargo xtask generate` from the program itself. In `Recommend` and `Enforce` the process that leads \
         tells what it does, and why it does not, as Events (`events.k8s.io/v1`) on the objects that people look at: `kubectl \
         describe` shows them, or `kubectl get events -A --field-selector reportingComponent=ballast.dev/ballast`. `Observe` \
         tells none.\n\n\
         - What happened is told once. What is so is told when it becomes so and not again while it lasts; what changes to and \
         fro is told once a minute at most, and what may pass by itself when it has lasted for ten seconds.\n\
         - An event that belongs to a decision names it in the annotation `ballast.dev/decision` and at the end of its note: \
         `3k9v0q2m7xa1c/a1`, as in log lines, records, the ledger and `status.lastAction`; those of a plan as a whole name the plan.\n\
         - Twenty at once and sixty a minute at most are told; where more than 256 wait, or the API refuses them or does not answer, \
         events are dropped and counted in `ballast_events_dropped_total`. Nothing ever waits for one.\n\
         - Control characters are escaped, and what follows words such as `password` or `token` is left out.\n\n\
         The API keeps events for an hour or so. What lasts is in the status of documents and in records.\n\n\
         | reason | type | on | what it tells |\n|---|---|---|---|\n",
    );
    for EventRow { reason, is_warning, on, about, .. } in EventReason::CATALOGUE {
        let kind = if is_warning { "Warning" } else { "Normal" };
        let on: Vec<String> = on.iter().map(|on| format!("{on:?}")).collect();
        text.push_str(&format!("| `{reason}` | {kind} | {} | {about} |\n", on.join(", ")));
    }
    text
}

//! The page of what is served to other programs.

use crate::serve::{METRICS, Metric};

/// The page.
pub(super) fn page() -> String {
    let mut text = String::from(
        "# Metrics and health\n\nWritten by `cargo xtask generate` from the program itself. `ballast run` serves them beside its \
         page, or on an address of their own: `--metrics ADDR`.\n\n\
         - `/metrics` in the form of OpenMetrics. Every series of the table is there from the start, at zero; `pool` is the only \
         label whose values are not known beforehand: the first hundred pools by name have series of their own, the rest is \
         summed up as `~others`. The codes of `reason` are those of [Reasons](reasons.md).\n\
         - `/healthz` answers 200 while the loop turns, 503 where it has not for 30 seconds.\n\
         - `/readyz` answers 200 or 503, a line a check: `seen` (nodes, pods and disruption budgets are known and fresh), \
         `decides` (plans come when they are due), `acts` (the API refuses nothing that decisions and actions need for want of a \
         right: what is refused is reviewed every 15 seconds, so that a webhook that refuses is not taken for one), `leads` (somebody \
         keeps the lease, this process can renew it where it is to, in `Enforce` the limits are set, and neither is the ledger \
         unstored nor a holder of the lease kept from leading for 30 seconds). A process that follows another is ready to take over, and so is ready.\n\n\
         | metric | kind | labels | what it tells |\n|---|---|---|---|\n",
    );
    for Metric { name, kind, help, labels, .. } in METRICS {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let kind = format!("{kind:?}").to_lowercase();
        text.push_str(&format!("| `{name}` | {kind} | {} | {help} |\n", labels.join(", ")));
    }
    text
}

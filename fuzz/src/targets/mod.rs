//! What is tried: every door through which bytes come in.
//!
//! A new target is a file with a function and a row in [`TARGETS`], with a folder of small inputs, good and bad,
//! to start from. A target asserts what must hold of any input; that it returns at all is always asserted.

mod documents;
mod expressions;
mod memory;
mod openb;
mod plan;
mod record;
mod schedule;
mod self_check;
mod status;
mod units;

/// A door.
pub(crate) struct Target {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What is done with an input.
    pub(crate) run: fn(&[u8]),
    /// Folders of inputs to start from, from the root of the clone; crashers go to the first.
    pub(crate) corpus: &'static [&'static str],
    /// Words that this door knows, beside those that are tried everywhere.
    pub(crate) tokens: &'static [&'static str],
}

/// Every door.
pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "units",
        run: units::run,
        corpus: &["fuzz/corpus/units"],
        tokens: &[
            "m", "k", "Ki", "Mi", "Gi", "Ei", "E", "e", "n", "u", ".", "ms", "s", "h", "d", "w", "%", "Z",
            "+",
        ],
    },
    Target {
        name: "openb",
        run: openb::run,
        corpus: &["fuzz/corpus/openb"],
        tokens: &[
            ",",
            "\"",
            "\"\"",
            "|",
            "sn",
            "cpu_milli",
            "memory_mib",
            "gpu",
            "model",
            "name",
            "num_gpu",
            "gpu_milli",
        ],
    },
    Target {
        name: "documents",
        run: documents::run,
        corpus: &["fuzz/corpus/documents", "crates/ballast-core/tests/documents"],
        tokens: documents::TOKENS,
    },
    Target {
        name: "schedule",
        run: schedule::run,
        corpus: &["fuzz/corpus/schedule"],
        tokens: &["*", "/", "-", ",", "MON-FRI", "NOV", "0 8 * * *", "*/15", "31 2", "+08:00", "Z", "7"],
    },
    Target {
        name: "plan",
        run: plan::run,
        corpus: &[
            "fuzz/corpus/plan",
            "crates/ballast-core/tests/documents",
            "crates/ballast/tests/documents",
            "crates/ballast/tests/simulate",
            "scenarios",
        ],
        tokens: documents::TOKENS,
    },
    Target {
        name: "record",
        run: record::run,
        corpus: &["fuzz/corpus/record"],
        tokens: &[
            "{\"",
            "\"}",
            "\"at\":",
            "\"ledger\":",
            "Planned",
            "Settled",
            "Observed",
            "Started",
            "timedOut",
        ],
    },
    Target {
        name: "memory",
        run: memory::run,
        corpus: &["fuzz/corpus/memory"],
        tokens: &[
            "version:",
            "ledger:",
            "history:",
            "memory:",
            "idleSince:",
            "launches:",
            "removals:",
            "backOff:",
            "strikes:",
            "plain-0",
            "plain-1",
            "plain",
            "2026-11-15T06:00:00Z",
            "[",
            "{",
        ],
    },
    Target {
        name: "status",
        run: status::run,
        corpus: &["fuzz/corpus/status"],
        tokens: &[
            "\"plan\":",
            "\"actions\":",
            "\"target\":",
            "\"precondition\":",
            "\"validUntil\":",
            "\"state\":",
            "\"gang\":",
            "\"to\":",
            "Proposed",
            "StopInstance",
            "CreateInstance",
            "plain-0",
            "plain-1",
            "{",
            "[",
        ],
    },
    Target {
        name: "gate",
        run: expressions::gate,
        corpus: &["fuzz/corpus/gate"],
        tokens: &[
            "cost",
            "A.",
            "B.",
            "pendingP95",
            ".etl",
            ">",
            "<=",
            "==",
            "!=",
            "&&",
            "||",
            "!",
            "(",
            ")",
            "+",
            "-",
            "*",
            "/",
            "%",
            "5m",
            "1h30m",
            "1e9",
            "0",
        ],
    },
    Target {
        name: "set",
        run: expressions::set,
        corpus: &["fuzz/corpus/set"],
        tokens: &[
            "Scenario/small.",
            "VmPool/plain.",
            "Workload/etl.",
            "ClusterPolicy/default.",
            "=",
            "[0]",
            "[\"a.b\"]",
            "{",
            "[",
            "expect",
            "until",
            "max",
            "limits.nodes",
        ],
    },
];

/// Targets that fail on purpose: they show that this tool sees what it is there for.
pub(crate) const SELF_CHECKS: &[Target] = self_check::TARGETS;

//! The dashboard for Grafana, from a table: a row of panels for each thing that people look for first.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// One panel: what is asked, and what a line is called.
struct Panel {
    title: &'static str,
    /// As Grafana names units.
    unit: &'static str,
    queries: &'static [(&'static str, &'static str)],
}

/// Panels that stand together.
struct Row {
    title: &'static str,
    panels: &'static [Panel],
}

/// Replicas see the same cluster, so gauges of it are the largest of all replicas; counters are summed.
const ROWS: &[Row] = &[
    Row {
        title: "Now",
        panels: &[
            Panel {
                title: "Mode",
                unit: "short",
                queries: &[("max by (mode) (ballast_mode) == 1", "{{mode}}")],
            },
            Panel {
                title: "Replicas",
                unit: "short",
                queries: &[("sum(ballast_ready)", "ready"), ("sum(ballast_leads)", "leading")],
            },
            Panel {
                title: "Machines",
                unit: "short",
                queries: &[("sum by (state) (max by (pool, state) (ballast_nodes))", "{{state}}")],
            },
            Panel {
                title: "Cost per hour",
                unit: "short",
                queries: &[
                    ("sum(max by (pool) (ballast_cost_per_hour))", "now"),
                    ("max(ballast_cost_limit_per_hour)", "limit"),
                ],
            },
            Panel {
                title: "Pods that wait",
                unit: "short",
                queries: &[
                    ("max(ballast_pending_pods)", "wait"),
                    ("max(ballast_unserved_pods)", "fit no pool"),
                    ("max by (reason) (ballast_waiting_pods) > 0", "{{reason}}"),
                ],
            },
            Panel {
                title: "Longest wait",
                unit: "s",
                queries: &[("max(ballast_pending_oldest_seconds)", "oldest pod")],
            },
        ],
    },
    Row {
        title: "Decisions",
        panels: &[
            Panel {
                title: "Time of a plan",
                unit: "s",
                queries: &[
                    ("histogram_quantile(0.5, sum by (le) (rate(ballast_plan_seconds_bucket[5m])))", "half"),
                    ("histogram_quantile(0.99, sum by (le) (rate(ballast_plan_seconds_bucket[5m])))", "99 %"),
                ],
            },
            Panel {
                title: "Actions of the last plan",
                unit: "short",
                queries: &[("max by (kind) (ballast_plan_actions)", "{{kind}}")],
            },
            Panel {
                title: "What came of them",
                unit: "short",
                queries: &[("sum by (receipt) (increase(ballast_receipts_total[5m]))", "{{receipt}}")],
            },
            Panel {
                title: "Held",
                unit: "short",
                queries: &[("max by (reason) (ballast_holds) > 0", "{{reason}}")],
            },
            Panel {
                title: "Nodes that stay",
                unit: "short",
                queries: &[("max by (reason) (ballast_kept_nodes) > 0", "{{reason}}")],
            },
            Panel {
                title: "Under way",
                unit: "short",
                queries: &[("max(ballast_under_way)", "launches and removals")],
            },
        ],
    },
    Row {
        title: "Pools",
        panels: &[
            Panel {
                title: "Machines of a pool",
                unit: "short",
                queries: &[
                    ("sum by (pool) (max by (pool, state) (ballast_nodes))", "{{pool}}"),
                    ("max by (pool) (ballast_pool_max_nodes)", "{{pool}} at most"),
                ],
            },
            Panel {
                title: "Backed off",
                unit: "short",
                queries: &[("max by (pool) (ballast_backed_off)", "{{pool}}")],
            },
        ],
    },
    Row {
        title: "Sources and requests",
        panels: &[
            Panel {
                title: "Age of what is known",
                unit: "s",
                queries: &[("max by (source) (ballast_source_age_seconds)", "{{source}}")],
            },
            Panel {
                title: "In trouble",
                unit: "short",
                queries: &[("max by (source) (ballast_source_troubled)", "{{source}}")],
            },
            Panel {
                title: "Requests to the Kubernetes API",
                unit: "reqps",
                queries: &[(
                    "sum by (verb, outcome) (rate(ballast_api_requests_total[5m]))",
                    "{{verb}} {{outcome}}",
                )],
            },
            Panel {
                title: "Requests of procedures",
                unit: "reqps",
                queries: &[(
                    "sum by (request, outcome) (rate(ballast_requests_total[5m]))",
                    "{{request}} {{outcome}}",
                )],
            },
        ],
    },
    Row {
        title: "Process",
        panels: &[
            Panel {
                title: "Memory",
                unit: "bytes",
                queries: &[(
                    "process_resident_memory_bytes and on (instance) ballast_build_info",
                    "{{instance}}",
                )],
            },
            Panel {
                title: "Processor",
                unit: "percentunit",
                queries: &[(
                    "rate(process_cpu_seconds_total[5m]) and on (instance) ballast_build_info",
                    "{{instance}}",
                )],
            },
        ],
    },
];

/// Of the 24 columns of a dashboard.
const WIDTH: usize = 8;
const HEIGHT: usize = 7;

/// Writes the dashboard into a folder.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let file = folder.join("ballast.json");
    let text = serde_json::to_string_pretty(&dashboard())? + "\n";
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn dashboard() -> Value {
    let (mut panels, mut y) = (Vec::new(), 0);
    for row in ROWS {
        panels.push(json!({"type": "row", "title": row.title, "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}}));
        y += 1;
        for (at, panel) in row.panels.iter().enumerate() {
            let place = json!({"x": at % 3 * WIDTH, "y": y + at / 3 * HEIGHT, "w": WIDTH, "h": HEIGHT});
            panels.push(panel.written(place));
        }
        y += row.panels.len().div_ceil(3) * HEIGHT;
    }
    let source =
        json!({"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"});
    json!({
        "title": "Ballast",
        "uid": "ballast",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [source]},
        "panels": panels,
    })
}

impl Panel {
    fn written(&self, place: Value) -> Value {
        let source = json!({"type": "prometheus", "uid": "${datasource}"});
        let targets: Vec<Value> = ('A'..)
            .zip(self.queries)
            .map(|(id, (expr, legend))| json!({"refId": id, "expr": expr, "legendFormat": legend, "datasource": source}))
            .collect();
        json!({
            "type": "timeseries",
            "title": self.title,
            "gridPos": place,
            "datasource": source,
            "fieldConfig": {"defaults": {"unit": self.unit, "min": 0}, "overrides": []},
            "targets": targets,
        })
    }
}

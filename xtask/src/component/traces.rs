//! Recorded workloads of real clusters. They are not committed; tests read them from `$BALLAST_TRACES`.

use std::path::PathBuf;

use super::{Component, Found};

pub(super) const COMPONENT: Component =
    Component { name: "traces", needed_by: &["sim", "cli", "docs"], find, install: None };

/// Told to a person who has none.
const SOURCE: &str = "take cluster-trace-gpu-v2023/csv of github.com/alibaba/clusterdata as alibaba-gpu-v2023, and put the published \
                      allocation of github.com/hkust-adsl/kubernetes-scheduler-simulator (experiments/analysis/expected_results) beside it";
/// The files without which the tests on the real GPU cluster cannot run.
const WANTED: &[&str] = &[
    "alibaba-gpu-v2023/openb_node_list_gpu_node.csv",
    "alibaba-gpu-v2023/openb_node_list_all_node.csv",
    "alibaba-gpu-v2023/openb_pod_list_default.csv",
    "alibaba-gpu-v2023/published_allocation_default.csv",
];

fn find() -> Found {
    let Some(folder) = std::env::var_os("BALLAST_TRACES").map(PathBuf::from) else {
        return Found::Missing(format!("BALLAST_TRACES is not set: {SOURCE}"));
    };
    match WANTED.iter().find(|file| !folder.join(file).is_file()) {
        Some(file) => Found::Missing(format!("no {file} in BALLAST_TRACES: {SOURCE}")),
        None => Found::here("alibaba-gpu-v2023", folder),
    }
}

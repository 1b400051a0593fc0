//! Prints the published placement experiment beside ours: `cargo run --release -p ballast-sim --example openb`, with
//! `BALLAST_TRACES` set.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "reads the trace and prints a table")]

use ballast_sim::import::Table;
use ballast_sim::openb::{Experiment, Trace};
use ballast_sim::placement::Placement;

/// The seeds of the published runs.
const SEEDS: std::ops::RangeInclusive<u64> = 42..=51;
const POLICIES: [(&str, Placement); 3] =
    [("01-Random", Placement::Random), ("05-BestFit", Placement::BestFit), ("06-FGD", Placement::Fgd)];

fn read(name: &str) -> Vec<u8> {
    let folder = std::env::var("BALLAST_TRACES").expect("BALLAST_TRACES names the folder with the traces");
    let path = format!("{folder}/alibaba-gpu-v2023/{name}");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn published(policy: &str) -> Vec<f64> {
    let bytes = read("published_allocation_default.csv");
    let table = Table::parse(&bytes, &["sc_policy", "130"]).expect("the published table");
    let [name, last] = ["sc_policy", "130"].map(|column| table.column(column).expect("asked for"));
    let rows = table.rows().iter().filter(|row| row.cell(name).text == policy);
    rows.map(|row| row.cell(last).number(0.0, 100.0).expect("a figure")).collect()
}

/// Mean, least and greatest.
fn summary(figures: &[f64]) -> (f64, f64, f64) {
    let mean = figures.iter().sum::<f64>() / figures.len() as f64;
    (mean, figures.iter().copied().fold(f64::MAX, f64::min), figures.iter().copied().fold(f64::MIN, f64::max))
}

fn main() {
    let (nodes, pods) = (read("openb_node_list_all_node.csv"), read("openb_pod_list_default.csv"));
    let trace = Trace::parse(&nodes, &pods).expect("the trace");
    let gpu_nodes = Experiment::new(&trace, false);
    let all_nodes = Experiment::new(&trace, true);
    println!("{:<8} {:>20} {:>20} {:>10} {:>12}", "policy", "published", "seen", "difference", "all nodes");
    for (policy, placement) in POLICIES {
        let run = |experiment: &Experiment| -> Vec<f64> {
            SEEDS.map(|seed| experiment.run(placement, seed).allocated_percent).collect()
        };
        let words = |(mean, least, most): (f64, f64, f64)| format!("{mean:.2} ({least:.2}-{most:.2})");
        let (published, seen) = (summary(&published(policy)), summary(&run(&gpu_nodes)));
        println!(
            "{:<8} {:>20} {:>20} {:>+10.2} {:>12.2}",
            &policy[3..],
            words(published),
            words(seen),
            seen.0 - published.0,
            summary(&run(&all_nodes)).0
        );
    }
}

//! Benchmarks of the planner. `cargo xtask bench` runs them; each figure is a JSON row on standard output.
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock and its arguments")]
#![expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![expect(clippy::print_stdout, reason = "rows go to standard output")]

mod cases;
mod generate;
mod measure;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, plans, case] = arguments.as_slice()
        && flag == "--plans"
    {
        return cases::plan_times(case, plans.parse().unwrap_or(0));
    }
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    for (name, case) in cases::ALL {
        if wanted.is_empty() || wanted.iter().any(|wanted| *wanted == name) {
            for row in case() {
                println!("{row}");
            }
        }
    }
}

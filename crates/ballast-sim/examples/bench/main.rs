//! Measures: names of cases in, a row of figures as JSON a line out. `cargo xtask bench` runs it and holds the rows against
//! their bars.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "it tells the time of what is measured and prints"
)]

mod row;
mod sim;

/// A case: its name, and what measures it.
type Case = (&'static str, fn() -> Vec<row::Row>);

const CASES: &[Case] = &[("sim-day", sim::day), ("sim-year", sim::year)];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--json").collect();
    let names: Vec<&str> = CASES.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        println!("no case `{unknown}`; there are {}", names.join(", "));
        std::process::exit(1);
    }
    for (name, measure) in CASES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            for row in measure() {
                println!("{}", serde_json::to_string(&row).expect("a row is plain"));
            }
        }
    }
}

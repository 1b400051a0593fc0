//! Measures the live side against a real control plane: names of cases in, a row of figures as JSON a line out.
//! `cargo xtask bench` runs it and holds the rows against their bars.
#![expect(clippy::print_stdout, reason = "rows are its output")]

mod reaction;
mod row;
mod scale;

use anyhow::{Result, bail};

/// A case: its name, and what measures it.
type Case = (&'static str, fn() -> Result<Vec<row::Row>>);

const CASES: &[Case] = &[("reaction", reaction::measure), ("scale", scale::measure)];

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--json").collect();
    let names: Vec<&str> = CASES.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("no case `{unknown}`; there are {}", names.join(", "));
    }
    for (name, measure) in CASES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            for row in measure()? {
                println!("{}", serde_json::to_string(&row)?);
            }
        }
    }
    Ok(())
}

//! The runs: every policy with every seed, as many at once as the machine has cores, with a bar for whoever waits.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::panic;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ballast_core::units::Span;
use ballast_sim::scenario::Scenario;
use ballast_sim::score::{Score, Series};
use ballast_sim::simulation::Simulation;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::policies::Policy;
use crate::cli::{Outcome, Result};
use crate::present::Doing;
use crate::present::score::{Runs, Simulated};

/// Parts of a run after which the bar moves.
const PARTS: i64 = 100;

/// Runs every policy with every seed.
pub(super) fn run(scenario: &Scenario, policies: Vec<Policy>, seeds: &[u64], is_seen: bool) -> Simulated {
    let started = Instant::now();
    let bar = bar(scenario, policies.len() * seeds.len(), is_seen);
    if is_seen {
        clear_when_interrupted(bar.clone());
    }
    let jobs: Vec<(&Scenario, u64)> =
        policies.iter().flat_map(|policy| seeds.iter().map(|seed| (&policy.scenario, *seed))).collect();
    let mut done = all(&jobs, &bar).into_iter();
    bar.finish_and_clear();
    let mut simulated = Simulated {
        name: scenario.name.to_string(),
        story: scenario.spec.story.clone(),
        expect: scenario.spec.expect.clone(),
        currency: scenario.spec.policy.currency.to_string(),
        prices: policies.first().and_then(Policy::unpriced),
        seeds: seeds.to_vec(),
        lasted: scenario.spec.until,
        took: Duration::ZERO,
        policies: Vec::new(),
        series: Vec::new(),
    };
    for policy in &policies {
        let (scores, mut series): (Vec<Score>, Vec<Series>) = done.by_ref().take(seeds.len()).unzip();
        simulated.policies.push(Runs { letter: policy.letter, name: policy.name.clone(), scores });
        simulated.series.push(series.swap_remove(0));
    }
    simulated.took = started.elapsed();
    simulated
}

/// Runs the jobs and returns what came of them, in their order.
fn all(jobs: &[(&Scenario, u64)], bar: &ProgressBar) -> Vec<(Score, Series)> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<(Score, Series)>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((scenario, seed)) = jobs.get(at) else { return };
            let result = one(scenario, *seed, bar);
            results.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(result);
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            if let Err(cause) = thread.join() {
                panic::resume_unwind(cause);
            }
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().flatten().collect()
}

/// Runs a scenario once more and writes the record of its engine.
pub(super) fn record(scenario: &Scenario, seed: u64, path: &Path) -> Result<()> {
    let doing = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(File::create(path).doing(doing)?);
    let mut simulation = Simulation::new(scenario, seed).with_record();
    let start = simulation.now();
    let whole = simulation.until().since(start).as_millis();
    for part in 1..=PARTS {
        simulation.step_until(start + Span::from_millis(whole * part / PARTS));
        for entry in simulation.take_record() {
            writeln!(file, "{}", entry.to_line()).doing(doing)?;
        }
    }
    file.flush().doing(doing)
}

fn one(scenario: &Scenario, seed: u64, bar: &ProgressBar) -> (Score, Series) {
    let mut simulation = Simulation::new(scenario, seed);
    let start = simulation.now();
    let whole = simulation.until().since(start).as_millis();
    for part in 1..=PARTS {
        simulation.step_until(start + Span::from_millis(whole * part / PARTS));
        bar.inc(1);
    }
    (simulation.score(), simulation.series().clone())
}

/// Takes the bar away when Ctrl-C comes, so that the prompt finds a clean line, and ends as whatever is interrupted does.
fn clear_when_interrupted(bar: ProgressBar) {
    thread::spawn(move || {
        // Without a runtime Ctrl-C ends the program as it always does.
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            bar.finish_and_clear();
            std::process::exit(Outcome::Interrupted.code().into());
        }
    });
}

fn bar(scenario: &Scenario, runs: usize, is_seen: bool) -> ProgressBar {
    let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3}% {eta}");
    let bar = ProgressBar::with_draw_target(Some(runs as u64 * PARTS as u64), target);
    let bar = bar.with_message(scenario.name.to_string());
    // The template is ours and good; without it the bar is plain.
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

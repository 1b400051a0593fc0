//! Seeded, mutated inputs against everything that reads bytes from outside: no input may panic, hang, overflow
//! the stack or eat the memory.
//!
//! A target is a function from bytes to nothing ([`targets`]). The input of number `i` depends on the seed, the
//! corpus and `i` alone ([`mutate`]), so a failure is found again without replaying what came before. Each
//! target runs in a process of its own ([`worker`]), because an overflown stack or exhausted memory cannot be
//! caught from inside; the parent ([`supervise`]) sees it die, makes the guilty input anew and saves it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool speaks by printing")]

mod corpus;
mod mutate;
mod supervise;
mod targets;
mod worker;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;

use supervise::{Campaign, Verdict};
use targets::Target;

/// Try mutated inputs against everything that reads bytes from outside
#[derive(Parser)]
#[command(name = "ballast-fuzz")]
struct Args {
    /// Targets to try; none named means all
    targets: Vec<String>,
    /// Seconds for each target [default: 60 at test size ci, 600 at full, else 10]
    #[arg(long)]
    seconds: Option<u64>,
    /// Where the random numbers start
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Targets tried at the same time
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// An input that takes more seconds than this hangs; a good one takes milliseconds
    #[arg(long, default_value_t = 10)]
    input_seconds: u64,
    /// Where inputs that do harm are saved, from the root of the clone
    #[arg(long, value_name = "FOLDER", default_value = "fuzz/crashers")]
    crashers: PathBuf,
    /// Run one target on this file alone, in this process
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Try inputs from this process and write the number of each into the file before it is tried
    #[arg(long, value_name = "FILE", hide = true)]
    worker: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<bool> {
    let chosen = choose(&args.targets)?;
    let limit = Duration::from_secs(args.seconds.unwrap_or_else(default_seconds));
    if let Some(file) = &args.replay {
        let [target] = chosen[..] else { bail!("--replay needs exactly one target") };
        let input = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        worker::on_small_stack(move || (target.run)(&input));
        return Ok(true);
    }
    if let Some(progress) = &args.worker {
        let [target] = chosen[..] else { bail!("--worker needs exactly one target") };
        worker::run(target, args.seed, limit, progress)?;
        return Ok(true);
    }
    let campaign = Campaign {
        seed: args.seed,
        limit,
        input_limit: Duration::from_secs(args.input_seconds),
        crashers: args.crashers.clone(),
    };
    campaigns(chosen, &campaign, args.jobs.max(1))
}

/// Runs a campaign a target, some at the same time, and closes like a test harness.
fn campaigns(chosen: Vec<&'static Target>, campaign: &Campaign, jobs: usize) -> Result<bool> {
    let waiting = Mutex::new(VecDeque::from(chosen));
    let next = || waiting.lock().expect("no holder panics").pop_front();
    let verdicts = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(target) = next() {
                    let verdict = campaign.run(target);
                    verdicts.lock().expect("no holder panics").push(verdict);
                }
            });
        }
    });
    let verdicts: Vec<Verdict> = verdicts.into_inner()?.into_iter().collect::<Result<_>>()?;
    let failed = verdicts.iter().filter(|&&verdict| verdict == Verdict::Harmed).count();
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {} passed; {failed} failed", verdicts.len() - failed);
    Ok(failed == 0)
}

/// The targets of these names; those that check this tool itself only when they are named.
fn choose(names: &[String]) -> Result<Vec<&'static Target>> {
    if names.is_empty() {
        return Ok(targets::TARGETS.iter().collect());
    }
    let find = |name: &String| {
        let mut all = targets::TARGETS.iter().chain(targets::SELF_CHECKS);
        all.find(|target| target.name == name).with_context(|| {
            let known: Vec<&str> = targets::TARGETS.iter().map(|target| target.name).collect();
            format!("there is no target `{name}`\n\nhint: the targets are {}", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

fn default_seconds() -> u64 {
    match std::env::var("BALLAST_TEST_SIZE").as_deref() {
        Ok("full") => 600,
        Ok("ci") => 60,
        _ => 10,
    }
}

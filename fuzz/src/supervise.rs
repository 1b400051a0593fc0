//! The parent of a worker: it sees when the worker dies or hangs, and saves the input that did it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::corpus;
use crate::mutate::Mutator;
use crate::targets::Target;

/// Address space of a worker: a document of a few KiB has no business beyond it.
const MEMORY_KIB_MAX: u64 = 2 << 20;
/// A worker that has not got on for so many times its limit waits for something, and is stuck all the same.
const STUCK_AFTER: u32 = 30;
/// Ticks of the processor time that the kernel tells of, a second.
const TICKS: u64 = 100;
/// How often the parent looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is tried on each target.
pub(crate) struct Campaign {
    /// Where the random numbers start.
    pub(crate) seed: u64,
    /// How long each target is tried.
    pub(crate) limit: Duration,
    /// An input that takes more time of the processor than this hangs; on a busy machine a good one may have to wait for long.
    pub(crate) input_limit: Duration,
    /// The folder for inputs that did harm, from the root of the clone.
    pub(crate) crashers: PathBuf,
}

/// What came of a target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No input harmed it.
    Clean,
    /// One did, and it is saved.
    Harmed,
}

/// How a worker ended.
enum End {
    Exited(ExitStatus),
    Hung,
}

impl Campaign {
    /// Tries a target, tells what came of it, and saves the input that harmed it.
    pub(crate) fn run(&self, target: &'static Target) -> Result<Verdict> {
        let progress =
            std::env::temp_dir().join(format!("ballast-fuzz-{}-{}", std::process::id(), target.name));
        let end = self.watch(target, &progress);
        let number = read_number(&progress);
        // Nothing to remove when the worker died before it made the file.
        let _ = fs::remove_file(&progress);
        let (end, seed) = (end?, self.seed);
        let how = match end {
            End::Exited(status) if status.success() => {
                println!("fuzz {} ... ok, {number} inputs in {:?} from seed {seed}", target.name, self.limit);
                return Ok(Verdict::Clean);
            }
            End::Exited(status) => format!("ended with {status}"),
            End::Hung => format!("took longer than {:?}", self.input_limit),
        };
        let saved = self.save(target, number)?;
        let name = target.name;
        println!("fuzz {name} ... FAILED, input {number} from seed {seed} {how}");
        println!("  saved as {}", saved.display());
        println!("  again: cargo run --profile fuzz -p ballast-fuzz -- {name} --replay {}", saved.display());
        println!("  once it is mended: move it to {}", target.corpus[0]);
        Ok(Verdict::Harmed)
    }

    /// Runs a worker to its end, or ends it when it stays on one input for too long.
    fn watch(&self, target: &Target, progress: &Path) -> Result<End> {
        let mut worker = self.spawn(target, progress)?;
        let mut last = (u64::MAX, Instant::now(), Duration::ZERO);
        loop {
            if let Some(status) = worker.try_wait().context("cannot watch the worker")? {
                return Ok(End::Exited(status));
            }
            let number = read_number(progress);
            let worked = processor_time(worker.id());
            let (_, since, before) = last;
            let spent = worked.map_or(since.elapsed(), |worked| worked.saturating_sub(before));
            if number != last.0 {
                last = (number, Instant::now(), worked.unwrap_or_default());
            } else if spent > self.input_limit || since.elapsed() > STUCK_AFTER * self.input_limit {
                worker.kill().context("cannot end the worker")?;
                worker.wait().context("cannot await the worker")?;
                return Ok(End::Hung);
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// A worker with bounded memory; the shell is what sets the bound.
    fn spawn(&self, target: &Target, progress: &Path) -> Result<Child> {
        let own = std::env::current_exe().context("cannot find this program")?;
        let bounded = format!("ulimit -v {MEMORY_KIB_MAX}; exec \"$@\"");
        Command::new("sh")
            .args(["-c", &bounded, "sh"])
            .arg(own)
            .arg(target.name)
            .arg("--worker")
            .arg(progress)
            .args(["--seed", &self.seed.to_string(), "--seconds", &self.limit.as_secs().to_string()])
            .stdin(Stdio::null())
            .spawn()
            .context("cannot start a worker")
    }

    /// Makes the input anew, since its number is all that is needed, and saves it.
    fn save(&self, target: &'static Target, number: u64) -> Result<PathBuf> {
        let input = Mutator::new(self.seed, corpus::load(target)?, target.tokens).input(number);
        let folder = self.crashers.join(target.name);
        let there = corpus::root().join(&folder);
        fs::create_dir_all(&there).with_context(|| format!("cannot make {}", there.display()))?;
        let name = format!("{}-{number}", self.seed);
        fs::write(there.join(&name), input)
            .with_context(|| format!("cannot write into {}", there.display()))?;
        Ok(folder.join(name))
    }
}

/// The number of the input that the worker tries; 0 before it began.
fn read_number(progress: &Path) -> u64 {
    let bytes = fs::read(progress).unwrap_or_default();
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// How long a process has been worked on; unknown where the kernel does not tell.
fn processor_time(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks()? + ticks()?) * 1000 / TICKS))
}

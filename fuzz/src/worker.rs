//! The process in which inputs are tried. It keeps no state but the number of the input that it tries now.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::corpus;
use crate::mutate::Mutator;
use crate::targets::Target;

/// What a thread of the server gets; the main thread's 8 MiB would hide deep recursion.
const STACK_BYTES: usize = 2 << 20;

/// Tries inputs until the time is up, and leaves the number of inputs in the progress file.
pub(crate) fn run(target: &'static Target, seed: u64, limit: Duration, progress: &Path) -> Result<()> {
    let mutator = Mutator::new(seed, corpus::load(target)?, target.tokens);
    let progress = File::create(progress).with_context(|| format!("cannot write {}", progress.display()))?;
    on_small_stack(move || {
        let started = Instant::now();
        for number in 0_u64.. {
            progress.write_all_at(&number.to_le_bytes(), 0).expect("the progress file can be written");
            if started.elapsed() > limit {
                break;
            }
            (target.run)(&mutator.input(number));
        }
    });
    Ok(())
}

/// Runs the work on a thread with a small stack; a panic there ends the process as it would on the main thread.
pub(crate) fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().name("target".into()).stack_size(STACK_BYTES).spawn(work);
    if let Err(panic) = thread.expect("a thread can be started").join() {
        std::panic::resume_unwind(panic);
    }
}

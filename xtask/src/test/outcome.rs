//! What came of one suite.

use super::Counts;
use super::step::Ran;

/// The counts of a suite, with the names of what went wrong.
pub(crate) struct Outcome {
    /// Which suite.
    pub(crate) suite: &'static str,
    /// The sum over its steps.
    pub(crate) counts: Counts,
    /// Wall time, building included.
    pub(crate) seconds: f64,
    /// Steps in which something failed.
    pub(crate) failed_steps: Vec<&'static str>,
    /// Steps that could not run, each with the missing component.
    pub(crate) not_run: Vec<(&'static str, &'static str)>,
}

impl Outcome {
    /// Nothing ran yet.
    pub(crate) fn new(suite: &'static str) -> Self {
        Self { suite, counts: Counts::default(), seconds: 0.0, failed_steps: Vec::new(), not_run: Vec::new() }
    }

    /// Adds a step.
    pub(crate) fn add(&mut self, step: &'static str, ran: Ran) {
        match ran {
            Ran::Counted(counts) => {
                self.counts += counts;
                if counts.failed > 0 {
                    self.failed_steps.push(step);
                }
            }
            Ran::Without(component) => self.not_run.push((step, component)),
        }
    }

    /// Whole: nothing failed and nothing was left out.
    pub(crate) fn is_whole(&self) -> bool {
        self.counts.failed == 0 && self.not_run.is_empty()
    }

    /// One line of progress.
    pub(crate) fn line(&self) -> String {
        let Counts { passed, failed } = self.counts;
        format!("== {}: {passed} passed, {failed} failed in {:.1} s", self.suite, self.seconds)
    }
}

//! How many tests passed and failed, read from what a test harness prints.

use std::ops::AddAssign;

/// A number of passed and failed tests.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed, those that were ignored included: a test that does not run proves nothing.
    pub(crate) failed: u64,
}

impl Counts {
    /// So many passed, none failed.
    pub(crate) fn passed(passed: u64) -> Self {
        Self { passed, failed: 0 }
    }

    /// So many failed, none passed.
    pub(crate) fn failed(failed: u64) -> Self {
        Self { passed: 0, failed }
    }

    /// Nothing was counted at all.
    pub(crate) fn ran_nothing(self) -> bool {
        self == Self::default()
    }

    /// Adds what a closing line of a test binary says; every other line says nothing.
    pub(crate) fn read(&mut self, line: &str) {
        let Some((_, numbers)) =
            line.trim_start().strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for part in numbers.split(';') {
            let mut words = part.split_whitespace();
            let (Some(Ok(number)), Some(what)) = (words.next().map(str::parse::<u64>), words.next()) else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" | "ignored" => self.failed += number,
                _ => {}
            }
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Counts {
        let mut counts = Counts::default();
        text.lines().for_each(|line| counts.read(line));
        counts
    }

    #[test]
    fn adds_the_closing_lines_of_several_test_binaries() {
        let text = "running 3 tests\ntest a ... ok\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n";
        assert_eq!(read(text), Counts { passed: 4, failed: 2 });
    }

    #[test]
    fn an_ignored_test_is_a_failed_one() {
        let text =
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 5 filtered out; finished in 1s";
        assert_eq!(read(text), Counts { passed: 3, failed: 1 });
    }

    #[test]
    fn other_lines_say_nothing() {
        assert!(read("test result\ntest result: \ntest result: ok. \nboom; 7 passed").ran_nothing());
    }
}

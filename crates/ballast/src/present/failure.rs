//! An error on its way to the user: the whole chain, printed once, with hints on lines of their own.

use std::fmt::{self, Write};
use std::io;

/// An error with what the user may do about it.
#[derive(Debug)]
pub struct Failure {
    error: anyhow::Error,
    hints: Vec<String>,
    /// The text says itself that it is an error.
    is_told: bool,
}

impl Failure {
    /// A failure that has no other cause.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { error: anyhow::Error::msg(message.to_string()), hints: Vec::new(), is_told: false }
    }

    /// A failure that is told already in full, such as a list of problems with their places.
    pub fn told(text: impl fmt::Display) -> Self {
        Self { error: anyhow::Error::msg(text.to_string()), hints: Vec::new(), is_told: true }
    }

    /// Adds what the user may do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Whether it is only that nobody reads our output any more.
    pub fn is_closed_pipe(&self) -> bool {
        let causes = self.error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
        causes.into_iter().any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The error and its causes in one line.
    pub fn chain(&self) -> String {
        format!("{:#}", self.error)
    }

    /// The text for stderr: `error:`, its causes, and its hints.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let red = anstyle::AnsiColor::Red.on_default().bold();
        let cyan = anstyle::AnsiColor::Cyan.on_default().bold();
        if self.is_told {
            for line in self.error.to_string().lines() {
                let _ = match line.strip_prefix("error:") {
                    Some(rest) => writeln!(text, "{red}error{red:#}:{rest}"),
                    None => writeln!(text, "{line}"),
                };
            }
        } else {
            let _ = writeln!(text, "{red}error{red:#}: {}", self.error);
        }
        for cause in self.error.chain().skip(1) {
            let _ = writeln!(text, "  {red}caused by{red:#}: {cause}");
        }
        for hint in &self.hints {
            let _ = writeln!(text, "\n{cyan}hint{cyan:#}: {hint}");
        }
        text
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { error: error.into(), hints: Vec::new(), is_told: false }
    }
}

/// Says what was being done when something failed.
pub trait Doing<T> {
    /// Puts `what` in front of the error.
    fn doing<D: fmt::Display>(self, what: impl FnOnce() -> D) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> Doing<T> for Result<T, E> {
    fn doing<D: fmt::Display>(self, what: impl FnOnce() -> D) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            error: error.into().context(what().to_string()),
            hints: Vec::new(),
            is_told: false,
        })
    }
}

/// Adds a hint to what failed.
pub trait Hint<T> {
    /// Adds what the user may do about it.
    fn hint<D: fmt::Display>(self, hint: impl FnOnce() -> D) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> Hint<T> for Result<T, E> {
    fn hint<D: fmt::Display>(self, hint: impl FnOnce() -> D) -> Result<T, Failure> {
        self.map_err(|error| error.into().hint(hint()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_already_has_its_errors_in_colour() {
        let text = "error: a\n --> b\n\n1 problem";
        let rendered = Failure::told(text).render();
        assert!(rendered.starts_with("\u{1b}["), "{rendered}");
        assert_eq!(anstream::adapter::strip_str(&rendered).to_string(), format!("{text}\n"));
    }

    #[test]
    fn the_chain_is_told_once_and_the_hint_stands_alone() {
        let inner = io::Error::new(io::ErrorKind::NotFound, "no such file");
        let failure = Err::<(), _>(inner).doing(|| "cannot read `a.yaml`").unwrap_err().hint("is it there?");
        let plain = anstream::adapter::strip_str(&failure.render()).to_string();
        assert_eq!(plain, "error: cannot read `a.yaml`\n  caused by: no such file\n\nhint: is it there?\n");
    }
}

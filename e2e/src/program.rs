//! The program as users run it: started with arguments, read line by line, interrupted in the end.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, ensure};

/// A running `ballast`, ended when it is dropped.
pub struct Program {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Program {
    /// Starts the binary that `BALLAST_BIN` names.
    ///
    /// # Errors
    ///
    /// When the variable is not set or the program cannot be run.
    pub fn start(args: &[&str]) -> Result<Self> {
        let binary = std::env::var_os("BALLAST_BIN")
            .context("BALLAST_BIN is not set\n\nhint: run the suite by `cargo xtask test`")?;
        let mut child = Command::new(&binary)
            .args(args)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let output = child.stdout.take().context("the output was piped")?;
        Ok(Self { child, lines: BufReader::new(output).lines() })
    }

    /// The next line on stdout.
    ///
    /// # Errors
    ///
    /// When the program ends instead.
    pub fn line(&mut self) -> Result<String> {
        self.lines.next().context("the program has no more to say")?.context("cannot read what it says")
    }

    /// Interrupts the program as Ctrl-C does and waits for its end.
    ///
    /// # Errors
    ///
    /// When it cannot be interrupted.
    pub fn interrupt(mut self) -> Result<ExitStatus> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().context("cannot run kill")?;
        ensure!(sent.success(), "kill ended with {sent}");
        self.child.wait().context("cannot await the program")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

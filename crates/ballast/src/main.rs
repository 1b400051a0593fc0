//! The `ballast` binary: arguments in, exit code out. Everything else is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ballast::cli::main()
}

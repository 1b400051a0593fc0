//! The page of commands: every one with its help, as `--help` prints it.

use std::fmt::Write;

use clap::{Arg, Command};

/// Every command with its help, as `--help` prints it.
pub(super) fn page(command: Command) -> String {
    let mut page = String::from(
        "# Commands\n\nWritten by `cargo xtask generate` from the program itself.\n\n\
         Data goes to stdout, all else to stderr. `NO_COLOR` is honoured. The global options are told once, under \
         `ballast`; every command takes them.\n",
    );
    let mut root = command.term_width(100);
    root.build();
    describe(&mut page, &root, "");
    page
}

fn describe(page: &mut String, command: &Command, parents: &str) {
    let name = format!("{parents}{}", command.get_name());
    let is_root = parents.is_empty();
    let told_once = |arg: Arg| if arg.is_global_set() && !is_root { arg.hide(true) } else { arg };
    let mut own = command.clone().bin_name(&name).term_width(100).mut_args(told_once);
    let help = own.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    // `help` only repeats what stands here.
    let is_told = |part: &&Command| !part.is_hide_set() && part.get_name() != "help";
    for part in command.get_subcommands().filter(is_told) {
        describe(page, part, &format!("{name} "));
    }
}

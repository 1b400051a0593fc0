//! What the commands print and how they end: exit code, stdout and stderr of the real binary.
//!
//! `SNAPSHOTS=overwrite cargo test -p ballast` accepts what was seen.

use snapbox::cmd::{Command, cargo_bin};
use snapbox::str;

/// The binary, with nothing of this machine in its surroundings.
fn ballast(args: &[&str]) -> Command {
    Command::new(cargo_bin!("ballast")).args(args).env("COLUMNS", "100").env_remove("NO_COLOR")
}

#[test]
fn an_unknown_command_is_an_error_with_a_suggestion() {
    ballast(&["completion"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: unrecognized subcommand 'completion'

  tip: a similar subcommand exists: 'completions'

Usage: ballast [OPTIONS] <COMMAND>

For more information, try '--help'.

"#]]);
}

#[test]
fn help_of_a_command_is_had_both_ways() {
    let told = |args: &[&str]| ballast(args).output().unwrap().stdout;
    let asked = told(&["simulate", "--help"]);
    assert!(!asked.is_empty());
    assert_eq!(told(&["help", "simulate"]), asked);
}

#[test]
fn an_unknown_option_is_an_error_not_exit_code_two() {
    ballast(&["completions", "--nonsense"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: unexpected argument '--nonsense' found

  tip: to pass '--nonsense' as a value, use '-- --nonsense'

Usage: ballast completions [OPTIONS] <SHELL>

For more information, try '--help'.

"#]]);
}

#[test]
fn help_is_an_answer_on_stdout() {
    ballast(&["completions", "--help"])
        .assert()
        .success()
        .stdout_eq(str![[r#"
Print a script that completes commands and options in your shell

Usage: ballast completions [OPTIONS] <SHELL>

Arguments:
  <SHELL>  The shell [possible values: bash, elvish, fish, powershell, zsh]

Options:
  -h, --help  Print help

Global options:
      --color <WHEN>  When to use colours; NO_COLOR is honoured [default: auto] [possible values:
                      auto, always, never]

Examples:
  ballast completions bash > ~/.local/share/bash-completion/completions/ballast
  ballast completions zsh > ~/.zfunc/_ballast
  ballast completions fish > ~/.config/fish/completions/ballast.fish

"#]])
        .stderr_eq(str![]);
}

#[test]
fn colours_only_where_they_are_wanted() {
    let plain = ballast(&["--help"]).output().unwrap();
    assert!(!plain.stdout.contains(&0x1b), "a pipe gets no escapes");
    let unwanted = ballast(&["--color=always", "reference", "/dev/null/x"]).output().unwrap();
    assert!(unwanted.stderr.contains(&0x1b), "asked for, so given");
    let refused = ballast(&["reference", "/dev/null/x"]).env("NO_COLOR", "1").output().unwrap();
    assert!(!refused.stderr.contains(&0x1b));
}

#[test]
fn an_error_is_told_with_its_cause() {
    ballast(&["reference", "/dev/null/x"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: cannot make /dev/null/x
  caused by: Not a directory (os error 20)

"#]]);
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let made = ballast(&["completions", shell]).output().unwrap();
        assert!(made.status.success() && made.stdout.len() > 500, "{shell}");
        assert!(made.stderr.is_empty(), "{shell}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(cargo_bin!("ballast"))
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(ended.stderr.is_empty());
}

#[test]
fn an_address_without_a_host_is_told_how_to_write_it() {
    ballast(&["demo", "--listen", "8080"]).assert().code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: invalid value '8080' for '--listen <ADDR>': write an address with its port, such as 127.0.0.1:8080

For more information, try '--help'.

"#]]);
}

//! A transcript of a terminal: commands and what they print.

use super::compare;
use super::fence::Fence;

/// A command with what a page says of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command<'a> {
    /// The line of the page on which it begins, counted from 0.
    pub(super) line: usize,
    /// What bash runs.
    pub(super) script: String,
    /// The lines of the page that say what it prints, counted from 0.
    pub(super) output_start: usize,
    /// What it prints.
    pub(super) output: Vec<&'a str>,
    /// Whether the next command asks for its exit code.
    pub(super) may_fail: bool,
}

/// The commands of a fence: each `$ ` of a `console`, the whole of a `sh`, none of anything else.
pub(super) fn read<'a>(fence: &Fence<'a>) -> Vec<Command<'a>> {
    match fence.language {
        "console" => transcript(fence),
        "sh" => vec![Command {
            line: fence.start,
            // Every line of it has to succeed, not only the last.
            script: format!("set -e\n{}", fence.lines.join("\n")),
            output_start: fence.start + fence.lines.len(),
            output: vec![compare::ANYTHING],
            may_fail: false,
        }],
        _ => Vec::new(),
    }
}

fn transcript<'a>(fence: &Fence<'a>) -> Vec<Command<'a>> {
    let mut commands: Vec<Command<'a>> = Vec::new();
    let mut goes_on = false;
    for (number, &line) in (fence.start..).zip(&fence.lines) {
        match (commands.last_mut(), line.strip_prefix("$ ")) {
            (Some(last), None) if goes_on => {
                last.script.push('\n');
                last.script.push_str(line);
                last.output_start = number + 1;
                goes_on = line.ends_with('\\');
            }
            (_, Some(script)) => {
                let script = script.to_owned();
                goes_on = script.ends_with('\\');
                let output_start = number + 1;
                commands.push(Command {
                    line: number,
                    script,
                    output_start,
                    output: Vec::new(),
                    may_fail: false,
                });
            }
            (Some(last), None) => last.output.push(line),
            // What stands above the first command is no output of anything.
            (None, None) => {}
        }
    }
    for next in 1..commands.len() {
        commands[next - 1].may_fail = commands[next].script.trim() == "echo $?";
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_commands_their_output_and_who_may_fail() {
        let lines = vec!["$ a \\", "  --b", "one", "two", "$ c", "$ echo $?", "2"];
        let fence = Fence { language: "console", start: 10, lines, ..Fence::default() };
        let commands = read(&fence);
        assert_eq!(commands[0].script, "a \\\n  --b");
        assert_eq!((commands[0].line, commands[0].output_start), (10, 12));
        assert_eq!(commands[0].output, ["one", "two"]);
        assert!(commands[1].output.is_empty(), "it prints nothing");
        let may_fail: Vec<bool> = commands.iter().map(|command| command.may_fail).collect();
        assert_eq!(may_fail, [false, true, false]);
    }

    #[test]
    fn a_script_is_one_command_and_data_is_none() {
        let fence = |language| Fence { language, start: 0, lines: vec!["a", "b"], ..Fence::default() };
        let script = &read(&fence("sh"))[0];
        assert_eq!((&*script.script, &script.output[..]), ("set -e\na\nb", &[compare::ANYTHING][..]));
        assert!(read(&fence("yaml")).is_empty());
    }
}

//! What is wrong with a document, where, and what would be right.

use std::fmt;

use super::check::Finding;
use super::printable;
use super::read::{What, words_in_words};
use super::source::{Place, Snippet, Source};
use super::suggest::nearest;
use super::tree::{Node, Path, Segment};

/// One thing that is wrong, with its place, what is allowed and, for a likely slip, what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What kind of problem it is.
    pub code: ProblemCode,
    /// Where it is.
    pub place: Place,
    /// The field, from the root of its document; empty where the file itself is meant.
    pub path: Path,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What is allowed there.
    pub allowed: Option<String>,
    /// What was probably meant.
    pub suggestion: Option<String>,
    /// The line, where the file is text.
    pub snippet: Option<Snippet>,
}

/// The kinds of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemCode {
    /// The file is not text in UTF-8.
    NotUtf8,
    /// The text is neither YAML nor JSON, or ends too early.
    Syntax,
    /// A limit of size, number or depth is passed.
    TooLarge,
    /// A key stands twice in a mapping.
    DuplicateKey,
    /// The kind or API version is not one that is known.
    UnknownKind,
    /// A field that the document does not have.
    UnknownField,
    /// A field that must be there is not.
    MissingField,
    /// A value that is not allowed in its field.
    InvalidValue,
    /// Two values that contradict each other.
    Contradiction,
    /// Two documents that are the same or contradict each other.
    Conflict,
    /// Allowed, and probably not what is meant: it keeps nothing from being loaded.
    Doubtful,
}

/// All problems of a set of files, in the order of the files. Nothing of the files is used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an unread problem helps nobody"]
pub struct Problems {
    /// The first of them.
    pub list: Vec<Problem>,
    /// Whether there were more than are listed.
    pub more: bool,
}

/// Problems listed at most; whoever has more begins with these.
pub const PROBLEMS_MAX: usize = 50;

impl Problem {
    pub(crate) fn new(source: &Source<'_>, at: u32, path: Path, code: ProblemCode, message: String) -> Self {
        let snippet = (!source.text.is_empty()).then(|| source.snippet(at));
        Self { code, place: source.place(at), path, message, allowed: None, suggestion: None, snippet }
    }

    /// The problem of a finding whose place is known; `base` leads to its document.
    pub(crate) fn of_finding(source: &Source<'_>, at: u32, base: &Path, finding: Finding) -> Self {
        let Finding { path, code, message, allowed, suggestion } = finding;
        Self { allowed, suggestion, ..Self::new(source, at, base.join(&path), code, message) }
    }

    /// The problem of a value that could not be read; `path` leads to it from `node`, and `base` to `node`.
    pub(crate) fn of_wrong(
        source: &Source<'_>,
        base: &Path,
        node: &Node<'_>,
        path: &[Segment],
        what: What,
    ) -> Self {
        let at = match what {
            What::UnknownField(..) | What::Twice(..) => node.key_place_of(path),
            _ => node.place_of(path),
        };
        let path = base.join(&Path(path.to_vec()));
        let is_type = matches!(what, What::Type { .. });
        let mut told = told(what);
        if let Some(number) = leading_zeros(source, at).filter(|_| is_type) {
            told.message = format!("a number does not begin with 0: `{number}` is not allowed here");
            told.suggestion = Some(format!("did you mean `{}`?", number.trim_start_matches('0')));
        }
        Self {
            allowed: told.allowed,
            suggestion: told.suggestion,
            ..Self::new(source, at, path, told.code, told.message)
        }
    }
}

/// The whole number that stands at a place, where it begins with zeros: YAML makes something else of it.
fn leading_zeros<'t>(source: &'t Source<'_>, at: u32) -> Option<&'t str> {
    let rest = source.text.get(at as usize..)?;
    let end =
        rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.').unwrap_or(rest.len());
    let is_number = rest[..end].bytes().all(|byte| byte.is_ascii_digit());
    let number = rest[..end].trim_start_matches('0');
    (is_number && !number.is_empty() && number.len() < end).then_some(&rest[..end])
}

/// What is told of a value that could not be read.
struct Told {
    code: ProblemCode,
    message: String,
    allowed: Option<String>,
    suggestion: Option<String>,
}

fn told(what: What) -> Told {
    let did_you_mean = |word: &str, allowed: &[&'static str]| {
        nearest(word, allowed.iter().copied()).map(|meant| format!("did you mean `{meant}`?"))
    };
    let plain = |code, message| Told { code, message, allowed: None, suggestion: None };
    match what {
        What::UnknownField(field, allowed) => Told {
            suggestion: did_you_mean(&field, allowed),
            allowed: Some(words_in_words(allowed)),
            ..plain(ProblemCode::UnknownField, format!("there is no field `{}`", printable(&field, 60)))
        },
        What::UnknownWord(word, allowed) => Told {
            suggestion: did_you_mean(&word, allowed),
            allowed: Some(words_in_words(allowed)),
            ..plain(ProblemCode::InvalidValue, format!("`{}` is not allowed here", printable(&word, 60)))
        },
        What::Missing(field) => plain(ProblemCode::MissingField, format!("the field `{field}` is missing")),
        What::Twice(field) => plain(ProblemCode::DuplicateKey, format!("the field `{field}` stands twice")),
        What::Type { found, expected, help } => Told {
            suggestion: help,
            allowed: Some(expected),
            ..plain(ProblemCode::InvalidValue, format!("{found} is not allowed here"))
        },
        What::Said(message) => plain(ProblemCode::InvalidValue, printable(&message, 400)),
    }
}

impl fmt::Display for Problem {
    /// The problem as compilers show it: message, place, line with a mark, what is allowed, what was meant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, place, path, message, allowed, suggestion, snippet } = self;
        write!(f, "{}: ", if *code == ProblemCode::Doubtful { "warning" } else { "error" })?;
        if !path.0.is_empty() {
            write!(f, "{path}: ")?;
        }
        writeln!(f, "{message}")?;
        let number = place.line.to_string();
        let margin = " ".repeat(number.len());
        write!(f, "{margin}--> {place}")?;
        if let Some(Snippet { text, before, width }) = snippet {
            let (indent, mark) = (" ".repeat(*before), "^".repeat(*width));
            write!(f, "\n{margin} |\n{number} | {text}\n{margin} | {indent}{mark}")?;
        }
        if let Some(allowed) = allowed {
            write!(f, "\n{margin} = allowed: {allowed}")?;
        }
        if let Some(suggestion) = suggestion {
            write!(f, "\n{margin} = help: {suggestion}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.list {
            writeln!(f, "{problem}\n")?;
        }
        let count = self.list.len();
        let (more, s) = (if self.more { "more than " } else { "" }, if count == 1 { "" } else { "s" });
        write!(f, "{more}{count} problem{s}; nothing was loaded")
    }
}

impl std::error::Error for Problems {}

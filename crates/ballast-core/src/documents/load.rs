//! The way of files from bytes to typed documents.

use super::across::{Across, Clash};
use super::document::Document;
use super::gangs::tell_sizes;
use super::json::{JsonError, Reader};
use super::problem::{PROBLEMS_MAX, Problem, ProblemCode, Problems};
use super::source::{File, Source};
use super::split::{Outer, is_json, json_outer, yaml_documents};
use super::tree::{Node, Path, Value};
use super::yaml::{self, YamlError};
use super::{DOCUMENTS_MAX, Documents, FILE_BYTES_MAX, YAML_DOCUMENT_BYTES_MAX};
use crate::kube::Sharing;

/// Reads and checks all documents of all files. Either everything is good, or nothing is returned but what is wrong.
pub fn load(files: &[File]) -> Result<Documents, Problems> {
    let mut loader = Loader::default();
    for file in files {
        loader.file(file);
        if loader.is_full() {
            break;
        }
    }
    loader.finish()
}

/// What is being gathered.
#[derive(Default)]
pub(super) struct Loader<'f> {
    pub(super) documents: Documents,
    pub(super) shared: Sharing,
    pub(super) across: Across,
    sources: Vec<Source<'f>>,
    problems: Vec<(usize, Problem)>,
    more: bool,
    count: usize,
}

impl<'f> Loader<'f> {
    fn file(&mut self, file: &'f File) {
        let Some(text) = self.text(file) else { return };
        if is_json(&file.name, text) {
            self.json(text);
        } else {
            self.yaml(text);
        }
    }

    /// The text of a file, which becomes the one that is being read.
    pub(super) fn text(&mut self, file: &'f File) -> Option<&'f str> {
        if file.bytes.len() > FILE_BYTES_MAX {
            self.sources.push(Source::new(&file.name, ""));
            let message = too_large("the file", file.bytes.len(), FILE_BYTES_MAX);
            self.complain_at(0, ProblemCode::TooLarge, message);
            return None;
        }
        match std::str::from_utf8(&file.bytes) {
            Ok(text) => {
                self.sources.push(Source::new(&file.name, text));
                Some(text)
            }
            Err(error) => {
                self.not_utf8(file, error.valid_up_to());
                None
            }
        }
    }

    fn not_utf8(&mut self, file: &File, good: usize) {
        let text = String::from_utf8_lossy(&file.bytes[..file.bytes.len().min(good + 200)]);
        self.sources.push(Source::new(&file.name, text.into_owned()));
        let is_utf16 = file.bytes.starts_with(&[0xff, 0xfe]) || file.bytes.starts_with(&[0xfe, 0xff]);
        let byte = file.bytes.get(good).copied().unwrap_or_default();
        let mut problem = self.problem_at(
            good as u32,
            ProblemCode::NotUtf8,
            format!("byte 0x{byte:02x} is not text in UTF-8"),
        );
        problem.suggestion = Some(if is_utf16 {
            "the file looks like UTF-16: save it as UTF-8".into()
        } else {
            "the file is damaged, compressed or not a text: save it as UTF-8".into()
        });
        self.complain(problem);
    }

    /// Reads JSON values one after the other.
    fn json(&mut self, text: &'f str) {
        let mut reader = Reader::new(text, if text.starts_with('\u{feff}') { 3 } else { 0 });
        while reader.peek().is_some() && !self.is_full() {
            match json_outer(text, &mut reader) {
                Ok(Outer::Document(node)) => self.tree(node, Path::default()),
                Ok(Outer::Items(list, items)) => {
                    self.ends(&list);
                    self.json_items(text, &Path::default().key("items"), Some(&list), &items)
                }
                Ok(Outer::List(items)) => self.json_items(text, &Path::default(), None, &items),
                Err(error) => return self.bad_json(&error),
            }
        }
    }

    fn json_items(&mut self, text: &'f str, base: &Path, list: Option<&Node<'f>>, items: &[u32]) {
        for (index, start) in items.iter().enumerate() {
            if self.is_full() {
                return;
            }
            match Reader::new(text, *start as usize).value(2) {
                Ok(node) => self.item(node, base.index(index), list),
                Err(error) => return self.bad_json(&error),
            }
        }
    }

    pub(super) fn bad_json(&mut self, error: &JsonError) {
        let mut problem = self.problem_at(error.at, ProblemCode::Syntax, error.message.to_owned());
        if error.is_cut_off {
            problem.suggestion = Some("the file seems to be cut off: write it again as a whole".into());
        }
        self.complain(problem);
    }

    /// Reads the documents of a YAML stream; a broken one does not hide the others.
    fn yaml(&mut self, text: &'f str) {
        for range in yaml_documents(text) {
            if self.is_full() {
                return;
            }
            let base = range.start as u32;
            let document = &text[range];
            if document.len() > YAML_DOCUMENT_BYTES_MAX {
                let message = too_large("a YAML document", document.len(), YAML_DOCUMENT_BYTES_MAX);
                let mut problem = self.problem_at(base, ProblemCode::TooLarge, message);
                problem.suggestion = Some("JSON is read item by item: `kubectl get … -o json`".into());
                self.complain(problem);
                continue;
            }
            match yaml::read(document, base, false) {
                Ok(node) => self.tree(node, Path::default()),
                Err(error) if error.code == ProblemCode::DuplicateKey => {
                    self.duplicate_in_yaml(document, base, error)
                }
                Err(error) => self.complain_at(error.at, error.code, error.message),
            }
        }
    }

    /// Reads the document with all its keys, so that each one that stands twice is told, and the rest is judged as well.
    fn duplicate_in_yaml(&mut self, document: &'f str, base: u32, error: YamlError) {
        let before = self.problems.len();
        if let Ok(node) = yaml::read(document, base, true) {
            self.tree(node, Path::default());
        }
        let is_told = self.problems[before..].iter().any(|(_, told)| told.code == ProblemCode::DuplicateKey);
        if !is_told {
            self.complain_at(error.at, ProblemCode::DuplicateKey, error.message);
        }
    }

    /// Takes a value of the outermost level: a document, or a list of them.
    fn tree(&mut self, mut node: Node<'f>, base: Path) {
        if let Value::List(items) = node.value {
            for (index, item) in items.into_iter().enumerate() {
                self.item(item, base.index(index), None);
            }
            return;
        }
        let is_list = node.get("kind").and_then(Node::text).is_some_and(|kind| kind.ends_with("List"));
        if is_list && let Some(items) = take_items(&mut node) {
            self.ends(&node);
            let base = base.key("items");
            for (index, item) in items.into_iter().enumerate() {
                self.item(item, base.index(index), Some(&node));
            }
            return;
        }
        self.item(node, base, None);
    }

    /// Complains of a list that says itself that it goes on elsewhere: what it lacks would count as not there.
    fn ends(&mut self, list: &Node<'f>) {
        let next = list.get("metadata").and_then(|metadata| metadata.get("continue"));
        let Some(next) = next.filter(|next| next.text().is_some_and(|text| !text.is_empty())) else { return };
        let path = Path::default().key("metadata").key("continue");
        let message = "the list goes on: this is a part of it".to_owned();
        let mut problem = Problem::new(self.source(), next.at, path, ProblemCode::Contradiction, message);
        problem.suggestion = Some("write it as a whole: `kubectl get`, or the API without `limit`".into());
        self.complain(problem);
    }

    /// Takes one document; an item of a typed list may leave its kind to the list.
    fn item(&mut self, node: Node<'f>, base: Path, list: Option<&Node<'f>>) {
        self.count += 1;
        if self.count == DOCUMENTS_MAX + 1 {
            let message = format!("more than {DOCUMENTS_MAX} documents");
            self.complain_at(node.at, ProblemCode::TooLarge, message);
            self.more = true;
        }
        if !self.is_full() && self.count <= DOCUMENTS_MAX {
            Document::new(node, base).take(self, list);
        }
    }

    /// The file that is being read.
    pub(super) fn source(&self) -> &Source<'f> {
        self.sources.last().expect("a file is pushed before it is read")
    }

    /// The number of the file that is being read.
    pub(super) fn file_number(&self) -> usize {
        self.sources.len() - 1
    }

    fn problem_at(&self, at: u32, code: ProblemCode, message: String) -> Problem {
        Problem::new(self.source(), at, Path::default(), code, message)
    }

    pub(super) fn complain_at(&mut self, at: u32, code: ProblemCode, message: String) {
        let problem = self.problem_at(at, code, message);
        self.complain(problem);
    }

    /// Adds a problem of the file that is being read.
    pub(super) fn complain(&mut self, problem: Problem) {
        self.complain_in(self.file_number(), problem);
    }

    /// Adds a problem of the file that is being read, which is made only when it is listed: a file may have a hundred
    /// thousand, and each wants its place and its line.
    pub(super) fn complain_of(&mut self, problem: impl FnOnce(&Source<'f>) -> Problem) {
        if self.is_full() {
            self.more = true;
        } else {
            let problem = problem(self.source());
            self.complain(problem);
        }
    }

    /// Adds a problem of a file.
    pub(super) fn complain_in(&mut self, file: usize, problem: Problem) {
        if self.is_full() {
            self.more = true;
        } else {
            self.problems.push((file, problem));
        }
    }

    /// Whether no more problems are listed, so that reading on is of no use.
    pub(super) fn is_full(&self) -> bool {
        self.more || self.problems.len() >= PROBLEMS_MAX
    }

    fn complain_of_clash(&mut self, clash: Clash) {
        let Clash { spot, mut finding, other } = clash;
        if let Some(other) = other {
            let place = self.sources[other.file].place(other.at);
            finding.message = format!("{}; the first is at {place}", finding.message);
        }
        let problem = Problem::of_finding(&self.sources[spot.file], spot.at, &Path::default(), finding);
        self.complain_in(spot.file, problem);
    }

    pub(super) fn finish(mut self) -> Result<Documents, Problems> {
        let across = std::mem::take(&mut self.across);
        for clash in across.check(&self.documents) {
            self.complain_of_clash(clash);
        }
        let is_error = |(_, problem): &(usize, Problem)| problem.code != ProblemCode::Doubtful;
        if !self.problems.iter().any(is_error) {
            self.documents.doubts = self.problems.into_iter().map(|(_, problem)| problem).collect();
            self.documents.observations.sort_by_key(|placed| placed.value.taken_at);
            tell_sizes(&mut self.documents);
            return Ok(self.documents);
        }
        // What is doubtful can wait until what is wrong is mended.
        self.problems.retain(is_error);
        // Several problems may be found in one place by way of its surroundings; each is told once.
        self.problems.sort_by_key(|(file, problem)| (*file, problem.place.line, problem.place.column));
        let mut list: Vec<Problem> = self.problems.into_iter().map(|(_, problem)| problem).collect();
        list.dedup();
        let more = self.more || list.len() >= PROBLEMS_MAX;
        Err(Problems { list, more })
    }
}

fn take_items<'s>(node: &mut Node<'s>) -> Option<Vec<Node<'s>>> {
    let Value::Map(entries) = &mut node.value else { return None };
    let items = entries.iter_mut().find(|entry| entry.key == "items")?;
    match std::mem::replace(&mut items.node.value, Value::Null) {
        Value::List(items) => Some(items),
        // An empty list from an old client is written as nothing.
        Value::Null => Some(Vec::new()),
        other => {
            items.node.value = other;
            None
        }
    }
}

fn too_large(what: &str, bytes: usize, bytes_max: usize) -> String {
    let mib = |bytes: usize| bytes.div_ceil(1 << 20);
    format!("{what} has {} MiB, and at most {} MiB are read", mib(bytes), mib(bytes_max))
}

//! A file that is one value, which somebody else gives a meaning to.

use std::sync::Arc;

use super::json::Reader;
use super::load::Loader;
use super::problem::{ProblemCode, Problems};
use super::source::File;
use super::split::{is_json, yaml_documents};
use super::tree::{Node, Path};
use super::{Part, yaml};

/// Reads a file that holds one value, as YAML or JSON, or says what stands in the way.
pub fn whole(file: &File) -> Result<Part, Problems> {
    let mut loader = Loader::default();
    let node = loader.whole(file).map(Node::into_owned);
    let source = Arc::new(loader.source().to_owned());
    loader.finish()?;
    // What is no value was complained about.
    let node = node.ok_or(Problems { list: Vec::new(), more: false })?;
    Ok(Part::new(source, Path::default(), node))
}

impl<'f> Loader<'f> {
    fn whole(&mut self, file: &'f File) -> Option<Node<'f>> {
        let text = self.text(file)?;
        if is_json(&file.name, text) {
            let mut reader = Reader::new(text, 0);
            let node = reader.value(0).map_err(|error| self.bad_json(&error)).ok()?;
            return match reader.peek() {
                None => Some(node),
                Some(_) => self.not_one(reader.position()),
            };
        }
        match &yaml_documents(text)[..] {
            [one] => {
                let read = yaml::read(&text[one.clone()], one.start as u32, false);
                read.map_err(|error| self.complain_at(error.at, error.code, error.message)).ok()
            }
            [] => self.not_one(0),
            [_, second, ..] => self.not_one(second.start),
        }
    }

    fn not_one(&mut self, at: usize) -> Option<Node<'f>> {
        let message =
            if at == 0 { "there is nothing in it" } else { "one value is wanted, and here begins another" };
        self.complain_at(at as u32, ProblemCode::Syntax, message.to_owned());
        None
    }
}

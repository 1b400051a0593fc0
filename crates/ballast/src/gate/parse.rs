//! From words to a tree that makes sense: numbers where numbers belong, conditions where conditions do.

use std::ops::Range;

use super::words::{Word, Words, split};
use super::{Gate, Kind, Mistake, Node};

/// Deeper nesting is a mistake, and would end on the stack.
const DEPTH_MAX: u32 = 64;

/// A longer chain would end on the stack too.
const WORDS_MAX: usize = 1000;

/// Reads a condition.
pub fn parse(text: &str) -> Result<Gate, Mistake> {
    let words = split(text)?;
    if words.is_empty() {
        return Err(Mistake::new(text, 0..0, "a condition is missing"));
    }
    if words.len() > WORDS_MAX {
        return Err(Mistake::new(text, 0..0, format!("too long: at most {WORDS_MAX} words")));
    }
    let mut parser = Parser { text, words, at: 0, depth: 0 };
    let root = parser.any()?;
    if let Some((_, place)) = parser.words.get(parser.at) {
        return Err(parser.wrong(place.clone(), "this is one too many"));
    }
    let root = parser.condition(root)?;
    Ok(Gate { text: text.to_owned(), root })
}

struct Parser<'a> {
    text: &'a str,
    words: Words,
    at: usize,
    depth: u32,
}

type Parsed = Result<Node, Mistake>;

impl Parser<'_> {
    fn any(&mut self) -> Parsed {
        let mut left = self.all()?;
        while self.take(&Word::Or) {
            let right = self.all()?;
            left = self.join(left, right, true, Kind::Or)?;
        }
        Ok(left)
    }

    fn all(&mut self) -> Parsed {
        let mut left = self.comparison()?;
        while self.take(&Word::And) {
            let right = self.comparison()?;
            left = self.join(left, right, true, Kind::And)?;
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Parsed {
        let left = self.sum()?;
        let Some(&(Word::Comparison(comparison), _)) = self.words.get(self.at) else { return Ok(left) };
        self.at += 1;
        let right = self.sum()?;
        self.join(left, right, false, |left, right| Kind::Comparison(comparison, left, right))
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            let right = self.product()?;
            left = self.join(left, right, false, |left, right| Kind::Arithmetic(sign, left, right))?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.single()?;
        while let Some(sign) = self.sign(&['*', '/']) {
            let right = self.single()?;
            left = self.join(left, right, false, |left, right| Kind::Arithmetic(sign, left, right))?;
        }
        Ok(left)
    }

    fn single(&mut self) -> Parsed {
        let end = self.text.len();
        let Some((word, place)) = self.words.get(self.at).cloned() else {
            return Err(self.wrong(end..end, "a number or a name is missing here"));
        };
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong(place, format!("too deep: at most {DEPTH_MAX} levels")));
        }
        self.at += 1;
        let node = match word {
            Word::Number(number) => Node { place, kind: Kind::Number(number) },
            Word::Name(name) => Node { place, kind: Kind::Name(name) },
            Word::Open => self.inside(place)?,
            Word::Not => {
                let inner = self.single()?;
                let inner = self.condition(inner)?;
                Node { place: place.start..inner.place.end, kind: Kind::Not(Box::new(inner)) }
            }
            Word::Sign('-') => {
                let inner = self.single()?;
                let inner = self.number(inner)?;
                Node { place: place.start..inner.place.end, kind: Kind::Negative(Box::new(inner)) }
            }
            _ => return Err(self.wrong(place, "a number or a name is missing here")),
        };
        self.depth -= 1;
        Ok(node)
    }

    fn inside(&mut self, open: Range<usize>) -> Parsed {
        let inner = self.any()?;
        let close = self.words.get(self.at).map(|(_, place)| place.end);
        if !self.take(&Word::Close) {
            return Err(self.wrong(open, "the parenthesis is not closed"));
        }
        Ok(Node { place: open.start..close.unwrap_or(open.end), kind: inner.kind })
    }

    fn join(
        &self,
        left: Node,
        right: Node,
        conditions: bool,
        kind: impl FnOnce(Box<Node>, Box<Node>) -> Kind,
    ) -> Parsed {
        let judge = |node| if conditions { self.condition(node) } else { self.number(node) };
        let (left, right) = (judge(left)?, judge(right)?);
        Ok(Node { place: left.place.start..right.place.end, kind: kind(Box::new(left), Box::new(right)) })
    }

    fn condition(&self, node: Node) -> Parsed {
        if node.is_condition() {
            return Ok(node);
        }
        Err(self.wrong(node.place, "this is a number, not a condition: compare it with something"))
    }

    fn number(&self, node: Node) -> Parsed {
        if node.is_condition() {
            Err(self.wrong(node.place, "this is a condition, not a number"))
        } else {
            Ok(node)
        }
    }

    fn sign(&mut self, signs: &[char]) -> Option<char> {
        match self.words.get(self.at) {
            Some((Word::Sign(sign), _)) if signs.contains(sign) => {
                let sign = *sign;
                self.at += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    fn take(&mut self, word: &Word) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|(next, _)| next == word);
        self.at += usize::from(is_next);
        is_next
    }

    fn wrong(&self, place: Range<usize>, message: impl Into<String>) -> Mistake {
        Mistake::new(self.text, place, message)
    }
}

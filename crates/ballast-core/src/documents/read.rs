//! A tree in, a typed value or every reason why not out.
//!
//! serde stops at the first thing it does not like. Here what it did not like is cut out of the tree and the rest is read
//! again, until nothing is left to complain about: so that a person sees all slips of a document at once.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::printable;
use super::problem::PROBLEMS_MAX;
use super::suggest::nearest;
use super::tree::{Entry, Node, Segment, Value};

/// Why a value could not be read, and the path to it.
#[derive(Debug)]
pub(crate) struct ReadError(Box<Wrong>);

#[derive(Debug)]
pub(crate) struct Wrong {
    /// Innermost first while the error travels outward.
    path: Vec<Segment>,
    pub(crate) what: What,
}

/// What is wrong.
#[derive(Debug)]
pub(crate) enum What {
    /// A field that is not known; those that are.
    UnknownField(String, &'static [&'static str]),
    /// A word that is not among those that are known.
    UnknownWord(String, &'static [&'static str]),
    /// A field that must be there.
    Missing(&'static str),
    /// A field that stands twice.
    Twice(String),
    /// A value of another type; whether quotes would mend it.
    Type { found: String, expected: String, help: Option<String> },
    /// Whatever the type itself said.
    Said(String),
}

/// How fields that a type does not know are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As slips, whatever the type says: for documents of ours, also where they use types of Kubernetes.
    Strict,
    /// As the type says: for what foreign systems write, which may know more than we do.
    Lenient,
}

/// Reads a value; `complain` gets everything that is wrong with it. Nothing is returned after a complaint.
pub(crate) fn read<T: DeserializeOwned>(
    node: &mut Node<'_>,
    manner: Manner,
    mut complain: impl FnMut(&Node<'_>, &[Segment], What),
) -> Option<T> {
    let mut complaints = 0;
    loop {
        let error = match T::deserialize(At { node, manner }) {
            Ok(value) => return (complaints == 0).then_some(value),
            Err(error) => error,
        };
        let Wrong { mut path, what } = *error.0;
        path.reverse();
        if !follows_from_cut(node, &path, &what) {
            complaints += 1;
            complain(node, &path, what);
        }
        if complaints >= PROBLEMS_MAX || !node.cut(&path) {
            return None;
        }
    }
}

/// Whether something is wrong only because a part of it was cut out after a complaint.
fn follows_from_cut(node: &Node<'_>, path: &[Segment], what: &What) -> bool {
    let found = path.iter().try_fold(node, |node, segment| match (segment, &node.value) {
        (Segment::Key(key), _) => node.get(key),
        (Segment::Index(index), Value::List(nodes)) => nodes.get(*index),
        _ => None,
    });
    let Some(found) = found else { return false };
    let is_cut = |node: &Node<'_>| node.value == Value::Cut;
    match (what, &found.value) {
        // A field is also missing where it was there under a name that is almost its own.
        (What::Missing(field), Value::Map(entries)) => {
            let meant = |entry: &Entry<'_>| &*entry.key == *field || nearest(&entry.key, [*field]).is_some();
            entries.iter().any(|entry| is_cut(&entry.node) && meant(entry))
        }
        (What::Type { .. } | What::Said(_), Value::Map(entries)) => {
            entries.iter().any(|entry| is_cut(&entry.node))
        }
        (What::Type { .. } | What::Said(_), Value::List(nodes)) => nodes.iter().any(is_cut),
        _ => false,
    }
}

impl ReadError {
    fn new(what: What) -> Self {
        Self(Box::new(Wrong { path: Vec::new(), what }))
    }

    fn under(mut self, segment: Segment) -> Self {
        self.0.path.push(segment);
        self
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.what)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(What::Said(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = expected.to_string();
        let help = help(found, &expected);
        Self::new(What::Type { found: found_in_words(found), expected: expected_in_words(&expected), help })
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = expected_in_words(&expected.to_string());
        Self::new(What::Type { found: found_in_words(found), expected, help: None })
    }

    fn unknown_field(field: &str, allowed: &'static [&'static str]) -> Self {
        Self::new(What::UnknownField(field.to_owned(), allowed))
    }

    fn unknown_variant(word: &str, allowed: &'static [&'static str]) -> Self {
        Self::new(What::UnknownWord(word.to_owned(), allowed))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(What::Missing(field))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(What::Twice(field.to_owned()))
    }
}

fn found_in_words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(value) => format!("the number {value}"),
        Unexpected::Signed(value) => format!("the number {value}"),
        Unexpected::Float(value) => format!("the number {value}"),
        Unexpected::Str(text) => format!("the text `{}`", printable(text, 60)),
        Unexpected::Unit | Unexpected::Option => "nothing".into(),
        Unexpected::Seq => "a list".into(),
        Unexpected::Map => "a mapping".into(),
        other => other.to_string(),
    }
}

/// What would make a value of another type the one that is expected.
fn help(found: Unexpected<'_>, expected: &str) -> Option<String> {
    match found {
        Unexpected::Unsigned(number) if expected.starts_with("a duration") && number > 0 => {
            Some(format!("add its unit: `{number}s` or `{number}m`"))
        }
        Unexpected::Bool(_) | Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => {
            expected.contains("string").then(quotes)
        }
        _ => None,
    }
}

fn quotes() -> String {
    "put it in double quotes".to_owned()
}

/// serde's words for what it expects, as a person would say them.
fn expected_in_words(expected: &str) -> String {
    match expected {
        "a string" | "a borrowed string" => "a text".into(),
        "a boolean" => "`true` or `false`".into(),
        "a map" => "a mapping".into(),
        "a sequence" => "a list".into(),
        "unit" => "nothing".into(),
        "f64" | "f32" => "a number".into(),
        "u8" => whole_numbers(0, u8::MAX.into()),
        "u16" => whole_numbers(0, u16::MAX.into()),
        "u32" => whole_numbers(0, u32::MAX.into()),
        "u64" => "a whole number from 0 up".into(),
        "i32" => whole_numbers(i32::MIN.into(), i32::MAX.into()),
        "i64" => "a whole number".into(),
        _ if expected.starts_with("struct ") => "a mapping of fields".into(),
        _ => match expected.strip_prefix("an array of length ") {
            Some(length) => format!("a list of {length}"),
            None => expected.to_owned(),
        },
    }
}

fn whole_numbers(from: i64, to: i64) -> String {
    format!("a whole number from {from} to {to}")
}

/// A node as serde reads it.
#[derive(Clone, Copy)]
pub(crate) struct At<'de, 's> {
    node: &'de Node<'s>,
    manner: Manner,
}

impl<'de, 's> At<'de, 's> {
    pub(crate) fn lenient(node: &'de Node<'s>) -> Self {
        Self { node, manner: Manner::Lenient }
    }
}

impl<'de> Deserializer<'de> for At<'de, '_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::Null | Value::Cut => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Unsigned(value) => visitor.visit_u64(*value),
            Value::Signed(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::List(nodes) => visitor.visit_seq(Items { nodes, next: 0, manner: self.manner }),
            Value::Map(entries) => {
                visitor.visit_map(Entries { entries, value: None, fields: None, manner: self.manner })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::Null | Value::Cut => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// A field without a value is read as one that is not there: that is what Kubernetes does.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::Map(entries) => {
                visitor.visit_map(Entries { entries, value: None, fields: Some(fields), manner: self.manner })
            }
            _ => self.deserialize_any(visitor),
        }
    }

    /// A list of a fixed length has that length: what stands beyond would be lost in silence.
    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::List(nodes) if nodes.len() != length => Err(ReadError::new(What::Type {
                found: format!("a list of {}", nodes.len()),
                expected: format!("a list of {length}"),
                help: None,
            })),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::Text(text) => visitor.visit_enum(StrDeserializer::<ReadError>::new(text)),
            Value::Map(entries) if entries.len() == 1 => {
                visitor.visit_enum(Variant { entry: &entries[0], manner: self.manner })
            }
            other => Err(ReadError::new(What::Type {
                found: found_in_words(unexpected(other)),
                expected: words_in_words(words),
                // A version such as `1.36` is a word that looks like a number.
                help: matches!(other, Value::Float(number) if words.contains(&&*number.to_string()))
                    .then(quotes),
            })),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple_struct map identifier
    }
}

/// A list of words for a person: `a`, `b` or `c`.
pub(crate) fn words_in_words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".into(),
    }
}

fn unexpected<'a>(value: &'a Value<'_>) -> Unexpected<'a> {
    match value {
        Value::Null | Value::Cut => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Unsigned(value) => Unexpected::Unsigned(*value),
        Value::Signed(value) => Unexpected::Signed(*value),
        Value::Float(value) => Unexpected::Float(*value),
        Value::Text(text) => Unexpected::Str(text),
        Value::List(_) => Unexpected::Seq,
        Value::Map(_) => Unexpected::Map,
    }
}

struct Items<'de, 's> {
    nodes: &'de [Node<'s>],
    next: usize,
    manner: Manner,
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        while let Some(node) = self.nodes.get(self.next) {
            let index = self.next;
            self.next += 1;
            if node.value != Value::Cut {
                let at = At { node, manner: self.manner };
                return seed.deserialize(at).map(Some).map_err(|error| error.under(Segment::Index(index)));
            }
        }
        Ok(None)
    }
}

struct Entries<'de, 's> {
    entries: &'de [Entry<'s>],
    value: Option<&'de Entry<'s>>,
    /// The fields of the struct that is read; none for a map with keys of any kind.
    fields: Option<&'static [&'static str]>,
    manner: Manner,
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        while let Some((entry, rest)) = self.entries.split_first() {
            self.entries = rest;
            if entry.node.value == Value::Cut {
                continue;
            }
            // Also where it holds nothing: `98,32` in a mapping is a price and a field `32`.
            if let (Some(fields), Manner::Strict) = (self.fields, self.manner)
                && !fields.contains(&&*entry.key)
            {
                return Err(ReadError::new(What::UnknownField(entry.key.clone().into_owned(), fields))
                    .under(segment(entry)));
            }
            let is_told = entry.node.value != Value::Null || self.fields.is_none();
            if is_told {
                self.value = Some(entry);
                let key = StrDeserializer::<ReadError>::new(&entry.key);
                return seed.deserialize(key).map(Some).map_err(|error| error.under(segment(entry)));
            }
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ReadError> {
        let entry =
            self.value.take().ok_or_else(|| ReadError::new(What::Said("a value before its key".into())))?;
        let at = At { node: &entry.node, manner: self.manner };
        seed.deserialize(at).map_err(|error| error.under(segment(entry)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

fn segment(entry: &Entry<'_>) -> Segment {
    Segment::Key(entry.key.clone().into_owned())
}

/// A variant with a value: a mapping of one entry.
struct Variant<'de, 's> {
    entry: &'de Entry<'s>,
    manner: Manner,
}

impl<'de, 's> Variant<'de, 's> {
    fn at(&self) -> At<'de, 's> {
        At { node: &self.entry.node, manner: self.manner }
    }
}

impl<'de> EnumAccess<'de> for Variant<'de, '_> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        let word = (&*self.entry.key).into_deserializer();
        let variant = seed.deserialize::<StrDeserializer<'_, ReadError>>(word);
        Ok((variant.map_err(|error| error.under(segment(self.entry)))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de, '_> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        let what = What::Type { found: "a mapping".into(), expected: "the word alone".into(), help: None };
        Err(ReadError::new(what))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(self.at()).map_err(|error| error.under(segment(self.entry)))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.at().deserialize_any(visitor).map_err(|error| error.under(segment(self.entry)))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let read = self.at().deserialize_struct("", fields, visitor);
        read.map_err(|error| error.under(segment(self.entry)))
    }
}

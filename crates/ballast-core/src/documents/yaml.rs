//! YAML text in, a tree with places out. One document at a time: the stream is split before.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Location, Spanned};

use super::printable;
use super::problem::ProblemCode;
use super::source::Source;
use super::tree::{DEPTH_MAX, Entry, Node, Value};

/// Why a text is not YAML, and where.
#[derive(Debug)]
pub(crate) struct YamlError {
    pub(crate) at: u32,
    pub(crate) message: String,
    pub(crate) code: ProblemCode,
}

/// Reads the document that begins at `base` bytes into the file. Where a key stands twice, `last_wins` decides between an
/// error and the later one.
pub(crate) fn read<'s>(text: &'s str, base: u32, last_wins: bool) -> Result<Node<'s>, YamlError> {
    let read =
        serde_saphyr::from_str_with_options::<Spanned<Written<'_>>>(text, options(text.len(), last_wins));
    match read {
        Ok(written) => Ok(placed(written, base)),
        Err(error) => Err(explain(&error, text, base)),
    }
}

/// Limits that follow from the size of the text: a tree may not become much larger than what it was made from.
fn options(bytes: usize, last_wins: bool) -> serde_saphyr::Options {
    // Two bytes make the smallest node, and every event belongs to one; aliases may add some.
    let nodes = bytes + 10_000;
    let mut budget = serde_saphyr::Budget::default();
    budget.max_events = 2 * nodes;
    budget.max_nodes = nodes;
    budget.max_depth = DEPTH_MAX;
    budget.flow_nesting_limit = DEPTH_MAX;
    budget.max_total_scalar_bytes = 2 * bytes + (1 << 20);
    // Anchors are for people who write by hand: a few hundred are plenty.
    budget.max_anchors = 1000;
    budget.max_aliases = 1000;
    budget.max_merge_keys = 1000;
    let mut options = serde_saphyr::Options::default();
    options.budget = Some(budget);
    options.duplicate_keys = if last_wins { DuplicateKeyPolicy::LastWins } else { DuplicateKeyPolicy::Error };
    options.merge_keys = MergeKeyPolicy::Merge;
    // A tree that aliases blow up is bounded like one that is written out.
    options.alias_limits.max_total_replayed_events = 100_000;
    options.alias_limits.max_replay_stack_depth = 16;
    // Kubernetes reads `yes` and `on` as text only when quoted; we read them as text and say so where a switch is meant.
    options.strict_booleans = true;
    options.non_finite_float_policy = NonFiniteFloatPolicy::PassThrough;
    options.with_snippet = false;
    options
}

/// What serde-saphyr hands over before places are joined to it.
enum Written<'s> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(Cow<'s, str>),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<Key<'s>>, Spanned<Self>)>),
}

struct Key<'s>(Cow<'s, str>);

fn placed<'s>(written: Spanned<Written<'s>>, base: u32) -> Node<'s> {
    let at = offset(&written.referenced, base);
    let value = match written.value {
        Written::Null => Value::Null,
        Written::Bool(value) => Value::Bool(value),
        Written::Unsigned(value) => Value::Unsigned(value),
        Written::Signed(value) => Value::Signed(value),
        Written::Float(value) => Value::Float(value),
        Written::Text(text) => Value::Text(text),
        Written::List(items) => Value::List(items.into_iter().map(|item| placed(item, base)).collect()),
        Written::Map(entries) => Value::Map(entries.into_iter().map(|entry| entry_of(entry, base)).collect()),
    };
    Node::new(at, value)
}

fn entry_of<'s>((key, value): (Spanned<Key<'s>>, Spanned<Written<'s>>), base: u32) -> Entry<'s> {
    let key_at = offset(&key.referenced, base);
    Entry { key: key.value.0, key_at, node: placed(value, base) }
}

fn offset(location: &Location, base: u32) -> u32 {
    base.saturating_add(location.span().byte_offset().unwrap_or(0) as u32)
}

impl<'de: 's, 's> Deserialize<'de> for Written<'s> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any<'s>(std::marker::PhantomData<&'s str>);
        impl<'de: 's, 's> Visitor<'de> for Any<'s> {
            type Value = Written<'s>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Written<'s>, E> {
                Ok(Written::Null)
            }
            fn visit_none<E: de::Error>(self) -> Result<Written<'s>, E> {
                Ok(Written::Null)
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Written<'s>, D::Error> {
                Deserialize::deserialize(deserializer)
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Written<'s>, E> {
                Ok(Written::Bool(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Written<'s>, E> {
                Ok(Written::Unsigned(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Written<'s>, E> {
                Ok(u64::try_from(value).map_or(Written::Signed(value), Written::Unsigned))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Written<'s>, E> {
                Ok(Written::Float(value))
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Written<'s>, E> {
                Ok(Written::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Written<'s>, E> {
                Ok(Written::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Written<'s>, E> {
                Ok(Written::Text(Cow::Owned(text)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Written<'s>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(Written::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Written<'s>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Written::Map(entries))
            }
        }
        deserializer.deserialize_any(Any(std::marker::PhantomData))
    }
}

impl<'de: 's, 's> Deserialize<'de> for Key<'s> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Cow<'de, str>, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Text).map(Key)
    }
}

fn explain(error: &serde_saphyr::Error, text: &str, base: u32) -> YamlError {
    let error = error.without_snippet();
    let mut at =
        error.location().map_or(0, |location| Source::offset(text, location.line(), location.column()));
    let whole = error.to_string();
    let (code, message) = match error {
        serde_saphyr::Error::DuplicateMappingKey { .. } => {
            (ProblemCode::DuplicateKey, "a key stands twice".to_owned())
        }
        serde_saphyr::Error::UnknownAnchor { .. } => (
            ProblemCode::Syntax,
            "`*` begins an alias, and no anchor of that name stands before it; put quotes around text"
                .to_owned(),
        ),
        // Breaches of the budget come in many wrappings; their words are the same.
        _ if whole.starts_with("budget breached") || whole.starts_with("alias") => {
            let message = format!(
                "nested more than {DEPTH_MAX} levels deep, or too large once its aliases are written out"
            );
            (ProblemCode::TooLarge, message)
        }
        _ if whole.starts_with("recursion limit") => {
            (ProblemCode::TooLarge, format!("nested too deeply: at most {DEPTH_MAX} levels are read"))
        }
        _ if whole.starts_with("tabs disallowed") => {
            at = tab_before(text, at);
            (ProblemCode::Syntax, "a tab stands here: YAML is indented with spaces".to_owned())
        }
        // The place is told beside the message.
        _ => (ProblemCode::Syntax, printable(whole.split(" at line ").next().unwrap_or(&whole), 200)),
    };
    YamlError { at: base.saturating_add(at), message, code }
}

/// The first tab of the line of a place: what follows the tab is blamed for it.
fn tab_before(text: &str, at: u32) -> u32 {
    let before = text.get(..at as usize).unwrap_or(text);
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    text[line..].split('\n').next().and_then(|line| line.find('\t')).map_or(at, |tab| (line + tab) as u32)
}

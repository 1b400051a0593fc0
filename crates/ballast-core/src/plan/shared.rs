//! Lists that plans have in common.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A list that is not copied from plan to plan as long as it stays the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transparent, inline))]
pub struct Shared<T>(Arc<Vec<T>>);

impl<T: Clone> Shared<T> {
    /// The list, to be changed; who shares it keeps it as it was.
    pub fn make_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(&mut self.0)
    }

    /// With more at its end.
    pub(crate) fn and(mut self, more: impl IntoIterator<Item = T>) -> Self {
        let mut more = more.into_iter().peekable();
        if more.peek().is_some() {
            self.make_mut().extend(more);
        }
        self
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T> From<Vec<T>> for Shared<T> {
    fn from(list: Vec<T>) -> Self {
        Self(Arc::new(list))
    }
}

impl<T> Deref for Shared<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<'a, T> IntoIterator for &'a Shared<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for Shared<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        self.as_slice() == other
    }
}

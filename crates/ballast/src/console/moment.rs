//! What was decided and what came of it, as a time line: entries of the record in, a bounded list out.

use std::collections::VecDeque;
use std::fmt;

use ballast_core::kube::Name;
use ballast_core::plan::Action;
use ballast_core::procedure::Receipt;
use ballast_core::record::{Body, Entry};
use ballast_core::units::{Span, Time};

/// Something that was decided, or came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// When.
    pub at: Time,
    /// What.
    pub what: What,
}

/// What happened at a moment.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A plan held this action.
    Decided(Box<Action>),
    /// A procedure ended.
    Ended {
        /// The node.
        node: Name,
        /// What came of it.
        receipt: Receipt,
    },
}

impl Moment {
    /// The name of the node that it is about.
    pub fn node(&self) -> &str {
        match &self.what {
            What::Decided(action) => &action.target.name,
            What::Ended { node, .. } => node,
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Decided(action) => {
                write!(f, "{} {}: {}", action.kind, action.target.name, action.reason.message)
            }
            What::Ended { node, receipt } => write!(f, "{node} {receipt}"),
        }
    }
}

/// A page and a half of a list; older ones are in the record.
const MOMENTS_MAX: usize = 60;
/// A decision that is repeated within this time (because it is not applied) is one decision.
const REPEATED_WITHIN: Span = Span::from_mins(15);

/// The newest moments, the newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments(VecDeque<Moment>);

impl Moments {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Moment> {
        self.0.iter()
    }

    /// Takes in what an entry of the record says, if it is a moment.
    pub(super) fn record(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Planned { plan } => {
                plan.actions
                    .iter()
                    .for_each(|action| self.push(entry.at, What::Decided(Box::new(action.clone()))));
            }
            Body::Noted { node, receipt, .. } => {
                self.push(entry.at, What::Ended { node: node.clone(), receipt: *receipt });
            }
            Body::Started { .. }
            | Body::Led { .. }
            | Body::Followed
            | Body::Approved { .. }
            | Body::Observed { .. }
            | Body::Requested { .. }
            | Body::Settled { .. }
            | Body::Lost { .. } => {}
        }
    }

    fn push(&mut self, at: Time, what: What) {
        self.0.retain(|moment| !is_repeated(moment, at, &what));
        self.0.push_front(Moment { at, what });
        self.0.truncate(MOMENTS_MAX);
    }
}

fn is_repeated(earlier: &Moment, at: Time, what: &What) -> bool {
    match (&earlier.what, what) {
        (What::Decided(then), What::Decided(now)) => {
            then.kind == now.kind && then.target == now.target && at.since(earlier.at) < REPEATED_WITHIN
        }
        _ => false,
    }
}

//! Virtual machines: which run, which are started, which go.
//!
//! Pods that wait and fit nowhere need nodes; nodes that nobody needs cost money. Up: pending pods, gangs, minimum sizes,
//! headroom, buffers and requests become wishes; the grant places them and starts nodes for what is left. Down: nodes that
//! little would have to leave are emptied, if all that is displaced fits elsewhere together, and if it pays.

mod asks;
mod budgets;
mod census;
mod drain;
mod holds;
mod leaving;
mod patience;
mod protection;
mod quota;
mod removal;
mod staying;
mod wishes;

pub(crate) use asks::{Asked, UNITS_MAX, asked, size_of};
pub(crate) use census::{StartingNode, is_young, starting_nodes};
pub use drain::pod_block;
pub(crate) use holds::holds_with;
pub(crate) use leaving::{keep_room, still_to_leave};
pub(crate) use protection::{Kept, Unheeded, kept};
pub(crate) use quota::{Beyond, heed_quotas};
pub(crate) use removal::{Going, Removals, Weighing, Why};
pub(crate) use staying::{displaceable, must_stay};
pub(crate) use wishes::{NodeWishes, Preemptions, preemptions};

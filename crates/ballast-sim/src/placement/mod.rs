//! Placement scores: what a node has left and what a pod needs in, how good a place it is out.
//!
//! They are the scores of schedulers in use (LeastAllocated, MostAllocated) and of the published comparison on the openb
//! trace (Random, BestFit, FGD). A score ranks nodes on which the pod fits; whether it fits is not asked here.

mod fgd;
mod score;

pub use fgd::{Shape, Typical};
pub use score::{Need, Placement, Room, best_fit, least_allocated, most_allocated};

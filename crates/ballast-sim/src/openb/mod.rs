//! The openb trace: a GPU cluster of Alibaba (1,523 nodes, 6,212 GPUs, 8,152 pods) and the placement experiment that was
//! published with it.

mod experiment;
mod trace;

pub use experiment::{Experiment, LOAD_PERCENT, Outcome};
pub use trace::{Node, Pod, Trace, TraceError};

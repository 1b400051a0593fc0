//! The node and pod lists of a recorded GPU cluster; an empty line parts the two in an input.

use ballast_sim::openb::Trace;

pub(super) fn run(input: &[u8]) {
    let at = input.windows(2).position(|pair| pair == b"\n\n").unwrap_or(input.len());
    let (nodes, pods) = input.split_at(at);
    match Trace::parse(nodes, pods.get(2..).unwrap_or_default()) {
        Ok(trace) => assert!(trace.nodes.iter().all(|node| node.cpu >= 0 && node.memory >= 0)),
        Err(error) => drop(error.to_string()),
    }
}

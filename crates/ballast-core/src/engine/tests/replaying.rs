//! What a run recorded, another engine makes again, byte for byte.

use crate::record::{ReplayError, replay};
use crate::units::Span;

use super::acting::{one_unneeded, three_wait};
use super::world::World;

/// The record of a run, a line an entry.
fn recorded(cluster: crate::fixtures::Cluster) -> Vec<String> {
    let mut world = World::new(cluster);
    world.engine.record(usize::MAX);
    world.run(Span::from_mins(3));
    world.engine.recorder().unwrap().take().iter().map(crate::record::Entry::to_line).collect()
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_run_replays_to_the_same_bytes() {
    for cluster in [three_wait(), one_unneeded()] {
        let lines = recorded(cluster);
        let replay = replay(text(&lines).as_bytes()).unwrap();
        assert_eq!(replay.differences, []);
        assert_eq!(replay.entries, lines.len() as u64);
        assert!(replay.plans > 10);
    }
}

#[test]
fn a_record_that_was_changed_differs() {
    let mut lines = recorded(three_wait());
    let at = lines.iter().position(|line| line.contains("\"Planned\"")).unwrap();
    lines[at] = lines[at].replace("\"cpu-1\"", "\"cpu-9\"");
    let changed = replay(text(&lines).as_bytes()).unwrap();
    assert_eq!(changed.differences.len(), 1);
    // A line that is missing proves nothing either way.
    let mut lines = recorded(three_wait());
    let at = lines.iter().position(|line| line.contains("\"Requested\"")).unwrap();
    lines.remove(at);
    assert!(matches!(replay(text(&lines).as_bytes()), Err(ReplayError::Gap { .. })));
}

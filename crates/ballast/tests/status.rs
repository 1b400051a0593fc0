//! The status block of a terminal, at three widths: nothing is cut that matters, and nothing runs over the edge.

#[expect(dead_code, reason = "the views are shared with tests that use more of them")]
#[path = "console/cluster.rs"]
mod cluster;

use ballast::present::status;
use ballast_core::units::Time;
use snapbox::{Data, assert_data_eq, file};

fn block(width: usize) -> String {
    let lately = [(Time::from_secs(3600), "create cpu-027: room is missing for 3 pending pods".to_owned())];
    let lines = status::block(&cluster::busy(), lately.into_iter(), width);
    for line in &lines {
        assert!(line.chars().count() <= width, "{width}: {line}");
    }
    lines.join("\n") + "\n"
}

fn is_as(file: Data, width: usize) {
    assert_data_eq!(block(width), file.raw());
}

#[test]
fn the_block_fits_any_terminal() {
    is_as(file!["status/60.txt"], 60);
    is_as(file!["status/80.txt"], 80);
    is_as(file!["status/140.txt"], 140);
    for width in 1..60 {
        block(width);
    }
}

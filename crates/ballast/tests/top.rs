//! The screen of `ballast top` at three sizes: what matters is there, and nothing runs over the edge.
#![cfg(feature = "live")]

#[expect(dead_code, reason = "the views are shared with tests that use more of them")]
#[path = "console/cluster.rs"]
mod cluster;

use ballast::top::{Key, State, draw};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use snapbox::{assert_data_eq, file};

fn screen(width: u16, height: u16, keys: &[Key]) -> String {
    let view = cluster::busy();
    let mut state = State::default();
    for key in keys {
        assert!(!state.press(*key, &view));
    }
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, &view, &state)).unwrap();
    let buffer = terminal.backend().buffer();
    let lines = buffer.content().chunks(usize::from(width)).map(|row| {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

#[test]
fn the_screen_fits_any_terminal() {
    assert_data_eq!(screen(80, 24, &[]), file!["top/80.txt"].raw());
    assert_data_eq!(screen(120, 40, &[Key::Down, Key::Down, Key::Explain]), file!["top/120.txt"].raw());
    assert_data_eq!(screen(200, 60, &[Key::Sort, Key::Gpus]), file!["top/200.txt"].raw());
    for width in 1..60 {
        screen(width, width, &[]);
    }
}

#[test]
fn keys_do_what_they_say() {
    let view = cluster::busy();
    let mut state = State::default();
    state.press(Key::Up, &view);
    assert_eq!(state.marked, 0, "there is nothing above the first");
    assert!((0..1000).all(|_| !state.press(Key::Down, &view)));
    assert_eq!(state.marked + 1, state.rows(&view).len(), "there is nothing below the last");
    state.press(Key::Gpus, &view);
    assert!(state.rows(&view).iter().all(|node| node.usage.gpu > 0));
    assert!(state.press(Key::Quit, &view));
}

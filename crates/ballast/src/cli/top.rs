//! `ballast top`: the cluster on the terminal, as it goes on.

use std::time::Duration;

use ballast_core::engine::{Engine, Outcome as Came};
use ballast_core::units::{Span, Time};
use ballast_core::view::View;
use ballast_live::runner::{Listener, Runner};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::sight::Sight;
use super::{Outcome, Result, record, status};
use crate::present::{Doing, Screen};
use crate::top::{Key, State, draw};

/// Watch a cluster on the terminal: every node, what it has to do, why it stays, what is under way and planned.
///
/// It watches with your rights and writes nothing. Where it does not write to a terminal, it prints `status` once.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    sight: Sight,
    /// How often the screen is drawn anew
    #[arg(long, value_name = "T", default_value = "1s")]
    every: Span,
}

const EXAMPLES: &str = "\
Examples:
  ballast top
  ballast top --context staging
  ballast top --from records/";

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let every = Duration::from_millis(args.every.as_millis().unsigned_abs()).max(Duration::from_millis(100));
    // The first look says what is wrong, if something is, on an ordinary screen.
    let looked = args.sight.look(screen)?;
    let view = looked.engine(Vec::new(), false)?.view(looked.now);
    if !screen.is_terminal() {
        status::print(&looked, &view, screen)?;
        return Ok(Outcome::Done);
    }
    let (told, newest) = watch::channel(view);
    if args.sight.is_kept() {
        return show(&newest, every);
    }
    args.sight.cluster.talk(async |connection| {
        let stop = CancellationToken::new();
        let runner = Runner::start(connection, record::options(&args.sight.namespace), Watcher { told });
        let watching = tokio::spawn(runner.run(stop.clone()));
        let shown = tokio::task::spawn_blocking(move || show(&newest, every)).await;
        stop.cancel();
        watching.await.doing(|| "cannot watch")??;
        shown.doing(|| "cannot draw")?
    })
}

/// Tells the screen what there is.
struct Watcher {
    told: watch::Sender<View>,
}

impl Listener for Watcher {
    fn heard(&mut self, now: Time, engine: &mut Engine, _: &Came) {
        // Nobody keeps a record here.
        let _ = engine.recorder().map(|recorder| recorder.take());
        if engine.last_plan().is_some() {
            self.told.send_replace(engine.view(now));
        }
    }
}

/// Draws until the reader has enough.
fn show(newest: &watch::Receiver<View>, every: Duration) -> Result {
    let mut terminal = ratatui::try_init().doing(|| "cannot draw on this terminal")?;
    let mut state = State::default();
    let outcome = loop {
        let view = newest.borrow().clone();
        if let Err(error) = terminal.draw(|frame| draw(frame, &view, &state)) {
            break Err(error.into());
        }
        match pressed(every) {
            Ok(Some(Pressed::Interrupt)) => break Ok(Outcome::Interrupted),
            Ok(Some(Pressed::Key(key))) if state.press(key, &view) => break Ok(Outcome::Done),
            Ok(_) => {}
            Err(error) => break Err(error.into()),
        }
    };
    ratatui::restore();
    outcome
}

enum Pressed {
    Key(Key),
    Interrupt,
}

/// Waits for a key, no longer than until the next drawing.
fn pressed(longest: Duration) -> std::io::Result<Option<Pressed>> {
    if !event::poll(longest)? {
        return Ok(None);
    }
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event::read()? else {
        return Ok(None);
    };
    if modifiers.contains(KeyModifiers::CONTROL) && code == KeyCode::Char('c') {
        return Ok(Some(Pressed::Interrupt));
    }
    Ok(match code {
        KeyCode::Up | KeyCode::Char('k') => Some(Pressed::Key(Key::Up)),
        KeyCode::Down | KeyCode::Char('j') => Some(Pressed::Key(Key::Down)),
        KeyCode::Char('p') => Some(Pressed::Key(Key::Sort)),
        KeyCode::Char('g') => Some(Pressed::Key(Key::Gpus)),
        KeyCode::Char('?') => Some(Pressed::Key(Key::Explain)),
        KeyCode::Char('q') | KeyCode::Esc => Some(Pressed::Key(Key::Quit)),
        _ => None,
    })
}

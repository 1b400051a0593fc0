//! The feed: whoever has views publishes them here, whoever shows them follows.

use std::sync::{Arc, Mutex, PoisonError};

use ballast_core::record::Entry;
use ballast_core::view::View;
use tokio::sync::watch;

use super::history::{History, Point};
use super::moment::{Moment, Moments};

/// What a page is rendered from: the newest view and the numbers of those before it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The newest view.
    pub view: View,
    /// Numbers of this and earlier views, the oldest first.
    pub points: Vec<Point>,
    /// What was decided lately and what came of it, the newest first.
    pub moments: Vec<Moment>,
}

/// Where views are published. Clones share one feed.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    past: Arc<Mutex<Past>>,
    frames: watch::Sender<Option<Arc<Frame>>>,
}

/// What is kept of earlier views.
#[derive(Debug, Default)]
struct Past {
    history: History,
    moments: Moments,
}

impl Feed {
    /// A feed on which nothing has been published.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows a view to everyone who follows.
    pub fn publish(&self, view: View) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.history.record(Point::of(&view));
        let points = past.history.points().to_vec();
        let moments = past.moments.iter().cloned().collect();
        self.frames.send_replace(Some(Arc::new(Frame { view, points, moments })));
    }

    /// Takes in entries of the record; the next view shows what they say.
    pub fn record(&self, entries: &[Entry]) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().for_each(|entry| past.moments.record(entry));
    }

    /// The newest frame, where there is one.
    pub fn newest(&self) -> Option<Arc<Frame>> {
        self.frames.borrow().clone()
    }

    pub(super) fn follow(&self) -> watch::Receiver<Option<Arc<Frame>>> {
        self.frames.subscribe()
    }
}

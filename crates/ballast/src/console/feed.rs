//! The feed: whoever has views publishes them here, whoever shows them follows.

use std::sync::{Arc, Mutex, PoisonError};

use ballast_core::view::View;
use tokio::sync::watch;

use super::history::{History, Point};

/// What a page is rendered from: the newest view and the numbers of those before it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The newest view.
    pub view: View,
    /// Numbers of this and earlier views, the oldest first.
    pub points: Vec<Point>,
}

/// Where views are published. Clones share one feed.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    history: Arc<Mutex<History>>,
    frames: watch::Sender<Option<Arc<Frame>>>,
}

impl Feed {
    /// A feed on which nothing has been published.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows a view to everyone who follows.
    pub fn publish(&self, view: View) {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.record(Point::of(&view));
        let points = history.points().to_vec();
        self.frames.send_replace(Some(Arc::new(Frame { view, points })));
    }

    /// The newest frame, where there is one.
    pub fn newest(&self) -> Option<Arc<Frame>> {
        self.frames.borrow().clone()
    }

    pub(super) fn follow(&self) -> watch::Receiver<Option<Arc<Frame>>> {
        self.frames.subscribe()
    }
}

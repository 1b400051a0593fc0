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
    /// What is shown, where it is not a cluster of the reader's.
    pub story: Option<Arc<Story>>,
}

/// What is shown, for readers who do not know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// In a line.
    pub title: String,
    /// What happens and what to look for.
    pub text: String,
}

/// Where views are published. Clones share one feed.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    past: Arc<Mutex<Past>>,
    story: Option<Arc<Story>>,
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

    /// The same with a story beside what is shown.
    #[must_use]
    pub fn with_story(self, story: Story) -> Self {
        Self { story: Some(Arc::new(story)), ..self }
    }

    /// Shows a view to everyone who follows.
    pub fn publish(&self, view: View) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.history.record(Point::of(&view));
        let points = past.history.points().to_vec();
        let moments = past.moments.iter().cloned().collect();
        let story = self.story.clone();
        self.frames.send_replace(Some(Arc::new(Frame { view, points, moments, story })));
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

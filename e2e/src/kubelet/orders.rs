//! What containers are told to do, and until when.

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// What a container is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Its turn has not come.
    Wait,
    /// Run, as often as the restart policy says.
    Run,
    /// End: by itself until then, and not by itself afterwards.
    Stop(Instant),
}

impl Order {
    /// When a container has to be gone, if at all.
    pub(super) fn by(self) -> Option<Instant> {
        match self {
            Self::Stop(by) => Some(by),
            Self::Wait | Self::Run => None,
        }
    }
}

/// The one who hears orders.
#[derive(Clone)]
pub(super) struct Orders(watch::Receiver<Order>);

impl Orders {
    /// Hears what is sent.
    pub(super) fn from(sender: &watch::Sender<Order>) -> Self {
        Self(sender.subscribe())
    }

    /// When a container has to be gone, if at all.
    pub(super) fn by(&self) -> Option<Instant> {
        self.0.borrow().by()
    }

    /// Waits for one's turn.
    pub(super) async fn turn(&mut self) {
        // Whoever gave orders is gone only together with us.
        let _ = self.0.wait_for(|order| *order != Order::Wait).await;
    }

    /// Waits for the order to end: until when.
    pub(super) async fn stop(&mut self) -> Instant {
        match self.0.wait_for(|order| order.by().is_some()).await {
            Ok(order) => order.by().unwrap_or_else(Instant::now),
            Err(_) => Instant::now(),
        }
    }

    /// Waits until a time, or until an order's time where that comes before it.
    pub(super) async fn deadline(&mut self, by: Instant) {
        loop {
            let by = self.0.borrow_and_update().by().map_or(by, |ordered| ordered.min(by));
            tokio::select! {
                () = sleep_until(by) => return,
                changed = self.0.changed() => if changed.is_err() { return sleep_until(by).await },
            }
        }
    }
}

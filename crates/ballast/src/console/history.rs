//! What the charts of the page show: a bounded number of points over the whole run, finer at its end.

use ballast_core::units::{Span, Time};
use ballast_core::view::{NodeState, Usage, View};

/// The cluster at one instant, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// The instant.
    pub time: Time,
    /// Nodes that are ready.
    pub ready: u32,
    /// Nodes that are starting.
    pub starting: u32,
    /// Nodes that are draining or stopping.
    pub leaving: u32,
    /// Nodes that are unwell or cordoned by someone else.
    pub unwell: u32,
    /// Pods that wait.
    pub waiting: u32,
    /// Cost per hour.
    pub cost: f64,
    /// GPUs of nodes that are up.
    pub gpus: f64,
    /// GPUs that pods on them ask for.
    pub gpus_requested: f64,
}

/// A chart of 600 px shows no more, and an event stays small.
const POINTS_MAX: usize = 360;

/// Points so far.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    points: Vec<Point>,
    /// Points closer than this replace each other.
    spacing: Span,
}

impl History {
    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }

    /// Takes in a point. When there are too many, every second is dropped and the next come half as often.
    pub(super) fn record(&mut self, point: Point) {
        if let [.., before, last] = &mut self.points[..]
            && last.time.since(before.time) < self.spacing
        {
            *last = point;
            return;
        }
        self.points.push(point);
        if self.points.len() > POINTS_MAX {
            let whole = point.time.since(self.points[0].time);
            self.spacing = Span::from_millis(whole.as_millis() / (POINTS_MAX as i64 / 2));
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        }
    }
}

impl Point {
    /// The numbers of a view.
    pub fn of(view: &View) -> Self {
        let count = |states: &[NodeState]| {
            view.nodes.iter().filter(|node| states.contains(&node.state)).count() as u32
        };
        let sum = |of: fn(&Usage) -> i64| {
            view.pools.iter().map(|pool| of(&pool.usage)).sum::<i64>() as f64 / 1000.0
        };
        Self {
            time: view.now,
            ready: count(&[NodeState::Ready]),
            starting: count(&[NodeState::Starting]),
            leaving: count(&[NodeState::Draining, NodeState::Stopping]),
            unwell: count(&[NodeState::Unready, NodeState::Cordoned]),
            waiting: view.pending.iter().map(|pending| pending.count).sum(),
            cost: view.cost_per_hour.as_f64(),
            gpus: sum(|usage| usage.gpu),
            gpus_requested: sum(|usage| usage.gpu_requested.min(usage.gpu)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_stays_bounded_and_keeps_its_first_and_last_point() {
        let mut history = History::default();
        for second in 0..100_000 {
            history.record(Point { time: Time::from_secs(second), ..Point::default() });
            assert!(history.points().len() <= POINTS_MAX + 1);
        }
        let points = history.points();
        assert_eq!(points[0].time, Time::ZERO);
        assert_eq!(points[points.len() - 1].time, Time::from_secs(99_999));
        assert!(points.len() > POINTS_MAX / 3, "{}", points.len());
        assert!(points.windows(2).all(|pair| pair[0].time < pair[1].time));
    }
}

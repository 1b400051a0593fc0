//! When jobs come.

use rand::RngExt;
use rand_distr::{Distribution as _, Exp1};
use serde::{Deserialize, Serialize};

use ballast_core::units::{Span, Time};

use crate::random::Stream;

/// When jobs of a workload come: at given times, at even intervals, or by chance with a daily wave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arrivals {
    /// At these times after the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<Span>,
    /// Again and again after so long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// By chance, so many in an hour on average (a Poisson process).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<f64>,
    /// How strongly the rate follows the day: 0 not at all, 1 from nothing to twice the mean. Default 0.
    pub wave: f64,
    /// The hour of the day (UTC) at which most come. Default 14.
    pub peak_hour: f64,
    /// The rate on Saturdays and Sundays as a share of that on other days. Default 1.
    pub weekend: f64,
    /// How long after the start they begin. Default at once.
    pub from: Span,
    /// How long after the start they end; by default never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Span>,
    /// How many jobs come each time. Default 1.
    pub count: u32,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            at: Vec::new(),
            every: None,
            per_hour: None,
            wave: 0.0,
            peak_hour: 14.0,
            weekend: 1.0,
            from: Span::ZERO,
            until: None,
            count: 1,
        }
    }
}

const DAY_MS: i64 = 86_400_000;
/// 1970-01-01 was a Thursday; from there the fifth and sixth days after each Monday are a week-end.
const MONDAY_OFFSET_DAYS: i64 = 3;

impl Arrivals {
    /// The next arrival after `now`; `index` counts those that were. None where no more come.
    pub fn next(&self, start: Time, now: Time, index: usize, stream: &mut Stream) -> Option<Time> {
        let end = self.until.map_or(Time::FAR_FUTURE, |until| start + until);
        let next = if let Some(per_hour) = self.per_hour {
            self.by_chance(start, now, per_hour, end, stream)?
        } else if let Some(every) = self.every {
            start + self.from + every.times(index as i64)
        } else {
            start + *self.at.get(index)?
        };
        (next < end || self.until.is_none()).then_some(next)
    }

    /// How many jobs are to be expected until then; waves and week-ends even out and are left out.
    pub fn expected(&self, until: Span) -> f64 {
        let end = self.until.unwrap_or(until).min(until);
        let hours = (end.as_hours_f64() - self.from.as_hours_f64()).max(0.0);
        let times = if let Some(per_hour) = self.per_hour {
            per_hour * hours
        } else if let Some(every) = self.every {
            1.0 + hours / every.as_hours_f64().max(f64::MIN_POSITIVE)
        } else {
            self.at.len().max(1) as f64
        };
        times * f64::from(self.count)
    }

    /// Thinning: candidates come at the highest rate and are kept in proportion to the rate of their hour.
    fn by_chance(
        &self,
        start: Time,
        now: Time,
        per_hour: f64,
        end: Time,
        stream: &mut Stream,
    ) -> Option<Time> {
        let highest = per_hour * (1.0 + self.wave) * self.weekend.max(1.0);
        if highest <= 0.0 {
            return None;
        }
        let mut at = now.max(start + self.from);
        loop {
            let gap: f64 = Exp1.sample(stream);
            at += Span::from_millis((gap * 3_600_000.0 / highest).min(3.2e12).ceil() as i64);
            if at >= end {
                return None;
            }
            if stream.random::<f64>() * highest <= per_hour * self.rate(at) {
                return Some(at);
            }
        }
    }

    /// The rate at an instant as a share of the mean of a working day.
    fn rate(&self, at: Time) -> f64 {
        let hour = at.as_millis().rem_euclid(DAY_MS) as f64 / 3_600_000.0;
        let day = (at.as_millis().div_euclid(DAY_MS) + MONDAY_OFFSET_DAYS).rem_euclid(7);
        let wave = 1.0 + self.wave * ((hour - self.peak_hour) / 24.0 * std::f64::consts::TAU).cos();
        wave * if day >= 5 { self.weekend } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    fn times(arrivals: &Arrivals, days: i64) -> Vec<i64> {
        let start: Time = "2026-01-05T00:00:00Z".parse().expect("a Monday");
        let mut stream = Streams::new(3).stream("arrivals", "a");
        let (mut now, mut seen) = (start, Vec::new());
        while let Some(next) = arrivals.next(start, now, seen.len(), &mut stream) {
            if next >= start + Span::from_hours(24 * days) {
                break;
            }
            seen.push(next.since(start).as_millis() / 3_600_000);
            now = next;
        }
        seen
    }

    #[test]
    fn chance_keeps_the_mean_and_follows_the_day_and_the_week() {
        let plain = times(&Arrivals { per_hour: Some(10.0), ..Arrivals::default() }, 14);
        assert!((plain.len() as f64 - 3360.0).abs() < 180.0, "{}", plain.len());
        let wave = Arrivals { per_hour: Some(10.0), wave: 0.9, weekend: 0.2, ..Arrivals::default() };
        let wave = times(&wave, 7);
        let within = |from: i64, to: i64| wave.iter().filter(|&&hour| (from..to).contains(&hour)).count();
        assert!(within(12, 16) > 4 * within(0, 4), "the afternoon is busier than the night");
        assert!(within(24 * 5, 24 * 6) * 3 < within(24, 48), "Saturday is calmer than Tuesday");
    }

    #[test]
    fn as_many_are_expected_as_come() {
        let day = Span::from_hours(24);
        let chance = Arrivals { per_hour: Some(10.0), from: Span::from_hours(4), ..Arrivals::default() };
        assert_eq!(chance.expected(day), 200.0);
        let every = Arrivals { every: Some(Span::from_hours(6)), count: 3, ..Arrivals::default() };
        assert_eq!(every.expected(Span::from_hours(23)).floor(), 14.0);
        assert_eq!(Arrivals::default().expected(day), 1.0);
    }

    #[test]
    fn given_times_and_even_intervals_are_kept() {
        let at = Arrivals { at: vec![Span::from_hours(1), Span::from_hours(5)], ..Arrivals::default() };
        assert_eq!(times(&at, 1), [1, 5]);
        let every = Arrivals {
            every: Some(Span::from_hours(6)),
            from: Span::from_hours(3),
            until: Some(Span::from_hours(20)),
            ..Arrivals::default()
        };
        assert_eq!(times(&every, 1), [3, 9, 15]);
    }
}

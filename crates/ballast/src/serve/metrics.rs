//! The values of all metrics, registered from the table: what is not in it cannot be told.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::catalogue::{Kind, METRICS, Metric};

/// Names of pools that are told on their own; the rest is summed up.
const POOLS_MAX: usize = 100;
/// The name that the rest goes by; no pool can be called so.
const OTHERS: &str = "~others";
/// Times of plans, in seconds: a small cluster takes a millisecond, and ten seconds are far beyond any.
const BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

type Labels = Vec<(&'static str, String)>;

/// The values of all metrics.
#[derive(Clone)]
pub struct Metrics(Arc<Mutex<Values>>);

struct Values {
    registry: Registry,
    by_name: BTreeMap<&'static str, (&'static Metric, Value)>,
}

#[derive(Clone)]
enum Value {
    Counter(Family<Labels, Counter<f64, AtomicU64>>),
    Gauge(Family<Labels, Gauge<f64, AtomicU64>>),
    Histogram(Histogram),
}

impl Metrics {
    /// All of them at zero.
    pub fn new() -> Self {
        let mut values = Values { registry: Registry::default(), by_name: BTreeMap::new() };
        METRICS.iter().for_each(|metric| values.register(metric));
        Self(Arc::new(Mutex::new(values)))
    }

    /// What is served.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.values().registry);
        text
    }

    /// Sets a gauge.
    pub fn set(&self, name: &str, labels: &[&str], value: f64) {
        if let Some((metric, Value::Gauge(gauge))) = self.values().by_name.get(name) {
            gauge.get_or_create(&named(metric, labels)).set(value);
        }
    }

    /// Sets every series of a gauge anew: what is not told is zero, or gone where it was a pool's.
    pub fn set_all(&self, name: &str, told: impl IntoIterator<Item = (Vec<String>, f64)>) {
        let values = self.values();
        let Some((metric, Value::Gauge(gauge))) = values.by_name.get(name) else { return };
        gauge.clear();
        let zeros = (metric.series)().into_iter().map(|labels| (labels, 0.0));
        for (labels, value) in zeros.chain(told) {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            gauge.get_or_create(&named(metric, &labels)).inc_by(value);
        }
    }

    /// The same of one that pools tell: the first hundred on their own.
    pub fn set_pools(&self, name: &str, told: impl IntoIterator<Item = (String, Vec<String>, f64)>) {
        let told: Vec<(String, Vec<String>, f64)> = told.into_iter().collect();
        let mut pools: Vec<&String> = told.iter().map(|(pool, _, _)| pool).collect();
        pools.sort_unstable();
        pools.dedup();
        let beyond = pools.get(POOLS_MAX).copied().cloned();
        self.set_all(
            name,
            told.into_iter().map(|(pool, rest, value)| {
                let is_beyond = beyond.as_ref().is_some_and(|beyond| pool >= *beyond);
                let pool = if is_beyond { OTHERS.to_owned() } else { pool };
                (std::iter::once(pool).chain(rest).collect(), value)
            }),
        );
    }

    /// Adds to a counter.
    pub fn add(&self, name: &str, labels: &[&str], value: f64) {
        if let Some((metric, Value::Counter(counter))) = self.values().by_name.get(name) {
            counter.get_or_create(&named(metric, labels)).inc_by(value);
        }
    }

    /// Brings a counter up to what somebody else has counted.
    pub fn raise(&self, name: &str, labels: &[&str], value: f64) {
        if let Some((metric, Value::Counter(counter))) = self.values().by_name.get(name) {
            let counter = counter.get_or_create(&named(metric, labels));
            let more = value - counter.get();
            if more > 0.0 {
                counter.inc_by(more);
            }
        }
    }

    /// Notes a size.
    pub fn observe(&self, name: &str, value: f64) {
        if let Some((_, Value::Histogram(histogram))) = self.values().by_name.get(name) {
            histogram.observe(value);
        }
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Values {
    fn register(&mut self, metric: &'static Metric) {
        // The library writes the end of a counter's name itself.
        let name = metric.name.trim_end_matches("_total");
        let value = match metric.kind {
            Kind::Counter => {
                let family = Family::<Labels, Counter<f64, AtomicU64>>::default();
                self.registry.register(name, metric.help, family.clone());
                (metric.series)()
                    .iter()
                    .for_each(|labels| drop(family.get_or_create(&owned(metric, labels))));
                Value::Counter(family)
            }
            Kind::Gauge => {
                let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
                self.registry.register(name, metric.help, family.clone());
                (metric.series)()
                    .iter()
                    .for_each(|labels| drop(family.get_or_create(&owned(metric, labels))));
                Value::Gauge(family)
            }
            Kind::Histogram => {
                let histogram = Histogram::new(BUCKETS);
                self.registry.register(name, metric.help, histogram.clone());
                Value::Histogram(histogram)
            }
        };
        self.by_name.insert(metric.name, (metric, value));
    }
}

fn owned(metric: &Metric, values: &[String]) -> Labels {
    metric.labels.iter().copied().zip(values.iter().cloned()).collect()
}

fn named(metric: &Metric, values: &[&str]) -> Labels {
    metric.labels.iter().copied().zip(values.iter().map(|value| (*value).to_owned())).collect()
}

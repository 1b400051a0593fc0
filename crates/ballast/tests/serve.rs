//! Metrics and health as they are served.
#![cfg(feature = "live")]

use std::collections::BTreeSet;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use ballast::serve::{Health, Kind, METRICS, Metrics, router};
use ballast_live::kubernetes::Tally;
use tower::ServiceExt;

async fn ask(metrics: &Metrics, path: &str) -> (StatusCode, String, String) {
    let router = router(Health::new(Tally::default()), metrics.clone());
    let response = router.oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, kind.unwrap_or_default(), String::from_utf8(body.to_vec()).unwrap())
}

/// The series of a metric, each with its value.
fn series<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let is_its = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']));
    text.lines().filter(is_its).collect()
}

#[tokio::test]
async fn every_family_of_the_catalogue_is_served_and_every_label_is_there_at_zero() {
    let (status, kind, text) = ask(&Metrics::new(), "/metrics").await;
    assert_eq!(status, StatusCode::OK);
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    assert!(text.ends_with("# EOF\n"));
    for metric in METRICS.iter().filter(|metric| metric.kind != Kind::Histogram) {
        let (name, series) = (metric.name, series(&text, metric.name));
        assert_eq!(series.len(), (metric.series)().len(), "{name}");
        let is_zero = |line: &&str| line.ends_with(" 0.0") || line.ends_with(" 0");
        assert!(name.starts_with("process_") || series.iter().all(is_zero), "{series:?}");
    }
    assert!(text.contains("ballast_plan_seconds_count 0"), "{text}");
    assert!(text.contains("ballast_holds{reason=\"Paused\"} 0"), "{text}");
    assert!(
        text.contains("ballast_api_requests_total{verb=\"patch\",resource=\"nodes\",outcome=\"Denied\"} 0")
    );
    let told: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    // What only pools tell has no series before there are any.
    let known = METRICS.iter().filter(|metric| !(metric.series)().is_empty());
    assert_eq!(told.len(), known.count(), "{told:?}");
}

#[tokio::test]
async fn no_label_is_unbounded() {
    let metrics = Metrics::new();
    let pools = (0..1000).map(|number| (format!("pool-{number:04}"), Vec::new(), 2.0));
    metrics.set_pools("ballast_cost_per_hour", pools);
    let (_, _, text) = ask(&metrics, "/metrics").await;
    let lines = series(&text, "ballast_cost_per_hour");
    assert_eq!(lines.len(), 101);
    assert!(lines.contains(&"ballast_cost_per_hour{pool=\"~others\"} 1800.0"), "{lines:?}");
    metrics.set_pools("ballast_cost_per_hour", [("pool-0001".to_owned(), Vec::new(), 3.0)]);
    let (_, _, text) = ask(&metrics, "/metrics").await;
    assert_eq!(series(&text, "ballast_cost_per_hour"), ["ballast_cost_per_hour{pool=\"pool-0001\"} 3.0"]);
}

#[tokio::test]
async fn a_process_that_has_just_begun_lives_and_is_not_ready() {
    let (status, _, text) = ask(&Metrics::new(), "/healthz").await;
    assert_eq!((status, &*text), (StatusCode::OK, "[+] loop: it turns\n"));
    let (status, _, text) = ask(&Metrics::new(), "/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let expected = "[-] seen: nodes, pods and disruption budgets are not known yet\n[-] decides: no plan was made yet\n\
                    [+] acts: mode Observe, nothing to act\n[+] leads: nothing to lead\n";
    assert_eq!(text, expected);
}

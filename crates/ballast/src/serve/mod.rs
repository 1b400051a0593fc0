//! What other programs ask of a running Ballast: metrics, whether it lives, and whether it is ready.
//!
//! ```text
//! run::faces ──▶ Metrics, Health ──▶ GET /metrics, /healthz, /readyz
//! ```

mod catalogue;
mod health;
mod labels;
mod metrics;
mod process;

pub use catalogue::{Kind, METRICS, Metric};
pub use health::{Check, Health, Standing};
pub(crate) use labels::{code, document_of};
pub use metrics::Metrics;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;

/// As OpenMetrics names itself.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The routes.
pub fn router(health: Health, metrics: Metrics) -> Router {
    let (alive, asked) = (health.clone(), health.clone());
    Router::new()
        .route("/metrics", get(async move || scraped(&metrics, &asked)))
        .route("/healthz", get(async move || answer(alive.lives())))
        .route("/readyz", get(async move || answer(health.ready())))
}

fn scraped(metrics: &Metrics, health: &Health) -> impl IntoResponse + use<> {
    metrics.set("ballast_ready", &[], f64::from(u8::from(health.is_ready())));
    process::read(metrics);
    ([(CONTENT_TYPE, OPEN_METRICS)], metrics.text())
}

/// A line a check, as Kubernetes' own components answer.
fn answer(checks: Vec<Check>) -> impl IntoResponse {
    let is_well = checks.iter().all(|check| check.is_well);
    let lines = checks.iter().map(|check| format!("{check}\n"));
    let status = if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, lines.collect::<String>())
}

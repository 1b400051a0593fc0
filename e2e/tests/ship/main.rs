//! What ships: the image that `cargo xtask image` makes, and the chart and the manifest, by the real helm and on a real API server.

mod admission;
mod chart;
mod dump;
mod helm;
mod image;
mod prometheus;
mod uninstall;

use std::path::PathBuf;

/// A file of the clone from which cargo runs us; it may not be the one in which we were built.
fn clone(path: &str) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(package).join("..").join(path)
}

/// A variable that `cargo xtask test` sets.
fn variable(name: &str) -> anyhow::Result<PathBuf> {
    let told = std::env::var_os(name);
    Ok(told
        .ok_or_else(|| anyhow::anyhow!("{name} is not set\n\nhint: run the suite by `cargo xtask test`"))?
        .into())
}

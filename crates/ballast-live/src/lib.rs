//! Ballast against the world: all I/O, a folder for each outside system, and the runner that lets the engine see and act.
//!
//! ```text
//! kubernetes::watch ─┐                                   ┌─▶ kubernetes::requests
//! providers::polling ┼─▶ observations ─▶ runner: Engine ─┤
//!        the clock ──┘                                   └─▶ providers
//! ```
//!
//! Nothing here decides. What is seen is told as it was seen, with its age; what is asked for is sent as it was asked for, and
//! answered once.

pub mod clock;
pub mod doctor;
pub mod kubernetes;
pub mod look;
pub mod providers;
pub mod runner;

/// Chooses the one provider of cryptography of this process; before the first connection.
pub fn install_crypto() {
    // A second call in one process is one of a test; the first holds.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

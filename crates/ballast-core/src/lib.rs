//! The pure heart of Ballast.

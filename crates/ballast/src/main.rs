//! The `ballast` binary.
fn main() {}

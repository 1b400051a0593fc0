//! Workspace chores.
fn main() {}

//! How the Kubernetes API may fail, row by row, and what is seen and done then. The rows are those of the table of faults that
//! the project is held to; those that a real API server can be made to do are tried against one in `e2e`.

mod api;
mod publishing;
mod seeing;
mod sight;
mod writing;

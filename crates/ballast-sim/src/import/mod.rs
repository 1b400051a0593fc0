//! Readers of foreign files: bytes in, scenarios out, and for a bad file the place where it is bad.

mod csv;

pub use csv::{Cell, CsvError, Row, Table};

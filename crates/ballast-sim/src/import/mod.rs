//! Readers of foreign files: bytes or objects in, scenarios out, and for a bad file the place where it is bad.

mod csv;
mod kubectl;
mod openb;

pub use csv::{Cell, CsvError, Row, Table};
pub use kubectl::{Imported, kubectl};
pub(crate) use openb::fill as fill_from_openb;
pub use openb::openb;

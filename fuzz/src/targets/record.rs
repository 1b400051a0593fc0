//! A recording of an engine, as `ballast replay` takes it: any bytes are replayed or refused.

use ballast_core::record::replay;

pub(super) fn run(input: &[u8]) {
    if let Err(error) = replay(input) {
        assert!(!error.to_string().is_empty());
    }
}

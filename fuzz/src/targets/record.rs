//! A recording of an engine, as `ballast replay` takes it: any bytes are replayed or refused, also under another policy.

use ballast_core::record::{OtherPolicy, otherwise, replay};

pub(super) fn run(input: &[u8]) {
    let (same, other) = (replay(input), otherwise(input, &OtherPolicy::default()));
    assert_eq!(same.is_ok(), other.is_ok(), "both read the same record");
    if let Err(error) = same {
        assert!(!error.to_string().is_empty());
    }
}

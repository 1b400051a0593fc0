//! SHA-256, as OCI and CycloneDX write it.

use ring::digest::{SHA256, digest};

/// 64 hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of a blob.
pub(super) fn name(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(bytes))
}

/// A UUID (version 8: made in a way of our own) that is the same for the same bytes.
pub(super) fn uuid(bytes: &[u8]) -> String {
    let hex = hex(bytes);
    format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

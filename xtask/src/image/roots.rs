//! The certificate authorities that Mozilla trusts, at the version that Cargo.lock pins.

use pem::{EncodeConfig, LineEnding, Pem};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// As the file of certificates that programs look for.
pub(super) fn pem() -> String {
    let all: Vec<Pem> =
        TLS_SERVER_ROOT_CERTS.iter().map(|root| Pem::new("CERTIFICATE", root.as_ref())).collect();
    pem::encode_many_config(&all, EncodeConfig::new().set_line_ending(LineEnding::LF))
}

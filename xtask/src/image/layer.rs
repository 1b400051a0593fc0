//! The one layer: the program and the roots that it trusts, owned by root and writable by nobody.

use std::io;

use anyhow::{Context, Result};
use tar::{Builder, EntryType, Header};

use super::origin::Origin;
use super::roots;

/// Where the program lies.
pub(super) const PROGRAM: &str = "ballast";
/// Where programs look for roots: the place of Debian, which rustls knows too.
pub(super) const ROOTS: &str = "etc/ssl/certs/ca-certificates.crt";

/// The layer as a tar file. It is not compressed: no version of a compressor can change its bytes.
pub(super) fn pack(program: &[u8], origin: &Origin) -> Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
    add(&mut tar, PROGRAM, EntryType::Regular, program, origin)?;
    for folder in ["etc/", "etc/ssl/", "etc/ssl/certs/"] {
        add(&mut tar, folder, EntryType::Directory, &[], origin)?;
    }
    add(&mut tar, ROOTS, EntryType::Regular, roots::pem().as_bytes(), origin)?;
    tar.into_inner().context("cannot end the layer")
}

/// Adds an entry in which nothing is left to the machine.
pub(super) fn add(
    tar: &mut Builder<Vec<u8>>,
    path: &str,
    kind: EntryType,
    bytes: &[u8],
    origin: &Origin,
) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(if kind.is_dir() || path == PROGRAM { 0o755 } else { 0o644 });
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(origin.seconds);
    header.set_size(bytes.len() as u64);
    tar.append_data(&mut header, path, bytes)
}

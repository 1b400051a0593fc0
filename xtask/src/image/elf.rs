//! Whether a program needs a loader: the one line of an ELF file that a container without a libc trips over.

use anyhow::{Context, Result, ensure};

/// The type of the program header that names a loader.
const PT_INTERP: u32 = 3;

/// Whether the file names a loader, and so needs shared libraries to start. For 64-bit little-endian files, which is all
/// that Ballast is built for.
pub(super) fn needs_a_loader(file: &[u8]) -> Result<bool> {
    ensure!(file.starts_with(b"\x7fELF\x02\x01"), "not a 64-bit little-endian ELF file");
    let start = number(file, 0x20, 8)?;
    let (size, count) = (number(file, 0x36, 2)?, number(file, 0x38, 2)?);
    for index in 0..count {
        if number(file, start + index * size, 4)? == PT_INTERP as usize {
            return Ok(true);
        }
    }
    Ok(false)
}

fn number(file: &[u8], at: usize, bytes: usize) -> Result<usize> {
    let part = file.get(at..at + bytes).context("the ELF file ends too early")?;
    Ok(part.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_linked_to_libraries_needs_one() {
        let own = std::fs::read(std::env::current_exe().expect("a test is a program")).expect("and a file");
        assert!(needs_a_loader(&own).expect("an ELF file"));
    }

    #[test]
    fn what_is_no_elf_file_or_is_cut_is_refused() {
        let own = std::fs::read(std::env::current_exe().expect("a test is a program")).expect("and a file");
        assert!(needs_a_loader(b"#!/bin/sh\n").is_err());
        assert!(needs_a_loader(&own[..60]).is_err());
    }
}

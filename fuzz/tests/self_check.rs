//! The fuzzer is worth nothing if it does not see what it is there for: each target that fails on purpose is
//! found, its input is saved, and the input alone does it again.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn fuzz(target: &str, crashers: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ballast-fuzz"))
        .args([target, "--seconds", "20", "--input-seconds", "1", "--crashers"])
        .arg(crashers)
        .args(more)
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("the fuzzer runs")
}

fn is_found_and_saved(target: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let found = fuzz(target, folder.path(), &[]);
    let told = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(!found.status.success(), "{told}");
    assert!(told.contains(&format!("fuzz {target} ... FAILED")), "{told}");
    assert!(told.ends_with("test result: FAILED. 0 passed; 1 failed\n"), "{told}");

    let saved = fs::read_dir(folder.path().join(target)).expect("saved").next().expect("one input");
    let input = fs::read(saved.expect("readable").path()).expect("readable");
    assert!(input.windows(4).any(|window| window == b"boom"), "{}", String::from_utf8_lossy(&input));
    input
}

#[test]
fn a_panic_is_found_and_its_input_does_it_again() {
    let input = is_found_and_saved("self-check-panic");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("input");
    fs::write(&file, input).expect("written");
    let again = fuzz("self-check-panic", folder.path(), &["--replay", file.to_str().expect("plain path")]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("on purpose"));
    assert_eq!(again.status.code(), Some(101));
}

#[test]
fn an_overflown_stack_is_found() {
    is_found_and_saved("self-check-stack");
}

#[test]
fn exhausted_memory_is_found() {
    is_found_and_saved("self-check-memory");
}

#[test]
fn an_endless_loop_is_found() {
    is_found_and_saved("self-check-hang");
}

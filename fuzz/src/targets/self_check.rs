//! Targets that fail on purpose, each in one of the ways in which a program can.

use super::Target;

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run, corpus: &["fuzz/corpus/self-check"], tokens: &["boom"] }
}

pub(super) const TARGETS: &[Target] = &[
    target("self-check-panic", |input| assert!(!is_bad(input), "on purpose")),
    target("self-check-stack", |input| {
        if is_bad(input) {
            recurse(0);
        }
    }),
    target("self-check-memory", |input| {
        if is_bad(input) {
            drop(std::hint::black_box(vec![1_u8; 8 << 30]));
        }
    }),
    target("self-check-hang", |input| {
        while is_bad(input) {
            std::hint::spin_loop();
        }
    }),
];

fn is_bad(input: &[u8]) -> bool {
    input.windows(4).any(|window| window == b"boom")
}

#[expect(unconditional_recursion, reason = "it overflows the stack on purpose")]
fn recurse(depth: u64) -> u64 {
    std::hint::black_box(recurse(std::hint::black_box(depth + 1)) + depth)
}

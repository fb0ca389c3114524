//! The program that `cargo xtask fuzz` builds: libFuzzer with one of the targets.
//!
//! The variable `ESPALIER_FUZZ_TARGET` names the target; the arguments are those of libFuzzer.

#![no_main]
// The macro exports the functions that libFuzzer calls.
#![allow(unsafe_code)]

use std::panic;
use std::sync::LazyLock;

use espalier_fuzz::{TARGETS, Target, target};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("ESPALIER_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        let names = TARGETS.map(|(name, _)| name).join(", ");
        eprintln!("error: ESPALIER_FUZZ_TARGET: expected one of {names}, found `{name}`");
        std::process::exit(2);
    })
});

/// Parts of paths of the crates whose panics the trainer catches, and reports as a damaged shard.
const CONTAINED: [&str; 2] = ["/parquet-", "/arrow-"];

/// Lets these panics unwind to where they are caught. The hook of libFuzzer ends the program at any
/// panic; one that is not caught still ends it.
fn let_contained_panics_unwind() {
    let end_program = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let file = info.location().map_or("", |location| location.file());
        if !CONTAINED.iter().any(|part| file.contains(part)) {
            end_program(info);
        }
    }));
}

fuzz_target!(init: let_contained_panics_unwind(), |input: &[u8]| {
    (*TARGET)(input);
});

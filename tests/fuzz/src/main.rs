//! The program that `cargo xtask fuzz` builds: libFuzzer with one of the targets.
//!
//! The variable `ESPALIER_FUZZ_TARGET` names the target; the arguments are those of libFuzzer.

#![no_main]
// The macro exports the functions that libFuzzer calls.
#![allow(unsafe_code)]

use std::sync::LazyLock;

use espalier_fuzz::{TARGETS, Target, target};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("ESPALIER_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        let names = TARGETS.map(|target| target.name).join(", ");
        eprintln!("error: ESPALIER_FUZZ_TARGET: expected one of {names}, found `{name}`");
        std::process::exit(2);
    })
});

fuzz_target!(|input: &[u8]| (TARGET.run)(input));

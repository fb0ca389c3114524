//! Tells the linker which wasm features the programs may claim.

/// All that the compiler turns on but `reference-types`. With that one, wasm-bindgen would keep
/// JavaScript values in a second table, whose export Binaryen up to version 108 (the `wasm-opt` of
/// Debian 12) writes with the wrong index: the program would no longer start. No code of ours needs
/// the feature.
const FEATURES: &str =
    "bulk-memory,multivalue,mutable-globals,nontrapping-fptoint,sign-ext,simd128";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        println!("cargo::rustc-link-arg-bins=--features={FEATURES}");
        // The standard library is compiled with the feature that is left out.
        println!("cargo::rustc-link-arg-bins=--no-check-features");
    }
}

//! Names the build by its sources, and tells the linker which wasm features the programs may claim.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};

/// What the page and its engines are built from.
const SOURCES: [&str; 4] = ["src", "../core/src", "../core/kernels/src", "../Cargo.lock"];

/// All that the compiler turns on but `reference-types`. With that one, wasm-bindgen would keep
/// JavaScript values in a second table, whose export Binaryen up to version 108 (the `wasm-opt` of
/// Debian 12) writes with the wrong index: the program would no longer start. No code of ours needs
/// the feature.
const FEATURES: &str =
    "bulk-memory,multivalue,mutable-globals,nontrapping-fptoint,sign-ext,simd128";

/// Collects the files of a folder, or the file itself.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_file() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}

/// Returns a hash of all sources.
fn build_id() -> std::io::Result<String> {
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        collect(Path::new(source), &mut files)?;
    }
    files.sort();
    // Always the same keys: equal sources give equal hashes.
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(file.to_string_lossy().as_bytes());
        hasher.write(&fs::read(file)?);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=ESPALIER_BUILD={}", build_id()?);
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        println!("cargo::rustc-link-arg-bins=--features={FEATURES}");
        // The standard library is compiled with the feature that is left out.
        println!("cargo::rustc-link-arg-bins=--no-check-features");
    }
    Ok(())
}

//! ONNX Runtime Web, the peer of the page's engine: fetched by npm into the cache folder, never
//! committed or shipped.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha512};
use xtask::paths;
use xtask::process::{command, on_path, run};

pub(super) const VERSION: &str = "1.30.0";

/// Hash of the package, as npm's registry states it.
const INTEGRITY: &str = "sha512-q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ==";

/// The WebAssembly backend: JavaScript, and the one program that it starts.
const FILES: [&str; 2] = ["ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"];

/// Returns the folder with both files, which are fetched if missing.
///
/// # Errors
/// Says what to install if there is no npm, or that the package has another hash.
pub(super) fn ensure() -> Result<PathBuf> {
    let folder = paths::cache().join(format!("onnxruntime-web-{VERSION}"));
    if FILES.iter().all(|file| folder.join(file).is_file()) {
        return Ok(folder);
    }
    if on_path("npm").is_none() {
        bail!(
            "npm is missing, so onnxruntime-web {VERSION} cannot be fetched: install Node.js, or \
             put {} into {}",
            FILES.join(" and "),
            folder.display()
        );
    }
    let temporary = tempfile::tempdir()?;
    run(command("npm")
        .args(["pack", "--silent", &format!("onnxruntime-web@{VERSION}")])
        .current_dir(temporary.path()))
    .context("npm did not fetch onnxruntime-web")?;
    let package = temporary
        .path()
        .join(format!("onnxruntime-web-{VERSION}.tgz"));
    check(&package, INTEGRITY)?;
    unpack(&package, &folder)?;
    Ok(folder)
}

fn check(package: &Path, expected: &str) -> Result<()> {
    let bytes = std::fs::read(package)
        .with_context(|| format!("npm did not write {}", package.display()))?;
    let found = format!("sha512-{}", STANDARD.encode(Sha512::digest(bytes)));
    if found != expected {
        bail!(
            "{}: expected the hash {expected}, found {found}; the package is not the one that this \
             benchmark was written for, so it is not used",
            package.display()
        );
    }
    Ok(())
}

fn unpack(package: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut tar = command("tar");
    tar.arg("xzf").arg(package).arg("-C").arg(folder);
    tar.arg("--strip-components=2");
    tar.args(FILES.map(|file| format!("package/dist/{file}")));
    run(&mut tar).context("the package of onnxruntime-web cannot be unpacked")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Returns a package with these files below `package/dist`.
    fn package(folder: &Path, files: &[&str]) -> PathBuf {
        let dist = folder.join("package/dist");
        std::fs::create_dir_all(&dist).unwrap();
        for file in files {
            std::fs::write(dist.join(file), file).unwrap();
        }
        let path = folder.join("x.tgz");
        let mut tar = command("tar");
        tar.arg("czf")
            .arg(&path)
            .arg("-C")
            .arg(folder)
            .arg("package");
        run(&mut tar).unwrap();
        path
    }

    #[test]
    fn both_files_are_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let package = package(dir.path(), &FILES);
        let folder = dir.path().join("cache/deep");
        unpack(&package, &folder).unwrap();
        for file in FILES {
            assert_eq!(std::fs::read_to_string(folder.join(file)).unwrap(), file);
        }
    }

    #[test]
    fn another_package_is_refused_and_a_package_without_the_files_too() {
        let dir = tempfile::tempdir().unwrap();
        let package = package(dir.path(), &["other"]);
        let error = check(&package, INTEGRITY).unwrap_err().to_string();
        assert!(error.contains("expected the hash sha512-q0y+"), "{error}");
        assert!(unpack(&package, &dir.path().join("cache")).is_err());
    }
}

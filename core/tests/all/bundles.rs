//! Bundles: what a manifest says of its files, and what a reader refuses.

use espalier_core::bundle::{BundleFile, BundleFiles, Caution, Manifest, Part, pack, sha256_hex};
use espalier_core::caption::{BundleLoader, Captioner, Engine, TextEmbedder, lexicon};
use espalier_core::geometry::{DistanceReduction, Space};
use espalier_core::model::LiftKind;
use espalier_core::weights::{HostTensor, Tensors};
use espalier_fixtures::models::tiny;
use serde_json::{Value, json};

fn read(path: &str) -> Vec<u8> {
    std::fs::read(tiny().join(path)).unwrap()
}

fn manifest() -> Manifest {
    Manifest::parse(&read("manifest.json")).unwrap()
}

/// Reads the manifest of the small model with a change.
fn changed(change: impl Fn(&mut Value)) -> espalier_core::Result<Manifest> {
    let mut manifest: Value = serde_json::from_slice(&read("manifest.json")).unwrap();
    change(&mut manifest);
    Manifest::parse(manifest.to_string().as_bytes())
}

/// Returns the message for the manifest of the small model after a change.
fn refused(change: impl Fn(&mut Value)) -> String {
    changed(change).unwrap_err().to_string()
}

fn expect(message: &str, expected: &str) {
    assert!(message.contains(expected), "{expected}: {message}");
}

/// Returns a packed file and its entry.
fn packed(content: &[u8]) -> (BundleFile, Vec<u8>) {
    let bytes = pack(content);
    let file = BundleFile {
        path: "some.bin".to_owned(),
        part: Part::Captions,
        bytes: bytes.len() as u64,
        sha256: sha256_hex(&bytes),
        dtype: "text".to_owned(),
        unpacked: Some(content.len() as u64),
        shard: 0,
    };
    (file, bytes)
}

#[test]
fn a_file_is_verified_and_unpacked() {
    let content = b"a a a a a a a a a a a a a a a a a a a a a";
    let (file, bytes) = packed(content);
    let verified = file.check(bytes.clone()).unwrap();
    assert_eq!((verified.bytes(), verified.file()), (&bytes[..], &file));
    assert_eq!(verified.into_content().unwrap(), content);

    let cut = file.check(bytes[1..].to_vec()).unwrap_err().to_string();
    expect(&cut, "truncated or of another version");
    let mut damaged = bytes.clone();
    damaged[3] ^= 1;
    let damaged = file.check(damaged).unwrap_err().to_string();
    expect(&damaged, "damaged or of another version");
    let lies = BundleFile {
        unpacked: Some(7),
        ..file
    };
    let lies = lies.check(bytes).unwrap().into_content().unwrap_err();
    expect(&lies.to_string(), "some.bin");
}

#[test]
fn stored_files_are_given_by_their_paths() {
    let manifest = manifest();
    let mut files = BundleFiles::default();
    let missing = files.get("captions.json").unwrap_err().to_string();
    expect(&missing, "the file is missing");
    files
        .insert_checked(&manifest, "captions.json", read("captions.json"))
        .unwrap();
    let (entry, bytes) = packed(&[0xff, 0xfe]);
    files.insert(entry.check(bytes).unwrap()).unwrap();
    let text = files.text("captions.json").unwrap();
    assert_eq!(text.as_bytes(), files.get("captions.json").unwrap());
    assert!(text.starts_with('[') || text.starts_with('{'), "{text}");
    expect(&files.text("some.bin").unwrap_err().to_string(), "UTF-8");
    let tensors = files.tensors("some.bin").unwrap_err().to_string();
    expect(&tensors, "some.bin");
    let unlisted = files.insert_checked(&manifest, "other.json", Vec::new());
    let unlisted = unlisted.unwrap_err().to_string();
    expect(&unlisted, "not listed in the manifest");
}

#[test]
fn a_manifest_tells_which_files_to_fetch_first() {
    let manifest = manifest();
    let length = |path: &str| read(path).len() as u64;
    let paths = |files: Vec<&BundleFile>| -> Vec<String> {
        files.into_iter().map(|file| file.path.clone()).collect()
    };
    let captions = [Part::Captions];
    let first = manifest.first_files_of(&captions).collect();
    assert_eq!(paths(first), ["captions.json", "captions.safetensors"]);
    let later = manifest.later_files_of(&captions);
    assert_eq!(paths(later), ["captions-1.json", "captions-1.safetensors"]);
    let first = length("captions.json") + length("captions.safetensors");
    let later = length("captions-1.json") + length("captions-1.safetensors");
    assert_eq!(manifest.first_bytes_of(&captions), first);
    assert_eq!(manifest.bytes_of(&captions), first + later);
    assert_eq!(manifest.bytes_of(&[]), 0);
    assert_eq!(manifest.file("captions.json").unwrap().part, Part::Captions);
}

#[test]
fn later_files_come_in_the_order_of_their_shards() {
    let mut manifest = manifest();
    let mut shard = 9;
    for file in &mut manifest.files {
        if file.part == Part::Captions {
            shard -= 1;
            file.shard = shard;
        }
    }
    let later = manifest.later_files_of(&[Part::Captions]);
    assert!(later.len() > 2 && later.windows(2).all(|w| w[0].shard < w[1].shard));
    let written = serde_json::to_value(&manifest).unwrap();
    let files = written["files"].as_array().unwrap();
    let numbered = files.iter().filter(|file| file.get("shard").is_some());
    assert_eq!(numbered.count(), later.len());
}

#[test]
fn a_geometry_of_another_model_is_refused() {
    expect(
        &refused(|m| m["geometry"]["curvature"] = json!(0.0)),
        "expected a positive `curvature`, found one curvature, 0",
    );
    expect(
        &refused(|m| m["geometry"] = json!({ "kind": "sphere", "root": vec![0.1; 128] })),
        "expected the space of the model, Lorentz, found a sphere with a root of 128 numbers",
    );
    let on_sphere = |m: &mut Value, root: Vec<f64>| {
        m["model"]["lift"] = json!("Sphere");
        m["geometry"] = json!({ "kind": "sphere", "root": root });
    };
    expect(
        &refused(|m| on_sphere(m, vec![0.1; 127])),
        "expected a `root` of 128 finite numbers, found a sphere with a root of 127 numbers",
    );
    let product = |m: &mut Value, curvatures: &[f64], join: DistanceReduction| {
        let lift = json!({ "factors": 2, "join": DistanceReduction::L1 });
        m["model"]["lift"] = json!({ "Product": lift });
        m["geometry"] = json!({ "kind": "product", "curvatures": curvatures, "join": join });
    };
    for (curvatures, join) in [
        (&[1.0, 2.0, 3.0][..], DistanceReduction::L1),
        (&[1.0, 0.0], DistanceReduction::L1),
        (&[1.0, -2.0], DistanceReduction::L1),
        (&[1.0, 2.0], DistanceReduction::L2),
    ] {
        let message = refused(|m| product(m, curvatures, join));
        expect(&message, "expected 2 positive `curvatures` joined by L1");
    }
    let mut fitting = manifest();
    fitting.model.lift = LiftKind::Product {
        factors: 2,
        join: DistanceReduction::L2,
    };
    fitting.geometry = Space::Product {
        curvatures: vec![1.0, 0.1],
        join: DistanceReduction::L2,
    };
    fitting.check_geometry().unwrap();
}

#[test]
fn other_documents_are_no_manifests() {
    expect(
        &Manifest::parse(b"[]").unwrap_err().to_string(),
        "expected a JSON object with a `format`",
    );
    expect(
        &refused(|m| m["format"] = json!("other/1")),
        "found `other/1`",
    );
    expect(&refused(|m| m["files"] = json!(3)), "cannot be read");
    expect(
        &refused(|m| m["files"][1]["path"] = m["files"][0]["path"].clone()),
        "is listed twice",
    );
}

#[test]
fn preprocessing_of_another_size_than_the_encoder_reads_is_an_error() {
    expect(
        &refused(|m| m["preprocessing"]["size"] = json!(u32::MAX)),
        "preprocessing: expected the size 64 of the image encoder, found 4294967295",
    );
}

#[test]
fn a_path_that_leaves_the_folder_is_an_error() {
    for path in [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a/..",
        "./a",
        "a//b",
        "..\\x",
        "\\\\host\\x",
        "c:x",
        "https://elsewhere/x",
        "//elsewhere/x",
        "%2e%2e/x",
        "a%2fb",
        "x?y",
        "x#y",
        "a b",
        "a\u{202e}b",
    ] {
        let message = refused(|m| m["files"][0]["path"] = json!(path));
        assert!(message.contains("inside the folder"), "{path}: {message}");
    }
    changed(|m| m["files"][0]["path"] = json!("deep/er/weights.q8.safetensors")).unwrap();
}

#[test]
fn a_name_that_rewrites_a_terminal_is_an_error() {
    expect(
        &refused(|m| m["name"] = json!("tiny\u{1b}[2K")),
        "name: expected text without control",
    );
}

#[test]
fn images_larger_than_any_model_reads_are_an_error() {
    expect(
        &refused(|m| m["model"]["vision"]["image_size"] = json!(65_536)),
        "vision.image_size must be between 1 and 4096, found 65536",
    );
}

#[test]
fn the_largest_content_of_a_file_is_64_times_its_length_or_a_mebibyte() {
    let of_length = |bytes: u64, unpacked: u64| {
        changed(move |m| {
            m["files"][0]["bytes"] = json!(bytes);
            m["files"][0]["unpacked"] = json!(unpacked);
        })
    };
    of_length(4 << 20, 256 << 20).unwrap();
    let message = of_length(4 << 20, (256 << 20) + 1).unwrap_err().to_string();
    let expected = "at most 268435456 bytes after decompression of 4194304";
    expect(&message, expected);
    of_length(1, 1 << 20).unwrap();
    assert!(of_length(1, (1 << 20) + 1).is_err());
}

#[test]
fn the_largest_bundle_has_16_gib() {
    // The first file takes what the others, of a byte each, leave.
    let of_length = |total: u64| {
        changed(move |m| {
            let files = m["files"].as_array_mut().unwrap();
            for file in files.iter_mut() {
                file["bytes"] = json!(1);
                file["unpacked"] = json!(null);
            }
            files[0]["bytes"] = json!(total - (files.len() as u64 - 1));
        })
    };
    of_length(16 << 30).unwrap();
    assert!(of_length((16 << 30) + 1).is_err());
    let message = refused(|m| {
        m["files"][0]["bytes"] = json!(u64::MAX);
        m["files"][1]["bytes"] = json!(u64::MAX);
    });
    expect(&message, "at most 16 GiB in total");
}

#[test]
fn cautions_are_kept_in_the_manifest_and_unknown_ones_are_left_out() {
    let mut manifest = manifest();
    let cautions = [
        Caution::NotCalibrated,
        Caution::AtChance,
        Caution::NotCalibrated,
    ];
    manifest.set_cautions(cautions.to_vec());
    let text = serde_json::to_string(&manifest).unwrap();
    assert!(text.contains(r#""cautions":["at_chance","not_calibrated"]"#));
    let later = text.replace("at_chance", "of_a_later_version");
    let read = Manifest::parse(later.as_bytes()).unwrap();
    assert_eq!(read.cautions(), [Caution::NotCalibrated]);
    manifest.set_cautions(Vec::new());
    assert!(manifest.cautions().is_empty() && !manifest.provenance.contains_key("cautions"));
}

/// Hands the files that `content` has, but for those of the text encoder, to a loader, after a change of the manifest.
fn load(
    change: impl Fn(&mut Manifest),
    content: impl Fn(&str) -> Option<Vec<u8>>,
) -> Result<Captioner, String> {
    let mut manifest = manifest();
    change(&mut manifest);
    let bytes = serde_json::to_vec(&manifest).unwrap();
    let mut loader = BundleLoader::new(&bytes, &Engine::Kernels).map_err(|e| e.to_string())?;
    assert_eq!(loader.manifest().files.len(), manifest.files.len());
    for file in manifest.files.iter().filter(|f| f.part != Part::Text) {
        if let Some(content) = content(&file.path) {
            let verified = file.check(content).unwrap();
            loader = loader.with(verified).map_err(|e| e.to_string())?;
        }
    }
    loader.finish().map_err(|e| e.to_string())
}

#[test]
fn a_bundle_without_one_of_its_files_is_refused_by_name() {
    let all = |path: &str| Some(read(path));
    assert!(load(|_| (), all).is_ok());
    for path in [
        "image.safetensors",
        "captions.json",
        "taxonomy.tsv",
        "selftest.png",
    ] {
        let others = |other: &str| (other != path).then(|| read(other));
        expect(&load(|_| (), others).unwrap_err(), path);
    }
    let without = |part: Part| load(|m| m.files.retain(|file| file.part != part), all);
    let without_image = without(Part::Image).unwrap_err();
    expect(&without_image, "no file of the image encoder is listed");
    // A self-test is optional.
    let captioner = without(Part::Selftest).unwrap();
    assert_eq!(pollster::block_on(captioner.self_test()).unwrap(), 1.0);
}

#[test]
fn a_file_of_another_bundle_is_refused() {
    let manifest = manifest();
    let loader = BundleLoader::new(&read("manifest.json"), &Engine::Kernels).unwrap();
    let (mut file, bytes) = packed(b"[]");
    let unlisted = loader.with(file.check(bytes.clone()).unwrap()).unwrap_err();
    expect(&unlisted.to_string(), "not listed in the manifest");
    file.path = manifest.files[0].path.clone();
    let loader = BundleLoader::new(&read("manifest.json"), &Engine::Kernels).unwrap();
    let other = loader.with(file.check(bytes).unwrap()).unwrap_err();
    expect(&other.to_string(), "belongs to another bundle");
}

/// Hands weights to a loader instead of those of the image encoder.
fn load_image(weights: Vec<u8>) -> Result<(), String> {
    let path = "image.safetensors";
    let change = |manifest: &mut Manifest| {
        let listed = manifest.files.iter_mut().find(|file| file.path == path);
        let listed = listed.unwrap();
        listed.sha256 = sha256_hex(&weights);
        listed.bytes = weights.len() as u64;
        listed.unpacked = None;
    };
    let content = |file: &str| match file == path {
        true => Some(weights.clone()),
        false => Some(read(file)),
    };
    load(change, content).map(drop)
}

#[test]
fn weights_that_cannot_be_read_are_named_by_file_or_by_tensor() {
    let file = manifest();
    let file = file.file("image.safetensors").unwrap();
    let packed = file.check(read("image.safetensors")).unwrap();
    let tensors = Tensors::read(&packed.into_content().unwrap()).unwrap();
    let written = |tensors: &Tensors| tensors.write(|_, _| None).unwrap();
    assert_eq!(load_image(written(&tensors)), Ok(()));
    let message = load_image(b"no weights".to_vec()).unwrap_err();
    expect(&message, "image.safetensors");
    let mut fewer = tensors.clone();
    let (name, _) = fewer.tensors.pop_first().unwrap();
    expect(&load_image(written(&fewer)).unwrap_err(), &name);
    let mut misshapen = tensors;
    let (name, tensor) = misshapen.tensors.pop_first().unwrap();
    let shape = vec![1, tensor.data.len() + 1];
    let data = vec![0.0; tensor.data.len() + 1];
    misshapen
        .tensors
        .insert(name.clone(), HostTensor { shape, data });
    let message = load_image(written(&misshapen)).unwrap_err();
    expect(&message, &format!("tensor `{name}`"));
    assert!(!message.contains("image.safetensors"), "{message}");
}

#[test]
fn the_nouns_of_a_bundle_are_read_if_it_has_any() {
    let mut manifest = manifest();
    let mut files = BundleFiles::default();
    assert!(lexicon(&manifest, &files).unwrap().is_empty());
    let taxonomy = String::from_utf8(read("taxonomy.tsv")).unwrap();
    let node = taxonomy.lines().nth(1).unwrap().split('\t').next().unwrap();
    let (mut file, bytes) = packed(format!("{node}\tthingamajig\n").as_bytes());
    file.path = "nouns.tsv".to_owned();
    file.part = Part::Text;
    files.insert(file.check(bytes).unwrap()).unwrap();
    for listed in manifest.files_of(&[Part::Text]) {
        let verified = listed.check(read(&listed.path)).unwrap();
        files.insert(verified).unwrap();
    }
    manifest.files.push(file);
    assert_eq!(lexicon(&manifest, &files).unwrap().len(), 1);
    let texts = TextEmbedder::open(&manifest, &files, &Engine::Kernels).unwrap();
    assert_eq!(texts.lexicon().len(), 1);
}

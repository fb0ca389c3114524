//! Shards of training data: tars, parquet, and the byte arrays of published test images.

use std::borrow::Cow;
use std::path::PathBuf;

use espalier_trainer::data::formats::{arrays, class_tars, grit::Grit};
use tar::{Builder, Header};

use crate::input_files::InputFiles;
use crate::records::check;

/// The name and content of a file.
type Named = (&'static str, &'static [u8]);

/// Folders of byte arrays: the name of the images, and what else the format has.
const ARRAYS: [(&str, &[Named]); 4] = [
    (
        "cifar10/test_batch.bin",
        &[("cifar10/batches.meta.txt", b"cat\ndog\n")],
    ),
    (
        "cifar100/test.bin",
        &[("cifar100/fine_label_names.txt", b"cat\ndog\n")],
    ),
    (
        "mnist/t10k-images-idx3-ubyte",
        &[("mnist/t10k-labels-idx1-ubyte", b"12345678\x01\x02")],
    ),
    // The labels of STL-10; its images are too large for an input.
    (
        "stl10/test_y.bin",
        &[
            ("stl10/test_X.bin", &[9]),
            ("stl10/class_names.txt", b"cat\n"),
        ],
    ),
];

/// A tar of labelled images, and the names of the classes beside it.
const CLASSES: &str = "classes/x.tar";
const CLASS_NAMES: Named = ("classes/classnames.txt", b"cat\ndog\n");

/// Bytes of a block of a tar.
const BLOCK: usize = 512;

thread_local! {
    static FILES: InputFiles = {
        let arrays = ARRAYS.iter().map(|(name, _)| *name);
        let names: Vec<&str> = ["x.tar", "x.parquet", CLASSES].into_iter().chain(arrays).collect();
        let others = ARRAYS.iter().flat_map(|(_, others)| *others).copied();
        let others: Vec<Named> = others.chain([CLASS_NAMES]).collect();
        InputFiles::new(&names, &others)
    };
}

/// Reads a shard as each of the formats. JSON is read as the metadata of a photo in a tar; any other
/// input is read as a tar both as it is and with correct checksums, which a fuzzer does not find.
///
/// # Panics
/// If a record breaks a promise, see `check`.
pub fn run(input: &[u8]) {
    FILES.with(|files| {
        files.write(input);
        if input.trim_ascii_start().starts_with(b"{") {
            files.write(&tar_around(input));
            return read_tar(files);
        }
        for (name, _) in ARRAYS {
            let path = files.path(name);
            let folder = path.parent().unwrap_or(&path);
            if let Ok(table) = arrays::open(folder) {
                check(&table);
            }
        }
        read_shard(files.path("x.parquet"));
        read_tar(files);
        if let Cow::Owned(tar) = with_checksums(input) {
            files.write(&tar);
            read_tar(files);
        }
    });
}

/// Reads a tar of captions, and one of labelled images.
fn read_tar(files: &InputFiles) {
    read_shard(files.path("x.tar"));
    let classes = files.path(CLASSES);
    if class_tars::matches(&classes)
        && let Ok(table) = class_tars::open(&[classes])
    {
        check(&table);
    }
}

fn read_shard(path: PathBuf) {
    if let Ok(shard) = Grit::open(&[path]) {
        check(&shard);
    }
}

/// Returns a tar of one photo with this metadata, and of a text.
fn tar_around(json: &[u8]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    let photo: &[u8] = b"not decoded";
    for (name, bytes) in [
        ("1.jpg", photo),
        ("1.json", json),
        ("1.txt", b"a cat and a dog"),
    ] {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        let added = tar.append_data(&mut header, name, bytes);
        added.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    tar.into_inner().unwrap_or_else(|e| panic!("{e}"))
}

/// Corrects the checksum of every block that is marked as a header.
fn with_checksums(input: &[u8]) -> Cow<'_, [u8]> {
    let mut tar = Cow::Borrowed(input);
    let starts = (0..input.len() / BLOCK).map(|block| block * BLOCK);
    for start in starts.filter(|start| input[start + 257..].starts_with(b"ustar")) {
        let mut header = Header::new_old();
        header
            .as_mut_bytes()
            .copy_from_slice(&input[start..start + BLOCK]);
        header.set_cksum();
        if header.as_bytes() != &input[start..start + BLOCK] {
            tar.to_mut()[start..start + BLOCK].copy_from_slice(header.as_bytes());
        }
    }
    tar
}

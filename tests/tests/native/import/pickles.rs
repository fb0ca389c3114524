//! Pickles of arbitrary bytes give values or an error, never a panic and never a call.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use espalier_trainer::import::pickle::read;
use proptest::prelude::*;
use zip::write::SimpleFileOptions;

use crate::import::support::{HEADS, golden, import};

/// Writes an archive as PyTorch does, with this pickle in it.
pub fn archive(path: &Path, pickle: &[u8]) {
    let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in [
        ("archive/data.pkl", pickle),
        ("archive/byteorder", b"little"),
        ("archive/version", b"3\n"),
    ] {
        zip.start_file(name, stored).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

#[test]
fn a_pickle_that_would_run_code_is_refused_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mark) = (folder.path().join("model.pth"), folder.path().join("ran"));
    let command = format!("touch {}", mark.display());
    // The pickle, in protocol 2, of a class whose `__reduce__` returns `os.system`.
    let mut pickle = b"\x80\x02}q\0X\x05\0\0\0modelcposix\nsystem\nX".to_vec();
    pickle.extend((command.len() as u32).to_le_bytes());
    pickle.extend(command.as_bytes());
    pickle.extend(b"\x85R.");
    let out = folder.path().join("ours");
    let refused = |words: &[&str]| {
        import(&path, &out).refused(words);
        assert!(!mark.exists() && !out.exists());
    };
    archive(&path, &pickle);
    refused(&["`posix.system`", "nothing was run"]);
    // The same without an archive around it.
    std::fs::write(&path, &pickle).unwrap();
    refused(&["a pickle alone", "nothing was run"]);
}

#[test]
fn a_spoilt_archive_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(golden("meru.pth")).unwrap();
    let path = folder.path().join("spoilt.pth");
    let out = folder.path().join("ours");
    let mut flipped = whole.clone();
    // In the middle of a tensor's values, for which the archive has a checksum.
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x40;
    for (name, bytes) in [
        ("cut", &whole[..whole.len() / 2]),
        ("cut at its end", &whole[..whole.len() - 10]),
        ("its start alone", &whole[..10]),
        ("flipped", &flipped),
    ] {
        std::fs::write(&path, bytes).unwrap();
        import(&path, &out).with(HEADS).refused(&["spoilt.pth"]);
        assert!(!out.exists(), "{name}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
    }

    #[test]
    fn any_instructions_are_a_value_or_an_error(
        codes in prop::collection::vec(prop::sample::select(b"\x80\x95NK(012hq)}]tlaesubcQR.\x85\x93\0\x01X\n".to_vec()), 0..60)
    ) {
        let _ = read(&codes);
    }
}

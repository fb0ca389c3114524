//! The page gives the same answers as the command line, explains errors, and never sends the photo.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use espalier_core::bundle::Part;
use espalier_core::caption::CaptionResult;
use espalier_tests::browser::{
    Answer, Browser, Gpu, Seen, Site, TINY, natively, natively_by, sample,
};
use espalier_tests::models::shipped;
use espalier_tests::photos::{fading, grey, jpeg, keep, landscape, noise, save};
use espalier_tests::texts;

use crate::visitor::Visit;

/// Largest difference of radii, similarities and probabilities between two engines.
const TOLERANCE: f64 = 1e-2;

fn close(what: &str, page: f64, native: f64) {
    assert!(
        (page - native).abs() <= TOLERANCE,
        "{what}: expected {native} as on the command line, found {page}"
    );
}

/// Asserts that the page's answer equals that of the command line with the model `tiny`.
pub(crate) fn agree(photo: &Path, answer: &Answer, backend: &str) {
    agree_with(&natively(photo, &[]), photo, answer, backend);
}

/// Asserts that the page's answer equals `native`, the result of the command line.
fn agree_with(native: &CaptionResult, photo: &Path, answer: &Answer, backend: &str) {
    let page = &answer.result;
    let name = photo.file_name().unwrap().to_string_lossy();
    assert_eq!(page.backend, backend, "{name}");
    assert_eq!(
        page.model, native.model,
        "the built page contains another model than the repository"
    );
    assert_eq!(page.image, native.image, "{name}");
    assert_eq!(texts(&page.ladder), texts(&native.ladder), "{name}");
    assert_eq!(
        answer.rungs,
        texts(&page.ladder),
        "{name}: the screen does not show the ladder of the result"
    );
    for (a, b) in page.ladder.iter().zip(&native.ladder) {
        let what = format!("{name}, `{}`", a.text);
        close(&format!("{what}, radius"), a.radius, b.radius);
        close(&format!("{what}, similarity"), a.similarity, b.similarity);
        assert_eq!(a.node, b.node, "{what}");
    }
    assert_eq!(page.taxonomy.stop, native.taxonomy.stop, "{name}");
    let (path, known) = (&page.taxonomy.path, &native.taxonomy.path);
    assert_eq!(path.len(), known.len(), "{name}");
    for (a, b) in path.iter().zip(known) {
        assert_eq!((&a.id, &a.name), (&b.id, &b.name), "{name}");
        close(&format!("{name}, p of {}", a.name), a.p, b.p);
    }
}

/// Asserts that the ladder has at least three rungs, with radii that do not fall and no text twice,
/// and that the probabilities along the path do not rise and the path contains its stop.
fn is_a_ladder(result: &CaptionResult) {
    let rungs = &result.ladder;
    assert!(rungs.len() >= 3, "{rungs:?}");
    assert!(rungs.is_sorted_by_key(|rung| rung.radius), "{rungs:?}");
    let distinct: BTreeSet<&str> = texts(rungs).into_iter().collect();
    assert_eq!(distinct.len(), rungs.len(), "{rungs:?}");
    let path = &result.taxonomy.path;
    assert!(path.is_sorted_by(|a, b| a.p >= b.p), "{path:?}");
    let mut ids = path.iter().map(|step| &step.id);
    assert!(ids.any(|id| *id == result.taxonomy.stop), "{path:?}");
}

/// Writes photos of several kinds; the second is stored rotated by 90 degrees.
pub(crate) fn photos(folder: &Path) -> Vec<PathBuf> {
    let wide = landscape(640, 480);
    let tall = landscape(300, 420);
    // Rotated to the left, as a phone stores it; its orientation tells the viewer to rotate it to
    // the right.
    let stored = image::imageops::rotate270(&tall);
    vec![
        keep(folder, "photo.jpg", &jpeg(&wide, 1)),
        keep(folder, "turned.jpg", &jpeg(&stored, 6)),
        save(folder, "grey.png", grey(&wide)),
        save(folder, "fading.png", fading(&wide)),
        save(folder, "tiny.bmp", landscape(24, 16)),
    ]
}

/// Asserts that without a WebGPU engine the CPU answers like the command line; returns what the page
/// says of its engine.
pub(crate) fn the_cpu_takes_over(visit: &Visit) -> String {
    let answer = visit.open("?model=tiny&backend=auto").answer();
    agree(&visit.photo, &answer, "cpu");
    let said = answer.engine;
    for words in ["CPU", "WebGPU is not used"] {
        assert!(said.contains(words), "{said}");
    }
    said
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_cpu_engine_says_what_the_command_line_says() {
    let visit = Visit::new();
    visit.open("?model=tiny&backend=cpu");
    for photo in photos(visit.folder.path()) {
        let answer = visit.browser.give(&photo).unwrap();
        is_a_ladder(&answer.result);
        agree(&photo, &answer, "cpu");
    }
    the_cpu_takes_over(&visit);
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_default_model_says_on_the_page_what_it_says_on_the_command_line() {
    let visit = Visit::new();
    visit.open("?backend=cpu");
    let stored = jpeg(&image::imageops::rotate270(&landscape(300, 420)), 6);
    let turned = keep(visit.folder.path(), "turned.jpg", &stored);
    for photo in [sample("cat"), turned] {
        let answer = visit.browser.give(&photo).unwrap();
        let native = natively_by(&shipped(), &photo, &[]);
        agree_with(&native, &photo, &answer, "cpu");
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_file_that_is_no_photo_is_an_error_in_words_and_the_next_photo_works() {
    let visit = Visit::new();
    let good = fs::read(&visit.photo).unwrap();
    let bad: [(&str, &[u8], &str); 4] = [
        (
            "letter.jpg",
            b"Dear reader, this is no photo.",
            "Dear reader",
        ),
        ("cut.jpg", &good[..good.len() / 2], "truncated"),
        ("empty.jpg", b"", "0 bytes"),
        ("phone.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC"),
    ];
    visit.open("?model=tiny&backend=cpu");
    for (name, bytes, words) in bad {
        let photo = keep(visit.folder.path(), name, bytes);
        let card = visit.browser.give(&photo).unwrap_err();
        assert_eq!(card.cause, "photo", "{card:?}");
        assert!(card.words.contains(words), "{card:?}");
        // At least two sentences: what happened and what to do.
        let sentences = card.words.matches(['.', '?']).count();
        assert!(sentences >= 2, "{card:?}");
        agree(&visit.photo, &visit.answer(), "cpu");
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_damaged_or_missing_file_of_the_model_is_named_and_can_be_put_right() {
    let folder = tempfile::tempdir().unwrap();
    let photo = keep(folder.path(), "photo.jpg", &jpeg(&landscape(200, 150), 1));
    let browser = Browser::start(Gpu::None);
    let manifest = Site::built().manifest(TINY);
    let mut files: Vec<_> = manifest
        .first_files_of(&Part::OF_AN_ANSWER)
        .map(|f| f.path.clone())
        .collect();
    assert!(files.len() >= 4, "{files:?}");
    files.push("manifest.json".to_owned());
    for (place, name) in files.iter().enumerate() {
        // A new address, so that the browser does not use its cached copy of the intact file.
        let site = Site::copy();
        let path = site.model_folder(TINY).join(name);
        let sound = fs::read(&path).unwrap();
        // The manifest holds the hashes of the other files and has none itself, so it is only
        // removed.
        let missing = place % 2 == 1 || name == "manifest.json";
        spoil(&path, missing);
        browser.open(&site, "?model=tiny&backend=cpu");
        let card = browser.give(&photo).unwrap_err();
        let words = card.words;
        assert_eq!(card.cause, "bundle", "{name}: {words}");
        assert!(words.contains(name.as_str()), "{name}: {words}");
        assert!(!missing || words.contains("404"), "{name}: {words}");

        fs::write(&path, &sound).unwrap();
        agree(&photo, &browser.try_again(&photo).unwrap(), "cpu");
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn finer_captions_that_are_damaged_or_missing_are_told_and_general_ones_answer() {
    let folder = tempfile::tempdir().unwrap();
    let photo = keep(folder.path(), "photo.jpg", &jpeg(&landscape(200, 150), 1));
    let browser = Browser::start(Gpu::None);
    let manifest = Site::built().manifest(TINY);
    let finer = manifest.later_files_of(&Part::OF_AN_ANSWER);
    assert!(
        !finer.is_empty(),
        "expected finer captions in files of their own, found none"
    );
    for (file, missing) in finer.iter().zip([false, true].into_iter().cycle()) {
        let site = Site::copy();
        let path = site.model_folder(TINY).join(&file.path);
        spoil(&path, missing);
        browser.open(&site, "?model=tiny&backend=cpu");
        let _ = browser.give(&photo).unwrap();
        browser.wait_for_words("[data-testid=coarse]", &file.path);
    }
}

/// Removes a file, or changes one byte of it, which only a hash detects.
fn spoil(path: &Path, missing: bool) {
    if missing {
        return fs::remove_file(path).unwrap();
    }
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x20;
    fs::write(path, bytes).unwrap();
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn no_request_carries_the_photo() {
    let visit = Visit::new();
    let (browser, site) = (&visit.browser, &visit.site);
    // Incompressible, so that it cannot be hidden in an address or a header.
    let photo = save(visit.folder.path(), "noise.png", noise(400, 400));
    let size = fs::metadata(&photo).unwrap().len();
    assert!(size > 400_000);

    visit.open("?backend=cpu");
    let answer = browser.give(&photo).unwrap();
    assert_eq!(answer.result.image.width, 400);
    // The page could not send it even if it tried: its content security policy forbids it.
    let tried = browser.evaluate(
        "return fetch('http://127.0.0.2:9/', { method: 'POST', body: 'x' })\
         .then(() => 'sent', (error) => error.name)",
    );
    assert_eq!(tried, "TypeError");

    let requests = browser.requests();
    let loaded = |name: &str| requests.iter().any(|seen| seen.url.contains(name));
    assert!(
        loaded("worker_cpu_bg.wasm") && loaded("manifest.json"),
        "expected requests for the engine and the manifest, found {requests:?}"
    );
    assert!(
        !loaded("127.0.0.2"),
        "the policy does not block requests to other addresses"
    );
    let ours = |seen: &&Seen| seen.url.starts_with(&site.url());
    for seen in requests.iter().filter(ours) {
        assert!(seen.only_reads(), "{seen:?}");
    }
    // A browser also asks its vendor for updates. The recorder blocks these requests, and their
    // bytes are too few for a photo.
    let bytes = |seen: &Seen| (seen.head as u64).saturating_add(seen.body.unwrap_or(0));
    let sent = requests.iter().map(bytes).fold(0, u64::saturating_add);
    assert!(
        sent < size / 4,
        "expected less than {size} / 4 bytes sent in all, found {sent}: {requests:?}"
    );
}

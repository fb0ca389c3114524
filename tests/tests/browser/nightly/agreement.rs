//! The same answer everywhere: processors with and without AVX, one thread and many, the kernels and
//! a backend, and the browser's two engines. `cargo xtask agree PHOTOS` prints the table for a folder
//! of photos.

use std::path::{Path, PathBuf};
use std::process::Command;

use burn::tensor::Device;
use espalier_core::caption::{CaptionResult, Captioner, Engine, Request};
use espalier_tests::browser::{Browser, DEFAULT, Gpu, Site, sample};
use espalier_tests::models::{captioner, shipped};
use espalier_tests::{texts, trainer_command};

/// Variable with a folder of photos.
const PHOTOS: &str = "ESPALIER_AGREE_PHOTOS";

/// Variable with QEMU's program for this processor, which can hide its newer instructions.
const QEMU: &str = "QEMU";

/// Largest difference of a probability or a similarity. Engines add in different orders.
const TOLERANCE: f64 = 1e-3;

/// Photos that the emulated processor reads at most, and that two browsers are compared on.
const FEW: usize = 20;

/// Photos that a graphics processor made of software reads at most; it is slower still.
const FEWER: usize = 4;

/// Returns the photos of the folder that the variable names, or some of the page's samples.
fn photos() -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os(PHOTOS) else {
        return ["cat", "car", "canoes", "bench"].map(sample).to_vec();
    };
    let mut photos = xtask::files::below(Path::new(&folder)).unwrap();
    photos.retain(|path| {
        let extension = path.extension().unwrap_or_default();
        ["jpg", "jpeg", "png", "webp"]
            .iter()
            .any(|e| extension == *e)
    });
    assert!(!photos.is_empty(), "no photo in the folder of {PHOTOS}");
    photos
}

/// How far the answers of an engine are from those of the reference.
#[derive(Default)]
struct Agreement {
    photos: usize,
    ladders: usize,
    stops: usize,
    probability: f64,
    similarity: f64,
}

impl Agreement {
    fn of(found: &[CaptionResult], expected: &[CaptionResult]) -> Self {
        let mut all = Self::default();
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.image.sha256, expected.image.sha256);
            all.photos += 1;
            all.ladders += usize::from(texts(&found.ladder) == texts(&expected.ladder));
            all.stops += usize::from(found.taxonomy.stop == expected.taxonomy.stop);
            for (found, expected) in found.taxonomy.path.iter().zip(&expected.taxonomy.path) {
                all.probability = all.probability.max((found.p - expected.p).abs());
            }
            for (found, expected) in found.ladder.iter().zip(&expected.ladder) {
                let difference = (found.similarity - expected.similarity).abs();
                all.similarity = all.similarity.max(difference);
            }
        }
        all
    }

    fn check(&self, engine: &str) {
        println!(
            "| {engine} | {} | {} | {} | {:.1e} | {:.1e} |",
            self.photos, self.ladders, self.stops, self.probability, self.similarity
        );
        assert!(self.photos > 0, "{engine} read no photo");
        assert_eq!(
            (self.ladders, self.stops),
            (self.photos, self.photos),
            "{engine} gives other answers"
        );
        assert!(
            self.probability < TOLERANCE && self.similarity < TOLERANCE,
            "{engine}: probabilities differ by {}, similarities by {}",
            self.probability,
            self.similarity
        );
    }
}

fn in_process(engine: &Engine, photos: &[PathBuf]) -> Vec<CaptionResult> {
    let captioner = captioner(&shipped(), engine);
    let answers = photos.iter().map(|photo| answer(&captioner, photo));
    answers.collect()
}

fn answer(captioner: &Captioner, photo: &Path) -> CaptionResult {
    let bytes = std::fs::read(photo).unwrap();
    let reading = pollster::block_on(captioner.read(&bytes, Request::default(), || 0.0));
    reading.unwrap().result(captioner, "cpu")
}

/// Returns the answers of `trainer caption`, started by `command`.
fn by_command(mut command: Command, photos: &[PathBuf]) -> Vec<CaptionResult> {
    let output = command
        .args(["caption", "--json", "--model"])
        .arg(shipped())
        .args(photos)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = serde_json::Deserializer::from_str(&lines).into_iter();
    lines.map(Result::unwrap).collect()
}

fn in_browser(browser: &Browser, query: &str, photos: &[PathBuf]) -> Vec<CaptionResult> {
    let site = Site::built();
    browser.open(&site, query);
    let give = |photo: &PathBuf| {
        // A folder with links would be refused by the browser.
        let path = photo.canonicalize().unwrap();
        browser.give(&path).unwrap().result
    };
    photos.iter().map(give).collect()
}

/// Answers of the kernels on this processor, which those of all engines are compared with.
fn expected(photos: &[PathBuf]) -> Vec<CaptionResult> {
    println!("model {DEFAULT}; differences from the kernels on this processor\n");
    println!(
        "| engine | photos | same ladder | same stop | largest difference of p | of a similarity |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    in_process(&Engine::Kernels, photos)
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn all_engines_give_the_same_ladders_and_stops() {
    let photos = photos();
    let expected = expected(&photos);
    let check = |engine: &str, found: &[CaptionResult]| {
        Agreement::of(found, &expected).check(engine);
    };
    let mut one = trainer_command();
    one.env("RAYON_NUM_THREADS", "1");
    check("the command line, one thread", &by_command(one, &photos));
    let all = by_command(trainer_command(), &photos);
    check("the command line, all threads", &all);
    let backend = in_process(&Engine::Device(Device::flex()), &photos);
    check("Burn's CPU backend", &backend);
    let chromium = in_browser(&Browser::start(Gpu::None), "?backend=cpu", &photos);
    check("the page's CPU engine, Chromium", &chromium);
    let fewer = &photos[..photos.len().min(FEWER)];
    let software = in_browser(&Browser::start(Gpu::Software), "?backend=webgpu", fewer);
    let engine = "the page's WebGPU engine, Chromium's software adapter";
    check(engine, &software);
}

#[test]
#[ignore = "needs Chromium and Firefox: cargo xtask test --all"]
fn the_cpu_engine_in_firefox_gives_the_same_ladders_and_stops() {
    let photos = photos();
    let expected = expected(&photos);
    let found = in_browser(&Browser::start_firefox(), "?backend=cpu", &photos);
    Agreement::of(&found, &expected).check("the page's CPU engine, Firefox");
    // Both browsers run the same program.
    let few = &photos[..photos.len().min(FEW)];
    let chromium = in_browser(&Browser::start(Gpu::None), "?backend=cpu", few);
    let apart = Agreement::of(&chromium, &found).probability;
    assert!(apart < 1e-5, "probabilities differ by {apart}");
}

#[test]
#[ignore = "needs QEMU: cargo xtask agree"]
fn a_processor_without_avx_gives_the_same_ladders_and_stops() {
    let photos = photos();
    let few = &photos[..photos.len().min(FEW)];
    let qemu = std::env::var_os(QEMU).unwrap_or_else(|| {
        panic!(
            "{QEMU} is not set: expected the path of qemu-x86_64 (Debian's package qemu-user); \
             `cargo xtask agree PHOTOS` sets it"
        )
    });
    let mut old = Command::new(qemu);
    old.args(["-cpu", "Nehalem"])
        .arg(trainer_command().get_program());
    Agreement::of(&by_command(old, few), &expected(few)).check("a processor without AVX (QEMU)");
}

//! Names taught by photos: on the default model, and through `trainer caption --extra`.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_core::caption::{
    CaptionResult, Captioner, Engine, ModelInfo, Request, TaughtConcept, TaughtFile,
};
use espalier_tests::browser::{natively_by, sample};
use espalier_tests::calls::call;
use espalier_tests::models::{self, shipped};
use espalier_tests::photos::{jpeg, keep};

const NAME: &str = "Aunt Emma's barn";

/// Cuts a part of a sample, from the given shares of its sides.
fn part(folder: &Path, name: &str, [x, y, side]: [f32; 3]) -> PathBuf {
    let image = image::open(sample(name)).unwrap().to_rgb8();
    let (width, height) = image.dimensions();
    let at = |share: f32, length: u32| (share * length as f32) as u32;
    let (w, h) = (at(side, width), at(side, height));
    let cut = image::imageops::crop_imm(&image, at(x, width), at(y, height), w, h);
    let file = format!("{name}-{x}-{y}.jpg");
    keep(folder, &file, &jpeg(&cut.to_image(), 1))
}

fn captioner() -> Captioner {
    models::captioner(&shipped(), &Engine::Kernels)
}

/// Teaches the barn by three parts of its photo.
fn lesson(captioner: &Captioner, folder: &Path) -> TaughtConcept {
    let parts = [[0.0, 0.1, 0.8], [0.2, 0.2, 0.8], [0.1, 0.0, 0.9]];
    let embed = |shares: [f32; 3]| {
        let bytes = fs::read(part(folder, "barn", shares)).unwrap();
        let reading = captioner.read(&bytes, Request::default(), || 0.0);
        pollster::block_on(reading).unwrap().embedding
    };
    TaughtConcept {
        name: NAME.to_owned(),
        below: "n02793495".to_owned(),
        photos: parts.map(embed).to_vec(),
    }
}

fn save(folder: &Path, model: ModelInfo, concept: TaughtConcept) -> String {
    let text = serde_json::to_string(&TaughtFile::new(model, vec![concept])).unwrap();
    let path = keep(folder, "names.json", text.as_bytes());
    path.to_str().unwrap().to_owned()
}

fn end(result: &CaptionResult) -> &str {
    &result.taxonomy.path.last().unwrap().name
}

#[test]
fn a_taught_name_is_recognised_in_other_photos_and_changes_no_other_answer() {
    let folder = tempfile::tempdir().unwrap();
    let captioner = captioner();
    let concept = lesson(&captioner, folder.path());
    let untaught = captioner.untaught();
    let check = untaught.check_taught(captioner.space(), &concept);
    assert_eq!(check.photos, 3);
    let extra = save(folder.path(), captioner.info().clone(), concept);
    let other = part(folder.path(), "barn", [0.15, 0.15, 0.75]);
    let taught = natively_by(&shipped(), &other, &["--extra", &extra]);
    assert_eq!(end(&taught), NAME);
    let last = taught.ladder.last().unwrap();
    // The sentence about the taught thing also tells what the detectors see around it.
    assert_eq!(
        (last.text.as_str(), last.node.as_deref()),
        ("Aunt Emma's barn on grass", Some("taught/aunt emma's barn"))
    );
    let path = &taught.taxonomy.path;
    assert!(path.windows(2).all(|w| w[1].p <= w[0].p), "{path:?}");
    assert_eq!(path[path.len() - 2].id, "n02793495");
    for name in ["cat", "car", "coffee"] {
        let before = natively_by(&shipped(), &sample(name), &[]);
        let after = natively_by(&shipped(), &sample(name), &["--extra", &extra]);
        assert_eq!(before.taxonomy.stop, after.taxonomy.stop, "{name}");
        assert_eq!(end(&before), end(&after), "{name}");
    }
}

#[test]
fn names_can_be_taught_again_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let mut captioner = captioner();
    let bytes = fs::read(sample("barn")).unwrap();
    let read = |captioner: &Captioner| {
        let reading = captioner.read(&bytes, Request::default(), || 0.0);
        pollster::block_on(reading).unwrap().caption
    };
    let before = read(&captioner);
    let captions = captioner.index().entries().len();
    let concept = lesson(&captioner, folder.path());
    for _ in 0..2 {
        captioner.teach(std::slice::from_ref(&concept)).unwrap();
        assert_eq!(captioner.index().entries().len(), captions + 1);
        assert_ne!(read(&captioner), before);
    }
    let wrong = TaughtConcept {
        below: "nowhere".to_owned(),
        ..concept
    };
    assert!(captioner.teach(&[wrong]).is_err());
    assert_eq!(captioner.index().entries().len(), captions + 1);
    captioner.teach(&[]).unwrap();
    assert_eq!(read(&captioner), before);
}

#[test]
fn a_file_of_another_model_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let captioner = captioner();
    let other = ModelInfo {
        sha256: "0".repeat(64),
        ..captioner.info().clone()
    };
    let extra = save(folder.path(), other, lesson(&captioner, folder.path()));
    let caption = call("caption").set("--model", shipped());
    let caption = caption.set("--extra", &extra).arg(sample("cat"));
    caption.refused(&[&extra, "teach the names again"]);
}

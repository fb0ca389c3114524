//! All that is computed about a few photos with the model `tiny`, against stored answers
//! (`tests/golden/answers.json`).
//!
//! The stored answers are our own: they show that nothing has changed, not that it is right. After an
//! intended change, write them again with `UPDATE_ANSWERS=1` and read the difference.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use espalier_core::bundle::{BundleFiles, Manifest, Part, sha256_hex};
use espalier_core::caption::{
    BundleLoader, CaptionIndex, Captioner, Engine, MIN_TEXT_COSINE, Question, Reading, Request,
    TaughtConcept, TextEmbedder, lexicon, node_embeddings, place_text, standings,
};
use espalier_fixtures::models::tiny;
use espalier_fixtures::photos::side_by_side;
use image::imageops::crop_imm;
use image::{ImageFormat, RgbImage};
use serde_json::{Map, Value, json};

/// Samples of the page, and the two next to each other.
const PHOTOS: [&str; 5] = ["barn", "cat", "canoes", "raccoon", "barn+cat"];

/// Phrases: names and descriptions, of what the photos show and of other things, and nonsense.
const PHRASES: [&str; 4] = ["cat", "an old barn", "instrument", "asdfgh"];

/// Difference of two numbers that is due to rounding alone: engines add in different orders, and
/// stored numbers have four decimals.
const TOLERANCE: f64 = 2e-4;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/answers.json")
}

/// The model with its text encoder.
pub(super) struct Model {
    pub(super) captioner: Captioner,
    pub(super) texts: TextEmbedder,
    manifest: Manifest,
    files: BundleFiles,
}

impl Model {
    /// Opens the first shards as the page does, and then the later ones.
    pub(super) fn open(engine: &Engine) -> Self {
        let read = |path: &str| std::fs::read(tiny().join(path)).unwrap();
        let bytes = read("manifest.json");
        let mut loader = BundleLoader::new(&bytes, engine).unwrap();
        let manifest = Manifest::parse(&bytes).unwrap();
        let mut files = BundleFiles::default();
        for file in &manifest.files {
            let verified = || file.check(read(&file.path)).unwrap();
            if file.shard == 0 && file.part != Part::Text {
                loader = loader.with(verified()).unwrap();
            }
            files.insert(verified()).unwrap();
        }
        let mut captioner = loader.finish().unwrap();
        assert_eq!(captioner.info().sha256, sha256_hex(&bytes));
        for file in manifest.later_files_of(&[Part::Captions]) {
            if file.path.ends_with(".json") {
                captioner.grow(&manifest, file.shard, &files).unwrap();
            }
        }
        Self {
            texts: TextEmbedder::open(&manifest, &files, engine).unwrap(),
            captioner,
            manifest,
            files,
        }
    }

    fn read(&self, photo: &RgbImage, request: Request<'_>) -> Reading {
        pollster::block_on(self.captioner.read(&png(photo), request, || 0.0)).unwrap()
    }

    /// Returns everything that can be said about a photo.
    fn all(&self, photo: &RgbImage) -> Value {
        let Self { captioner, .. } = self;
        let read = self.read(photo, Request::default());
        let caption = &read.caption;
        let path = &caption.taxonomy.path;
        let middle = &path[path.len() / 2].id;
        let request = Request {
            region: Some([0.25, 0.125, 0.75, 1.0]),
            below: Some(middle),
        };
        let below = self.read(photo, request);
        let taxonomy = captioner.classifier().taxonomy();
        let other = taxonomy.node(taxonomy.labelled()[7]).id.clone();
        let ladder = &caption.ladder;
        json!({
            "result": read.result(captioner, "kernels"),
            "standings": standings(ladder, &caption.taxonomy).iter().map(|s| format!("{s:?}")).collect::<Vec<_>>(),
            "region below": below.result(captioner, "kernels"),
            "lineage": captioner.lineage(&read.embedding, &other).unwrap(),
            "walk": captioner.walk(&read, None, 5),
            "walk to": captioner.walk(&read, Some(&below), 5),
            "verdicts": self.verdicts(&read.embedding),
            "heat": self.heat(photo, [ladder.first(), ladder.last()].map(|rung| rung.unwrap().text.as_str())),
            "subjects": pollster::block_on(captioner.subjects(photo, |_, _| ())).unwrap(),
        })
    }

    fn verdicts(&self, photo: &[f32]) -> Value {
        let Self { captioner, .. } = self;
        let classifier = captioner.classifier();
        let nouns = lexicon(&self.manifest, &self.files).unwrap();
        let nodes = node_embeddings(classifier, captioner.index());
        let points = pollster::block_on(self.texts.embed(&PHRASES)).unwrap();
        let verdict = |(text, point): (&str, &Vec<f32>)| {
            let space = captioner.space();
            let place = place_text(classifier.taxonomy(), space, &nouns, text, point, &nodes);
            let question = Question {
                phrase: point,
                photo,
                place,
                nodes: &nodes,
            };
            json!(captioner.explain(classifier, question))
        };
        PHRASES.into_iter().zip(&points).map(verdict).collect()
    }

    /// Returns how much of the heat of each caption lies in the left half, and the hottest place.
    fn heat(&self, photo: &RgbImage, captions: [&str; 2]) -> Value {
        let Self { captioner, .. } = self;
        let occlusions = pollster::block_on(captioner.occlusions(photo, |_, _| ())).unwrap();
        let heat = |caption: &str| {
            let claim = captioner.claim(caption).unwrap();
            let map = captioner.heat(&occlusions, &claim);
            let left = map.share_inside([0.0, 0.0, 0.5, 1.0]);
            let hottest = map.values.iter().position(|value| *value == 1.0);
            json!([map.rows, map.columns, left, hottest])
        };
        captions.into_iter().map(heat).collect()
    }

    /// Teaches a name by parts of the photo of the barn and returns what is said of photos then.
    fn taught(&mut self) -> Value {
        let barn = photo("barn");
        let (width, height) = barn.dimensions();
        let part = |from: u32| {
            let cut = crop_imm(&barn, from, from / 2, width - 2 * from, height - from);
            self.read(&cut.to_image(), Request::default()).embedding
        };
        let concept = TaughtConcept {
            name: "Emma's barn".to_owned(),
            below: "n02793495".to_owned(),
            photos: [4, 10, 16].map(part).to_vec(),
        };
        let space = self.captioner.space().clone();
        let check = self.captioner.untaught().check_taught(&space, &concept);
        self.captioner.teach(&[concept]).unwrap();
        let after = ["barn", "cat"].map(|name| {
            let read = self.read(&photo(name), Request::default());
            json!(read.result(&self.captioner, "kernels"))
        });
        self.captioner.teach(&[]).unwrap();
        json!({ "check": format!("{check:?}"), "after": after })
    }
}

fn photo(name: &str) -> RgbImage {
    let open = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../static/samples/small");
        let photo = image::open(folder.join(format!("{name}.jpg")));
        photo.unwrap().to_rgb8()
    };
    let Some((left, right)) = name.split_once('+') else {
        return open(name);
    };
    side_by_side(&open(left), &open(right))
}

fn png(photo: &RgbImage) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    photo.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Returns a value whose numbers have four decimals.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            json!((number.as_f64().unwrap() * 1e4).round() / 1e4)
        }
        Value::Array(values) => values.into_iter().map(rounded).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.map(|(name, value)| (name, rounded(value)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

/// Asserts that two values are equal up to rounding; `at` says where they are.
#[track_caller]
fn same(found: &Value, known: &Value, at: &str) {
    match (found, known) {
        (Value::Number(f), Value::Number(k)) => {
            let (f, k) = (f.as_f64().unwrap(), k.as_f64().unwrap());
            assert!((f - k).abs() <= TOLERANCE, "{at}: expected {k}, found {f}");
        }
        (Value::Array(f), Value::Array(k)) => {
            assert_eq!(f.len(), k.len(), "{at}: expected {known}, found {found}");
            for (index, (f, k)) in f.iter().zip(k).enumerate() {
                same(f, k, &format!("{at}[{index}]"));
            }
        }
        (Value::Object(f), Value::Object(k)) => {
            let names = |of: &Map<String, Value>| of.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(f), names(k), "{at}");
            for (name, f) in f {
                same(f, &k[name], &format!("{at}.{name}"));
            }
        }
        _ => assert_eq!(found, known, "{at}"),
    }
}

fn stored() -> Value {
    let text = std::fs::read_to_string(golden()).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_kernels_give_the_stored_answers() {
    let mut model = Model::open(&Engine::Kernels);
    let mut found: Map<String, Value> = PHOTOS
        .iter()
        .map(|name| ((*name).to_owned(), model.all(&photo(name))))
        .collect();
    found.insert("taught".to_owned(), model.taught());
    // What was taught is forgotten.
    let again = model.all(&photo("barn"));
    same(&again, &found["barn"], "barn, after the lesson");
    let found = rounded(Value::Object(found));
    if std::env::var_os("UPDATE_ANSWERS").is_some() {
        let text = serde_json::to_string_pretty(&found).unwrap();
        std::fs::write(golden(), text + "\n").unwrap();
    }
    same(&found, &stored(), "answers");
}

#[test]
fn a_device_gives_the_stored_answers() {
    let model = Model::open(&Engine::Device(Device::flex()));
    let stored = stored();
    for name in ["cat", "barn+cat"] {
        same(&rounded(model.all(&photo(name))), &stored[name], name);
    }
}

#[test]
fn both_encoders_pass_their_self_tests_on_both_engines() {
    for engine in [Engine::Kernels, Engine::Device(Device::flex())] {
        let Model {
            captioner, texts, ..
        } = Model::open(&engine);
        let image = pollster::block_on(captioner.self_test()).unwrap();
        let text = pollster::block_on(texts.self_test(captioner.index())).unwrap();
        let least = captioner.least_cosine();
        assert!((least..1.0 + 1e-6).contains(&image), "{image}");
        assert!((MIN_TEXT_COSINE..1.0 + 1e-6).contains(&text), "{text}");
    }
}

#[test]
fn two_photos_next_to_each_other_are_two_subjects() {
    let Model { captioner, .. } = Model::open(&Engine::Kernels);
    let subjects = |photo: &RgbImage| {
        let mut read = Vec::new();
        let found = captioner.subjects(photo, |done, all| read.push([done, all]));
        (pollster::block_on(found).unwrap(), read)
    };
    let (found, read) = subjects(&photo("barn+coffee"));
    for subject in &found {
        let mut path = subject.taxonomy.path.iter();
        let step = path.find(|step| step.id == subject.node).unwrap();
        assert!((step.p - subject.p).abs() < 1e-6, "{}", subject.node);
    }
    let found: Vec<_> = found.iter().map(|s| (s.name.as_str(), s.region)).collect();
    let (left, right) = ([0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]);
    assert_eq!(found, [("structure", left), ("espresso", right)]);
    assert_eq!(read, [[2, 8], [4, 8], [6, 8], [8, 8]]);
    // A photo that is one pixel wide or high has no halves, so none of its parts is read.
    for (width, height) in [(1, 9), (9, 1), (1, 1), (2, 2), (2, 9), (9, 2)] {
        let (found, read) = subjects(&RgbImage::new(width, height));
        assert!(found.is_empty());
        let parts = if width > 1 && height > 1 { 4 } else { 0 };
        assert_eq!(read.len(), parts, "{width} x {height}");
    }
}

#[test]
fn a_self_test_finds_what_differs() {
    let Model {
        captioner, texts, ..
    } = Model::open(&Engine::Kernels);
    let index = captioner.index();
    let count = index.entries().len();
    // The second of the first four captions has the point of another one.
    let width = index.point(0).len();
    let mut points: Vec<f32> = (0..count).flat_map(|i| index.point(i).to_vec()).collect();
    let other = index.point(count - 1).to_vec();
    points[width..2 * width].copy_from_slice(&other);
    let changed = CaptionIndex::new(index.entries().to_vec(), points, width, captioner.space());
    let whole = pollster::block_on(texts.self_test(index)).unwrap();
    let least = pollster::block_on(texts.self_test(&changed.unwrap())).unwrap();
    let computed = pollster::block_on(texts.embed(&[&index.entries()[1].text])).unwrap();
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = product(&computed[0], &computed[0]) * product(&other, &other);
    let cosine = product(&computed[0], &other) / lengths.sqrt();
    assert!(
        cosine < MIN_TEXT_COSINE && whole >= MIN_TEXT_COSINE,
        "{cosine}, {whole}"
    );
    assert!((least - cosine).abs() < 1e-5, "{least}, {cosine}");
}

//! Downloads from a fake hub on this machine: what is fetched, what is cached, and interrupted
//! connections.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use espalier_core::bundle::sha256_hex;
use espalier_tests::calls::{Call, call};
use espalier_tests::object_server::{Answer, Asked, ObjectServer};
use espalier_trainer::model_file;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::import::support::golden;

/// The name of the repository for a user.
const NAME: &str = "hf-hub:org/name";

const WEIGHTS: &str = "model.safetensors";
const FETCHED_IN_PART: &str = "model.safetensors.incomplete";

fn content(name: &str) -> Vec<u8> {
    if name == "README.md" {
        return b"---\nlicense: cc-by-nc-4.0\n---\n".to_vec();
    }
    fs::read(golden("hf").join(name)).unwrap()
}

/// Returns a call with its caches in `home`, which looks for the hub at an address.
fn call_with_hub(words: &str, address: &str, home: &Path) -> Call {
    call(words)
        .env("HF_HOME", home.join("hf"))
        .env("XDG_CACHE_HOME", home)
        .env("HF_ENDPOINT", address)
        .env("HF_TOKEN", "secret")
}

/// A hub with the repository `org/name`, which holds the files of `hf`, and the home of its user.
struct FakeHub {
    server: ObjectServer,
    home: TempDir,
}

impl FakeHub {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let server = ObjectServer::of("hub", home.path());
        let others = ["README.md", "config.json", "preprocessor_config.json"];
        let names = others.into_iter().chain([WEIGHTS]);
        let files = names.map(|name| {
            let bytes = content(name);
            let mut file = json!({"rfilename": name, "size": bytes.len()});
            // The hub lists the hash of a large file.
            if name == WEIGHTS {
                file["lfs"] = json!({"sha256": sha256_hex(&bytes), "size": bytes.len()});
            }
            server.put(&format!("/org/name/resolve/abc123/{name}"), bytes);
            file
        });
        let files: Vec<Value> = files.collect();
        let listing = json!({"sha": "abc123", "siblings": files}).to_string();
        server.put("/api/models/org/name/revision/main", listing.into_bytes());
        Self { server, home }
    }

    /// Answers requests for the weights in this way from now on.
    fn answers(&self, way: impl Fn(&Asked) -> Answer + Send + Sync + 'static) {
        self.server
            .behave(move |asked| match asked.path.ends_with(WEIGHTS) {
                true => way(asked),
                false => Answer::Right,
            });
    }

    /// Holds the weights from now on, or with one byte changed.
    fn holds(&self, sound: bool) {
        let mut bytes = content(WEIGHTS);
        let middle = bytes.len() / 2;
        bytes[middle] ^= u8::from(!sound);
        let path = format!("/org/name/resolve/abc123/{WEIGHTS}");
        self.server.put(&path, bytes);
    }

    /// Returns the first byte of every request for the weights.
    fn asked_for_weights(&self) -> Vec<usize> {
        let asked = self.server.asked().into_iter();
        let weights = asked.filter(|asked| asked.path.ends_with(WEIGHTS));
        let starts = weights.map(|asked| asked.range.map_or(0, |(first, _)| first));
        starts.collect()
    }

    fn call(&self, words: &str) -> Call {
        call_with_hub(words, &self.server.address, self.home.path())
    }

    fn import(&self, name: &str) -> Call {
        let import = self.call("import --force").arg(name);
        import.set("--out", self.home.path().join("ours"))
    }

    /// Returns the call that embeds a text with a model.
    fn embed(&self, model: &str) -> Call {
        let texts = self.home.path().join("texts.txt");
        fs::write(&texts, "a cat\n").unwrap();
        self.call("embed")
            .set("--model", model)
            .set("--texts", texts)
            .set("--out", self.home.path().join("out.safetensors"))
    }

    /// Returns the path of a file in the cache of the repository.
    fn cached(&self, name: &str) -> PathBuf {
        let snapshot = "hf/hub/models--org--name/snapshots/abc123";
        self.home.path().join(snapshot).join(name)
    }
}

#[test]
fn a_repository_is_fetched_once_and_then_used_offline() {
    let hub = FakeHub::start();
    hub.import(NAME).done();
    assert_eq!(hub.server.asked()[0].query, "blobs=true");
    let card = model_file::card_of(&hub.home.path().join("ours")).unwrap();
    let origin = card.origin.unwrap();
    assert_eq!(origin.source, "hf-hub:org/name@abc123");
    assert_eq!(origin.licence.as_deref(), Some("cc-by-nc-4.0"));
    hub.import(NAME).done();
    assert_eq!(hub.asked_for_weights(), [0]);
    let before = hub.server.asked().len();
    hub.import(NAME).with("--offline").done();
    assert_eq!(hub.server.asked().len(), before);
}

#[test]
fn a_line_that_breaks_is_taken_up_where_it_broke() {
    let hub = FakeHub::start();
    let answered = AtomicUsize::new(0);
    hub.answers(move |_| match answered.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => Answer::First(1000),
        _ => Answer::Right,
    });
    let words = ["connection lost after 1000 bytes"];
    hub.import(NAME).ends_with(0, &words);
    assert_eq!(hub.asked_for_weights(), [0, 1000, 2000]);
    assert_eq!(fs::read(hub.cached(WEIGHTS)).unwrap(), content(WEIGHTS));
}

#[test]
fn a_line_that_breaks_leaves_no_file_that_looks_whole() {
    let hub = FakeHub::start();
    hub.answers(|_| Answer::HalfWithoutRanges);
    let words = [
        "downloading model.safetensors",
        "run the same command to resume",
    ];
    hub.import(NAME).ends_with(1, &words);
    let (half, part) = (content(WEIGHTS).len() / 2, hub.cached(FETCHED_IN_PART));
    assert_eq!(fs::read(&part).unwrap().len(), half);
    hub.import(NAME).with("--offline").refused(&[]);
    let none = hub.import("hf-hub:org/none");
    none.ends_with(1, &["knows no such repository"]);
    // The next run continues.
    hub.answers(|_| Answer::Right);
    hub.import(NAME).done();
    assert_eq!(hub.asked_for_weights().last(), Some(&half));
    assert_eq!(fs::read(hub.cached(WEIGHTS)).unwrap(), content(WEIGHTS));
    assert!(!part.exists());
}

#[test]
fn bytes_that_are_not_the_hubs_are_never_used_and_not_kept() {
    let hub = FakeHub::start();
    hub.holds(false);
    hub.import(NAME).ends_with(1, &["expected SHA-256"]);
    let part = hub.cached(FETCHED_IN_PART);
    assert!(!part.exists() && !hub.cached(WEIGHTS).exists());
    // An incomplete file with the full length but other content is detected too.
    hub.holds(true);
    let size = content(WEIGHTS).len();
    fs::write(&part, vec![7; size]).unwrap();
    hub.import(NAME).ends_with(1, &[]);
    hub.import(NAME).done();
    // One that is too long is downloaded again.
    fs::remove_file(hub.cached(WEIGHTS)).unwrap();
    fs::write(&part, vec![7; size + 5]).unwrap();
    hub.import(NAME).done();
}

#[test]
fn a_hub_that_is_not_there_is_named_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let import = |name: &str| {
        let import = call_with_hub("import", &closed, home.path()).arg(name);
        import.set("--out", home.path().join("ours"))
    };
    let told = [&*closed, "cannot be reached", "--offline", "local-dir:PATH"];
    import(NAME).ends_with(1, &told);
    let told = [
        "expected the repository in the cache",
        "found nothing of it there",
    ];
    import(NAME).with("--offline").refused(&told);
    // Offline, the command uses the cache, which has the layout that all programs share.
    let cache = home.path().join("hf/hub/models--org--name");
    let (refs, snapshot) = (cache.join("refs"), cache.join("snapshots/abc"));
    for folder in [&refs, &snapshot] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(refs.join("main"), "abc").unwrap();
    for name in ["config.json", "preprocessor_config.json", WEIGHTS] {
        fs::write(snapshot.join(name), content(name)).unwrap();
    }
    import(NAME).with("--offline").done();
    import("hf-hub:no-slash").refused(&[]);
}

#[test]
fn a_hub_that_sends_the_client_elsewhere_gets_neither_the_token_nor_other_bytes_there() {
    let (hub, elsewhere) = (FakeHub::start(), FakeHub::start());
    // The other server has the right name of the file and wrong bytes.
    elsewhere.holds(false);
    let port = elsewhere.server.address.rsplit(':').next().unwrap();
    let port: u16 = port.parse().unwrap();
    hub.answers(move |_| Answer::SentTo(port));
    hub.import(NAME).ends_with(1, &["expected SHA-256"]);
    assert!(!hub.cached(WEIGHTS).exists());
    let asked = hub.server.asked();
    assert!(asked.iter().all(|asked| asked.authorization.is_some()));
    // The right bytes are taken, as from the storage that the real hub names.
    elsewhere.holds(true);
    hub.import(NAME).done();
    let asked = elsewhere.server.asked();
    assert!(asked.len() >= 2 && asked.iter().all(|asked| asked.authorization.is_none()));
}

#[test]
fn a_response_without_an_end_is_cut_at_the_length_that_the_hub_lists() {
    let hub = FakeHub::start();
    hub.answers(|_| Answer::Unmeasured);
    let size = content(WEIGHTS).len();
    let told = format!("expected {size} bytes, found at least {}", size + 1);
    hub.import(NAME).ends_with(1, &[&told]);
    assert!(!hub.cached(WEIGHTS).exists());
    let part = hub.cached(FETCHED_IN_PART);
    assert!(!part.exists() || part.metadata().unwrap().len() <= size as u64 + 1);
}

#[test]
fn a_model_of_the_hub_is_named_like_any_other_and_kept() {
    let hub = FakeHub::start();
    let offline = || hub.embed(NAME).with("--offline");
    offline().refused(&[]);
    hub.embed(NAME).ends_with(0, &["converted and kept"]);
    let again = hub.embed(NAME).done();
    assert!(!again.said.contains("converted"), "{}", again.said);
    assert_eq!(hub.asked_for_weights(), [0]);
    offline().done();
    // The converted model is enough, whether the hub's cache and the hub are there or not.
    fs::remove_dir_all(hub.home.path().join("hf")).unwrap();
    offline().done();

    let listed = hub.call("models --json").json();
    assert_eq!(listed["cache"][0]["name"], NAME);
    assert_eq!(listed["cache"][0]["files"], "hf-hub:org/name@abc123");
    let mut models = listed["models"].as_array().unwrap().iter();
    let known = models.find(|model| model["name"] == "clip-vit-b32");
    assert_eq!(known.unwrap()["here"], false);
    hub.call("models remove").arg(NAME).done();
    offline().refused(&[]);
}

#[test]
fn a_folder_of_another_program_is_converted_once() {
    let hub = FakeHub::start();
    let source = golden("hf").to_string_lossy().into_owned();
    let (prefixed, weights) = (format!("local-dir:{source}"), format!("{source}/{WEIGHTS}"));
    for (name, is_first) in [(&source, true), (&prefixed, false), (&weights, false)] {
        let said = hub.embed(name).done().said;
        let is_converted = said.contains("converted and kept");
        assert_eq!(is_converted, is_first, "{name}: {said}");
    }
    assert_eq!(hub.server.asked(), []);
}

#[test]
fn a_name_that_means_nothing_is_answered_with_all_that_do() {
    let forms = ["bundle", "hf-hub:org/name", "local-dir:PATH", "default"];
    let hub = FakeHub::start();
    let caption = hub.call("caption --model clip-vit-b23 photo.jpg");
    let ended = caption.refused(&forms);
    assert!(ended.said.contains("clip-vit-b32"), "{}", ended.said);
}

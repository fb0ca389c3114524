//! Downloads from a fake hub on this machine: what is fetched, what is cached, and interrupted
//! connections.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use espalier_core::bundle::sha256_hex;
use espalier_tests::{outcome, trainer_command};

use crate::import::support::golden;

/// Behaviour of the fake hub.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Line {
    Whole,
    /// Responses with weights end half-way, and range requests are not supported.
    HalfAndNoRanges,
    /// This many first responses with weights end after 1,000 bytes; range requests are supported.
    BreaksFirst(usize),
    /// One byte of the weights is changed.
    Flipped,
    /// The weights are fetched from this port of the same machine instead.
    SentTo(u16),
    /// The response with weights goes on and on, without a length.
    Endless,
}

/// A hub with the repository `org/name`, which holds the files of `hf`.
struct FakeHub {
    endpoint: String,
    asked: Arc<Mutex<Vec<Request>>>,
    line: Arc<Mutex<Line>>,
}

/// What was asked of the hub.
struct Request {
    path: String,
    /// First byte.
    from: usize,
    /// Whether the token came along.
    authorized: bool,
}

const WEIGHTS: &str = "model.safetensors";

/// Returns the hub's list of files: their sizes, and the hash of the large one.
fn listing() -> String {
    let names = [
        "README.md",
        "config.json",
        "preprocessor_config.json",
        WEIGHTS,
    ];
    let one = |name: &str| {
        let bytes = content(name);
        let size = bytes.len();
        if name == WEIGHTS {
            let hash = sha256_hex(&bytes);
            format!(
                r#"{{"rfilename":"{name}","size":{size},"lfs":{{"sha256":"{hash}","size":{size}}}}}"#
            )
        } else {
            format!(r#"{{"rfilename":"{name}","size":{size}}}"#)
        }
    };
    let siblings: Vec<String> = names.map(one).to_vec();
    format!(r#"{{"sha":"abc123","siblings":[{}]}}"#, siblings.join(","))
}

fn content(name: &str) -> Vec<u8> {
    if name == "README.md" {
        return b"---\nlicense: cc-by-nc-4.0\n---\n".to_vec();
    }
    std::fs::read(golden("hf").join(name)).unwrap_or_default()
}

/// Answers one request.
fn answer(
    mut stream: TcpStream,
    line: Line,
    broken: &AtomicUsize,
    asked: &Mutex<Vec<Request>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut from = 0;
    let mut authorized = false;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).ok()? <= 2 {
            break;
        }
        let header = header.trim().to_lowercase();
        if let Some(range) = header.strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse().ok()?;
        }
        authorized |= header.starts_with("authorization:");
    }
    asked.lock().unwrap().push(Request {
        path: path.clone(),
        from,
        authorized,
    });
    let name = path.rsplit('/').next()?;
    let mut body = if path == "/api/models/org/name/revision/main?blobs=true" {
        Some(listing().into_bytes())
    } else {
        path.starts_with("/org/name/resolve/abc123/")
            .then(|| content(name))
            .filter(|bytes| !bytes.is_empty())
    };
    if let Some(body) = body
        .as_mut()
        .filter(|_| name == WEIGHTS && line == Line::Flipped)
    {
        let middle = body.len() / 2;
        body[middle] ^= 1;
    }
    let Some(body) = body else {
        return stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .ok();
    };
    if let Line::SentTo(port) = line
        && name == WEIGHTS
    {
        let to = format!("http://127.0.0.1:{port}{path}");
        let head = format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        return stream.write_all(head.as_bytes()).ok();
    }
    if line == Line::Endless && name == WEIGHTS {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            .ok()?;
        // Ends when the other side has had enough.
        loop {
            stream.write_all(&[7; 1 << 16]).ok()?;
        }
    }
    let whole = body.len();
    let ranges = line != Line::HalfAndNoRanges;
    if ranges && from >= whole && from > 0 {
        let head =
            "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return stream.write_all(head.as_bytes()).ok();
    }
    let (status, rest) = if ranges && from > 0 {
        let range = format!(
            "206 Partial Content\r\nContent-Range: bytes {from}-{}/{whole}",
            whole - 1
        );
        (range, &body[from..])
    } else {
        ("200 OK".to_owned(), &body[..])
    };
    let sent = match line {
        Line::HalfAndNoRanges if name == WEIGHTS => rest.len() / 2,
        Line::BreaksFirst(times)
            if name == WEIGHTS && broken.fetch_add(1, Ordering::SeqCst) < times =>
        {
            rest.len().min(1000)
        }
        _ => rest.len(),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        rest.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&rest[..sent]).ok()
}

impl FakeHub {
    fn start(line: Line) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let line = Arc::new(Mutex::new(line));
        let (kept, behaves) = (Arc::clone(&asked), Arc::clone(&line));
        std::thread::spawn(move || {
            let broken = AtomicUsize::new(0);
            for stream in listener.incoming().flatten() {
                let line = *behaves.lock().unwrap();
                answer(stream, line, &broken, &kept);
            }
        });
        Self {
            endpoint,
            asked,
            line,
        }
    }

    fn becomes(&self, line: Line) {
        *self.line.lock().unwrap() = line;
    }

    /// Returns the first byte of every request for the weights.
    fn asked_for_weights(&self) -> Vec<usize> {
        let asked = self.asked.lock().unwrap();
        let weights = asked.iter().filter(|asked| asked.path.ends_with(WEIGHTS));
        weights.map(|asked| asked.from).collect()
    }

    fn import(&self, id: &str, home: &Path, flags: &[&str]) -> (Option<i32>, String) {
        let output = trainer_command()
            .args(["import", id, "--force", "--out"])
            .arg(home.join("ours"))
            .args(flags)
            .env("HF_HOME", home)
            .env("HF_ENDPOINT", &self.endpoint)
            .env("HF_TOKEN", "secret")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    }
}

/// Returns the path of a file in the cache of the repository.
fn cached(home: &Path, name: &str) -> std::path::PathBuf {
    home.join("hub/models--org--name/snapshots/abc123")
        .join(name)
}

#[test]
fn a_repository_is_fetched_once_and_then_used_offline() {
    let (hub, home) = (FakeHub::start(Line::Whole), tempfile::tempdir().unwrap());
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    let card = espalier_trainer::model_file::card_of(&home.path().join("ours")).unwrap();
    let origin = card.origin.unwrap();
    assert_eq!(origin.source, "hf-hub:org/name@abc123");
    assert_eq!(origin.licence.as_deref(), Some("cc-by-nc-4.0"));
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(hub.asked_for_weights(), [0]);
    let before = hub.asked.lock().unwrap().len();
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &["--offline"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(hub.asked.lock().unwrap().len(), before);
}

#[test]
fn a_line_that_breaks_is_taken_up_where_it_broke() {
    let hub = FakeHub::start(Line::BreaksFirst(2));
    let home = tempfile::tempdir().unwrap();
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("connection lost after 1000 bytes"), "{said}");
    assert_eq!(hub.asked_for_weights(), [0, 1000, 2000]);
    let fetched = std::fs::read(cached(home.path(), WEIGHTS)).unwrap();
    assert_eq!(fetched, content(WEIGHTS));
}

#[test]
fn what_one_run_fetched_the_next_one_continues() {
    let hub = FakeHub::start(Line::HalfAndNoRanges);
    let home = tempfile::tempdir().unwrap();
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("run the same command to resume"), "{said}");
    let half = content(WEIGHTS).len() / 2;
    let part = cached(home.path(), "model.safetensors.incomplete");
    assert_eq!(std::fs::read(&part).unwrap().len(), half);
    hub.becomes(Line::Whole);
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(hub.asked_for_weights().last(), Some(&half));
    assert_eq!(
        std::fs::read(cached(home.path(), WEIGHTS)).unwrap(),
        content(WEIGHTS)
    );
    assert!(!part.exists());
}

#[test]
fn bytes_that_are_not_the_hubs_are_never_used_and_not_kept() {
    let (hub, home) = (FakeHub::start(Line::Flipped), tempfile::tempdir().unwrap());
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("expected SHA-256"), "{said}");
    let part = cached(home.path(), "model.safetensors.incomplete");
    assert!(!part.exists() && !cached(home.path(), WEIGHTS).exists());
    // An incomplete file with the full length but other content is detected too.
    hub.becomes(Line::Whole);
    std::fs::write(&part, vec![7; content(WEIGHTS).len()]).unwrap();
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    // One that is too long is downloaded again.
    std::fs::remove_file(cached(home.path(), WEIGHTS)).unwrap();
    std::fs::write(&part, vec![7; content(WEIGHTS).len() + 5]).unwrap();
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_line_that_breaks_leaves_no_file_that_looks_whole() {
    let hub = FakeHub::start(Line::HalfAndNoRanges);
    let home = tempfile::tempdir().unwrap();
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("downloading model.safetensors"), "{said}");
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &["--offline"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = hub.import("hf-hub:org/none", home.path(), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("knows no such repository"), "{said}");
}

#[test]
fn a_hub_that_is_not_there_is_named_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let hub = FakeHub {
        endpoint: closed.clone(),
        asked: Arc::default(),
        line: Arc::new(Mutex::new(Line::Whole)),
    };
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains(&closed) && said.contains("--offline"),
        "{said}"
    );
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &["--offline"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("found nothing of it there"), "{said}");
}

#[test]
fn a_hub_that_sends_the_client_elsewhere_gets_neither_the_token_nor_other_bytes_there() {
    // The other server has the right name of the file and wrong bytes.
    let elsewhere = FakeHub::start(Line::Flipped);
    let port = elsewhere.endpoint.rsplit(':').next().unwrap();
    let hub = FakeHub::start(Line::SentTo(port.parse().unwrap()));
    let home = tempfile::tempdir().unwrap();
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("expected SHA-256"), "{said}");
    assert!(!cached(home.path(), WEIGHTS).exists());
    assert!(
        hub.asked
            .lock()
            .unwrap()
            .iter()
            .all(|asked| asked.authorized)
    );
    // The right bytes are taken, as from the storage that the real hub names.
    elsewhere.becomes(Line::Whole);
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    let there = elsewhere.asked.lock().unwrap();
    assert!(there.len() >= 2 && there.iter().all(|asked| !asked.authorized));
}

#[test]
fn a_response_without_an_end_is_cut_at_the_length_that_the_hub_lists() {
    let (hub, home) = (FakeHub::start(Line::Endless), tempfile::tempdir().unwrap());
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(1), "{said}");
    let size = content(WEIGHTS).len();
    assert!(
        said.contains(&format!(
            "expected {size} bytes, found at least {}",
            size + 1
        )),
        "{said}"
    );
    assert!(!cached(home.path(), WEIGHTS).exists());
    let part = cached(home.path(), "model.safetensors.incomplete");
    assert!(!part.exists() || part.metadata().unwrap().len() <= size as u64 + 1);
}

/// Runs the trainer with the caches in `home`.
fn with_caches(hub: &FakeHub, home: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = trainer_command();
    command
        .args(args)
        .env("HF_HOME", home.join("hf"))
        .env("XDG_CACHE_HOME", home)
        .env("HF_ENDPOINT", &hub.endpoint);
    outcome(&mut command)
}

#[test]
fn a_model_of_the_hub_is_named_like_any_other_and_kept() {
    let (hub, home) = (FakeHub::start(Line::Whole), tempfile::tempdir().unwrap());
    let texts = home.path().join("texts.txt");
    std::fs::write(&texts, "a cat\n").unwrap();
    let embed = |name: &str, flags: &[&str]| {
        let out = home.path().join("out.safetensors");
        let paths = [&texts, &out].map(|path| path.to_string_lossy().into_owned());
        let args = [
            "embed", "--model", name, "--texts", &paths[0], "--out", &paths[1],
        ];
        with_caches(&hub, home.path(), &[&args, flags].concat())
    };
    let (code, _, said) = embed("hf-hub:org/name", &["--offline"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, _, said) = embed("hf-hub:org/name", &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("converted and kept"), "{said}");
    let (code, _, said) = embed("hf-hub:org/name", &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("converted"), "{said}");
    assert_eq!(hub.asked_for_weights(), [0]);
    let (code, _, said) = embed("hf-hub:org/name", &["--offline"]);
    assert_eq!(code, Some(0), "{said}");
    // The converted model is enough, whether the hub's cache and the hub are there or not.
    std::fs::remove_dir_all(home.path().join("hf")).unwrap();
    let (code, _, said) = embed("hf-hub:org/name", &["--offline"]);
    assert_eq!(code, Some(0), "{said}");

    let (code, listed, said) = with_caches(&hub, home.path(), &["models", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["cache"][0]["name"], "hf-hub:org/name");
    assert_eq!(listed["cache"][0]["files"], "hf-hub:org/name@abc123");
    let models = listed["models"].as_array().unwrap();
    assert!(
        models
            .iter()
            .any(|model| model["name"] == "clip-vit-b32" && model["here"] == false)
    );
    let (code, _, said) = with_caches(&hub, home.path(), &["models", "remove", "hf-hub:org/name"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, _, said) = embed("hf-hub:org/name", &["--offline"]);
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn a_folder_of_another_program_is_converted_once() {
    let (hub, home) = (FakeHub::start(Line::Whole), tempfile::tempdir().unwrap());
    let texts = home.path().join("texts.txt");
    std::fs::write(&texts, "a cat\n").unwrap();
    let source = golden("hf").to_string_lossy().into_owned();
    let names = [
        source.clone(),
        format!("local-dir:{source}"),
        format!("{source}/{WEIGHTS}"),
    ];
    for (at, name) in names.iter().enumerate() {
        let out = home.path().join("out.safetensors");
        let paths = [&texts, &out].map(|path| path.to_string_lossy().into_owned());
        let args = [
            "embed", "--model", name, "--texts", &paths[0], "--out", &paths[1],
        ];
        let (code, _, said) = with_caches(&hub, home.path(), &args);
        assert_eq!(code, Some(0), "{name}: {said}");
        assert_eq!(
            said.contains("converted and kept"),
            at == 0,
            "{name}: {said}"
        );
    }
    assert!(hub.asked.lock().unwrap().is_empty());
}

#[test]
fn a_name_that_means_nothing_is_answered_with_all_that_do() {
    let (hub, home) = (FakeHub::start(Line::Whole), tempfile::tempdir().unwrap());
    let args = ["caption", "--model", "clip-vit-b23", "photo.jpg"];
    let (code, _, said) = with_caches(&hub, home.path(), &args);
    assert_eq!(code, Some(2), "{said}");
    for form in [
        "bundle",
        "hf-hub:org/name",
        "local-dir:PATH",
        "default",
        "clip-vit-b32",
    ] {
        assert!(said.contains(form), "{said}");
    }
}

//! A hub on this machine: what is fetched, what is kept, and a line that breaks.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use espalier_tests::trainer_command;

use crate::support::golden;

/// A hub with the repository `org/name`, which holds the files of `hf`.
struct FakeHub {
    endpoint: String,
    /// Paths that were asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

/// Answers one request; with `broken`, weights end half-way.
fn answer(stream: TcpStream, broken: bool, asked: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    while reader.read_line(&mut line).ok()? > 2 {}
    let name = path.rsplit('/').next()?;
    let body = if path == "/api/models/org/name/revision/main" {
        let names = [
            "README.md",
            "config.json",
            "preprocessor_config.json",
            "model.safetensors",
        ];
        let siblings = names.map(|n| format!(r#"{{"rfilename":"{n}"}}"#)).join(",");
        Some(format!(r#"{{"sha":"abc123","siblings":[{siblings}]}}"#).into_bytes())
    } else if path == "/org/name/resolve/abc123/README.md" {
        Some(b"---\nlicense: cc-by-nc-4.0\n---\n".to_vec())
    } else if path.starts_with("/org/name/resolve/abc123/") {
        std::fs::read(golden("hf").join(name)).ok()
    } else {
        None
    };
    asked.lock().unwrap().push(path.clone());
    let (status, body) = match body {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", Vec::new()),
    };
    let sent = if broken && name == "model.safetensors" {
        body.len() / 2
    } else {
        body.len()
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body[..sent]).ok()
}

impl FakeHub {
    fn start(broken: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, broken, &kept);
            }
        });
        Self { endpoint, asked }
    }

    fn import(&self, id: &str, home: &Path, flags: &[&str]) -> (Option<i32>, String) {
        let output = trainer_command()
            .args(["import", id, "--force", "--out"])
            .arg(home.join("ours"))
            .args(flags)
            .env("HF_HOME", home)
            .env("HF_ENDPOINT", &self.endpoint)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    }
}

#[test]
fn a_repository_is_fetched_once_and_then_used_offline() {
    let (hub, home) = (FakeHub::start(false), tempfile::tempdir().unwrap());
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    let card = espalier_trainer::model_file::card_of(&home.path().join("ours")).unwrap();
    let origin = card.origin.unwrap();
    assert_eq!(origin.source, "hf-hub:org/name@abc123");
    assert_eq!(origin.licence.as_deref(), Some("cc-by-nc-4.0"));
    let weights = |asked: &[String]| {
        let of = |p: &&String| p.ends_with("model.safetensors");
        asked.iter().filter(of).count()
    };
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(weights(&hub.asked.lock().unwrap()), 1);
    let before = hub.asked.lock().unwrap().len();
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &["--offline"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(hub.asked.lock().unwrap().len(), before);
}

#[test]
fn a_line_that_breaks_leaves_no_file_that_looks_whole() {
    let (hub, home) = (FakeHub::start(true), tempfile::tempdir().unwrap());
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("fetching model.safetensors"), "{said}");
    let (code, said) = hub.import("hf-hub:org/name", home.path(), &["--offline"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("found nothing of it there"), "{said}");
    let (code, said) = hub.import("hf-hub:org/none", home.path(), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("knows no such repository"), "{said}");
}

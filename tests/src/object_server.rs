//! A server of objects on this machine, which can fail in the ways that stores fail.
//!
//! It answers `HEAD` and `GET` with ranges and `If-Match`, and lists as S3 does, for
//! `http://` addresses and for a client of S3 alike.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::lock;

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Its number, from 0.
    pub number: u64,
    /// `GET`, `HEAD` or another method.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// Query, not decoded.
    pub query: String,
    /// First and last byte, for a part of an object.
    pub range: Option<(usize, usize)>,
    /// The `If-Match` header.
    pub if_match: Option<String>,
    /// The `Authorization` header.
    pub authorization: Option<String>,
}

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// As it should be.
    Right,
    /// With this status and an error that repeats what was sent.
    Status(u16),
    /// With half of the announced bytes.
    Cut,
    /// With half of the bytes of the whole object, whatever was asked for.
    HalfWithoutRanges,
    /// With no more than this many of the announced bytes.
    First(usize),
    /// With as many bytes, all of them changed.
    OtherBytes,
    /// With the head of another range.
    OtherRange,
    /// With more bytes than announced, without an end.
    Endless,
    /// Without a length and without an end.
    Unmeasured,
    /// With the same path at this port of the same machine.
    SentTo(u16),
    /// After this many milliseconds.
    Slow(u64),
    /// With the whole object, whatever was asked for.
    NoRanges,
    /// With another e-tag.
    OtherTag,
}

type Behaviour = Arc<dyn Fn(&Asked) -> Answer + Send + Sync>;

struct State {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    asked: Mutex<Vec<Asked>>,
    behaviour: Mutex<Behaviour>,
}

/// The server; it runs until the process ends.
pub struct ObjectServer {
    /// `http://127.0.0.1:PORT`.
    pub address: String,
    state: Arc<State>,
}

impl ObjectServer {
    /// Serves the files of a folder as `/BUCKET/NAME`.
    pub fn of(bucket: &str, folder: &Path) -> Self {
        let files = fs::read_dir(folder).unwrap().flatten();
        let objects = files.filter(|file| file.path().is_file()).map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            (format!("/{bucket}/{name}"), fs::read(file.path()).unwrap())
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            objects: Mutex::new(objects.collect()),
            asked: Mutex::default(),
            behaviour: Mutex::new(Arc::new(|_| Answer::Right)),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || answer(&stream, &state));
            }
        });
        Self { address, state }
    }

    /// Answers in this way from now on.
    pub fn behave(&self, behaviour: impl Fn(&Asked) -> Answer + Send + Sync + 'static) {
        *lock(&self.state.behaviour) = Arc::new(behaviour);
    }

    /// Puts an object in the place of another.
    pub fn put(&self, path: &str, bytes: Vec<u8>) {
        lock(&self.state.objects).insert(path.to_owned(), bytes);
    }

    /// Returns all requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.state.asked).clone()
    }

    /// Returns the number of bytes that were asked for in parts.
    pub fn bytes_asked(&self) -> usize {
        let asked = lock(&self.state.asked);
        asked
            .iter()
            .filter_map(|a| a.range)
            .map(|(first, last)| last + 1 - first)
            .sum()
    }
}

fn read_request(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut asked = Asked {
        method: method.to_owned(),
        path: path.replace("%20", " "),
        query: query.to_owned(),
        ..Asked::default()
    };
    for line in lines {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let (first, last) = value.strip_prefix("bytes=")?.split_once('-')?;
                let last = match last {
                    // To the end.
                    "" => usize::MAX - 1,
                    last => last.parse().ok()?,
                };
                asked.range = Some((first.parse().ok()?, last));
            }
            "if-match" => asked.if_match = Some(value.to_owned()),
            "authorization" => asked.authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    Some(asked)
}

/// Returns an e-tag of some bytes.
fn tag_of(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(0_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
    });
    format!("\"{sum:016x}\"")
}

fn answer(stream: &TcpStream, state: &State) {
    let Some(mut asked) = read_request(stream) else {
        return;
    };
    let mut all = lock(&state.asked);
    asked.number = all.len() as u64;
    all.push(asked.clone());
    drop(all);
    let behaviour = Arc::clone(&lock(&state.behaviour));
    let way = behaviour(&asked);
    if let Answer::Slow(milliseconds) = way {
        thread::sleep(Duration::from_millis(milliseconds));
    }
    // A client may close the connection early.
    let _ = write_answer(stream, state, &asked, way);
}

fn write_answer(
    mut stream: &TcpStream,
    state: &State,
    asked: &Asked,
    way: Answer,
) -> std::io::Result<()> {
    let mut send = |status: &str, headers: &str, body: &[u8]| {
        let (len, is_head) = (body.len(), asked.method == "HEAD");
        let length = match way {
            Answer::Unmeasured if !is_head => String::new(),
            _ => format!("Content-Length: {len}\r\n"),
        };
        let head = format!("HTTP/1.1 {status}\r\n{headers}{length}Connection: close\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        match way {
            _ if is_head => Ok(()),
            Answer::Cut | Answer::HalfWithoutRanges => stream.write_all(&body[..len / 2]),
            Answer::First(bytes) => stream.write_all(&body[..len.min(bytes)]),
            Answer::Endless | Answer::Unmeasured => loop {
                stream.write_all(body)?;
            },
            _ => stream.write_all(body),
        }
    };
    if let Answer::Status(status) = way {
        let repeated = asked.authorization.clone().unwrap_or_default();
        return send(&format!("{status} Fault"), "", repeated.as_bytes());
    }
    if let Answer::SentTo(port) = way {
        let to = format!("Location: http://127.0.0.1:{port}{}\r\n", asked.path);
        return send("302 Found", &to, b"");
    }
    if !matches!(asked.method.as_str(), "GET" | "HEAD") {
        return send("405 Method Not Allowed", "", b"");
    }
    if asked.query.contains("list-type=2") {
        let xml = listing(state, asked);
        let kind = "Content-Type: application/xml\r\n";
        return send("200 OK", kind, xml.as_bytes());
    }
    let Some(object) = lock(&state.objects).get(&asked.path).cloned() else {
        return send("404 Not Found", "", b"");
    };
    let mut tag = tag_of(&object);
    if way == Answer::OtherTag {
        tag = "\"other\"".to_owned();
    } else if asked.if_match.as_ref().is_some_and(|wanted| *wanted != tag) {
        return send("412 Precondition Failed", "", b"");
    }
    let known = format!("ETag: {tag}\r\nLast-Modified: Tue, 01 Jul 2025 10:00:00 GMT\r\n");
    let has_ranges = !matches!(way, Answer::NoRanges | Answer::HalfWithoutRanges);
    let Some((first, last)) = asked.range.filter(|_| has_ranges) else {
        return send("200 OK", &known, &object);
    };
    let last = last.min(object.len().saturating_sub(1));
    let mut part = object.get(first..=last).unwrap_or_default().to_vec();
    if way == Answer::OtherBytes {
        part.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let shift = usize::from(way == Answer::OtherRange);
    let range = format!(
        "{known}Content-Range: bytes {}-{}/{}\r\n",
        first + shift,
        last + shift,
        object.len()
    );
    send("206 Partial Content", &range, &part)
}

/// Lists the objects below a prefix of a bucket, as the second version of S3's listing does.
fn listing(state: &State, asked: &Asked) -> String {
    let decoded = asked.query.replace("%2F", "/");
    let mut pairs = decoded.split('&');
    let prefix = pairs.find_map(|pair| pair.strip_prefix("prefix="));
    let prefix = prefix.unwrap_or_default();
    let bucket = asked.path.trim_matches('/');
    let objects = lock(&state.objects);
    let keys = objects.iter().filter_map(|(path, bytes)| {
        let key = path.strip_prefix(&format!("/{bucket}/"))?;
        key.starts_with(prefix).then_some((key, bytes))
    });
    let contents: String = keys
        .map(|(key, bytes)| {
            format!(
                "<Contents><Key>{key}</Key><LastModified>2025-07-01T10:00:00.000Z</LastModified>\
                 <ETag>{}</ETag><Size>{}</Size></Contents>",
                tag_of(bytes).replace('"', "&quot;"),
                bytes.len()
            )
        })
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>{bucket}</Name>\
         <IsTruncated>false</IsTruncated>{contents}</ListBucketResult>"
    )
}

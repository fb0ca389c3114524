//! The server as a client sees it, over a real socket.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::io::Write;
use std::net::TcpStream;

use flate2::read::GzDecoder;
use tempfile::TempDir;

use super::*;

struct Reply {
    status: u16,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

fn site() -> (TempDir, Server) {
    let outer = tempfile::tempdir().unwrap();
    let dist = outer.path().join("dist");
    std::fs::create_dir_all(dist.join("models/default")).unwrap();
    std::fs::write(outer.path().join("secret.txt"), "secret").unwrap();
    std::fs::write(dist.join("index.html"), "<!doctype html>".repeat(100)).unwrap();
    std::fs::write(dist.join("app_bg.wasm"), [0_u8; 4096]).unwrap();
    std::fs::write(dist.join("models/default/image.safetensors"), b"0123456789").unwrap();
    std::fs::write(dist.join("models/index.html"), "models").unwrap();
    std::fs::write(dist.join(".hidden"), "hidden").unwrap();
    let server = Server::start(&dist, 0).unwrap();
    (outer, server)
}

fn ask(server: &Server, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut socket = TcpStream::connect(server.addr()).unwrap();
    let extra: String = headers
        .iter()
        .map(|(k, v)| format!("{k}: {v}\r\n"))
        .collect();
    write!(
        socket,
        "{method} {path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n{extra}\r\n"
    )
    .unwrap();
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(k, v)| (k.to_ascii_lowercase(), v.to_owned()))
        .collect();
    Reply {
        status,
        headers,
        body: bytes[end + 4..].to_vec(),
    }
}

fn get(server: &Server, path: &str, headers: &[(&str, &str)]) -> Reply {
    ask(server, "GET", path, headers)
}

#[test]
fn the_root_is_the_page_with_its_type_and_length() {
    let (_dir, server) = site();
    let reply = get(&server, "/?x=1", &[]);
    assert_eq!((reply.status, reply.body.len()), (200, 1500));
    assert_eq!(reply.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(reply.headers["content-length"], "1500");
    assert_eq!(reply.headers["cache-control"], "no-cache");
}

#[test]
fn wasm_is_compressed_for_a_client_that_accepts_it() {
    let (_dir, server) = site();
    let plain = get(&server, "/app_bg.wasm", &[]);
    assert_eq!(
        (plain.body.len(), plain.headers.get("content-encoding")),
        (4096, None)
    );
    for _ in 0..2 {
        let zipped = get(&server, "/app_bg.wasm", &[("Accept-Encoding", "gzip, br")]);
        assert_eq!(zipped.headers["content-encoding"], "gzip");
        assert_eq!(zipped.headers["content-type"], "application/wasm");
        assert_eq!(
            zipped.headers["content-length"],
            zipped.body.len().to_string()
        );
        assert!(zipped.body.len() < 200);
        let mut unzipped = Vec::new();
        GzDecoder::new(&zipped.body[..])
            .read_to_end(&mut unzipped)
            .unwrap();
        assert_eq!(unzipped, plain.body);
        assert_ne!(zipped.headers["etag"], plain.headers["etag"]);
    }
}

#[test]
fn a_changed_file_is_compressed_anew() {
    let (dir, server) = site();
    let zip = [("Accept-Encoding", "gzip")];
    get(&server, "/index.html", &zip);
    std::fs::write(dir.path().join("dist/index.html"), "new").unwrap();
    let mut text = String::new();
    let reply = get(&server, "/index.html", &zip);
    GzDecoder::new(&reply.body[..])
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "new");
}

#[test]
fn weights_come_in_ranges_and_never_compressed() {
    let (_dir, server) = site();
    let path = "/models/default/image.safetensors";
    let reply = get(
        &server,
        path,
        &[("Range", "bytes=3-5"), ("Accept-Encoding", "gzip")],
    );
    assert_eq!((reply.status, &reply.body[..]), (206, &b"345"[..]));
    assert_eq!(reply.headers["content-range"], "bytes 3-5/10");
    assert_eq!(reply.headers["content-length"], "3");
    assert_eq!(reply.headers["content-type"], "application/octet-stream");
    let beyond = get(&server, path, &[("Range", "bytes=10-")]);
    assert_eq!((beyond.status, beyond.body.len()), (416, 0));
    assert_eq!(beyond.headers["content-range"], "bytes */10");
}

#[test]
fn a_download_is_continued_only_where_the_file_is_the_same() {
    let (_dir, server) = site();
    let path = "/models/default/image.safetensors";
    let etag = get(&server, path, &[]).headers["etag"].clone();
    let same = get(&server, path, &[("Range", "bytes=8-"), ("If-Range", &etag)]);
    assert_eq!((same.status, &same.body[..]), (206, &b"89"[..]));
    let other = get(
        &server,
        path,
        &[("Range", "bytes=8-"), ("If-Range", "\"old\"")],
    );
    assert_eq!((other.status, other.body.len()), (200, 10));
    assert_eq!(get(&server, path, &[("If-None-Match", &etag)]).status, 304);
}

#[test]
fn nothing_outside_of_the_folder_is_served() {
    let (dir, server) = site();
    std::os::unix::fs::symlink(dir.path(), dir.path().join("dist/out")).unwrap();
    for path in [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/models/..%2f..%2fsecret.txt",
        "/out/secret.txt",
        "/.hidden",
        "/..%5csecret.txt",
        "/index.html%00",
        "/%ff",
        "//etc/passwd",
        "secret.txt",
    ] {
        let reply = get(&server, path, &[]);
        assert!(
            matches!(reply.status, 400 | 404),
            "{path}: {}",
            reply.status
        );
        assert!(!reply.body.starts_with(b"secret"), "{path}");
    }
}

#[test]
fn a_folder_needs_its_slash() {
    let (_dir, server) = site();
    let reply = get(&server, "/models?q=1", &[]);
    assert_eq!(
        (reply.status, reply.headers["location"].as_str()),
        (301, "/models/?q=1")
    );
    assert_eq!(get(&server, "/models/", &[]).body, b"models");
    assert_eq!(
        get(&server, "//models", &[]).headers["location"],
        "/models/"
    );
    assert_eq!(get(&server, "/models/default/", &[]).status, 404);
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let (_dir, server) = site();
    let reply = ask(&server, "HEAD", "/index.html", &[]);
    assert_eq!((reply.status, reply.body.len()), (200, 0));
    assert_eq!(reply.headers["content-length"], "1500");
}

#[test]
fn other_methods_are_refused() {
    let (_dir, server) = site();
    let reply = ask(&server, "DELETE", "/index.html", &[]);
    assert_eq!(
        (reply.status, reply.headers["allow"].as_str()),
        (405, "GET, HEAD")
    );
}

#[test]
fn a_slow_client_does_not_hold_up_another() {
    let (_dir, server) = site();
    let mut slow = TcpStream::connect(server.addr()).unwrap();
    slow.write_all(b"GET /index.html HTTP/1.1\r\nHost:")
        .unwrap();
    assert_eq!(get(&server, "/index.html", &[]).status, 200);
}

#[test]
fn a_port_in_use_is_told_with_a_way_out() {
    let (dir, server) = site();
    let Err(error) = Server::start(dir.path(), server.addr().port()) else {
        panic!("two servers on one port")
    };
    let checked = check_port(server.addr().port()).unwrap_err();
    for message in [error.to_string(), checked.to_string()] {
        assert!(
            message.contains("already in use") && message.contains("--port"),
            "{message}"
        );
    }
}

#[test]
fn a_dropped_server_answers_no_more() {
    let (_dir, server) = site();
    let addr = server.addr();
    assert_eq!(get(&server, "/index.html", &[]).status, 200);
    drop(server);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while TcpStream::connect(addr).is_ok() {
        assert!(std::time::Instant::now() < deadline, "still listening");
        thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let Err(error) = Server::start(Path::new("no/such/folder"), 0) else {
        panic!("served a folder that does not exist")
    };
    assert!(error.to_string().contains("no/such/folder"));
}

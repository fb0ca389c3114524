//! From what a client asks to what it gets; no socket in sight.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;

use super::mime;
use super::negotiate::{Part, accepts_gzip, part, unchanged};
use super::site::{Page, Site, Target};

/// The parts of a request that matter to us.
pub(super) struct Ask<'a> {
    /// GET or HEAD.
    pub(super) readable: bool,
    /// Path and query.
    pub(super) url: &'a str,
    pub(super) range: Option<&'a str>,
    pub(super) if_range: Option<&'a str>,
    pub(super) if_none_match: Option<&'a str>,
    pub(super) accept_encoding: Option<&'a str>,
}

/// What is sent. For HEAD the transport leaves the body out.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Box<dyn Read + Send>,
    /// Bytes of the body.
    pub(super) length: u64,
}

/// Answers a request.
pub(super) fn answer(site: &Site, ask: &Ask) -> Answer {
    if !ask.readable {
        return text(405, "only GET and HEAD").with("Allow", "GET, HEAD");
    }
    match site.find(ask.url) {
        Target::File(page) => file(site, ask, &page)
            .unwrap_or_else(|error| text(500, &format!("cannot read the file: {error}"))),
        Target::Folder => {
            let (path, query) = ask.url.split_once('?').unwrap_or((ask.url, ""));
            let mark = if query.is_empty() { "" } else { "?" };
            // One slash in front, so that `//host/x` does not send the client elsewhere.
            let path = path.trim_matches('/');
            text(301, "a folder").with("Location", format!("/{path}/{mark}{query}"))
        }
        Target::Missing => text(404, "not found"),
    }
}

fn file(site: &Site, ask: &Ask, page: &Page) -> io::Result<Answer> {
    let (mime, compressible) = mime::of(&page.path);
    // A range counts bytes of the file as it is.
    let zip = compressible && ask.range.is_none() && accepts_gzip(ask.accept_encoding);
    let zipped = if zip { site.zipped(page)? } else { None };
    let etag = match &zipped {
        // Another representation needs another validator.
        Some(_) => format!("{}-gz\"", page.etag.trim_end_matches('"')),
        None => page.etag.clone(),
    };
    let answer = if unchanged(ask.if_none_match, &etag) {
        Answer::new(304, Box::new(io::empty()), 0)
    } else if let Some(bytes) = zipped {
        let length = bytes.len() as u64;
        Answer::new(200, Box::new(Cursor::new(bytes)), length).with("Content-Encoding", "gzip")
    } else {
        plain(ask, page)?
    };
    let answer = answer
        .with("Content-Type", mime)
        .with("Cache-Control", "no-cache")
        .with("ETag", etag)
        .with("Accept-Ranges", "bytes")
        .with("X-Content-Type-Options", "nosniff");
    Ok(if compressible {
        answer.with("Vary", "Accept-Encoding")
    } else {
        answer
    })
}

fn plain(ask: &Ask, page: &Page) -> io::Result<Answer> {
    // `If-Range`: continue only the file whose beginning the client already has.
    let same = ask
        .if_range
        .is_none_or(|validator| validator.trim() == page.etag);
    let wanted = if same {
        part(ask.range, page.length)
    } else {
        Part::Whole
    };
    Ok(match wanted {
        Part::Whole => Answer::new(200, read(page, 0..page.length)?, page.length),
        Part::Some(range) => {
            let length = range.end - range.start;
            let shown = format!("bytes {}-{}/{}", range.start, range.end - 1, page.length);
            Answer::new(206, read(page, range)?, length).with("Content-Range", shown)
        }
        Part::Unsatisfiable => Answer::new(416, Box::new(io::empty()), 0)
            .with("Content-Range", format!("bytes */{}", page.length)),
    })
}

fn read(page: &Page, range: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
    let mut file = File::open(&page.path)?;
    file.seek(SeekFrom::Start(range.start))?;
    Ok(Box::new(file.take(range.end - range.start)))
}

fn text(status: u16, message: &str) -> Answer {
    let bytes = format!("{message}\n").into_bytes();
    let length = bytes.len() as u64;
    Answer::new(status, Box::new(Cursor::new(bytes)), length)
        .with("Content-Type", "text/plain; charset=utf-8")
        .with("Cache-Control", "no-cache")
}

impl Answer {
    fn new(status: u16, body: Box<dyn Read + Send>, length: u64) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
            length,
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

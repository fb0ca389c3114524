//! Standard output and standard error of the commands, which may be closed or full.
//!
//! `println!` and `eprintln!` panic where they cannot write. A reader such as `head` that has seen
//! enough closes the pipe; the program then ends quietly, as other Unix programs do.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write, stderr, stdout};

use anyhow::Context;

use crate::exit::{CLOSED_PIPE, Stopped};

/// Writes text and a line break to standard output.
///
/// # Errors
/// [`Stopped`] when the reader has closed the pipe; the system's error when nothing can be written.
pub fn line(text: impl Display) -> anyhow::Result<()> {
    write(&mut stdout().lock(), text)
}

fn write(out: &mut impl Write, text: impl Display) -> anyhow::Result<()> {
    match writeln!(out, "{}", harmless(&text.to_string())).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Err(Stopped::quietly(CLOSED_PIPE).into()),
        written => written.context("writing to standard output"),
    }
}

/// Writes a message and a line break to standard error. A message that cannot be written is lost,
/// because the result does not depend on it.
pub fn note(message: impl Display) {
    let _ = try_note(message);
}

/// As [`note`], for a caller that stops when nobody reads the messages.
///
/// # Errors
/// The system's.
pub fn try_note(message: impl Display) -> io::Result<()> {
    writeln!(stderr().lock(), "{}", harmless(&message.to_string()))
}

/// Escapes what could move a terminal's cursor or turn its text around: names of files, records and
/// nodes may come from strangers. The escapes are those of JSON, so that a result stays one.
fn harmless(text: &str) -> String {
    let shown = |part: &str| {
        let parts: Vec<String> = part
            .split('\t')
            .map(espalier_core::shown::escaped)
            .collect();
        parts.join("\t")
    };
    let lines: Vec<String> = text.split('\n').map(shown).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fails(ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn names_of_strangers_cannot_steer_a_terminal() {
        let mut out = Vec::new();
        write(&mut out, "a\tb\nc\u{1b}[2J\u{202e}d\u{9b}e").unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "a\tb\nc\\u001b[2J\\u202ed\\u009be\n");
        let json = serde_json::json!({"file": "x\u{9b}y\u{1b}"}).to_string();
        let read: serde_json::Value = serde_json::from_str(&harmless(&json)).unwrap();
        assert_eq!(read["file"], "x\u{9b}y\u{1b}");
    }

    #[test]
    fn a_closed_pipe_ends_quietly_and_a_full_disk_is_an_error() {
        let closed = write(&mut Fails(ErrorKind::BrokenPipe), "x").unwrap_err();
        let stopped = closed.downcast_ref::<Stopped>().unwrap();
        assert_eq!(stopped.code, 141);
        assert_eq!(closed.to_string(), "");
        let full = write(&mut Fails(ErrorKind::StorageFull), "x").unwrap_err();
        assert!(!full.is::<Stopped>());
        assert!(format!("{full:#}").contains("standard output"), "{full:#}");
    }
}

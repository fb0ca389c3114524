//! Addresses of objects, as `--data` takes them: `s3://bucket/key`, `gs://bucket/key`,
//! `az://container/key`, `https://host/path` and `http://host/path`.

use std::io;
use std::path::{Path, PathBuf};

use super::failure::Failure;

/// Schemes of stores.
const SCHEMES: [&str; 5] = ["s3", "gs", "az", "http", "https"];

/// An address, split at its slashes.
#[cfg_attr(
    not(feature = "cloud"),
    allow(dead_code, reason = "without stores an address is only checked")
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// One of [`SCHEMES`].
    pub(super) scheme: &'static str,
    /// Bucket, container, or host with port.
    pub(super) place: String,
    /// Name of the object, without a slash in front; empty for the whole place.
    pub(super) key: String,
}

/// Splits `scheme://rest`; `None` for a path without a scheme.
fn split(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = scheme.len() > 1 && scheme.bytes().all(|b| b.is_ascii_alphanumeric());
    is_scheme.then_some((scheme, rest))
}

/// Returns whether a path is an address and not a local path. `file://` is a local path.
pub fn is_remote(path: &Path) -> bool {
    let scheme = path.to_str().and_then(split).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| !scheme.eq_ignore_ascii_case("file"))
}

/// Returns the local path that `file:///folder/name` stands for; `None` for other paths.
pub fn local_file(path: &Path) -> Option<PathBuf> {
    let (scheme, rest) = split(path.to_str()?)?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    Some(PathBuf::from(
        rest.strip_prefix("localhost").unwrap_or(rest),
    ))
}

/// Checks an address without connecting. Local paths pass.
///
/// # Errors
/// If the scheme is unknown, the bucket or host is missing, or the address has a user name or a query:
/// it is written to the configuration of a run and to its messages, so it must hold no secret.
pub fn check(path: &Path) -> io::Result<()> {
    if is_remote(path) {
        Address::parse(path)?;
    }
    Ok(())
}

impl Address {
    /// Splits an address.
    ///
    /// # Errors
    /// As [`check`].
    pub(super) fn parse(path: &Path) -> io::Result<Self> {
        let text = path.to_string_lossy();
        let refused = |reason: &str| {
            let place = without_secrets(&text);
            Failure(format!("{place}: {reason}")).into_io(io::ErrorKind::InvalidInput)
        };
        let (scheme, rest) = split(&text).unwrap_or(("", &text));
        let scheme = SCHEMES.into_iter().find(|s| s.eq_ignore_ascii_case(scheme));
        let scheme = scheme.ok_or_else(|| {
            refused("expected an address that begins with s3://, gs://, az://, https:// or http://")
        })?;
        let (place, key) = rest.split_once('/').unwrap_or((rest, ""));
        if place.contains('@') || rest.contains('?') {
            return Err(refused(concat!(
                "expected an address without a user name and without a query, found one that may ",
                "hold a secret, which would be written to the configuration of the run; credentials ",
                "come from the environment (",
                env!("CARGO_PKG_REPOSITORY"),
                "/blob/main/docs/object-storage.md)",
            )));
        }
        if place.is_empty() {
            return Err(refused(
                "expected a bucket, a container or a host, found none",
            ));
        }
        Ok(Self {
            scheme,
            place: place.to_owned(),
            key: key.to_owned(),
        })
    }
}

/// Returns a text with the user names and the queries of all addresses in it removed: both can be
/// credentials.
pub fn without_secrets(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + "://".len());
        shown.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')');
        let (address, next) = after.split_at(after.find(ends).unwrap_or(after.len()));
        let (address, query) = match address.split_once('?') {
            Some((address, _)) => (address, "?…"),
            None => (address, ""),
        };
        // An `@` after the first slash belongs to the name of an object.
        let host = address.find('/').unwrap_or(address.len());
        let user = address[..host].rfind('@').map_or(0, |at| at + 1);
        shown.push_str(&address[user..]);
        shown.push_str(query);
        rest = next;
    }
    shown + rest
}

/// Returns the error of a program that was built without object storage.
#[cfg(not(feature = "cloud"))]
pub(super) fn not_built(path: &Path) -> io::Error {
    let place = without_secrets(&path.display().to_string());
    Failure(format!(
        "expected a local path, found an address in object storage, {place}, which this program was \
         built without; build it with `cargo build --release -p espalier-trainer --features cloud`"
    ))
    .into_io(io::ErrorKind::InvalidInput)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        for remote in ["s3://b/a.tar", "gs://b", "http://h:80/x", "ftp://h/x"] {
            assert!(is_remote(Path::new(remote)), "{remote}");
        }
        for local in ["a/b.tar", "C:\\x", "x://y", "file:///a/b.tar", "s3:/b", ""] {
            assert!(!is_remote(Path::new(local)), "{local}");
        }
        let local = |text: &str| local_file(Path::new(text));
        assert_eq!(local("file:///a/b.tar"), Some("/a/b.tar".into()));
        assert_eq!(local("file://localhost/a"), Some("/a".into()));
        assert_eq!(local("s3://a/b"), None);
    }

    #[test]
    fn an_address_has_a_place_and_a_key() {
        let parsed = Address::parse(Path::new("S3://b/x/y z.tar")).unwrap();
        let known = ("s3", "b", "x/y z.tar");
        assert_eq!((parsed.scheme, &*parsed.place, &*parsed.key), known);
        assert_eq!(Address::parse(Path::new("gs://b")).unwrap().key, "");
    }

    #[test]
    fn addresses_with_secrets_are_refused_and_never_shown() {
        for secret in [
            "https://user:hunter2@host/a.tar",
            "https://host/a.tar?X-Amz-Signature=hunter2",
            "az://box/a.tar?sig=hunter2",
            "s3://hunter2@bucket/a.tar",
            "ftp://user:hunter2@host/a.tar",
        ] {
            let error = check(Path::new(secret)).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
            assert!(error.contains("expected an address"), "{error}");
        }
        let error = check(Path::new("s3:///a.tar")).unwrap_err().to_string();
        assert!(error.contains("expected a bucket"), "{error}");
        assert!(check(Path::new("a?b.tar")).is_ok());
    }

    #[test]
    fn secrets_are_removed_from_any_text() {
        let text =
            "GET https://u:p@h/a%20b?sig=x&y=z failed; \"s3://b/k@2.tar\" (http://h/?t=1) too";
        assert_eq!(
            without_secrets(text),
            "GET https://h/a%20b?… failed; \"s3://b/k@2.tar\" (http://h/?…) too"
        );
        assert_eq!(without_secrets("no address"), "no address");
    }
}

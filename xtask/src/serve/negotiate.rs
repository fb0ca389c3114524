//! What a request's headers ask for: a byte range, compression, or nothing new.

use std::ops::Range;

/// What a `Range` header means for a file of some length.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    /// The whole file: no range, one we do not understand, or several (RFC 9110, 14.2).
    Whole,
    /// These bytes.
    Some(Range<u64>),
    /// No byte of the file.
    Unsatisfiable,
}

/// Reads `bytes=first-last`, `bytes=first-` and `bytes=-count`.
pub(super) fn part(header: Option<&str>, length: u64) -> Part {
    let Some(spec) = header.and_then(|h| h.trim().strip_prefix("bytes=")) else {
        return Part::Whole;
    };
    let Some((first, last)) = spec.trim().split_once('-') else {
        return Part::Whole;
    };
    let range = match (first.trim(), last.trim()) {
        ("", count) => match count.parse::<u64>() {
            Ok(0) => return Part::Unsatisfiable,
            Ok(count) => length.saturating_sub(count)..length,
            Err(_) => return Part::Whole,
        },
        (first, "") => match first.parse::<u64>() {
            Ok(first) => first..length,
            Err(_) => return Part::Whole,
        },
        (first, last) => match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(length),
            _ => return Part::Whole,
        },
    };
    if range.start < range.end {
        Part::Some(range)
    } else {
        Part::Unsatisfiable
    }
}

/// Whether `Accept-Encoding` allows gzip.
pub(super) fn accepts_gzip(header: Option<&str>) -> bool {
    let weight = |name: &str| {
        header.unwrap_or_default().split(',').find_map(|entry| {
            let mut fields = entry.split(';').map(str::trim);
            (fields.next()?.eq_ignore_ascii_case(name)).then(|| {
                fields
                    .find_map(|f| f.strip_prefix("q=").or_else(|| f.strip_prefix("Q=")))
                    .map_or(1.0, |q| q.parse::<f32>().unwrap_or(0.0))
            })
        })
    };
    weight("gzip")
        .or_else(|| weight("*"))
        .is_some_and(|q| q > 0.0)
}

/// Whether `If-None-Match` names the validator of what we would send.
pub(super) fn unchanged(header: Option<&str>, etag: &str) -> bool {
    header.is_some_and(|h| {
        h.split(',')
            .map(str::trim)
            .any(|t| t == "*" || t.trim_start_matches("W/") == etag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_in_their_three_forms() {
        assert_eq!(part(Some("bytes=2-4"), 10), Part::Some(2..5));
        assert_eq!(part(Some("bytes=7-"), 10), Part::Some(7..10));
        assert_eq!(part(Some("bytes=-3"), 10), Part::Some(7..10));
        assert_eq!(part(Some("bytes=8-99"), 10), Part::Some(8..10));
        assert_eq!(part(Some("bytes=-99"), 10), Part::Some(0..10));
    }

    #[test]
    fn ranges_beyond_the_file_are_refused() {
        for header in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
            assert_eq!(part(Some(header), 10), Part::Unsatisfiable, "{header}");
        }
        assert_eq!(part(Some("bytes=0-"), 0), Part::Unsatisfiable);
    }

    #[test]
    fn what_is_not_understood_gets_the_whole_file() {
        for header in [
            "bytes=5-2",
            "bytes=a-b",
            "bytes=0-1,4-5",
            "items=0-1",
            "bytes=",
            "bytes=--1",
        ] {
            assert_eq!(part(Some(header), 10), Part::Whole, "{header}");
        }
        assert_eq!(part(None, 10), Part::Whole);
    }

    #[test]
    fn gzip_is_used_only_where_it_is_accepted() {
        for header in ["gzip", "br, GZIP;q=0.5", "*", "deflate, gzip;q=1.0, *;q=0"] {
            assert!(accepts_gzip(Some(header)), "{header}");
        }
        for header in ["", "br", "gzip;q=0", "*;q=0", "xgzip"] {
            assert!(!accepts_gzip(Some(header)), "{header}");
        }
        assert!(!accepts_gzip(None));
    }

    #[test]
    fn a_validator_is_recognised_in_a_list() {
        assert!(unchanged(Some(r#""a", W/"b""#), r#""b""#) && unchanged(Some("*"), r#""b""#));
        assert!(!unchanged(Some(r#""a""#), r#""b""#) && !unchanged(None, r#""b""#));
    }
}

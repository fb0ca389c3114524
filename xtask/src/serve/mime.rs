//! Media types by file extension, and which of them are worth compressing.

use std::path::Path;

/// Extension, media type, whether gzip makes it smaller.
const TYPES: &[(&str, &str, bool)] = &[
    ("avif", "image/avif", false),
    ("css", "text/css; charset=utf-8", true),
    ("gif", "image/gif", false),
    ("html", "text/html; charset=utf-8", true),
    ("ico", "image/x-icon", false),
    ("jpeg", "image/jpeg", false),
    ("jpg", "image/jpeg", false),
    ("js", "text/javascript; charset=utf-8", true),
    ("json", "application/json", true),
    ("map", "application/json", true),
    ("md", "text/markdown; charset=utf-8", true),
    ("mjs", "text/javascript; charset=utf-8", true),
    ("png", "image/png", false),
    ("safetensors", "application/octet-stream", false),
    ("svg", "image/svg+xml", true),
    ("tsv", "text/tab-separated-values; charset=utf-8", true),
    ("txt", "text/plain; charset=utf-8", true),
    ("wasm", "application/wasm", true),
    ("webmanifest", "application/manifest+json", true),
    ("webp", "image/webp", false),
    ("woff2", "font/woff2", false),
];

/// Media type of a file, and whether to offer it compressed. Unknown files are plain bytes.
pub(super) fn of(path: &Path) -> (&'static str, bool) {
    let extension = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_ascii_lowercase();
    TYPES
        .iter()
        .find(|(known, ..)| *known == extension)
        .map_or(("application/octet-stream", false), |&(_, mime, zip)| {
            (mime, zip)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wasm_has_the_type_that_streaming_compilation_asks_for() {
        assert_eq!(of(Path::new("a_bg.wasm")), ("application/wasm", true));
    }

    #[test]
    fn weights_and_unknown_files_are_plain_bytes() {
        for name in ["image.safetensors", "x.unknown", "no-extension"] {
            assert_eq!(of(Path::new(name)), ("application/octet-stream", false));
        }
        assert_eq!(of(Path::new("PHOTO.JPG")).0, "image/jpeg");
    }
}

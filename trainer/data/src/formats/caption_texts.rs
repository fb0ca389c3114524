//! Captions in the rows of shards and tables: one text, or a list of texts.

use serde_json::Value;

/// Columns and keys of shards that may hold captions, in order of preference. GRIT's boxes refer to the first.
pub(crate) const KEYS: [&str; 5] = ["caption", "captions", "text", "texts", "txt"];

/// Extensions of texts that hold captions, in tars and beside photos.
pub(crate) const EXTENSIONS: [&str; 3] = ["txt", "text", "caption"];

/// Returns the texts of a value: a text, or a list of texts; `None` for anything else.
pub(crate) fn texts_of(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(texts) => {
            let texts = texts.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect()
        }
        _ => None,
    }
}

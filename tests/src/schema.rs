//! The part of JSON Schema that the schemas in `docs/schema/` use. An unknown keyword is an error,
//! so that no rule of a schema goes unchecked.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Keywords without effect on validation.
const REMARKS: [&str; 5] = ["$schema", "$id", "$defs", "title", "description"];

/// Reads a schema of `docs/schema/`; it may refer to the other schemas there.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn schema(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema");
    let text = fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Returns all violations of the schema `root` by `value`.
#[must_use]
pub fn faults(value: &Value, root: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(value, root, root, "", &mut found);
    found
}

fn check(value: &Value, schema: &Value, root: &Value, at: &str, found: &mut Vec<String>) {
    let Some(words) = schema.as_object() else {
        panic!("a schema must be an object: {schema}");
    };
    let mut fault = |said: String| found.push(format!("{at}: {said}"));
    let number = |word: &Value| word.as_f64().unwrap_or_else(|| panic!("{at}: {word}"));
    for (word, wanted) in words.iter().filter(|(w, _)| !REMARKS.contains(&w.as_str())) {
        let ok = match word.as_str() {
            "$ref" => {
                let path = wanted.as_str().unwrap_or_default();
                if let Some(inside) = path.strip_prefix("#") {
                    let target = root.pointer(inside);
                    let target = target.unwrap_or_else(|| panic!("{at}: no {path}"));
                    check(value, target, root, at, found);
                } else {
                    let other = self::schema(path);
                    check(value, &other, &other, at, found);
                }
                return rest(value, words, root, at, found);
            }
            "type" => match wanted {
                Value::Array(types) => types.iter().any(|t| is(value, t)),
                one => is(value, one),
            },
            "const" => value == wanted,
            "enum" => wanted.as_array().is_some_and(|all| all.contains(value)),
            "minimum" => value.as_f64().is_none_or(|v| v >= number(wanted)),
            "maximum" => value.as_f64().is_none_or(|v| v <= number(wanted)),
            "minLength" => value
                .as_str()
                .is_none_or(|v| v.len() as f64 >= number(wanted)),
            "minItems" => value
                .as_array()
                .is_none_or(|v| v.len() as f64 >= number(wanted)),
            "maxItems" => value
                .as_array()
                .is_none_or(|v| v.len() as f64 <= number(wanted)),
            "pattern" => matches_pattern(value, wanted, at),
            "required" => {
                let missing = missing(value, wanted);
                if !missing.is_empty() {
                    fault(format!("lacks {}", missing.join(", ")));
                }
                true
            }
            "properties" | "additionalProperties" | "items" => true,
            other => panic!("{at}: the keyword `{other}` is not supported"),
        };
        if !ok {
            fault(format!("expected `{word}`: {wanted}, found {value}"));
        }
    }
    rest(value, words, root, at, found);
}

/// Returns whether a text has the one pattern that the schemas use.
fn matches_pattern(value: &Value, pattern: &Value, at: &str) -> bool {
    match pattern.as_str() {
        Some("^[0-9a-f]{64}$") => value
            .as_str()
            .is_none_or(|v| v.len() == 64 && v.chars().all(|c| "0123456789abcdef".contains(c))),
        other => panic!("{at}: the pattern {other:?} is not supported"),
    }
}

/// Returns the required names that a value lacks, quoted.
fn missing(value: &Value, required: &Value) -> Vec<String> {
    let names = required.as_array().into_iter().flatten();
    names
        .filter(|name| value.get(name.as_str().unwrap_or("")).is_none())
        .map(ToString::to_string)
        .collect()
}

/// Checks the children of a value.
fn rest(
    value: &Value,
    words: &serde_json::Map<String, Value>,
    root: &Value,
    at: &str,
    found: &mut Vec<String>,
) {
    let known = words.get("properties").and_then(Value::as_object);
    for (name, inner) in value.as_object().into_iter().flatten() {
        let place = format!("{at}/{name}");
        match known.and_then(|known| known.get(name)) {
            Some(schema) => check(inner, schema, root, &place, found),
            None => match words.get("additionalProperties") {
                Some(Value::Bool(false)) => found.push(format!("{place}: not in the schema")),
                Some(schema) if schema.is_object() => check(inner, schema, root, &place, found),
                _ => {}
            },
        }
    }
    if let Some(schema) = words.get("items") {
        for (i, inner) in value.as_array().into_iter().flatten().enumerate() {
            check(inner, schema, root, &format!("{at}/{i}"), found);
        }
    }
}

fn is(value: &Value, wanted: &Value) -> bool {
    match wanted.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("null") => value.is_null(),
        other => panic!("the type {other:?} is not supported"),
    }
}

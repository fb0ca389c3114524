//! Merges the layers of a configuration.

use espalier_io::exit::usage;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Merges a layer over the values of the lower layers, block by block.
pub(super) fn merge(into: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(layer)) => merge(inner, layer),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// Returns one `block.key=value` as a layer. The value is TOML, a list without its brackets, or a bare word,
/// which is read as a string.
pub(super) fn layer_of(pair: &str, base: &Table) -> anyhow::Result<Table> {
    let (path, text) = pair
        .split_once('=')
        .ok_or_else(|| usage(format!("expected key=value, found `{pair}`")))?;
    let toml = |text: &str| format!("v = {text}").parse::<Table>().ok()?.remove("v");
    let value = toml(text)
        .or_else(|| toml(&format!("[{text}]")).filter(|_| text.contains(',')))
        .unwrap_or_else(|| Value::String(text.to_owned()));
    let (block, key) = path.split_once('.').ok_or_else(|| {
        usage(format!(
            "expected block.key=value with the block dataset, model, optim, loss or train, found \
             `{pair}`"
        ))
    })?;
    if !base.contains_key(block) {
        let known: Vec<&str> = base.keys().map(String::as_str).collect();
        return Err(usage(format!(
            "`{pair}`: expected one of the blocks {}, found `{block}`",
            known.join(", ")
        )));
    }
    let inner = key.rsplit('.').fold(value, |value, key| {
        Table::from_iter([(key.to_owned(), value)]).into()
    });
    Ok(Table::from_iter([(block.to_owned(), inner)]))
}

/// Reads a merged table as a configuration.
///
/// # Errors
/// Bad usage that names the key, for an unknown key or a value of the wrong type.
pub(super) fn read_table<T: DeserializeOwned>(table: Table) -> anyhow::Result<T> {
    serde_path_to_error::deserialize(Value::Table(table.clone())).map_err(|e| {
        let path = e.path().to_string();
        let mut steps = path.split('.');
        let found = steps.try_fold(Value::Table(table), |at, key| at.get(key).cloned());
        let found = match found {
            None | Some(Value::Table(_)) => String::new(),
            Some(value) => format!(", found `{path}={value}`"),
        };
        // The text of the library for a value that is no name of a list.
        let reason = e.into_inner();
        let reason = match reason.message() {
            "invalid type: unit variant, expected string only" => "expected a name",
            other => other,
        };
        usage(format!("configuration: {path}: {reason}{found}"))
    })
}

#[cfg(test)]
mod tests {
    use crate::config::TrainConfig;

    #[test]
    fn a_value_of_the_wrong_type_is_named_with_its_key() {
        for (pair, expected) in [
            ("train.method=3", "train.method"),
            ("train.precision=true", "train.precision"),
            ("optim.lr=fast", "optim.lr"),
            ("train.steps=-1", "train.steps"),
        ] {
            let error = TrainConfig::of_pairs(&[pair]).unwrap_err().to_string();
            assert!(error.contains(&format!("{expected}: ")), "{error}");
            let value = pair.split('=').nth(1).unwrap();
            assert!(error.contains(value), "{error}");
        }
    }
}

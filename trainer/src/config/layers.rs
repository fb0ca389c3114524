//! Merges the layers of a configuration.

use espalier_io::exit::usage;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::config::renamed::current;

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

/// Applies one `block.key=value`. The value is TOML, a list without its brackets, or a bare word,
/// which is read as a string.
pub(super) fn set(table: &mut Table, pair: &str) -> anyhow::Result<()> {
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
    let key = current(block, key);
    let known: Vec<&str> = table.keys().map(String::as_str).collect();
    let missing = usage(format!(
        "`{pair}`: expected one of the blocks {}, found `{block}`",
        known.join(", ")
    ));
    let Some(Value::Table(block)) = table.get_mut(block) else {
        return Err(missing);
    };
    block.insert(key.to_owned(), value);
    Ok(())
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
            let error = TrainConfig::resolve(None, toml::Table::new(), &[pair.to_owned()]);
            let error = error.unwrap_err().to_string();
            assert!(error.contains(&format!("{expected}: ")), "{error}");
            let value = pair.split('=').nth(1).unwrap();
            assert!(error.contains(value), "{error}");
        }
    }
}

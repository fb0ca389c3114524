//! Merges the layers of a configuration.

use toml::{Table, Value};

use crate::config::renamed::current;
use crate::exit::usage;

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

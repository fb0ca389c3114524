//! Shipped layers of configuration: defaults of single methods, the papers' values, and the recipe
//! of the shipped model.

use std::path::Path;

use clap::ValueEnum;
use espalier_io::disk::read;
use espalier_io::exit::usage;
use toml::Table;

use super::method_name::MethodName;

/// Returns the defaults of the method that a table names, if it has its own.
pub(super) fn method_layer(table: &Table) -> Option<&'static str> {
    let name = table.get("train")?.get("method")?.as_str()?;
    MethodName::from_str(name, false).ok()?.defaults()
}

/// Recipes of the shipped models, and that for folders of photos, by name.
const SHIPPED: [(&str, &str); 4] = [
    ("default", include_str!("../../configs/default.toml")),
    ("large-text", include_str!("../../configs/large-text.toml")),
    ("tiny", include_str!("../../configs/tiny.toml")),
    ("photos", include_str!("../../configs/photos.toml")),
];

/// Returns the text that `--config` names: a recipe or a file.
pub(super) fn layer_text(path: &Path) -> anyhow::Result<String> {
    let name = path.to_string_lossy();
    if let Some((_, text)) = SHIPPED.iter().find(|(known, _)| name == *known) {
        return Ok((*text).to_owned());
    }
    if let Some(paper) = name.strip_prefix("paper:") {
        let method = MethodName::from_str(paper, false).map_err(|_| {
            let known = MethodName::value_variants().iter().map(|m| m.name());
            let known = known.collect::<Vec<&str>>().join(", ");
            usage(format!("--config {name}: expected one of {known}"))
        })?;
        return Ok(method.paper_recipe().to_owned());
    }
    read::text(path).map_err(|e| {
        usage(format!(
            "--config {name}: {e}; expected a file, default, large-text, tiny, photos, or paper:METHOD"
        ))
    })
}

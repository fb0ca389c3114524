//! Shipped layers of configuration: defaults of single methods, the papers' values, and the recipe
//! of the shipped model.

use std::path::Path;

use espalier_io::disk::read;
use espalier_io::exit::usage;
use toml::Table;

/// Returns the defaults of the method that a table names, if it has its own.
pub(super) fn method_layer(table: &Table) -> Option<&'static str> {
    match table.get("train")?.get("method")?.as_str()? {
        "re" | "ec" => Some(include_str!("../../configs/methods/re.toml")),
        "rcme" => Some(include_str!("../../configs/methods/rcme.toml")),
        _ => None,
    }
}

/// Recipes of the papers, by the names that `--config paper:NAME` takes.
pub(super) const PAPERS: [(&str, &str); 9] = [
    ("clip", include_str!("../../configs/papers/meru.toml")),
    ("meru", include_str!("../../configs/papers/meru.toml")),
    ("hycoclip", include_str!("../../configs/papers/meru.toml")),
    ("phyclip", include_str!("../../configs/papers/meru.toml")),
    ("re", include_str!("../../configs/papers/re.toml")),
    ("ec", include_str!("../../configs/papers/re.toml")),
    ("rcme", include_str!("../../configs/papers/rcme.toml")),
    ("atmg", include_str!("../../configs/papers/meru.toml")),
    ("parts", include_str!("../../configs/papers/parts.toml")),
];

/// Recipes of the shipped models, and that for folders of photos, by name.
const SHIPPED: [(&str, &str); 3] = [
    ("default", include_str!("../../configs/default.toml")),
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
        let recipe = PAPERS.iter().find(|(known, _)| *known == paper);
        return recipe.map(|(_, text)| (*text).to_owned()).ok_or_else(|| {
            let known: Vec<&str> = PAPERS.iter().map(|(known, _)| *known).collect();
            usage(format!(
                "--config {name}: expected one of {}",
                known.join(", ")
            ))
        });
    }
    read::text(path).map_err(|e| {
        usage(format!(
            "--config {name}: {e}; expected a file, default, tiny, photos, or paper:METHOD"
        ))
    })
}

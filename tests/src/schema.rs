//! The published schemas in `docs/schema/`.

use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

/// A schema that was read, with those that it refers to.
pub struct Schema {
    all: Schemas,
    index: SchemaIndex,
}

impl Schema {
    /// Reads a schema of `docs/schema/`; it may refer to the other schemas there.
    ///
    /// # Panics
    /// When it cannot be read or is no schema.
    pub fn open(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema");
        let path = folder
            .join(name)
            .canonicalize()
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut all = Schemas::new();
        let index = Compiler::new()
            .compile(&path.to_string_lossy(), &mut all)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self { all, index }
    }

    /// Returns how a value breaks the schema, with every place; `None` if it conforms.
    pub fn violations(&self, value: &Value) -> Option<String> {
        let checked = self.all.validate(value, self.index);
        checked.err().map(|error| format!("{error:#}"))
    }
}

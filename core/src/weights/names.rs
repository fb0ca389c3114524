//! Public names of parameters, derived from their paths in the modules.

/// How the stored tensor differs from the parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Identical.
    Same,
    /// `(out, in)` in the file, `(in, out)` in the module.
    Transposed,
}

/// Returns the public name and the layout of a parameter.
///
/// `path` is the dotted path in the module tree; `owner` is the type that holds the parameter, in
/// the form of Burn's module visitors (for example `Struct:Linear`).
#[must_use]
pub fn public_name(path: &str, owner: &str) -> (String, Layout) {
    let mut parts: Vec<&str> = path.split('.').collect();
    // These modules only group parameters; the names in the files have no such prefix.
    while matches!(
        parts.first(),
        Some(&("image" | "text" | "lift" | "Lorentz" | "Product"))
    ) {
        parts.remove(0);
    }
    let last = parts.pop().unwrap_or_default();
    let (leaf, layout) = match (owner, last) {
        ("Struct:Linear", "weight") => ("weight", Layout::Transposed),
        ("Struct:LayerNorm", "gamma") => ("weight", Layout::Same),
        ("Struct:LayerNorm", "beta") => ("bias", Layout::Same),
        ("Struct:LogScalar", "log") => ("", Layout::Same),
        (_, other) => (other, Layout::Same),
    };
    let mut name = parts.join(".");
    if !leaf.is_empty() {
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(leaf);
    }
    if name.starts_with("textual.resblocks.") {
        name = text_block_name(&name);
    } else if let Some(inner) = name.strip_prefix("visual.inverted.") {
        name = inverted_name(inner);
    }
    (name, layout)
}

/// Text blocks have the names of the original CLIP.
pub(crate) fn text_block_name(name: &str) -> String {
    [
        (".norm1.", ".ln_1."),
        (".norm2.", ".ln_2."),
        (".attn.qkv.weight", ".attn.in_proj_weight"),
        (".attn.qkv.bias", ".attn.in_proj_bias"),
        (".attn.proj.", ".attn.out_proj."),
        (".mlp.fc1.", ".mlp.c_fc."),
        (".mlp.fc2.", ".mlp.c_proj."),
    ]
    .into_iter()
    .fold(name.to_owned(), |name, (ours, theirs)| {
        name.replace(ours, theirs)
    })
}

/// Names of the modules of inverted residuals begin with an underscore, as in the published
/// EfficientNets.
pub(crate) fn inverted_name(inner: &str) -> String {
    let parts: Vec<&str> = inner.split('.').collect();
    let last = parts.len().saturating_sub(1);
    let mut name = "visual".to_owned();
    for (at, part) in parts.into_iter().enumerate() {
        let is_module = at < last && part.parse::<usize>().is_err();
        name.push_str(if is_module { "._" } else { "." });
        name.push_str(part);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_published_state_dicts() {
        let name = |path, owner| public_name(path, owner).0;
        assert_eq!(
            name("image.visual.blocks.3.norm1.gamma", "Struct:LayerNorm"),
            "visual.blocks.3.norm1.weight"
        );
        assert_eq!(
            public_name("text.textual.resblocks.0.attn.qkv.weight", "Struct:Linear"),
            (
                "textual.resblocks.0.attn.in_proj_weight".to_owned(),
                Layout::Transposed
            )
        );
        assert_eq!(
            name(
                "image.visual.inverted.blocks.3.bn1.running_var",
                "Struct:BatchNorm"
            ),
            "visual._blocks.3._bn1.running_var"
        );
        assert_eq!(
            name("image.visual.inverted.conv_stem.weight", "Struct:SameConv"),
            "visual._conv_stem.weight"
        );
        assert_eq!(name("lift.Lorentz.curv.log", "Struct:LogScalar"), "curv");
        assert_eq!(name("lift.Product.curvs.log", "Struct:LogScalar"), "curvs");
        assert_eq!(name("logit_scale.log", "Struct:LogScalar"), "logit_scale");
        assert_eq!(
            name("image.pixel_mean", "Struct:ImageEncoder"),
            "pixel_mean"
        );
    }
}

//! The model card of a checkpoint for other programs.

use std::fmt::Write as _;

use crate::layout::Layout;
use crate::model_file::ModelCard;

/// Name of the card in the folder of a model.
pub const CARD: &str = "README.md";

/// Returns the image of a card, of the file beside it; empty without one.
pub fn image(file: Option<&str>) -> String {
    file.map_or_else(String::new, |file| {
        format!("![The concepts that the model knows, by their place in its space]({file})\n\n")
    })
}

/// Returns a card with front matter, in the convention of model cards.
pub(super) fn write(
    card: &ModelCard,
    layout: Layout,
    (name, notes): (&str, &str),
    preview: Option<&str>,
) -> String {
    let c = &card.config;
    let (v, t) = (&c.vision, &c.text);
    let origin = card.origin.as_ref();
    let mut out = front_matter(card, layout);
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "\n# {name}\n\n{preview}\
         A model of images and texts, trained with `{method}`, written for {title}.\n\n\
         | | |\n|---|---|\n\
         | image encoder | {size} px, patch {patch}, width {dv}, {lv} layers, {hv} heads, {av:?} |\n\
         | text encoder | {context} tokens, width {dt}, {lt} layers, {ht} heads, {at:?} |\n\
         | embedding | {embed} numbers, {lift:?} |\n\
         | parameters | {parameters} |\n\
         | training steps with Espalier | {step} |\n",
        preview = image(preview),
        method = card.method,
        title = layout.title(),
        size = v.image_size,
        patch = v.patch,
        dv = v.d_model,
        lv = v.n_layers,
        hv = v.n_heads,
        av = v.activation,
        context = t.context,
        dt = t.d_model,
        lt = t.n_layers,
        ht = t.n_heads,
        at = t.activation,
        embed = c.d_embed,
        lift = c.lift,
        parameters = c.parameters(),
        step = card.step,
    );
    if let Some(origin) = origin {
        let _ = writeln!(out, "| imported from | {} |", origin.source);
    }
    if let Some(terms) = origin.and_then(|o| o.licence.as_deref()) {
        let line = terms.replace(['\n', '|'], " ");
        let _ = writeln!(out, "| licence of the weights | {line} |");
    }
    if !notes.trim().is_empty() {
        let _ = write!(out, "\n{}\n", notes.trim());
    }
    out
}

/// Returns the front matter: what hosts of models read.
fn front_matter(card: &ModelCard, layout: Layout) -> String {
    let library = layout.library();
    let origin = card.origin.as_ref();
    let terms = origin.and_then(|o| o.licence.as_deref());
    // Only an identifier is accepted; other terms are stated in the card.
    let identifier = |l: &&str| {
        l.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))
    };
    let licence = terms.filter(identifier).unwrap_or("other");
    let base = origin.and_then(|o| o.source.strip_prefix("hf-hub:"));
    let mut out = format!("---\nlibrary_name: {library}\n");
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "pipeline_tag: zero-shot-image-classification\nlicense: {licence}"
    );
    if let Some(base) = base {
        let _ = writeln!(
            out,
            "base_model: {}",
            base.split('@').next().unwrap_or(base)
        );
    }
    let _ = writeln!(
        out,
        "tags: [espalier, image-text, clip, {}]\n---",
        card.method
    );
    out
}

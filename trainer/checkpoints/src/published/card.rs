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

/// Returns the front matter of a card: what hosts of models read. `source` is the name of a repository
/// of the hub that the model was made from, also with a revision.
pub fn front_matter(
    library: &str,
    terms: Option<&str>,
    source: Option<&str>,
    tags: &str,
) -> String {
    // Hosts know identifiers; other terms are stated in the card.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let is_identifier = |terms: &&str| !terms.is_empty() && terms.chars().all(is_plain);
    let licence = terms.filter(is_identifier).unwrap_or("other");
    let base = source.and_then(|source| source.split('@').next());
    let base = base.map_or_else(String::new, |base| format!("base_model: {base}\n"));
    format!(
        "---\nlibrary_name: {library}\npipeline_tag: zero-shot-image-classification\n\
         license: {licence}\n{base}tags: [espalier, {tags}]\n---\n\n"
    )
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
    let terms = origin.and_then(|o| o.licence.as_deref());
    let source = origin.and_then(|o| o.source.strip_prefix("hf-hub:"));
    let tags = format!("image-text, clip, {}", card.method);
    let mut out = front_matter(layout.library(), terms, source, &tags);
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "# {name}\n\n{preview}\
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
    if let Some(terms) = terms {
        let line = terms.replace(['\n', '|'], " ");
        let _ = writeln!(out, "| licence of the weights | {line} |");
    }
    if !notes.trim().is_empty() {
        let _ = write!(out, "\n{}\n", notes.trim());
    }
    out
}

//! Which parts of a model are trained.

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trainable {
    /// The image encoder, without its projection.
    pub image: bool,
    /// The projection of the image encoder.
    pub projection: bool,
    /// The text encoder: at least its projection.
    pub text: bool,
    /// The layers of the text encoder before its projection.
    pub text_layers: bool,
    /// The scale of the contrastive logits.
    pub scale: bool,
}

impl Trainable {
    /// All parts.
    pub const ALL: Self = Self {
        image: true,
        projection: true,
        text: true,
        text_layers: true,
        scale: true,
    };
}

//! Which parts of a model are trained.

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trainable {
    /// The image encoder, without its projection.
    pub image: bool,
    /// The projection of the image encoder.
    pub projection: bool,
    /// The text encoder.
    pub text: bool,
    /// The scale of the contrastive logits.
    pub scale: bool,
}

impl Trainable {
    /// All parts.
    pub const ALL: Self = Self {
        image: true,
        projection: true,
        text: true,
        scale: true,
    };
}

//! What a training method needs of the data.

/// What a method needs of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A picture and its caption.
    Captions,
    /// Also a box and its phrase.
    Boxes,
    /// Texts from general to specific, of which the last describes the picture, if there is one.
    Chains,
    /// A picture and all of its boxes.
    Parts,
}

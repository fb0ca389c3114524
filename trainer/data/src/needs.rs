//! What a training method needs of the data.

/// What a method needs in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// An image and its caption.
    Captions,
    /// Also a box and its phrase.
    Boxes,
    /// Texts from general to specific; the last one describes the image, if there is one.
    Chains,
    /// An image and all of its boxes.
    Parts,
}

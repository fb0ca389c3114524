//! Derives sizes of the architecture from the tensor shapes of a file. The number of heads, the
//! non-linearity and the epsilon of norms cannot be derived from shapes (notation traps 24 to 26).

use super::name::Layout;
use super::table;
use super::tensor_mapping::Transform;

/// Sizes derived from shapes; `None` if the tensor in question is missing or has another rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Side of the input image in pixels.
    pub image_size: Option<usize>,
    /// Side of a patch in pixels.
    pub patch: Option<usize>,
    /// Width of image tokens.
    pub vision_width: Option<usize>,
    /// Number of blocks of the image encoder.
    pub vision_layers: Option<usize>,
    /// Feed-forward width of the image encoder.
    pub vision_hidden: Option<usize>,
    /// Number of token ids.
    pub vocab: Option<usize>,
    /// Context length in tokens.
    pub context: Option<usize>,
    /// Width of text tokens.
    pub text_width: Option<usize>,
    /// Number of blocks of the text encoder.
    pub text_layers: Option<usize>,
    /// Feed-forward width of the text encoder.
    pub text_hidden: Option<usize>,
    /// Width of the embeddings.
    pub embed: Option<usize>,
    /// Number of factors of a product of Lorentz spaces; 0 for other spaces.
    pub factors: usize,
}

/// Returns the largest number after a prefix, plus one.
fn count<'a>(names: impl Iterator<Item = &'a str>, prefix: &str) -> Option<usize> {
    names
        .filter_map(|n| n.strip_prefix(prefix)?.split('.').next()?.parse().ok())
        .max()
        .map(|largest: usize| largest.saturating_add(1))
}

impl Measured {
    /// Derives the sizes of a file from the `names` of its tensors and a lookup of their shapes.
    pub fn of<'a, 'b>(
        layout: Layout,
        names: impl Iterator<Item = &'a str> + Clone,
        shape: impl Fn(&str) -> Option<&'b [usize]>,
    ) -> Self {
        let dim = |name: &str, rank: usize, at: usize| {
            let shape = shape(name).filter(|s| s.len() == rank)?;
            Some(shape[at])
        };
        // Dimension `at` of one of our tensors; the file may store the matrix transposed.
        let of = |ours: &str, rank: usize, at: usize| {
            let (name, how) = table::named(layout, ours)?;
            let is_transposed = how == Transform::Transposed;
            dim(name, rank, if is_transposed { rank - 1 - at } else { at })
        };
        let [image, text] = table::stacks(layout);
        let patch = of(table::KERNEL, 4, 2);
        // The second dimension from the right is the number of tokens; a leading 1 may precede it.
        let positions = table::named(layout, table::POSITIONS).and_then(|(name, _)| shape(name));
        let positions = positions.filter(|s| s.len() >= 2);
        let patches = positions.and_then(|s| s[s.len() - 2].checked_sub(1));
        let side = patches.map(usize::isqrt);
        let square = side.zip(patches).is_some_and(|(s, n)| s * s == n);
        Self {
            image_size: side
                .zip(patch)
                .filter(|_| square)
                .and_then(|(s, p)| s.checked_mul(p)),
            patch,
            vision_width: of(table::KERNEL, 4, 0),
            vision_layers: count(names.clone(), &image.layer_prefix()),
            vision_hidden: dim(&image.feed_forward_weight(), 2, 0),
            vocab: of(table::TOKENS, 2, 0),
            context: of(table::TEXT_POSITIONS, 2, 0),
            text_width: of(table::TOKENS, 2, 1),
            text_layers: count(names.clone(), &text.layer_prefix()),
            text_hidden: dim(&text.feed_forward_weight(), 2, 0),
            embed: of(table::PROJECTION, 2, 0),
            factors: count(names, "curvs.").unwrap_or(0),
        }
    }
}

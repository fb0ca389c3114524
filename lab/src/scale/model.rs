//! Operations and parameters of the models of HyCoCLIP's paper.

/// A transformer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoder {
    tokens: f64,
    layers: f64,
    width: f64,
    /// Parameters outside the layers.
    embedding: f64,
}

impl Encoder {
    /// Returns the operations of a forward pass of one input: per layer and token `24 w^2` for the
    /// four projections of attention and the two of the feed-forward net, and `4 t w` for attention
    /// over `t` tokens. A multiplication with its addition counts as two.
    fn operations(&self) -> f64 {
        let Self {
            tokens,
            layers,
            width,
            ..
        } = self;
        layers * tokens * (24.0 * width * width + 4.0 * tokens * width)
    }

    /// Returns the number of parameters: `12 w^2 + 13 w` a layer, and the embedding.
    fn parameters(&self) -> f64 {
        let width = self.width;
        self.layers * (12.0 * width * width + 13.0 * width) + self.embedding
    }
}

/// An image and a text encoder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    pub(super) name: &'static str,
    image: Encoder,
    text: Encoder,
    /// Numbers of an embedding.
    pub(super) width: f64,
}

/// A vision transformer on images of 224 pixels with patches of 16, and its position embeddings.
const fn image(width: f64) -> Encoder {
    Encoder {
        tokens: 197.0,
        layers: 12.0,
        width,
        embedding: (3.0 * 16.0 * 16.0 + 197.0) * width,
    }
}

/// CLIP's text encoder: 77 tokens of 49,408.
const TEXT: Encoder = Encoder {
    tokens: 77.0,
    layers: 12.0,
    width: 512.0,
    embedding: (49_408.0 + 77.0) * 512.0,
};

impl Model {
    /// The two models of the paper.
    pub(super) const ALL: [Self; 2] = [
        Self {
            name: "ViT-S/16",
            image: image(384.0),
            text: TEXT,
            width: 512.0,
        },
        Self {
            name: "ViT-B/16",
            image: image(768.0),
            text: TEXT,
            width: 512.0,
        },
    ];

    /// Returns the operations of training with one sample: an image, a box, a caption and a phrase,
    /// each forward and backward, where backward is twice forward.
    pub(super) fn sample_operations(&self) -> f64 {
        3.0 * 2.0 * (self.image.operations() + self.text.operations())
    }

    /// Returns the number of learned parameters, projections included.
    pub(super) fn parameters(&self) -> f64 {
        let projections = (self.image.width + self.text.width) * self.width;
        self.image.parameters() + self.text.parameters() + projections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_published_models() {
        // ViT-B/16: 17.6 billion multiplications of an image with additions, 86 million parameters.
        let image = image(768.0);
        assert!(
            (image.operations() / 2e9 - 17.6).abs() < 0.3,
            "{}",
            image.operations()
        );
        assert!(
            (image.parameters() / 1e6 - 86.0).abs() < 1.0,
            "{}",
            image.parameters()
        );
        // CLIP's text encoder: 63 million, 25 of them the vocabulary's.
        assert!(
            (TEXT.parameters() / 1e6 - 63.0).abs() < 1.0,
            "{}",
            TEXT.parameters()
        );
    }
}

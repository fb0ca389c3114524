//! The positions that each weight of a kernel connects.

use crate::grad::window::Window;

/// An input position and the output position that reads it, counted over all images.
pub(super) struct Link {
    /// Row of the source of a product.
    pub(super) from: usize,
    /// Row of its target.
    pub(super) to: usize,
}

/// The links of each position of the kernel, image by image; padding has none.
pub(super) struct Taps(Vec<Vec<Link>>);

impl Taps {
    /// Returns the links from inputs to outputs of some images.
    pub(super) fn new(window: Window, images: usize) -> Self {
        let [rows, columns] = window.kernel;
        let taps = (0..rows * columns).map(|tap| [tap / columns, tap % columns]);
        let links = |[tap_row, tap_column]: [usize; 2]| {
            let (range, first) = window.columns(tap_column);
            let mut links = Vec::with_capacity(images * window.places());
            for image in 0..images {
                for row in 0..window.output[0] {
                    let Some(input) = window.input_row(row, tap_row) else {
                        continue;
                    };
                    let from = image * window.pixels() + input * window.input[1] + first;
                    let to = image * window.places() + row * window.output[1] + range.start;
                    links.extend((0..range.len()).map(|i| Link {
                        from: from + i * window.stride,
                        to: to + i,
                    }));
                }
            }
            links
        };
        Self(taps.map(links).collect())
    }

    /// Returns the links from outputs to inputs.
    pub(super) fn reversed(&self) -> Self {
        let reversed = |links: &Vec<Link>| {
            let links = links.iter().map(|link| Link {
                from: link.to,
                to: link.from,
            });
            links.collect()
        };
        Self(self.0.iter().map(reversed).collect())
    }

    /// Returns the links of the first `images` of `of` images.
    pub(super) fn first(&self, images: usize, of: usize) -> impl Iterator<Item = &[Link]> + Clone {
        let part = move |links: &'_ Vec<Link>| links.len() / of.max(1) * images;
        self.0.iter().map(move |links| &links[..part(links)])
    }
}

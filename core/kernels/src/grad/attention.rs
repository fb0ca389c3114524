//! Multi-head self-attention of the tokens of each image or text.

use pulp::{Arch, Simd, WithSimd};

use super::matrix::{Matrix, Target, Threads, product};
use super::pieces::{self, Start};
use crate::exponential::softmax_rows;

/// Sizes of an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    /// Number of tokens of each image or text.
    pub tokens: usize,
    /// Width of the tokens, a multiple of `heads`.
    pub width: usize,
    /// Number of heads.
    pub heads: usize,
    /// Whether a token attends only to itself and to the tokens before it.
    pub causal: bool,
}

/// Queries, keys or values of one head: `[tokens, head width]`.
#[derive(Clone, Copy)]
enum Part {
    Query,
    Key,
    Value,
}

impl Attention {
    /// Computes `softmax(q k^T / sqrt(head width)) v` of each head.
    ///
    /// # Shapes
    /// `qkv [batch, tokens, 3 width] -> [batch, tokens, width]`; a row of the input holds the
    /// query, the key and the value of a token
    #[must_use]
    pub fn forward(self, qkv: &[f32]) -> Vec<f32> {
        let visible = self.visible();
        let (start, size) = (Start::Zeros(qkv.len() / 3), self.tokens * self.width);
        let (output, _) = pieces::compute(start, size, |index, output| {
            let qkv = self.of_image(qkv, index, 3);
            let mut shares = vec![0.0; self.tokens * self.tokens];
            for head in 0..self.heads {
                self.shares(qkv, head, visible.as_deref(), &mut shares);
                let shares = Matrix::new(&shares, self.tokens, self.tokens, self.tokens);
                let values = self.part(qkv, head, Part::Value);
                let output = &mut output[head * self.head_width()..];
                multiply(shares, values, 1.0, output, self.width);
            }
        });
        output
    }

    /// Computes the gradient of the input from that of the output. The shares of the tokens are
    /// computed again, so that nothing of size `tokens^2` is kept for a whole batch.
    ///
    /// # Shapes
    /// `qkv [batch, tokens, 3 width]`, `grad [batch, tokens, width] -> [batch, tokens, 3 width]`
    #[must_use]
    pub fn backward(self, qkv: &[f32], grad: &[f32]) -> Vec<f32> {
        let visible = self.visible();
        let (output, _) = pieces::compute(
            Start::Zeros(qkv.len()),
            3 * self.tokens * self.width,
            |index, output| {
                let (qkv, grad) = (self.of_image(qkv, index, 3), self.of_image(grad, index, 1));
                let mut shares = vec![0.0; self.tokens * self.tokens];
                let mut slopes = vec![0.0; self.tokens * self.tokens];
                for head in 0..self.heads {
                    self.shares(qkv, head, visible.as_deref(), &mut shares);
                    self.backward_head((qkv, grad), head, &shares, &mut slopes, output);
                }
            },
        );
        output
    }

    /// Computes the gradient of one head; `shares` and `slopes` are `[tokens, tokens]`, the latter
    /// is only a buffer.
    fn backward_head(
        self,
        (qkv, grad): (&[f32], &[f32]),
        head: usize,
        shares: &[f32],
        slopes: &mut [f32],
        output: &mut [f32],
    ) {
        let (tokens, width) = (self.tokens, self.width);
        let grad = Matrix::new(
            &grad[head * self.head_width()..],
            tokens,
            self.head_width(),
            width,
        );
        let into = |part: Part| self.offset(head, part);
        let mixing = Matrix::new(shares, tokens, tokens, tokens).transposed();
        multiply(
            mixing,
            grad,
            1.0,
            &mut output[into(Part::Value)..],
            3 * width,
        );
        let values = self.part(qkv, head, Part::Value).transposed();
        multiply(grad, values, 1.0, slopes, tokens);
        Arch::new().dispatch(SoftmaxBackward {
            shares,
            slopes: &mut *slopes,
            width: tokens,
        });
        let slopes = Matrix::new(slopes, tokens, tokens, tokens);
        let (keys, queries) = (
            self.part(qkv, head, Part::Key),
            self.part(qkv, head, Part::Query),
        );
        let scale = self.scale();
        multiply(
            slopes,
            keys,
            scale,
            &mut output[into(Part::Query)..],
            3 * width,
        );
        multiply(
            slopes.transposed(),
            queries,
            scale,
            &mut output[into(Part::Key)..],
            3 * width,
        );
    }

    /// Computes the share of each token in the output of each token, `[tokens, tokens]`.
    fn shares(self, qkv: &[f32], head: usize, visible: Option<&[usize]>, shares: &mut [f32]) {
        let (queries, keys) = (
            self.part(qkv, head, Part::Query),
            self.part(qkv, head, Part::Key),
        );
        multiply(
            queries,
            keys.transposed(),
            self.scale(),
            shares,
            self.tokens,
        );
        softmax_rows(shares, self.tokens, visible);
    }

    fn head_width(self) -> usize {
        self.width / self.heads.max(1)
    }

    fn scale(self) -> f32 {
        1.0 / (self.head_width() as f32).sqrt()
    }

    /// Returns the number of tokens that each token attends to; `None` if it is all.
    fn visible(self) -> Option<Vec<usize>> {
        self.causal.then(|| (1..=self.tokens).collect())
    }

    /// Returns the rows of one image, `parts width` values each.
    fn of_image(self, values: &[f32], index: usize, parts: usize) -> &[f32] {
        let size = parts * self.tokens * self.width;
        &values[index * size..(index + 1) * size]
    }

    fn offset(self, head: usize, part: Part) -> usize {
        let part = match part {
            Part::Query => 0,
            Part::Key => 1,
            Part::Value => 2,
        };
        part * self.width + head * self.head_width()
    }

    fn part(self, qkv: &[f32], head: usize, part: Part) -> Matrix<'_> {
        let from = self.offset(head, part);
        Matrix::new(&qkv[from..], self.tokens, self.head_width(), 3 * self.width)
    }
}

/// Computes `scale a b` into `output` on this thread.
fn multiply(a: Matrix<'_>, b: Matrix<'_>, scale: f32, output: &mut [f32], stride: usize) {
    product(a, b, scale, Target::overwrite(output, stride), Threads::One);
}

/// Replaces the gradient of softmax's output by that of its input, for rows of `width` values:
/// `share (slope - sum(share slope))`.
struct SoftmaxBackward<'a> {
    shares: &'a [f32],
    slopes: &'a mut [f32],
    width: usize,
}

impl WithSimd for SoftmaxBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.width.max(1);
        let slopes = self.slopes.chunks_exact_mut(width);
        for (shares, slopes) in self.shares.chunks_exact(width).zip(slopes) {
            let (shares, last_shares) = S::as_simd_f32s(shares);
            let (slopes, last_slopes) = S::as_mut_simd_f32s(slopes);
            let mut sums = simd.splat_f32s(0.0);
            for (share, slope) in shares.iter().zip(slopes.iter()) {
                sums = simd.mul_add_e_f32s(*share, *slope, sums);
            }
            let mut sum = simd.reduce_sum_f32s(sums);
            for (share, slope) in last_shares.iter().zip(last_slopes.iter()) {
                sum += share * slope;
            }
            for (share, slope) in last_shares.iter().zip(last_slopes) {
                *slope = share * (*slope - sum);
            }
            let sum = simd.splat_f32s(sum);
            for (share, slope) in shares.iter().zip(slopes) {
                *slope = simd.mul_f32s(*share, simd.sub_f32s(*slope, sum));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::{assert_gradients, value};

    /// Returns the sum of `grad` times the attention, in double precision.
    fn weighted(sizes: Attention, qkv: &[f64], grad: &[f32]) -> f64 {
        let Attention {
            tokens,
            width,
            heads,
            causal,
        } = sizes;
        let head = width / heads;
        let mut sum = 0.0;
        for (image, qkv) in qkv.chunks(3 * tokens * width).enumerate() {
            let part = |token: usize, part: usize, i: usize| qkv[(token * 3 + part) * width + i];
            for token in 0..tokens {
                let visible = if causal { token + 1 } else { tokens };
                for from in (0..heads).map(|h| h * head) {
                    let score = |other: usize| {
                        let at = from..from + head;
                        let dot: f64 = at.map(|i| part(token, 0, i) * part(other, 1, i)).sum();
                        (dot / (head as f64).sqrt()).exp()
                    };
                    let total: f64 = (0..visible).map(score).sum();
                    for i in from..from + head {
                        let mixed = (0..visible).map(|o| score(o) * part(o, 2, i)).sum::<f64>();
                        let at = (image * tokens + token) * width + i;
                        sum += mixed / total * f64::from(grad[at]);
                    }
                }
            }
        }
        sum
    }

    #[test]
    fn gradients_are_those_of_differences() {
        for (batch, tokens, heads, head, causal) in [
            (1, 1, 1, 1, false),
            (2, 3, 2, 2, false),
            (2, 4, 1, 3, true),
            (1, 9, 2, 1, true),
        ] {
            let width = heads * head;
            let sizes = Attention {
                tokens,
                width,
                heads,
                causal,
            };
            let qkv: Vec<f32> = (0..batch * tokens * 3 * width).map(value).collect();
            let grad: Vec<f32> = (0..batch * tokens * width).map(|i| value(i + 5)).collect();
            let (output, found) = (sizes.forward(&qkv), sizes.backward(&qkv, &grad));
            assert_gradients([&qkv], (&output, &grad), [&found], |[qkv]| {
                weighted(sizes, qkv, &grad)
            });
        }
    }

    #[test]
    fn no_image_is_needed() {
        let sizes = Attention {
            tokens: 3,
            width: 4,
            heads: 2,
            causal: true,
        };
        assert!(sizes.forward(&[]).is_empty());
        assert!(sizes.backward(&[], &[]).is_empty());
    }
}

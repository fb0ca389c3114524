//! Multi-head attention over the tokens of one image or text.

use crate::activation::Activation;
use crate::exponential::softmax_rows;
use crate::product::PackedWeights;

/// Number of heads, and which tokens a token attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Number of heads; it divides the width of the tokens.
    pub count: usize,
    /// Whether a token attends only to itself and to the tokens before it.
    pub causal: bool,
}

/// Queries, keys and values of tokens: `[tokens, 3 width]`, in that order in each row.
#[derive(Clone, Copy, Debug)]
pub struct Projections<'a> {
    /// `[tokens, 3 width]`
    pub values: &'a [f32],
    /// Width of a token.
    pub width: usize,
}

impl Projections<'_> {
    /// Returns the part of a token: 0 for its query, 1 for its key, 2 for its value.
    fn part(&self, token: usize, part: usize) -> &[f32] {
        let from = (token * 3 + part) * self.width;
        &self.values[from..from + self.width]
    }
}

impl Heads {
    /// Computes `softmax(q k^T / sqrt(head width)) v` for the queries of some tokens.
    ///
    /// # Shapes
    /// `projections [tokens, 3 width]`, `queries` in `0..tokens` `-> [queries, width]`
    pub fn attend(self, projections: Projections<'_>, queries: &[usize]) -> Vec<f32> {
        let width = projections.width;
        let tokens = projections.values.len() / (3 * width).max(1);
        let head = width / self.count.max(1);
        let scale = 1.0 / (head as f32).sqrt();
        let visible: Vec<usize> = queries.iter().map(|token| token + 1).collect();
        let visible = self.causal.then_some(&visible[..]);
        let mut output = vec![0.0; queries.len() * width];
        for offset in (0..self.count).map(|index| index * head) {
            let part =
                |token: usize, part: usize| &projections.part(token, part)[offset..offset + head];
            let query: Vec<f32> = queries.iter().flat_map(|t| part(*t, 0)).copied().collect();
            let keys = PackedWeights::new(head, &vec![0.0; tokens], |token, i| {
                part(token, 1)[i] * scale
            });
            let mut shares = vec![0.0; queries.len() * tokens];
            keys.apply(&query, None, Activation::None, &mut shares);
            softmax_rows(&mut shares, tokens, visible);
            let values = PackedWeights::new(tokens, &vec![0.0; head], |i, token| part(token, 2)[i]);
            let mut mixed = vec![0.0; queries.len() * head];
            values.apply(&shares, None, Activation::None, &mut mixed);
            let rows = output.chunks_exact_mut(width).zip(mixed.chunks_exact(head));
            for (row, mixed) in rows {
                row[offset..offset + head].copy_from_slice(mixed);
            }
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the attention of one query, by its formula.
    fn naive(heads: Heads, rows: &[Vec<f64>], width: usize, query: usize) -> Vec<f64> {
        let head = width / heads.count;
        let tokens = if heads.causal { query + 1 } else { rows.len() };
        let output = |i: usize| {
            let from = i / head * head;
            let score = |token: usize| {
                let dot = |j| rows[query][from + j] * rows[token][width + from + j];
                ((0..head).map(dot).sum::<f64>() / (head as f64).sqrt()).exp()
            };
            let sum: f64 = (0..tokens).map(score).sum();
            let mixed = |token: usize| score(token) * rows[token][2 * width + i];
            (0..tokens).map(mixed).sum::<f64>() / sum
        };
        (0..width).map(output).collect()
    }

    proptest! {
        #[test]
        fn attention_is_that_of_its_formula(
            tokens in 1_usize..9,
            count in 1_usize..4,
            head in 1_usize..6,
            causal: bool,
        ) {
            let (heads, width) = (Heads { count, causal }, count * head);
            let value = |i: usize| ((i * 7919 + 13) % 2003) as f32 / 500.0 - 2.0;
            let values: Vec<f32> = (0..tokens * 3 * width).map(value).collect();
            let rows: Vec<Vec<f64>> = values
                .chunks(3 * width)
                .map(|row| row.iter().map(|x| f64::from(*x)).collect())
                .collect();
            let queries: Vec<usize> = (0..tokens).rev().step_by(2).collect();
            let found = heads.attend(Projections { values: &values, width }, &queries);
            for (query, found) in queries.iter().zip(found.chunks(width)) {
                for (found, expected) in found.iter().zip(naive(heads, &rows, width, *query)) {
                    prop_assert!((f64::from(*found) - expected).abs() < 1e-5);
                }
            }
        }
    }
}

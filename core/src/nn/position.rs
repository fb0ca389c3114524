//! Fixed two-dimensional sine-cosine positions (notation 3.1).

/// Returns the positions of a `rows x cols` grid, row major, `[rows cols, dim]`. A class token
/// before them has position zero.
///
/// With `q = dim / 4` and `w_k = 10000^(-k/q)` the position of a token at `(row, col)` is
/// `[sin(row w), cos(row w), sin(col w), cos(col w)]`. `dim` must be a multiple of 4.
#[must_use]
pub fn sincos_2d(rows: usize, cols: usize, dim: usize) -> Vec<f32> {
    let quarter = dim / 4;
    let omega: Vec<f64> = (0..quarter)
        .map(|k| 10_000_f64.powf(-(k as f64) / quarter as f64))
        .collect();
    let mut out = Vec::with_capacity(rows * cols * dim);
    for row in 0..rows {
        for col in 0..cols {
            for (at, wave) in [
                (row, f64::sin as fn(f64) -> f64),
                (row, f64::cos),
                (col, f64::sin),
                (col, f64::cos),
            ] {
                out.extend(omega.iter().map(|w| wave(at as f64 * w) as f32));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_the_small_encoder_match_the_reference() {
        // notation 9.8: ViT-S, 14 x 14 grid, dim 384.
        let p = sincos_2d(14, 14, 384);
        // Tokens count from 1: token 0 is the class token.
        let at = |token: usize, channel: usize| p[(token - 1) * 384 + channel];
        let close = |a: f32, b: f32| assert!((a - b).abs() < 1e-6, "{a} is not {b}");
        assert_eq!(p.len(), 196 * 384);
        close(at(2, 0), 0.0);
        close(at(2, 192), 0.841_471);
        close(at(2, 194), 0.734_822);
        close(at(2, 289), 0.614_915);
        close(at(15, 1), 0.788_593);
        close(at(15, 95), 0.000_110);
        close(at(15, 97), 0.614_915);
        close(at(196, 0), 0.420_167);
        close(at(196, 96), 0.907_447);
    }
}

//! Eight outputs by the instructions of WebAssembly.

use std::arch::wasm32::*;

use crate::instructions::{load, store};
use crate::lanes::{Lanes, MOST, ROUND};

/// Eight outputs.
#[derive(Clone, Copy)]
pub(crate) struct Eight([v128; 2]);

/// Returns the two halves of the first eight values of a slice.
#[inline(always)]
fn halves<T>(values: &[T]) -> [v128; 2] {
    let (low, high) = values[..8].split_at(4);
    [load(low), load(high)]
}

impl Lanes for Eight {
    const COUNT: usize = 8;

    #[inline(always)]
    fn scaled(sums: &[i32], scales: &[f32], bias: &[f32]) -> Self {
        let (sums, scales, bias) = (halves(sums), halves(scales), halves(bias));
        Self([0, 1].map(|half| {
            let product = f32x4_mul(f32x4_convert_i32x4(sums[half]), scales[half]);
            f32x4_add(product, bias[half])
        }))
    }

    #[inline(always)]
    fn of_sums(
        sums: &[i32],
        [scale, zero]: [f32; 2],
        rows: [&[f32]; 3],
        limits: Option<[f32; 2]>,
    ) -> Self {
        let (sums, [scales, totals, bias]) = (halves(sums), rows.map(halves));
        let [scale, zero] = [scale, zero].map(|x| f32x4_splat(x));
        Self([0, 1].map(|half| {
            let factors = f32x4_mul(scale, scales[half]);
            let product = f32x4_mul(f32x4_convert_i32x4(sums[half]), factors);
            let x = f32x4_add(
                product,
                f32x4_sub(bias[half], f32x4_mul(zero, totals[half])),
            );
            match limits {
                // `pmax` returns its second argument only if that is larger, `pmin` only if it is smaller.
                Some([low, high]) => f32x4_pmin(f32x4_pmax(x, f32x4_splat(low)), f32x4_splat(high)),
                None => x,
            }
        }))
    }

    #[inline(always)]
    fn plus(self, values: &[f32]) -> Self {
        let values = halves(values);
        Self([0, 1].map(|half| f32x4_add(self.0[half], values[half])))
    }

    #[inline(always)]
    fn store(self, target: &mut [f32]) {
        let (low, high) = target[..8].split_at_mut(4);
        store(self.0[0], low);
        store(self.0[1], high);
    }

    #[inline(always)]
    fn store_bytes(self, target: &mut [u8]) {
        // If the second argument is NaN, both return the first.
        let [low, high] = self.0.map(|x| {
            let x = f32x4_pmin(f32x4_splat(MOST), f32x4_pmax(f32x4_splat(0.0), x));
            v128_and(f32x4_add(x, f32x4_splat(ROUND)), i32x4_splat(0xff))
        });
        let pairs = i16x8_narrow_i32x4(low, high);
        let bytes = u64x2_extract_lane::<0>(u8x16_narrow_i16x8(pairs, pairs));
        target[..8].copy_from_slice(&bytes.to_le_bytes());
    }
}

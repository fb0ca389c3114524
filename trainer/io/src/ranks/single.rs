//! A run in one process: nothing is exchanged.

use std::time::Duration;

use super::collective::Collective;
use crate::disk::temporary::remove_all_and_exit;

/// The only process of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Single;

impl Collective for Single {
    fn rank(&self) -> usize {
        0
    }

    fn world(&self) -> usize {
        1
    }

    fn set_time_limit(&self, _limit: Duration) {}

    fn all_gather(&self, own: &[f32], _counts: &[usize]) -> Vec<f32> {
        own.to_vec()
    }

    fn all_gather_bytes(&self, own: &[u8]) -> Vec<Vec<u8>> {
        vec![own.to_vec()]
    }

    fn all_reduce_sum(&self, _values: &mut [f32]) {}

    fn barrier(&self) {}

    fn abort(&self, code: u8) -> ! {
        remove_all_and_exit(i32::from(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_process_exchanges_with_itself() {
        let single = Single;
        assert_eq!(single.all_gather(&[1.0, 2.0], &[2]), [1.0, 2.0]);
        assert_eq!(single.all_gather_bytes(b"ab"), [b"ab".to_vec()]);
        assert_eq!(single.broadcast(b"ab".to_vec()), b"ab");
        let mut values = [1.5, -2.0];
        single.all_reduce_sum(&mut values);
        assert_eq!(values, [1.5, -2.0]);
        assert!(single.any(true) && !single.any(false) && single.is_root());
    }
}

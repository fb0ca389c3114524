//! Memory that a thread uses again and again.
//!
//! Memory of the allocator was often last written by another thread, whose cache has to give it
//! back line by line, and is filled with zeros. What a thread keeps stays in its own cache.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

use crate::panel::PanelRow;
use crate::quads::{QUAD, Quads};

/// Values whose memory a thread keeps.
pub trait Kept: Copy + Default + Send + Sync + 'static {
    /// Returns the memory that the thread keeps and does not use at the moment.
    fn free() -> &'static LocalKey<RefCell<Vec<Vec<Self>>>>;
}

macro_rules! kept {
    ($($value:ty),*) => {$(
        impl $crate::scratch::Kept for $value {
            fn free() -> &'static std::thread::LocalKey<std::cell::RefCell<Vec<Vec<Self>>>> {
                use std::cell::RefCell;

                thread_local! {
                    static FREE: RefCell<Vec<Vec<$value>>> = const { RefCell::new(Vec::new()) };
                }
                &FREE
            }
        }
    )*};
}

kept!(
    f32,
    u8,
    [u8; QUAD],
    [u32; 2],
    PanelRow,
    Quads<u8>,
    Quads<i8>
);

pub(crate) use kept;

/// Bytes of a cache line, and of the largest vectors: one that lies in two lines takes twice as long to
/// load or store.
const LINE: usize = 64;

/// The values of an intermediate result, which begin with a cache line. The thread that drops them keeps
/// their memory for later results.
#[derive(Debug, Default)]
pub struct Scratch<T: Kept> {
    /// The values in use, and others before and after them.
    values: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Kept> Scratch<T> {
    /// Returns this many values, which are those of former results or zero.
    pub fn new(length: usize) -> Self {
        let values = T::free().with_borrow_mut(Vec::pop);
        let mut scratch = Self {
            values: values.unwrap_or_default(),
            start: 0,
            length: 0,
        };
        scratch.resize(length);
        scratch
    }

    /// Changes the number of values; the first ones stay.
    pub fn resize(&mut self, length: usize) {
        let most = LINE.div_ceil(size_of::<T>().max(1));
        if self.values.len() < length + most {
            self.values.resize(length + most, T::default());
        }
        let used = self.start..self.start + self.length;
        self.start = self.values.as_ptr().align_offset(LINE).min(most);
        if self.start != used.start {
            self.values.copy_within(used, self.start);
        }
        self.length = length;
    }
}

impl<T: Kept> Drop for Scratch<T> {
    fn drop(&mut self) {
        let values = std::mem::take(&mut self.values);
        T::free().with_borrow_mut(|free| free.push(values));
    }
}

impl<T: Kept> Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[self.start..][..self.length]
    }
}

impl<T: Kept> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.start..][..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_used_again_and_as_many_as_were_asked_for() {
        let mut first = Scratch::<f32>::new(3);
        first.fill(1.0);
        let second = Scratch::<f32>::new(2);
        assert_eq!(second[..], [0.0; 2]);
        drop(first);
        let mut again = Scratch::<f32>::new(2);
        assert_eq!(again[..], [1.0; 2]);
        for length in [4, 1 << 16] {
            again.resize(length);
            assert_eq!(again.len(), length);
            assert_eq!(again[..2], [1.0; 2]);
            assert_eq!(again.as_ptr().align_offset(LINE), 0);
        }
    }
}

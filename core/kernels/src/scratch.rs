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

kept!(f32, u8, [u8; QUAD], PanelRow, Quads<u8>);

pub(crate) use kept;

/// The values of an intermediate result. The thread that drops them keeps their memory for later results.
#[derive(Debug, Default)]
pub struct Scratch<T: Kept> {
    /// At least as many values as are in use.
    values: Vec<T>,
    length: usize,
}

impl<T: Kept> Scratch<T> {
    /// Returns this many values, which are those of former results or zero.
    pub fn new(length: usize) -> Self {
        let values = T::free().with_borrow_mut(Vec::pop);
        let mut scratch = Self {
            values: values.unwrap_or_default(),
            length: 0,
        };
        scratch.resize(length);
        scratch
    }

    /// Changes the number of values; the first ones stay.
    pub fn resize(&mut self, length: usize) {
        self.length = length;
        if self.values.len() < length {
            self.values.resize(length, T::default());
        }
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
        &self.values[..self.length]
    }
}

impl<T: Kept> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[..self.length]
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
        again.resize(4);
        assert_eq!(again[..], [1.0, 1.0, 1.0, 0.0]);
    }
}

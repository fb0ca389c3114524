//! Fields that files leave out where they have their default.

/// Returns whether a value is the one that a file without it stands for.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

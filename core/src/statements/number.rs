//! How many of a subject there are.

use serde::{Deserialize, Serialize};

/// Number of a subject, as far as it is known.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Number {
    /// Not known.
    #[default]
    Any,
    /// One.
    One,
    /// More than one.
    Several,
    /// Two.
    Two,
    /// Some that belong together.
    Group,
    /// Many.
    Crowd,
}

impl Number {
    /// All numbers, each after those that are more general.
    pub const ALL: [Self; 6] = [
        Self::Any,
        Self::One,
        Self::Several,
        Self::Two,
        Self::Group,
        Self::Crowd,
    ];

    /// Returns the next more general number; `None` for [`Number::Any`].
    #[must_use]
    pub fn above(self) -> Option<Self> {
        match self {
            Self::Any => None,
            Self::One | Self::Several => Some(Self::Any),
            Self::Two | Self::Group => Some(Self::Several),
            Self::Crowd => Some(Self::Group),
        }
    }

    /// Returns whether this number is `other` or more specific.
    #[must_use]
    pub fn is_within(self, other: Self) -> bool {
        self == other || self.above().is_some_and(|above| above.is_within(other))
    }
}

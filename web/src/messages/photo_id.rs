//! Which photo a message is about.

use serde::{Deserialize, Serialize};

/// Number of a photo, counted up by the page; answers carry it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhotoId(pub u64);

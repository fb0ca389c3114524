//! Identifies the photo that a message is about.

use serde::{Deserialize, Serialize};

/// Number of a photo, assigned by the page in increasing order; answers carry it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhotoId(pub u64);

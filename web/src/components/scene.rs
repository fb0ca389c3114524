//! State shared by the disk, its painter and the walk.

use std::sync::Arc;

use leptos::prelude::*;

use crate::messages::query::{PhotoId, TreeSource, WalkStep};
use crate::state::view::View;

/// Positions of the nodes and the photo.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskPositions {
    /// The tree that is drawn.
    pub tree: TreeSource,
    /// Position of each node, in the order of the taxonomy.
    pub nodes: Vec<Option<[f64; 2]>>,
    /// Position of the photo.
    pub photo: Option<[f64; 2]>,
    /// Fraction of the nodes' squared tangent vectors, without the direction that all share, that
    /// the disk shows, in `[0, 1]`.
    pub explained: f64,
}

/// Display state of the disk; cheap to copy.
#[derive(Clone, Copy, Default)]
pub struct Scene {
    /// Positions of the nodes and the photo.
    pub positions: RwSignal<Option<Arc<DiskPositions>>>,
    /// The view transform.
    pub view: RwSignal<View>,
    /// The walk, once there is one.
    pub steps: RwSignal<Arc<Vec<WalkStep>>>,
    /// Index of the current step of the walk.
    pub step: RwSignal<usize>,
    /// The target of the walk; `None` means the root.
    pub to: RwSignal<Option<PhotoId>>,
}

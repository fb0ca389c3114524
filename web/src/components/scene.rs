//! State shared by the disk, its painter and the walk.

use std::sync::Arc;

use leptos::prelude::*;

use crate::messages::ask::{Step, Which};
use crate::messages::photo_id::PhotoId;
use crate::state::view::View;

/// Positions of the nodes and the photo.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The tree that is drawn.
    pub tree: Which,
    /// Place of each node, in the order of the taxonomy.
    pub nodes: Vec<Option<[f64; 2]>>,
    /// Place of the photo.
    pub photo: Option<[f64; 2]>,
    /// Fraction of the nodes' squared tangent vectors, without the direction that all share, that
    /// the disk keeps, in `[0, 1]`.
    pub kept: f64,
}

/// Display state of the disk; cheap to copy.
#[derive(Clone, Copy)]
pub struct Scene {
    /// Positions of the nodes and the photo.
    pub drawn: RwSignal<Option<Arc<Drawn>>>,
    /// The view transform.
    pub view: RwSignal<View>,
    /// The walk, once there is one.
    pub steps: RwSignal<Arc<Vec<Step>>>,
    /// Index of the current step of the walk.
    pub step: RwSignal<usize>,
    /// The target of the walk; `None` means the root.
    pub to: RwSignal<Option<PhotoId>>,
}

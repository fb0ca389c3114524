//! What the disk, its painter and the walk share.

use std::sync::Arc;

use leptos::prelude::*;

use crate::messages::ask::{Step, Which};
use crate::messages::photo_id::PhotoId;
use crate::state::view::View;

/// Where everything lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The tree that is drawn.
    pub tree: Which,
    /// Place of each node, in the order of the taxonomy.
    pub nodes: Vec<Option<[f64; 2]>>,
    /// Place of the photo.
    pub photo: Option<[f64; 2]>,
    /// Share of the mean squared distance that the disk keeps.
    pub kept: f64,
}

/// What the disk shows; shared by its parts.
#[derive(Clone, Copy)]
pub struct Scene {
    /// Where everything lies.
    pub drawn: RwSignal<Option<Arc<Drawn>>>,
    /// How it is looked at.
    pub view: RwSignal<View>,
    /// The walk, once there is one.
    pub steps: RwSignal<Arc<Vec<Step>>>,
    /// The step of the walk that is looked at.
    pub step: RwSignal<usize>,
    /// Where the walk goes; the root where there is none.
    pub to: RwSignal<Option<PhotoId>>,
}

//! The switch between the two trees.

use leptos::prelude::*;

use crate::messages::query::TreeSource;
use crate::state::outline::Outline;
use crate::workspace::Workspace;

/// Switches the displayed tree.
pub fn switch_tree(workspace: Workspace, source: TreeSource) {
    if workspace.tree_source.get_untracked() == source {
        return;
    }
    workspace.below.set(None);
    workspace.selected.set(None);
    // The levels of one tree mean nothing in the other.
    workspace.level.set(None);
    workspace.placed.set(None);
    workspace.tree_source.set(source);
    if let Some(tree) = untrack(|| workspace.shown()) {
        workspace.outline.set(Outline::new(&tree));
    }
}

//! The switch between the two trees.

use leptos::prelude::*;

use crate::messages::ask::Which;
use crate::state::outline::Outline;
use crate::workspace::Workspace;

/// Switches the displayed tree.
pub fn choose(workspace: Workspace, which: Which) {
    if workspace.which.get_untracked() == which {
        return;
    }
    workspace.below.set(None);
    workspace.selected.set(None);
    workspace.placed.set(None);
    workspace.which.set(which);
    if let Some(tree) = untrack(|| workspace.shown()) {
        workspace.outline.set(Outline::new(&tree));
    }
}

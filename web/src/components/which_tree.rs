//! The switch between the two trees.

use leptos::prelude::*;

use crate::bench::Bench;
use crate::messages::ask::Which;
use crate::state::outline::Outline;

/// Switches the displayed tree.
pub fn choose(bench: Bench, which: Which) {
    if bench.which.get_untracked() == which {
        return;
    }
    bench.below.set(None);
    bench.selected.set(None);
    bench.placed.set(None);
    bench.which.set(which);
    if let Some(tree) = untrack(|| bench.shown()) {
        bench.outline.set(Outline::new(&tree));
    }
}

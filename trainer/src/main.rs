//! `trainer`: trains, evaluates, imports and exports models of visual-semantic hierarchies.

use std::process::ExitCode;

fn main() -> ExitCode {
    espalier_trainer::memory::keep_freed_blocks();
    espalier_trainer::run()
}

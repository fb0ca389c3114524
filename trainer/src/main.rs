//! `trainer`: trains, evaluates, imports and exports models of visual-semantic hierarchies.

use std::process::ExitCode;

fn main() -> ExitCode {
    espalier_trainer::run()
}

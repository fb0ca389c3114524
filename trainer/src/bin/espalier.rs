//! `espalier`: the program `trainer` under a name that collides with nothing on a search path.

use std::process::ExitCode;

fn main() -> ExitCode {
    espalier_trainer::run()
}

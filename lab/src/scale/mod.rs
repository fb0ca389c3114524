//! `cargo xtask scale`: what a run on many processes costs, worked out from measured parts.

mod cost;
mod model;

use anyhow::Result;

pub use cost::Options;
use cost::table;
use model::Model;

/// Prints the tables.
///
/// # Errors
/// If a part is not above 0.
pub fn run(options: &Options) -> Result<()> {
    options.check()?;
    for model in Model::ALL {
        print!("{}", table(&model, options));
    }
    Ok(())
}

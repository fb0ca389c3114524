//! Command line of `trainer make-page`.

use std::path::PathBuf;

use clap::Args;

use super::common::Common;
use crate::photos::classes::SHARE;

/// Make a page that recognises what is on your photos.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer make-page PHOTOS/ --out site/\n\
                  PHOTOS/ holds one folder per class: PHOTOS/tabby cat/1.jpg, PHOTOS/my Bella/2.jpg, …")]
pub struct MakePageArgs {
    /// Folder with one folder of photos per class. The names of the folders are the names of the classes;
    /// ids of WordNet, such as n02123045, work too.
    #[arg(value_name = "PHOTOS")]
    pub photos: PathBuf,
    /// Folder for the site: the page, its widget and the model.
    #[arg(long, value_name = "DIR", default_value = "site")]
    pub out: PathBuf,
    /// Built page to copy; default: the one beside this program or in the repository.
    #[arg(long, value_name = "DIR")]
    pub page: Option<PathBuf>,
    /// Address at which the site will be published, used in the embedding code.
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://example.org/espalier"
    )]
    pub url: String,
    /// Model to start from; default: the shipped one.
    #[arg(long, value_name = "MODEL")]
    pub init: Option<PathBuf>,
    /// Taxonomy file whose labels are the folders, by id or name. Default: a tree made of their names,
    /// of WordNet, and of what the photos show.
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
    /// Share of the photos of each class that is not trained on, but used to measure and to calibrate the
    /// model.
    #[arg(long, value_name = "SHARE", default_value_t = SHARE)]
    pub hold_out: f64,
    /// Length of the training in steps; default: that of the recipe `photos`.
    #[arg(long)]
    pub steps: Option<u64>,
    /// Name of the model and of its run.
    #[arg(long)]
    pub name: Option<String>,
    /// Folder of all runs.
    #[arg(long, default_value = "logs", value_name = "DIR")]
    pub logs: PathBuf,
    /// Do not put a photo of each class on the page as a sample.
    #[arg(long)]
    pub no_samples: bool,
    /// Replace an existing site.
    #[arg(long)]
    pub force: bool,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}

//! Images with their captions, as all forms are read.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::formats::image_index::ImageIndex;
use crate::records::coverage::Coverage;
use crate::records::error::Result;
use crate::records::walk::LeftOut;

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "images with captions: a COCO captions JSON (images[id, file_name], annotations[image_id, \
    caption]), a Karpathy split JSON (images[filename, split, sentences[raw]]), a CSV, TSV or JSON lines with \
    columns of image names and captions, or a text file beside each image; a file, or a folder with one, its \
    images in --images DIR or below the same folder";

/// The splits of a dataset that are read; all of them if none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splits<'a>(pub &'a [&'a str]);

impl Splits<'_> {
    /// The splits to train on: Karpathy's split of COCO keeps the rest of its validation images for training.
    pub const TRAINING: Splits<'static> = Splits(&["train", "restval"]);
    /// The split that is measured during training.
    pub const VALIDATION: Splits<'static> = Splits(&["val"]);

    /// All splits.
    pub const ALL: Splits<'static> = Splits(&[]);

    pub(super) fn contains(&self, split: &str) -> bool {
        self.0.is_empty() || self.0.contains(&split)
    }
}

impl fmt::Display for Splits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.join("` or `"))
    }
}

/// Where the images of an index are searched.
pub(super) struct ImageFolders {
    /// Folder of the index.
    pub(super) base: PathBuf,
    /// Images below the folder that is searched.
    pub(super) images: ImageIndex,
}

impl ImageFolders {
    /// Returns the file of an image: at its path from the index, else anywhere below the folder that is searched.
    fn find(&self, name: &str) -> Option<PathBuf> {
        let path = self.base.join(name);
        if path.is_file() {
            return Some(path);
        }
        self.images.find(name).map(Path::to_path_buf)
    }
}

/// Images and their captions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Captioned {
    /// Name of the benchmark, if it can be derived from the file name.
    pub dataset: Option<&'static str>,
    /// Image names as given in the index.
    pub names: Vec<String>,
    /// Image files; `None` where the file is missing.
    pub files: Vec<Option<PathBuf>>,
    /// Captions.
    pub captions: Vec<String>,
    /// Index of the image of each caption.
    pub image_of: Vec<u32>,
    /// Counts of available and missing items; items are images.
    pub coverage: Coverage,
    /// Files of a folder that are no images with captions, by the rule that leaves them out.
    pub left_out: LeftOut,
}

impl Captioned {
    /// Returns the images with their captions: name, file and captions of each.
    pub fn into_images(self) -> impl Iterator<Item = (String, Option<PathBuf>, Vec<String>)> {
        let mut captions = vec![Vec::new(); self.names.len()];
        for (text, image) in self.captions.into_iter().zip(self.image_of) {
            captions[image as usize].push(text);
        }
        let images = self.names.into_iter().zip(self.files).zip(captions);
        images.map(|((name, file), captions)| (name, file, captions))
    }

    /// Records an image and whether its file exists; returns its index.
    pub(super) fn add_image(&mut self, name: String, folders: &ImageFolders) -> u32 {
        let file = folders.find(&name);
        self.add_file(name, file)
    }

    pub(super) fn add_file(&mut self, name: String, file: Option<PathBuf>) -> u32 {
        match file {
            Some(_) => self.coverage.usable(1),
            None => self.coverage.miss("image not there", &name),
        }
        self.names.push(name);
        self.files.push(file);
        self.names.len() as u32 - 1
    }

    /// Counts the files below the folder that was searched and are neither these images nor the index.
    pub(super) fn leave_out_unused(&mut self, folders: &ImageFolders, index: &Path) -> Result<()> {
        let files = self.files.iter().flatten().map(PathBuf::as_path);
        self.left_out = folders.images.unused(files.chain([index]))?;
        Ok(())
    }

    /// Adds the captions of an image; blank ones are left out.
    pub(super) fn add_captions(&mut self, image: u32, captions: impl IntoIterator<Item = String>) {
        let before = self.captions.len();
        let mut blank = 0;
        for caption in captions {
            if caption.trim().is_empty() {
                blank += 1;
            } else {
                self.captions.push(caption);
                self.image_of.push(image);
            }
        }
        let name = &self.names[image as usize];
        self.coverage.note("blank caption left out", blank, name);
        if self.captions.len() == before {
            self.coverage.note("image without a caption", 1, name);
        }
    }
}

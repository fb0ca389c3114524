//! Images that are read and decoded on demand.

use std::path::Path;
use std::sync::Arc;

use espalier_core::input::{self, Frame};
use espalier_io::disk::read;
use espalier_io::storage::ShardFile;
use image::RgbImage;

use crate::records::fault::{Cause, Fault};

/// Maximum number of bytes of an image file. No caption dataset has larger ones, and a damaged
/// header must not exhaust the memory.
const MAX_BYTES: u64 = 256 << 20;

/// Bytes that hold the headers of an image file: size and orientation.
const HEADERS: u64 = 128 << 10;

/// A byte range of a shard.
#[derive(Clone, Debug)]
pub struct ByteRange {
    /// The shard.
    pub file: Arc<ShardFile>,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl ByteRange {
    /// Reads the bytes.
    ///
    /// # Errors
    /// If the range is implausibly large or the shard cannot be read.
    pub fn read(&self) -> Result<Vec<u8>, Fault> {
        if self.len > MAX_BYTES {
            let detail = format!(
                "expected at most {MAX_BYTES} bytes, found a member of {} bytes",
                self.len
            );
            return Err(Fault::new(Cause::ShardDamaged, detail));
        }
        let mut bytes = vec![0; self.len as usize];
        let read = self.file.read_exact_at(&mut bytes, self.offset);
        read.map_err(|e| Fault::of_reading(&e))?;
        Ok(bytes)
    }
}

/// An image, decoded or not.
#[derive(Clone, Debug)]
pub enum RecordImage {
    /// No image: the dataset holds only texts.
    None,
    /// The bytes of an image file.
    Encoded(Vec<u8>),
    /// The bytes of an image file within another file.
    ByteRange(ByteRange),
    /// Pixels.
    Decoded(RgbImage),
    /// Precomputed features of the image; there are no pixels.
    Features(FeatureRange),
}

/// Rows of [`FeatureRows`](crate::batches::feature_rows::FeatureRows) that hold the features
/// of one image, one row per view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureRange {
    /// Row of view 0.
    pub first: u32,
    /// Number of views, at least 1; their rows are consecutive.
    pub views: u32,
}

impl RecordImage {
    /// Reads an image file.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn of_file(path: Option<&Path>) -> Result<Self, Fault> {
        let missing = |detail: String| Fault::new(Cause::MissingImage, detail);
        let path = path.ok_or_else(|| missing("file not found".into()))?;
        let bytes = read::bytes(path).map_err(|e| missing(e.to_string()))?;
        Ok(Self::Encoded(bytes))
    }

    /// Decodes the image, upright, 8 bits per channel, with the decoder of the core crate.
    ///
    /// # Errors
    /// If the bytes cannot be read or are not an image.
    pub fn decode(&self) -> Result<RgbImage, Fault> {
        match self {
            Self::Decoded(image) => Ok(image.clone()),
            other => other.with_bytes(input::decode),
        }
    }

    /// Returns width and height of the decoded image without decoding its pixels.
    ///
    /// # Errors
    /// As [`decode`](Self::decode), except that damaged pixels are not noticed.
    pub fn size(&self) -> Result<(u32, u32), Fault> {
        match self {
            Self::Decoded(image) => Ok(image.dimensions()),
            other => other.with_bytes(input::decoded_size),
        }
    }

    /// Returns the frames of an image file, from its first bytes; `None` for pixels and for what cannot be read.
    pub fn frame(&self) -> Option<Frame> {
        match self {
            Self::Encoded(bytes) => input::frame_of(bytes).ok(),
            Self::ByteRange(range) => {
                let head = ByteRange {
                    len: range.len.min(HEADERS),
                    ..range.clone()
                };
                let frame = input::frame_of(&head.read().ok()?).ok();
                frame.or_else(|| input::frame_of(&range.read().ok()?).ok())
            }
            Self::None | Self::Decoded(_) | Self::Features(_) => None,
        }
    }

    /// Applies a function to the bytes of the image file.
    fn with_bytes<T>(
        &self,
        function: impl Fn(&[u8]) -> espalier_core::Result<T>,
    ) -> Result<T, Fault> {
        let apply = |bytes: &[u8]| {
            if bytes.is_empty() {
                return Err(Fault::new(Cause::MissingImage, "0 bytes"));
            }
            function(bytes).map_err(|e| Fault::new(Cause::UnreadableImage, e.to_string()))
        };
        let missing = |detail| Err(Fault::new(Cause::MissingImage, detail));
        match self {
            Self::Encoded(bytes) => apply(bytes),
            Self::ByteRange(range) => apply(&range.read()?),
            Self::None => missing("the dataset has no images"),
            Self::Features(_) => missing("only its features are cached"),
            Self::Decoded(_) => missing("expected an image file, found pixels"),
        }
    }
}

//! Test images published as byte arrays: CIFAR-10 and CIFAR-100 (binary version), STL-10, MNIST.

use std::path::Path;

use espalier_io::disk::read;
use image::{Rgb, RgbImage};

use super::format::{Format, is_single, open_single};
use crate::records::error::{DataError, Result};
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::record_image::RecordImage;
use crate::records::source::{Record, Records};
use crate::records::table::Table;

/// This format.
pub const FORMAT: Format = Format {
    name: "byte arrays",
    labels: true,
    boxes: false,
    detect: |paths| is_single(paths, matches),
    open: |paths| open_single(paths, open),
};

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "CIFAR's binary version (test_batch.bin with batches.meta.txt, or test.bin with \
    fine_label_names.txt), STL-10's (test_X.bin, test_y.bin, class_names.txt), or MNIST's \
    (t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte)";

/// Location of the labels of an array.
enum Labels {
    /// The last of this many bytes before each image.
    BeforeImage(usize),
    /// One byte per image in a separate file, after a header of the given number of bytes. The
    /// first class has the given number.
    SeparateFile {
        file: &'static str,
        header: usize,
        first: u8,
    },
}

/// One published array format.
struct ArrayFormat {
    images: &'static str,
    /// Bytes of the header before the first image.
    header: usize,
    labels: Labels,
    /// File with the names of the classes, one per line; without it, the names are digits.
    names: Option<&'static str>,
    side: u32,
    /// Colour planes of an image: 3, or 1 for grey.
    planes: usize,
    /// Whether a plane is stored column by column.
    columns_first: bool,
}

const CIFAR_10: ArrayFormat = ArrayFormat {
    images: "test_batch.bin",
    header: 0,
    labels: Labels::BeforeImage(1),
    names: Some("batches.meta.txt"),
    side: 32,
    planes: 3,
    columns_first: false,
};

const ARRAY_FORMATS: [ArrayFormat; 4] = [
    CIFAR_10,
    ArrayFormat {
        images: "test.bin",
        labels: Labels::BeforeImage(2),
        names: Some("fine_label_names.txt"),
        ..CIFAR_10
    },
    ArrayFormat {
        images: "test_X.bin",
        labels: Labels::SeparateFile {
            file: "test_y.bin",
            header: 0,
            first: 1,
        },
        names: Some("class_names.txt"),
        side: 96,
        columns_first: true,
        ..CIFAR_10
    },
    ArrayFormat {
        images: "t10k-images-idx3-ubyte",
        header: 16,
        labels: Labels::SeparateFile {
            file: "t10k-labels-idx1-ubyte",
            header: 8,
            first: 0,
        },
        names: None,
        side: 28,
        planes: 1,
        ..CIFAR_10
    },
];

impl ArrayFormat {
    /// Returns the format whose files a folder holds.
    fn detect(folder: &Path) -> Option<&'static Self> {
        let is_complete = |form: &&Self| {
            let label_file = match form.labels {
                Labels::BeforeImage(_) => None,
                Labels::SeparateFile { file, .. } => Some(file),
            };
            let files = [Some(form.images), form.names, label_file];
            let mut files = files.into_iter().flatten();
            files.all(|file| folder.join(file).is_file())
        };
        ARRAY_FORMATS.iter().find(is_complete)
    }

    fn pixels(&self) -> usize {
        (self.side * self.side) as usize
    }

    /// Returns the bytes of a record: label bytes before the image, and the image.
    fn stride(&self) -> usize {
        let before = match self.labels {
            Labels::BeforeImage(bytes) => bytes,
            Labels::SeparateFile { .. } => 0,
        };
        before + self.planes * self.pixels()
    }

    fn image(&self, planes: &[u8]) -> RgbImage {
        RgbImage::from_fn(self.side, self.side, |x, y| {
            let (row, column) = if self.columns_first { (x, y) } else { (y, x) };
            let at = (row * self.side + column) as usize;
            // A grey image uses its single plane for all three channels.
            Rgb([0, 1, 2].map(|c| planes[c.min(self.planes - 1) * self.pixels() + at]))
        })
    }
}

/// Returns whether a folder holds one of the formats.
pub fn matches(folder: &Path) -> bool {
    ArrayFormat::detect(folder).is_some()
}

/// Opens the test images of a folder.
///
/// # Errors
/// If a file cannot be read or holds no image, or the numbers of labels and images differ.
pub fn open(folder: &Path) -> Result<Table> {
    let form = ArrayFormat::detect(folder)
        .ok_or_else(|| DataError::layout(folder, EXPECTED, "other files"))?;
    let read = |path: &Path| read::bytes(path).map_err(DataError::io(path));
    let names = match form.names {
        None => (0..10).map(|digit| digit.to_string()).collect(),
        Some(file) => {
            let path = folder.join(file);
            let text = read::text(&path).map_err(DataError::io(&path))?;
            let lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
            lines.map(str::to_owned).collect()
        }
    };
    let file = folder.join(form.images);
    let bytes = read(&file)?;
    // A truncated last image is a broken record.
    let of_images = bytes.len().saturating_sub(form.header);
    let records = of_images.div_ceil(form.stride());
    if records == 0 {
        return Err(DataError::layout(&file, EXPECTED, "no image"));
    }
    let labels = match form.labels {
        Labels::BeforeImage(_) => Vec::new(),
        Labels::SeparateFile {
            file: label_file,
            header,
            ..
        } => {
            let path = folder.join(label_file);
            let labels = read(&path)?;
            let labels = labels.get(header..).unwrap_or_default().to_vec();
            if labels.len() != records {
                let expected = format!("a label for each of the {records} images");
                return Err(DataError::layout(&path, expected, labels.len().to_string()));
            }
            labels
        }
    };
    let rows = Rows {
        form,
        names,
        bytes,
        labels,
    };
    Ok(Table::new(file.display().to_string(), records, rows))
}

struct Rows {
    form: &'static ArrayFormat,
    names: Vec<String>,
    bytes: Vec<u8>,
    labels: Vec<u8>,
}

impl Rows {
    /// Returns the class index of a record and the bytes of its image; `None` where it is
    /// truncated.
    fn row(&self, row: usize) -> Option<(Option<u8>, &[u8])> {
        let (form, stride) = (self.form, self.form.stride());
        let start = form.header + row * stride;
        let record = self.bytes.get(start..start + stride)?;
        match form.labels {
            Labels::BeforeImage(bytes) => {
                let (labels, planes) = record.split_at_checked(bytes)?;
                Some((labels.last().copied(), planes))
            }
            Labels::SeparateFile { first, .. } => {
                let label = self.labels.get(row)?;
                Some((label.checked_sub(first), record))
            }
        }
    }
}

impl Records for Rows {
    fn read(&self, row: usize) -> std::result::Result<Record, Broken> {
        let key = row.to_string();
        let Some((class, planes)) = self.row(row) else {
            return Err(Fault::new(Cause::ShardEndsEarly, "the last image is truncated").of(key));
        };
        let label = class.and_then(|at| self.names.get(usize::from(at)));
        let Some(label) = label else {
            let detail = format!("class {class:?} of {} names", self.names.len());
            return Err(Fault::new(Cause::UnreadableMetadata, detail).of(key));
        };
        let image = RecordImage::Decoded(self.form.image(planes));
        let caption = label.replace('_', " ");
        Ok(Record::labelled(key, image, Some(label.clone()), caption))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::source::Dataset;
    use crate::test_files::folder;

    const CIFAR: usize = 32 * 32;

    #[test]
    fn planes_become_pixels_and_the_fine_label_is_used() {
        let mut bytes = vec![7, 1];
        bytes.extend((0..3 * CIFAR).map(|i| (i / CIFAR * 100 + i % CIFAR % 32) as u8));
        bytes.extend([0, 9, 1, 2, 3]);
        let names = b"apple\naquarium_fish\n\n";
        let dir = folder::<&[u8]>(&[("test.bin", &bytes), ("fine_label_names.txt", names)]);
        assert!(matches(dir.path()));
        let data = open(dir.path()).unwrap();
        assert_eq!(data.records(), 2);
        let rows = data.load(0).unwrap();
        let record = rows.read(0).unwrap();
        assert_eq!(record.caption, "aquarium fish");
        assert_eq!(record.synsets, ["aquarium_fish"]);
        let image = record.image.decode().unwrap();
        assert_eq!(image.get_pixel(5, 3).0, [5, 105, 205]);
        assert_eq!(rows.read(1).unwrap_err().fault.cause, Cause::ShardEndsEarly);
        assert!(!matches(Path::new("no/such/folder")));
    }

    #[test]
    fn a_label_without_a_name_is_a_broken_record() {
        let mut bytes = vec![3];
        bytes.resize(1 + 3 * CIFAR, 0);
        let names = b"airplane\n";
        let dir = folder::<&[u8]>(&[("test_batch.bin", &bytes), ("batches.meta.txt", names)]);
        let data = open(dir.path()).unwrap();
        let fault = data.load(0).unwrap().read(0).unwrap_err().fault;
        assert_eq!(fault.cause, Cause::UnreadableMetadata);
    }

    #[test]
    fn stl10_is_stored_by_columns_and_its_labels_begin_at_one() {
        let plane = 96 * 96;
        let bytes = (0..3 * plane).map(|i| (i / plane * 100 + i % plane % 96) as u8);
        let bytes: Vec<u8> = bytes.collect();
        let names = b"airplane\nbird\n";
        let open_with = |labels: &[u8]| {
            let dir = folder::<&[u8]>(&[
                ("test_X.bin", &bytes),
                ("test_y.bin", labels),
                ("class_names.txt", names),
            ]);
            open(dir.path())
        };
        let record = open_with(&[2]).unwrap().load(0).unwrap().read(0).unwrap();
        assert_eq!(record.synsets, ["bird"]);
        // The row index varies fastest.
        let image = record.image.decode().unwrap();
        assert_eq!(image.get_pixel(5, 3).0, [3, 103, 203]);
        let cause = |labels| {
            let broken = open_with(labels).unwrap().load(0).unwrap().read(0);
            broken.unwrap_err().fault.cause
        };
        assert_eq!(cause(&[0]), Cause::UnreadableMetadata);
        let error = open_with(&[1, 2]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("each of the 1 images; found 2"), "{error}");
    }

    #[test]
    fn mnist_is_grey_and_its_files_have_headers() {
        let mut bytes = vec![9; 16];
        bytes.extend((0..28 * 28).map(|i| (i % 28) as u8));
        let dir = folder::<&[u8]>(&[
            ("t10k-images-idx3-ubyte", &bytes),
            ("t10k-labels-idx1-ubyte", &[1, 1, 1, 1, 1, 1, 1, 1, 7]),
        ]);
        let record = open(dir.path()).unwrap().load(0).unwrap().read(0).unwrap();
        assert_eq!(record.synsets, ["7"]);
        let image = record.image.decode().unwrap();
        assert_eq!(image.dimensions(), (28, 28));
        assert_eq!(image.get_pixel(5, 3).0, [5, 5, 5]);
    }
}

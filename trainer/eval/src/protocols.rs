//! The classification benchmarks of the papers: their numbers of classes and test images, and their
//! layout on disk (notation 6.1).

use espalier_data::Coverage;

use super::task::BenchmarkData;

/// A benchmark of labelled images.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Its name, folder and source.
    pub data: BenchmarkData,
    /// Number of classes.
    pub classes: usize,
    /// Number of test images.
    pub images: u64,
}

const fn protocol(
    dataset: &'static str,
    classes: usize,
    images: u64,
    get: &'static str,
) -> Protocol {
    Protocol {
        data: BenchmarkData {
            dataset,
            path: dataset,
            get,
        },
        classes,
        images,
    }
}

/// All benchmarks, in the order of the papers' tables.
pub const ALL: [Protocol; 20] = [
    protocol(
        "imagenet",
        1000,
        50_000,
        "the validation images, one folder per WordNet id below imagenet/",
    ),
    protocol(
        "food101",
        101,
        25_250,
        "food101/meta/test.txt and food101/images/ as published, or the test images, one folder \
         per class below food101/",
    ),
    protocol(
        "cifar10",
        10,
        10_000,
        "the binary version: cifar10/test_batch.bin and cifar10/batches.meta.txt",
    ),
    protocol(
        "cifar100",
        100,
        10_000,
        "the binary version: cifar100/test.bin and cifar100/fine_label_names.txt",
    ),
    protocol(
        "cub2011",
        200,
        5_794,
        "cub2011/images.txt, cub2011/train_test_split.txt and cub2011/images/ as published",
    ),
    protocol(
        "sun397",
        397,
        19_850,
        "sun397/Testing_01.txt of the partitions, next to the folders a to z of the images",
    ),
    protocol(
        "cars",
        196,
        8_041,
        "the test images, one folder per class below cars/, or listed in cars/metadata.csv with the \
         columns filepath,class; the published lists are MATLAB files",
    ),
    protocol(
        "aircraft",
        100,
        3_333,
        "aircraft/data/images_variant_test.txt and aircraft/data/images/ as published",
    ),
    protocol(
        "dtd",
        47,
        1_880,
        "dtd/labels/test1.txt and dtd/images/ as published",
    ),
    protocol(
        "pets",
        37,
        3_669,
        "pets/annotations/test.txt and pets/images/ as published",
    ),
    protocol(
        "caltech101",
        102,
        6_084,
        "the test images, one folder per class below caltech101/, including the background; all except \
         the 30 per class that TensorFlow Datasets draws for training",
    ),
    protocol(
        "flowers102",
        102,
        6_149,
        "the test images, one folder per class below flowers102/, or listed in \
         flowers102/metadata.csv with the columns filepath,class; the published lists are MATLAB files",
    ),
    protocol(
        "stl10",
        10,
        8_000,
        "stl10/test_X.bin, stl10/test_y.bin and stl10/class_names.txt",
    ),
    protocol(
        "eurosat",
        10,
        5_000,
        "all 27,000 RGB images, one folder per class below eurosat/; train[10000:15000] of TensorFlow \
         Datasets is used",
    ),
    protocol(
        "resisc45",
        45,
        25_200,
        "all 31,500 images, one folder per class below resisc45/; train[6300:31500] of TensorFlow \
         Datasets is used",
    ),
    protocol(
        "country211",
        211,
        21_100,
        "the folder test of the published archive as country211/, one folder per country; names of \
         the codes in country211/classnames.tsv",
    ),
    protocol(
        "mnist",
        10,
        10_000,
        "mnist/t10k-images-idx3-ubyte and mnist/t10k-labels-idx1-ubyte",
    ),
    protocol(
        "clevr",
        8,
        5_000,
        "clevr/scenes/CLEVR_val_scenes.json and clevr/images/val/; validation[0:5000] of TensorFlow \
         Datasets is used; the class is the number of objects",
    ),
    protocol(
        "pcam",
        2,
        32_768,
        "the test images in two folders below pcam/, with names in pcam/classnames.tsv; published as HDF5",
    ),
    protocol(
        "sst2",
        2,
        1_821,
        "the folder test of Rendered SST-2 as sst2/: sst2/negative/ and sst2/positive/",
    ),
];

/// The data of all benchmarks.
pub const BENCHMARKS: [BenchmarkData; ALL.len()] = {
    let mut data = [ALL[0].data; ALL.len()];
    let mut i = 0;
    while i < ALL.len() {
        data[i] = ALL[i].data;
        i += 1;
    }
    data
};

impl Protocol {
    /// Returns the benchmark with a name.
    pub fn named(dataset: &str) -> Option<&'static Self> {
        ALL.iter().find(|p| p.data.dataset == dataset)
    }

    /// Records the difference between the data and the benchmark: the data has `records` images
    /// with `classes` labels.
    pub fn count(&self, coverage: &mut Coverage, records: u64, classes: usize) {
        let absent = self.images.saturating_sub(records);
        coverage.absent("image of the benchmark that is not there", absent);
        let more = records.saturating_sub(self.images);
        coverage.note("image more than the benchmark has", more, "");
        if classes != self.classes {
            let found = format!("{classes} of {}", self.classes);
            coverage.note("other number of classes than the benchmark has", 1, &found);
        }
    }
}

#[cfg(test)]
mod tests {
    use espalier_data::formats::published_order::SLICES;

    use super::*;

    #[test]
    fn every_benchmark_has_published_values_or_prompts_of_its_own() {
        for protocol in &ALL {
            let name = protocol.data.dataset;
            let set = crate::prompts::resolve(crate::prompts::AUTO, Some(name));
            assert!(set.starts_with("meru-"), "{name}: {set}");
            assert_eq!(protocol.data.path, name);
        }
    }

    #[test]
    fn ranges_are_as_long_as_their_benchmark() {
        for slice in &SLICES {
            let images = Protocol::named(slice.dataset).map(|p| p.images);
            let expected = slice.range.len() as u64;
            assert_eq!(images, Some(expected), "{}", slice.dataset);
        }
    }

    #[test]
    fn an_incomplete_benchmark_is_reported() {
        let mut coverage = Coverage::default();
        coverage.usable(40);
        let dtd = Protocol::named("dtd").unwrap();
        dtd.count(&mut coverage, 40, 46);
        assert_eq!((coverage.expected, coverage.found), (1880, 40));
        let missing = &coverage.missing["image of the benchmark that is not there"];
        assert_eq!(missing.count, 1840);
        let other = &coverage.odd["other number of classes than the benchmark has"];
        assert_eq!(other.example, "46 of 47");
    }
}

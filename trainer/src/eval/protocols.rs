//! The classification benchmarks of the papers: their numbers of classes and test images, and their
//! layout on disk (notation 6.1).

use super::task::BenchmarkData;
use crate::data::Coverage;

/// A benchmark of labelled images.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Its name, folder and source.
    pub place: BenchmarkData,
    /// Number of classes.
    pub classes: usize,
    /// Number of test images.
    pub pictures: u64,
}

const fn of(dataset: &'static str, classes: usize, pictures: u64, get: &'static str) -> Protocol {
    Protocol {
        place: BenchmarkData {
            dataset,
            path: dataset,
            get,
        },
        classes,
        pictures,
    }
}

/// All benchmarks, in the order of the papers' tables.
pub const ALL: [Protocol; 20] = [
    of(
        "imagenet",
        1000,
        50_000,
        "the validation pictures, one folder a WordNet id below imagenet/",
    ),
    of(
        "food101",
        101,
        25_250,
        "food101/meta/test.txt and food101/images/ as published, or one folder a class of the test \
         pictures below food101/",
    ),
    of(
        "cifar10",
        10,
        10_000,
        "the binary version: cifar10/test_batch.bin and cifar10/batches.meta.txt",
    ),
    of(
        "cifar100",
        100,
        10_000,
        "the binary version: cifar100/test.bin and cifar100/fine_label_names.txt",
    ),
    of(
        "cub2011",
        200,
        5_794,
        "cub2011/images.txt, cub2011/train_test_split.txt and cub2011/images/ as published",
    ),
    of(
        "sun397",
        397,
        19_850,
        "sun397/Testing_01.txt of the partitions beside the folders a .. z of the pictures",
    ),
    of(
        "cars",
        196,
        8_041,
        "the test pictures, one folder a class below cars/, or listed in cars/metadata.csv with the \
         columns filepath,class; the published lists are MATLAB files",
    ),
    of(
        "aircraft",
        100,
        3_333,
        "aircraft/data/images_variant_test.txt and aircraft/data/images/ as published",
    ),
    of(
        "dtd",
        47,
        1_880,
        "dtd/labels/test1.txt and dtd/images/ as published",
    ),
    of(
        "pets",
        37,
        3_669,
        "pets/annotations/test.txt and pets/images/ as published",
    ),
    of(
        "caltech101",
        102,
        6_084,
        "the test pictures, one folder a class below caltech101/, the background among them; all but \
         the 30 a class that TensorFlow Datasets draws for training",
    ),
    of(
        "flowers102",
        102,
        6_149,
        "the test pictures, one folder a class below flowers102/, or listed in \
         flowers102/metadata.csv with the columns filepath,class; the published lists are MATLAB files",
    ),
    of(
        "stl10",
        10,
        8_000,
        "stl10/test_X.bin, stl10/test_y.bin and stl10/class_names.txt",
    ),
    of(
        "eurosat",
        10,
        5_000,
        "all 27,000 RGB pictures, one folder a class below eurosat/; train[10000:15000] of TensorFlow \
         Datasets is taken of them",
    ),
    of(
        "resisc45",
        45,
        25_200,
        "all 31,500 pictures, one folder a class below resisc45/; train[6300:31500] of TensorFlow \
         Datasets is taken of them",
    ),
    of(
        "country211",
        211,
        21_100,
        "the folder test of the published archive as country211/, one folder a country; names of the \
         codes in country211/classnames.tsv",
    ),
    of(
        "mnist",
        10,
        10_000,
        "mnist/t10k-images-idx3-ubyte and mnist/t10k-labels-idx1-ubyte",
    ),
    of(
        "clevr",
        8,
        5_000,
        "clevr/scenes/CLEVR_val_scenes.json and clevr/images/val/; validation[0:5000] of TensorFlow \
         Datasets is taken, the class is the number of objects",
    ),
    of(
        "pcam",
        2,
        32_768,
        "the test pictures in two folders below pcam/, named by pcam/classnames.tsv; published as HDF5",
    ),
    of(
        "sst2",
        2,
        1_821,
        "the folder test of Rendered SST-2 as sst2/: sst2/negative/ and sst2/positive/",
    ),
];

/// The places of all benchmarks.
pub static PLACES: [BenchmarkData; ALL.len()] = {
    let mut places = [ALL[0].place; ALL.len()];
    let mut at = 0;
    while at < ALL.len() {
        places[at] = ALL[at].place;
        at += 1;
    }
    places
};

impl Protocol {
    /// The benchmark with a name.
    #[must_use]
    pub fn named(dataset: &str) -> Option<&'static Self> {
        ALL.iter().find(|p| p.place.dataset == dataset)
    }

    /// Records the difference between the data and the benchmark: the data has `records` images
    /// with `classes` labels.
    pub fn count(&self, coverage: &mut Coverage, records: u64, classes: usize) {
        let absent = self.pictures.saturating_sub(records);
        coverage.absent("picture of the benchmark that is not there", absent);
        let more = records.saturating_sub(self.pictures);
        coverage.note("picture more than the benchmark has", more, "");
        if classes != self.classes {
            let found = format!("{classes} of {}", self.classes);
            coverage.note("other number of classes than the benchmark has", 1, &found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::formats::published_order::SLICES;

    #[test]
    fn every_benchmark_has_published_values_or_prompts_of_its_own() {
        for protocol in &ALL {
            let name = protocol.place.dataset;
            let set = crate::eval::prompts::resolve(crate::eval::prompts::AUTO, Some(name));
            assert!(set.starts_with("meru-"), "{name}: {set}");
            assert_eq!(protocol.place.path, name);
        }
    }

    #[test]
    fn ranges_are_as_long_as_their_benchmark() {
        for slice in &SLICES {
            let protocol = Protocol::named(slice.dataset);
            assert_eq!(
                protocol.map(|p| p.pictures),
                Some(slice.range.len() as u64),
                "{}",
                slice.dataset
            );
        }
    }

    #[test]
    fn a_part_of_a_benchmark_is_said_to_be_one() {
        let mut coverage = Coverage::default();
        coverage.usable(40);
        if let Some(dtd) = Protocol::named("dtd") {
            dtd.count(&mut coverage, 40, 46);
        }
        assert_eq!((coverage.expected, coverage.found), (1880, 40));
        assert_eq!(
            coverage.missing["picture of the benchmark that is not there"].count,
            1840
        );
        let other = &coverage.odd["other number of classes than the benchmark has"];
        assert_eq!(other.example, "46 of 47");
    }
}

//! Retrieval of images by texts and of texts by images (notation 6.2).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use espalier_core::geometry::Space;
use espalier_core::input::ResizeMode;
use espalier_data::formats::captioned::EXPECTED;
use espalier_data::formats::captions;
use espalier_data::formats::registry::{self, Need};
use espalier_data::{Captioned, Coverage, Splits};
use espalier_io::exit::usage;

use crate::Points;
use crate::metrics::recall;
use crate::stored::{self, Stored};
use crate::task::{BenchmarkData, Context, Task, TaskResult, named};

/// Recall in both directions over the full gallery.
pub const TASK: Task = Task {
    name: "retrieval",
    about: "image_retrieval_recall@K (text to image) and text_retrieval_recall@K (image to text)",
    needs: "images with captions: a COCO captions JSON, a Karpathy split JSON, a table of names and captions, \
     text files beside images, or shards; or --image-embeddings and --text-embeddings",
    benchmarks: &[
        BenchmarkData {
            dataset: "coco",
            path: "coco",
            get: "coco/annotations/captions_val2017.json and coco/val2017/*.jpg from \
                  cocodataset.org (2017 val images and annotations)",
        },
        BenchmarkData {
            dataset: "flickr30k",
            path: "flickr30k",
            get: "flickr30k/dataset_flickr30k.json (Karpathy's splits) and \
                  flickr30k/flickr30k-images/*.jpg",
        },
    ],
    run,
};

/// Images and texts with their correspondence.
struct Pool {
    images: Points,
    texts: Points,
    /// The image of each text.
    image_of: Vec<u32>,
    coverage: Coverage,
    dataset: Option<String>,
}

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let ks = ranks(&cx.options.k)?;
    let (space, pool) = match &cx.options.image_embeddings {
        Some(_) => precomputed(cx)?,
        None => (cx.model()?.space()?.clone(), embedded(cx)?),
    };
    if pool.texts.is_empty() || pool.images.is_empty() {
        let cause = pool.coverage.missing.iter().next();
        let why = cause.map_or_else(String::new, |(cause, m)| {
            format!("; {cause}: {} (for example {})", m.count, m.example)
        });
        return Err(usage(format!(
            "--data: expected images with captions, found {} images and {} captions that can be \
             used{why}",
            pool.images.len(),
            pool.texts.len()
        )));
    }
    Ok(recalls(cx, &space, pool, &ks))
}

/// Returns the ranks to measure at, ascending.
fn ranks(requested: &[usize]) -> anyhow::Result<Vec<usize>> {
    let mut ks = requested.to_vec();
    ks.sort_unstable();
    ks.dedup();
    if ks.first().is_none_or(|k| *k == 0) {
        return Err(usage("--k: expected ranks of at least 1, such as 1,5,10"));
    }
    Ok(ks)
}

/// Embeds images and texts with the model.
fn embedded(cx: &Context<'_, '_>) -> anyhow::Result<Pool> {
    match cx.data {
        [path] if Captioned::matches(path) => captioned(cx, path),
        [] => Err(usage(format!("--data: expected {EXPECTED}, found none"))),
        _ => recorded(cx),
    }
}

/// Opens a benchmark with an index.
fn index(cx: &Context<'_, '_>, path: &Path) -> anyhow::Result<Captioned> {
    let images = cx.options.images.as_deref();
    Ok(Captioned::open(path, images, Splits(&[&cx.options.split]))?)
}

/// Embeds the images and captions of a benchmark with an index.
fn captioned(cx: &Context<'_, '_>, path: &Path) -> anyhow::Result<Pool> {
    let model = cx.model()?;
    let data = index(cx, path)?;
    let files: Vec<PathBuf> = data.files.iter().flatten().cloned().collect();
    let listed = model.files(&files, cx.resize(ResizeMode::Squeeze))?;
    let mut coverage = data.coverage.clone();
    listed.subtract_unreadable(&mut coverage, |_| 1);
    // Rows of the images in the index, including those without a file.
    let mut row_of = listed.row_of.iter();
    let row = |file: &Option<PathBuf>| {
        file.as_ref()?;
        *row_of.next()?
    };
    let rows: Vec<Option<usize>> = data.files.iter().map(row).collect();
    let (texts, image_of) = pairs(&data, &rows, |text| Some(text.clone()), &mut coverage);
    repeated(&texts, &mut coverage);
    Ok(Pool {
        images: listed.points().clone(),
        texts: model.texts(&texts)?,
        image_of,
        coverage,
        dataset: data.dataset.map(str::to_owned),
    })
}

/// Embeds the records of a dataset, each an image with its captions.
fn recorded(cx: &Context<'_, '_>) -> anyhow::Result<Pool> {
    let model = cx.model()?;
    let data = match captions::matches(cx.data) {
        true => captions::open(cx.data, Splits(&[&cx.options.split]))?,
        false => registry::open(cx.data, Need::Captions)?,
    };
    let expected = data.records();
    let found = model.dataset(data, cx.data, cx.resize(ResizeMode::Squeeze))?;
    let about = &found.about;
    let mut coverage = about.coverage(expected, about.captions.len());
    let (mut captions, mut image_of) = (Vec::new(), Vec::new());
    for (image, first) in (0..).zip(&about.captions) {
        let more = about.more_captions.get(image as usize);
        for text in [first].into_iter().chain(more.into_iter().flatten()) {
            captions.push(text.clone());
            image_of.push(image);
        }
    }
    repeated(&captions, &mut coverage);
    Ok(Pool {
        texts: model.texts(&captions)?,
        image_of,
        images: found.points.clone(),
        coverage,
        dataset: None,
    })
}

/// Notes repeated texts: they tie, and only one image counts as relevant.
fn repeated(texts: &[String], coverage: &mut Coverage) {
    let mut seen: HashMap<&str, u64> = HashMap::new();
    for text in texts {
        *seen.entry(text).or_default() += 1;
    }
    let again = seen.iter().filter(|(_, n)| **n > 1);
    let count = again.clone().map(|(_, n)| n - 1).sum();
    let example = again.map(|(text, _)| *text).min().unwrap_or_default();
    coverage.note("caption given again", count, example);
}

/// Returns the precomputed embeddings, paired by the names of a benchmark, or row by row, and their
/// space.
fn precomputed(cx: &Context<'_, '_>) -> anyhow::Result<(Space, Pool)> {
    let (Some(images), Some(texts)) = (&cx.options.image_embeddings, &cx.options.text_embeddings)
    else {
        return Err(usage("expected --image-embeddings and --text-embeddings"));
    };
    let (mut images, mut texts) = (Stored::open(images)?, Stored::open(texts)?);
    let space = stored::shared_space(&images, &texts)?;
    let has_space = images.space.is_some() || texts.space.is_some();
    // Moved, not copied: the points may take gigabytes.
    let scaled = |p: Points| if has_space { p } else { stored::normalised(&p) };
    let image_points = scaled(std::mem::take(&mut images.points));
    let text_points = scaled(std::mem::take(&mut texts.points));
    let mut coverage = Coverage::default();
    let [path] = cx.data else {
        if image_points.len() != text_points.len() {
            return Err(usage(format!(
                "without --data: expected as many images as texts, found {} images and {} texts",
                image_points.len(),
                text_points.len()
            )));
        }
        coverage.usable(image_points.len() as u64);
        let pool = Pool {
            image_of: (0..image_points.len() as u32).collect(),
            images: image_points,
            texts: text_points,
            coverage,
            dataset: None,
        };
        return Ok((space, pool));
    };
    let data = index(cx, path)?;
    let rows = rows_by_name(&data.names, &images.by_name(), &mut coverage);
    let by_text = texts.by_name();
    let pick = |text: &String| by_text.get(text.as_str()).copied();
    let (picks, image_of) = pairs(&data, &rows, pick, &mut coverage);
    let unchanged = picks.iter().copied().eq(0..text_points.len());
    let pool = Pool {
        images: image_points,
        texts: match unchanged {
            true => text_points,
            false => text_points.select(&picks),
        },
        image_of,
        coverage,
        dataset: data.dataset.map(str::to_owned),
    };
    Ok((space, pool))
}

/// Returns the embedding of each image of a benchmark by its name, or by its name without folders.
fn rows_by_name(
    names: &[String],
    by_image: &HashMap<&str, usize>,
    coverage: &mut Coverage,
) -> Vec<Option<usize>> {
    let row = |name: &String| {
        let base = name.rsplit('/').next().unwrap_or(name);
        let row = by_image.get(name.as_str()).or_else(|| by_image.get(base));
        match row {
            Some(_) => coverage.usable(1),
            None => coverage.miss("no embedding of this name", name),
        }
        row.copied()
    };
    names.iter().map(row).collect()
}

/// Returns what is picked for each caption whose image has a row, with that row.
fn pairs<T>(
    data: &Captioned,
    rows: &[Option<usize>],
    pick: impl Fn(&String) -> Option<T>,
    coverage: &mut Coverage,
) -> (Vec<T>, Vec<u32>) {
    let (mut picks, mut image_of) = (Vec::new(), Vec::new());
    for (text, image) in data.captions.iter().zip(&data.image_of) {
        match (rows[*image as usize], pick(text)) {
            (Some(row), Some(picked)) => {
                picks.push(picked);
                image_of.push(row as u32);
            }
            (_, None) => coverage.note("caption without an embedding", 1, text),
            (None, _) => coverage.note("caption whose image is missing", 1, text),
        }
    }
    (picks, image_of)
}

/// Returns the recall both ways.
fn recalls(cx: &Context<'_, '_>, space: &Space, mut pool: Pool, ks: &[usize]) -> TaskResult {
    let most = ks.last().copied().unwrap_or(1) + 1;
    let mut of_image = vec![Vec::new(); pool.images.len()];
    for (text, image) in (0..).zip(&pool.image_of) {
        of_image[*image as usize].push(text);
    }
    let of_text: Vec<Vec<u32>> = pool.image_of.iter().map(|p| vec![*p]).collect();
    let to_images = cx.images_of(space, &pool.texts, &pool.images, most);
    let to_texts = cx.texts_of(space, &pool.images, &pool.texts, most);
    let mut metrics = BTreeMap::new();
    for k in ks {
        for (name, ranked, relevant) in [
            ("image_retrieval_recall", &to_images, &of_text),
            ("text_retrieval_recall", &to_texts, &of_image),
        ] {
            let found = recall::recall_at(ranked, relevant, *k);
            metrics.insert(format!("{name}@{k}"), found.value);
            let kind = format!("{name}@{k} query with a tie at its last rank");
            pool.coverage.note(&kind, found.ties, "");
        }
    }
    let alone = of_image.iter().filter(|texts| texts.is_empty()).count();
    TaskResult {
        n: pool.image_of.len(),
        classes: pool.images.len(),
        left_out: named([("image without a text", alone as u64)]),
        dataset: pool.dataset,
        coverage: Some(pool.coverage),
        settings: named([("resize", cx.resize_name(ResizeMode::Squeeze))]),
        metrics,
        ..TaskResult::default()
    }
}

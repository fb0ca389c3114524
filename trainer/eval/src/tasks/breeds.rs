//! BREEDS: the pair of a general and a specific label for an image (notation 6.6).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use espalier_core::geometry::Space;
use espalier_core::input::ResizeMode;
use espalier_data::Coverage;
use espalier_data::benchmarks::chils::{EXPECTED, TwoLevels};
use espalier_data::formats::registry::{self, Need};
use espalier_io::disk::read;
use espalier_io::exit::usage;

use crate::metrics::pairs::{Pairs, Sign, two_fold};
use crate::metrics::steps::linspace;
use crate::metrics::summary::mean;
use crate::task::{BenchmarkData, Context, Task, TaskResult, named, value_name};
use crate::{Points, prompts, search};

/// The subsets of the paper.
const SUBSETS: [&str; 4] = ["living17", "nonliving26", "entity13", "entity30"];
/// Number of weights of the angle that are tried, for each sign.
const WEIGHTS: usize = 20;
/// Ranks at which recall is measured.
const KS: [u32; 2] = [1, 5];

/// Recall of the right pair of labels.
pub const TASK: Task = Task {
    name: "breeds",
    about: "the right pair of superclass and subclass among all pairs of labels: recall@1, recall@5",
    needs: "CHILS label lists living17.json, nonliving26.json, entity13.json, entity30.json (or one of \
     them), and class folders of images in a folder with the name of the list next to it, or in \
     --images DIR; --class-names if folders are not named after subclasses",
    benchmarks: &[BenchmarkData {
        dataset: "breeds",
        path: "breeds",
        get: "breeds/living17.json etc. from the CHILS repository, and the validation images of \
              each subset in breeds/living17/<subclass>/ etc.",
    }],
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let lists = label_lists(cx.path()?)?;
    let set = match cx.options.prompts.as_str() {
        prompts::AUTO => "openai-80",
        named => named,
    };
    let mut total = TaskResult {
        dataset: Some("breeds".into()),
        prompts: set.to_owned(),
        settings: named([
            ("resize", cx.resize_name(ResizeMode::CentreCrop)),
            ("sign", value_name(&cx.options.sign)),
        ]),
        ..TaskResult::default()
    };
    let mut coverage = Coverage::default();
    for list in &lists {
        evaluate_subset(cx, list, set, &mut total, &mut coverage)?;
    }
    let is_of_paper = |list: &&PathBuf| SUBSETS.contains(&stem(list).as_str());
    let known = lists.iter().filter(is_of_paper).count();
    if known > 0 {
        let absent = (SUBSETS.len() - known) as u64;
        let kind = "subset of the paper not there, the mean runs over the others";
        coverage.note(kind, absent, "");
    }
    for k in KS {
        let end = format!("_recall@{k}");
        let each = total.metrics.iter();
        let each = each.filter(|(name, _)| name.ends_with(&end));
        let mean = mean(each.map(|(_, value)| *value));
        total.metrics.insert(format!("recall@{k}"), mean);
    }
    total.coverage = Some(coverage);
    Ok(total)
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Returns the label lists at a path.
fn label_lists(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let inside = SUBSETS.iter().map(|name| path.join(format!("{name}.json")));
    let found: Vec<PathBuf> = inside.filter(|file| file.is_file()).collect();
    if found.is_empty() {
        return Err(usage(format!(
            "{}: expected {EXPECTED}, named {}.json, found none",
            path.display(),
            SUBSETS.join(".json, ")
        )));
    }
    Ok(found)
}

/// Subclass names for folders that are not named after their subclass.
fn folder_names(cx: &Context<'_, '_>) -> anyhow::Result<HashMap<String, String>> {
    let Some(path) = &cx.options.class_names else {
        return Ok(HashMap::new());
    };
    let text =
        read::text(path).map_err(|e| usage(format!("--class-names {}: {e}", path.display())))?;
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    let pairs = pairs.map(|(label, name)| (label.trim().to_owned(), name.trim().to_owned()));
    Ok(pairs.collect())
}

/// Every pair of labels in the space of the model.
fn pairs(space: &Space, labels: &Points) -> Pairs {
    let radii: Vec<f64> = labels.rows().map(|p| space.radius(p)).collect();
    Pairs::all(&radii, |x, y| {
        space.exterior_angle(labels.row(x), labels.row(y))
    })
}

/// Returns the folder with the images of a subset.
fn images(cx: &Context<'_, '_>, list: &Path) -> anyhow::Result<PathBuf> {
    let next_to_list = list.with_extension("");
    let folder = cx.options.images.clone().unwrap_or(next_to_list);
    if !folder.is_dir() {
        return Err(usage(format!(
            "{}: expected class folders of images there, or in --images DIR, found none",
            folder.display()
        )));
    }
    Ok(folder)
}

/// Images of a subset that belong to a subclass of its list.
#[derive(Default)]
struct EvaluatedImages {
    /// Indices of the images.
    rows: Vec<usize>,
    /// Index of the right pair of each; `None` if its subclass is nearer to the root than its
    /// superclass.
    gold: Vec<Option<usize>>,
}

impl EvaluatedImages {
    /// Finds the pair of each image by the name of its class folder, `folders`; counts the images
    /// in the coverage.
    fn of(
        folders: &[Option<String>],
        hierarchy: &TwoLevels,
        labels: &[String],
        pairs: &Pairs,
        name_of: &HashMap<String, String>,
        coverage: &mut Coverage,
    ) -> Self {
        let index_of = |name: &str| labels.binary_search_by(|l| l.as_str().cmp(name)).ok();
        let by_ends: HashMap<&(u32, u32), usize> = pairs.ends.iter().zip(0..).collect();
        let mut evaluated = Self::default();
        for (row, label) in folders.iter().enumerate() {
            let label = label.as_deref().unwrap_or_default();
            let name = name_of.get(label).cloned();
            let name = name.unwrap_or_else(|| label.replace('_', " "));
            let ends = hierarchy
                .above(&name)
                .and_then(|above| Some((index_of(above)?, index_of(&name)?)));
            match ends {
                Some((general, specific)) => {
                    coverage.usable(1);
                    evaluated.rows.push(row);
                    let right = by_ends.get(&(general as u32, specific as u32));
                    evaluated.gold.push(right.copied());
                }
                None => coverage.miss("image of no subclass of the list", label),
            }
        }
        evaluated
    }
}

/// Adds the recall of a subset, for each sign and rank, to the results. `ranks` holds the rank of
/// the right pair of each image for `weights`, first added and then subtracted.
fn add_recalls(
    total: &mut TaskResult,
    name: &str,
    chosen_sign: Sign,
    ranks: &[Option<Vec<u32>>],
    weights: &[f32],
) {
    for (sign, range) in [
        (Sign::Plus, 0..WEIGHTS),
        (Sign::Minus, WEIGHTS..2 * WEIGHTS),
    ] {
        let own = |ranks: &Vec<u32>| ranks[range.clone()].to_vec();
        let part = ranks.iter().map(|ranks| ranks.as_ref().map(own));
        let part: Vec<Option<Vec<u32>>> = part.collect();
        for k in KS {
            let (value, chosen) = two_fold(&part, WEIGHTS, k);
            let (metrics, settings) = (&mut total.metrics, &mut total.settings);
            let sign_name = value_name(&sign);
            metrics.insert(format!("{name}_recall@{k}_{sign_name}"), value);
            if sign == chosen_sign {
                metrics.insert(format!("{name}_recall@{k}"), value);
                let chosen = chosen.map(|w| format!("{:.4}", weights[w]));
                settings.insert(format!("{name}_weights@{k}"), chosen.join(" "));
            }
        }
    }
}

/// Evaluates one subset and adds its results.
fn evaluate_subset(
    cx: &Context<'_, '_>,
    list: &Path,
    set: &str,
    total: &mut TaskResult,
    coverage: &mut Coverage,
) -> anyhow::Result<()> {
    let model = cx.model()?;
    let hierarchy = TwoLevels::open(list)?;
    let labels = hierarchy.labels();
    let paths = [images(cx, list)?];
    let found = model.dataset(
        registry::open(&paths, Need::Labels)?,
        &paths,
        cx.resize(ResizeMode::CentreCrop),
    )?;
    let points = model.classes(&labels, set)?;
    let pairs = pairs(model.space()?, &points);
    let name_of = folder_names(cx)?;
    let folders = &found.about.labels;
    let EvaluatedImages { rows, gold } =
        EvaluatedImages::of(folders, &hierarchy, &labels, &pairs, &name_of, coverage);
    for (cause, missing) in &found.about.broken() {
        for _ in 0..missing.count {
            coverage.miss(cause, &missing.example);
        }
    }
    if rows.is_empty() {
        return Err(usage(format!(
            "{}: expected images of subclasses in {}, found none; name the folders after subclasses, or \
             give --class-names",
            paths[0].display(),
            list.display()
        )));
    }
    let reversed = gold.iter().filter(|g| g.is_none()).count() as u64;
    let kind = "subclass nearer to the root than its superclass, a miss";
    coverage.note(kind, reversed, "");
    let positive = linspace(0.0, 0.2, WEIGHTS);
    let positive: Vec<f32> = positive.iter().map(|w| *w as f32).collect();
    let negative: Vec<f32> = positive.iter().map(|w| -w).collect();
    let weights = [positive.as_slice(), &negative].concat();
    let queries = found.points.select(&rows);
    let ranks = search::scores(model.space()?, &queries, &points, |query, similarities| {
        gold[query].map(|gold| pairs.ranks(similarities, gold, &weights))
    });
    add_recalls(total, &stem(list), cx.options.sign, &ranks, &positive);
    total.n += rows.len();
    total.classes += pairs.ends.len();
    Ok(())
}

//! Whether heat maps lie on the object that they are about.

use std::collections::BTreeMap;

use espalier_core::caption::{Captioner, Claim};
use espalier_core::taxonomy::NodeIx;
use espalier_data::formats::registry::{self, Need};
use espalier_data::records::boxes::{GroundedBox, Region};
use espalier_data::records::source::Record;
use espalier_io::exit::usage;
use rayon::prelude::*;

use crate::captioned::{captioner, records};
use crate::metrics::summary::mean;
use crate::task::{Context, Task, TaskResult, named};

/// The heat inside the boxes of objects.
pub const TASK: Task = Task {
    name: "heat-map",
    about: "heat maps of labelled objects: the share of the heat inside the box of the object",
    needs: "images with boxes that have labels of the bundle's taxonomy; a bundle",
    benchmarks: &[],
    run,
};

/// An object in a photo.
struct Object<'a> {
    record: &'a Record,
    label: NodeIx,
    region: [f32; 4],
}

/// Shares of a map inside the box of its object.
#[derive(Clone, Copy)]
struct Inside {
    /// Share of the heat.
    heat: f64,
    /// Share of the map's area: what an even map would have.
    area: f64,
}

/// Returns the boxes of a photo, each once: a longer expression has the box of its noun chunk.
fn boxes(record: &Record) -> impl Iterator<Item = &GroundedBox> {
    let boxes = record.boxes.iter();
    boxes.filter(|grounded| !grounded.is_ref_exp)
}

/// Returns the objects whose label is a node with labels at or below it.
fn objects<'a>(captioner: &Captioner, records: &'a [Record]) -> Vec<Object<'a>> {
    let taxonomy = captioner.classifier().taxonomy();
    let known = |synset: &Option<String>| {
        let node = taxonomy.find(synset.as_deref()?)?;
        (!taxonomy.labelled_below(node).is_empty()).then_some(node)
    };
    let object = |record: &'a Record| {
        boxes(record).filter_map(move |grounded| {
            let Region::Relative(region) = &grounded.region else {
                return None;
            };
            Some(Object {
                record,
                label: known(&grounded.synset)?,
                region: region.map(|edge| edge as f32),
            })
        })
    };
    records.iter().flat_map(object).collect()
}

/// Computes the map of an object. `None` if the image cannot be read or no place speaks for the
/// label.
fn inside(captioner: &Captioner, object: &Object<'_>) -> Option<anyhow::Result<Inside>> {
    let photo = object.record.image.decode().ok()?;
    let occlusions = match pollster::block_on(captioner.occlusions(&photo, |_, _| ())) {
        Ok(occlusions) => occlusions,
        Err(error) => return Some(Err(error.into())),
    };
    let claim = Claim::Node(object.label);
    let map = captioner.heat(&occlusions, &claim);
    let heat = map.share_inside(object.region)?;
    let mut even = map;
    even.values.fill(1.0);
    let area = even.share_inside(object.region)?;
    Some(Ok(Inside { heat, area }))
}

fn metrics(found: &[Inside]) -> BTreeMap<String, f64> {
    let mean_of = |of: fn(&Inside) -> f64| mean(found.iter().map(of));
    let more = |inside: &Inside| f64::from(u8::from(inside.heat > inside.area));
    named([
        ("heat_inside", mean_of(|inside| inside.heat)),
        ("area_inside", mean_of(|inside| inside.area)),
        ("more_than_area", mean_of(more)),
    ])
}

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let captioner = captioner(cx, TASK.name)?;
    let data = registry::open(cx.data, Need::Boxes)?;
    let (records, coverage) = records(data.as_ref(), cx.options.most);
    let objects = objects(&captioner, &records);
    if objects.is_empty() {
        return Err(usage(
            "--data: expected boxes with labels of the bundle's taxonomy, found none",
        ));
    }
    let found = objects.par_iter();
    let found = found.filter_map(|object| inside(&captioner, object));
    let found = found.collect::<anyhow::Result<Vec<Inside>>>()?;
    let boxes = records.iter().flat_map(boxes).count();
    Ok(TaskResult {
        n: found.len(),
        classes: captioner.classifier().taxonomy().labelled().len(),
        metrics: metrics(&found),
        settings: named([("images", records.len().to_string())]),
        left_out: named([
            (
                "box without a label of the taxonomy",
                (boxes - objects.len()) as u64,
            ),
            (
                "image that cannot be read, or map without heat",
                (objects.len() - found.len()) as u64,
            ),
        ]),
        coverage: Some(coverage),
        ..TaskResult::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_averaged_and_compared_with_an_even_map() {
        let inside = |heat, area| Inside { heat, area };
        let metrics = metrics(&[inside(0.9, 0.5), inside(0.3, 0.5)]);
        assert!((metrics["heat_inside"] - 0.6).abs() < 1e-9);
        assert!((metrics["area_inside"] - 0.5).abs() < 1e-9);
        assert!((metrics["more_than_area"] - 0.5).abs() < 1e-9);
    }
}

//! The arithmetic of a bundle on a CPU.

use std::sync::Arc;

use burn::tensor::Device;
use espalier_checkpoints::device::engine;
use espalier_checkpoints::model_file;
use espalier_core::model::Arithmetic;
use espalier_core::taxonomy::Taxonomy;
use espalier_data::Dataset;
use espalier_io::exit::usage;
use espalier_io::output::note;

use super::probe::embed_probe;
use crate::cli::ExportArgs;
use crate::export::arithmetic::Comparison;
use crate::export::gate::{EmbeddedProbe, Gate};
use crate::export::{Bundle, ExportArithmetic, ExportDtype};

/// Metric: share of the probe's images whose answer ends at the same concept with integers.
const SAME_STOP_INT8: &str = "same_stop_int8";

/// Lets a bundle multiply integers on a CPU if the answers on the probe, which is embedded with
/// floats, stay the same.
pub(super) fn choose(
    args: &ExportArgs,
    floats: &EmbeddedProbe<'_>,
    (data, taxonomy): (&Arc<dyn Dataset>, &Taxonomy),
    bundle: &mut Bundle,
    device: &Device,
) -> anyhow::Result<()> {
    take_floats(bundle);
    if args.arithmetic == Some(ExportArithmetic::Float32) || args.dtype == ExportDtype::Fp32 {
        return Ok(());
    }
    let mut rounded = bundle.manifest.clone();
    rounded.model.vision.arithmetic = Arithmetic::Int8;
    let rounded = model_file::from_bundle(rounded, &bundle.checked()?, device)?;
    let integers = embed_probe(&rounded, data, taxonomy, args.probe_size, device)?;
    // Another device, or no layer for which integers are faster.
    if floats.images.points == integers.images.points {
        return Ok(());
    }
    let captioner = bundle.captioner(&engine(device))?;
    let same = (&captioner, &captioner);
    let drop = Gate::compare(floats, &integers, same, taxonomy, device)?.drop;
    let comparison = Comparison::new(&captioner, &floats.images, &integers.images, drop);
    bundle.manifest.model.vision.arithmetic = Arithmetic::Int8;
    let rounded = bundle.captioner(&engine(device))?;
    let cosine = pollster::block_on(rounded.self_test())?;
    // The page refuses an engine that fails the self-test.
    if comparison.passes(args.max_drop) && cosine >= rounded.least_cosine() {
        let same_stop = comparison.same_stop;
        let metrics = &mut bundle.manifest.metrics;
        metrics.insert(SAME_STOP_INT8.to_owned(), same_stop);
        note(format_args!("int8 on a CPU: {comparison}"));
    } else {
        take_floats(bundle);
        note(format_args!(
            "float32 on a CPU: with int8, {comparison}; the cosine of the self-test is {cosine:.4}"
        ));
    }
    Ok(())
}

/// Changes the arithmetic of a bundle that was written before; only `float32` needs no images to compare the
/// answers on.
pub(super) fn choose_again(
    args: &ExportArgs,
    data: Option<&Arc<dyn Dataset>>,
    bundle: &mut Bundle,
    device: &Device,
) -> anyhow::Result<()> {
    take_floats(bundle);
    if args.arithmetic == Some(ExportArithmetic::Float32) {
        return Ok(());
    }
    let data = data.ok_or_else(|| {
        usage("--arithmetic auto: expected --probe with labelled images, found none")
    })?;
    let captioner = bundle.captioner(&engine(device))?;
    let taxonomy = captioner.untaught().taxonomy();
    let model = bundle.model(device)?;
    let floats = embed_probe(&model, data, taxonomy, args.probe_size, device)?;
    choose(args, &floats, (data, taxonomy), bundle, device)
}

/// Lets a bundle multiply floats.
fn take_floats(bundle: &mut Bundle) {
    bundle.manifest.model.vision.arithmetic = Arithmetic::Float32;
    bundle.manifest.metrics.remove(SAME_STOP_INT8);
}

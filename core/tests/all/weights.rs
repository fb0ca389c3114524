//! A model as named tensors: written, read back, and refused if the tensors do not fit.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use espalier_core::geometry::LogScalarConfig;
use espalier_core::model::{DualConfig, DualEncoder, Pool, Preset, VitConfig};
use espalier_core::weights::{HostTensor, Loading, StoredTensors, Tensors, collect, load, write};

use super::disturb::Disturb;

/// Counts parameters that are learned, and those that are not.
#[derive(Default)]
struct Learned([usize; 2]);

impl ModuleVisitor for Learned {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0[usize::from(!param.val().is_require_grad())] += 1;
    }
}

fn learned(module: &impl Module) -> [usize; 2] {
    let mut count = Learned::default();
    module.visit(&mut count);
    count.0
}

fn config() -> DualConfig {
    let mut config = Preset::VitT8_64.config();
    config.vision = VitConfig::new(16, 8, 24, 1, 3).with_pool(Pool::Class);
    config.text.d_model = 24;
    config.text.n_heads = 3;
    config.text.n_layers = 1;
    config.text.vocab_size = 600;
    config
}

fn encoder(device: &Device) -> DualEncoder {
    config().init(device).map(&mut Disturb)
}

fn tensors() -> Tensors {
    collect(&encoder(&Device::flex())).unwrap()
}

/// Returns the message for a model that is loaded from changed tensors.
fn refused(change: impl Fn(&mut Tensors)) -> String {
    let mut changed = tensors();
    change(&mut changed);
    let model = config().init(&Device::flex());
    let error = load(model, changed).unwrap_err();
    error.to_string()
}

const LINEAR: &str = "visual.blocks.0.mlp.fc1.weight";

#[test]
fn a_written_model_is_read_back_with_its_metadata() {
    let device = Device::flex();
    let model = encoder(&device);
    let metadata = [("about".to_owned(), "a test".to_owned())];
    let bytes = write(&model, metadata).unwrap();
    let read = Tensors::read(&bytes).unwrap();
    assert_eq!(read.metadata["about"], "a test");
    let other = load(config().init(&device), read.clone()).unwrap();
    let [other, tensors] = [&other, &model].map(|model| collect(model).unwrap().tensors);
    assert_eq!(other, tensors);
    // The same tensors, kept as they are stored.
    let stored = StoredTensors::from(read.clone());
    assert_eq!(stored.tensors.len(), read.tensors.len());
    assert_eq!(Tensors::from(stored), read);
}

#[test]
fn tensors_have_the_names_and_shapes_of_published_files() {
    let tensors = tensors().tensors;
    // A linear layer is stored as (out, in); scalars have no dimension.
    assert_eq!(tensors[LINEAR].shape, [96, 24]);
    let textual = &tensors["textual.resblocks.0.mlp.c_fc.weight"];
    assert_eq!(textual.shape, [96, 24]);
    assert_eq!(tensors["visual.norm.weight"].shape, [24]);
    assert!(tensors["curv"].shape.is_empty() && tensors["logit_scale"].shape.is_empty());
    let shape = |config: LogScalarConfig| {
        let mut tensors = collect(&config.init(&Device::flex())).unwrap().tensors;
        tensors.pop_first().unwrap().1.shape
    };
    assert_eq!(shape(LogScalarConfig::curvature().with_count(3)), [3]);
    assert!(shape(LogScalarConfig::curvature()).is_empty());
}

#[test]
fn a_linear_layer_is_transposed_in_the_file() {
    let device = Device::flex();
    let mut changed = tensors();
    let count = 96 * 24;
    changed.tensors.get_mut(LINEAR).unwrap().data = (0..count).map(|v| v as f32).collect();
    let model = load(config().init(&device), changed.clone()).unwrap();
    let back = collect(&model).unwrap();
    assert_eq!(back.tensors[LINEAR], changed.tensors[LINEAR]);
}

#[test]
fn missing_and_unknown_tensors_are_all_named() {
    let message = refused(|t| {
        let tensor = t.tensors.remove(LINEAR).unwrap();
        t.tensors.insert("visual.extra".into(), tensor.clone());
        t.tensors.insert("visual.more".into(), tensor);
        t.tensors.remove("curv");
    });
    for name in [LINEAR, "curv", "visual.extra", "visual.more"] {
        assert!(message.contains(name), "{name}: {message}");
    }
    assert!(!message.contains("visual.norm.weight"), "{message}");
    let unknown = refused(|t| {
        let tensor = t.tensors["curv"].clone();
        t.tensors.insert("visual.extra".into(), tensor);
    });
    assert!(unknown.contains("visual.extra"), "{unknown}");
    let missing = refused(|t| drop(t.tensors.remove("curv")));
    assert!(missing.contains("curv"), "{missing}");
}

#[test]
fn a_tensor_of_another_shape_is_named_with_both_shapes() {
    for (name, expected, found) in [
        (LINEAR, vec![96, 24], vec![24, 96]),
        ("visual.norm.weight", vec![24], vec![25]),
    ] {
        let message = refused(|t| {
            let data = vec![0.0; found.iter().product()];
            let shape = found.clone();
            t.tensors.insert(name.into(), HostTensor { shape, data });
        });
        let expected = format!("tensor `{name}`: expected shape {expected:?}, found {found:?}");
        assert_eq!(message, expected);
    }
    // Dimensions of size 1 may be omitted.
    let mut flat = tensors();
    flat.tensors.get_mut("pixel_mean").unwrap().shape = vec![3];
    flat.tensors.get_mut("curv").unwrap().shape = vec![1, 1];
    assert!(load(config().init(&Device::flex()), flat).is_ok());
}

#[test]
fn weights_may_arrive_in_parts_each_tensor_once() {
    let all = tensors();
    let part = |keep: fn(&str) -> bool| {
        let mut part = all.clone();
        part.tensors.retain(|name, _| keep(name));
        part
    };
    let is_visual = |name: &str| name.starts_with("visual.");
    let (first, second) = (part(is_visual), part(|name| !name.starts_with("visual.")));
    assert!(!first.tensors.is_empty() && !second.tensors.is_empty());
    let start = || (Loading::default(), config().init(&Device::flex()));

    let (mut loading, model) = start();
    let model = loading.take(model, first.clone()).unwrap();
    let half = loading.clone().finish().unwrap_err().to_string();
    assert!(half.contains("curv") && !half.contains(LINEAR), "{half}");
    let model = loading.take(model, second).unwrap();
    loading.finish().unwrap();
    assert_eq!(collect(&model).unwrap().tensors, all.tensors);

    let (mut loading, model) = start();
    let model = loading.take(model, all).unwrap();
    let _ = loading.take(model, first).unwrap();
    let twice = loading.finish().unwrap_err().to_string();
    assert!(twice.contains(LINEAR) && !twice.contains("curv"), "{twice}");
}

#[test]
fn a_loaded_parameter_is_learned_if_it_was_before() {
    let device = Device::flex().autodiff();
    let all = tensors();
    let model = || config().init(&device);
    let before = learned(&model());
    assert!(before[0] > 0);
    assert_eq!(learned(&load(model(), all.clone()).unwrap()), before);
    let frozen = model().no_grad();
    let frozen = load(frozen, all).unwrap();
    assert_eq!(learned(&frozen), [0, before[0] + before[1]]);
}

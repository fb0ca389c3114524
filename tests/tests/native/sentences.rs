//! An encoder of sentences: imported beside an image encoder, trained in its last layers only, and the
//! teacher of a small text encoder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use espalier_core::model::Tokens;
use espalier_core::weights::{HostTensor, Tensors};
use espalier_fixtures::close;
use espalier_tests::calls::{Call, call, metrics};
use espalier_tests::{tensors_of, values};
use espalier_trainer::model_file::{self, WORD_PIECES};

const WIDTH: usize = 16;
const HIDDEN: usize = 24;
const HEADS: usize = 2;
const LAYERS: usize = 2;
const POSITIONS: usize = 20;

/// Returns the call that trains on the synthetic data.
fn fit(logs: &Path, name: &str) -> Call {
    call("fit --dataset synthetic --method clip --batch-size 8 --warmup 1")
        .set("--logs", logs)
        .set("--name", name)
        .with("train.log_frequency=1 dataset.synthetic_records=48")
}

/// Trains the small model for one step; returns its run.
fn small_model(logs: &Path) -> PathBuf {
    let fit = fit(logs, "start").with("--model vit_t8_64 --steps 1");
    fit.done();
    logs.join("start")
}

/// Returns the call that imports an encoder of sentences.
fn import(source: &Path, out: &Path) -> Call {
    call("import").arg(source).set("--out", out)
}

/// Writes an encoder of sentences as `transformers` does, with made-up numbers.
fn write_sentence_encoder(folder: &Path) -> BTreeMap<String, HostTensor> {
    fs::create_dir_all(folder).unwrap();
    let mut shapes: Vec<(String, Vec<usize>)> = [
        ("embeddings.word_embeddings", WORD_PIECES.lines().count()),
        ("embeddings.position_embeddings", POSITIONS),
        ("embeddings.token_type_embeddings", 2),
        ("pooler.dense", WIDTH),
    ]
    .map(|(name, rows)| (format!("{name}.weight"), vec![rows, WIDTH]))
    .into();
    let mut layer = |name: &str, outputs: usize, inputs: usize| {
        shapes.push((format!("{name}.weight"), vec![outputs, inputs]));
        shapes.push((format!("{name}.bias"), vec![outputs]));
    };
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    for at in 0..LAYERS {
        let inside = |name: &str| format!("encoder.layer.{at}.{name}");
        for part in ["query", "key", "value"] {
            layer(&inside(&format!("attention.self.{part}")), WIDTH, WIDTH);
        }
        layer(&inside("attention.output.dense"), WIDTH, WIDTH);
        layer(&inside("intermediate.dense"), HIDDEN, WIDTH);
        layer(&inside("output.dense"), WIDTH, HIDDEN);
        norms.extend(["attention.output", "output"].map(|n| inside(&format!("{n}.LayerNorm"))));
    }
    for norm in norms {
        shapes.extend(["weight", "bias"].map(|part| (format!("{norm}.{part}"), vec![WIDTH])));
    }
    let tensors: BTreeMap<String, HostTensor> = (1..)
        .zip(shapes)
        .map(|(at, (name, shape))| {
            let value = |i: usize| ((i * 37 + at * 101) % 199) as f32 / 199.0 - 0.45;
            let data = (0..shape.iter().product()).map(value).collect();
            (name, HostTensor { shape, data })
        })
        .collect();
    let file = Tensors {
        tensors: tensors.clone(),
        metadata: BTreeMap::new(),
    };
    let bytes = file.write(|_, _| None).unwrap();
    fs::write(folder.join("model.safetensors"), bytes).unwrap();
    let config = serde_json::json!({
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": WIDTH,
        "intermediate_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS, "layer_norm_eps": 1e-12,
    });
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    tensors
}

/// The definition of BERT in 64 bits, one text at a time.
struct Reference<'a>(&'a BTreeMap<String, HostTensor>);

impl Reference<'_> {
    fn row(&self, name: &str, at: usize) -> Vec<f64> {
        let row = &self.0[name].data[at * WIDTH..(at + 1) * WIDTH];
        row.iter().map(|v| f64::from(*v)).collect()
    }

    fn linear(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let weight = &self.0[&format!("{name}.weight")].data;
        let bias = &self.0[&format!("{name}.bias")].data;
        let output = |(row, bias): (&[f32], &f32)| {
            let sum: f64 = row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum();
            sum + f64::from(*bias)
        };
        weight.chunks(x.len()).zip(bias).map(output).collect()
    }

    fn norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64;
        let scale = &self.0[&format!("{name}.weight")].data;
        let shift = &self.0[&format!("{name}.bias")].data;
        let value = |((v, scale), shift): ((&f64, &f32), &f32)| {
            (v - mean) / (variance + 1e-12).sqrt() * f64::from(*scale) + f64::from(*shift)
        };
        x.iter().zip(scale).zip(shift).map(value).collect()
    }

    fn attention(&self, layer: &str, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let part = |name: &str| -> Vec<Vec<f64>> {
            let name = format!("{layer}.attention.self.{name}");
            x.iter().map(|token| self.linear(&name, token)).collect()
        };
        let (queries, keys, all) = (part("query"), part("key"), part("value"));
        let head = WIDTH / HEADS;
        let of_token = |query: &Vec<f64>| {
            let mut out = vec![0.0; WIDTH];
            for columns in (0..HEADS).map(|h| h * head..(h + 1) * head) {
                let score = |key: &Vec<f64>| {
                    let pairs = query[columns.clone()].iter().zip(&key[columns.clone()]);
                    (pairs.map(|(q, k)| q * k).sum::<f64>() / (head as f64).sqrt()).exp()
                };
                let shares: Vec<f64> = keys.iter().map(score).collect();
                let total: f64 = shares.iter().sum();
                for (share, value) in shares.iter().zip(&all) {
                    for column in columns.clone() {
                        out[column] += share / total * value[column];
                    }
                }
            }
            out
        };
        queries.iter().map(of_token).collect()
    }

    /// Returns the mean of the tokens, scaled to a root mean square of 1.
    fn feature(&self, ids: &[u32]) -> Vec<f64> {
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<_>>();
        let segment = self.row("embeddings.token_type_embeddings.weight", 0);
        let embed = |(at, id): (usize, &u32)| {
            let token = self.row("embeddings.word_embeddings.weight", *id as usize);
            let position = self.row("embeddings.position_embeddings.weight", at);
            let all = sum(&sum(&token, &position), &segment);
            self.norm("embeddings.LayerNorm", &all)
        };
        let mut x: Vec<Vec<f64>> = ids.iter().enumerate().map(embed).collect();
        for at in 0..LAYERS {
            let layer = format!("encoder.layer.{at}");
            let inside = |name: &str| format!("{layer}.{name}");
            let attended = self.attention(&layer, &x);
            let after = |(token, attended): (&Vec<f64>, Vec<f64>)| {
                let attended = self.linear(&inside("attention.output.dense"), &attended);
                let both = sum(token, &attended);
                let token = self.norm(&inside("attention.output.LayerNorm"), &both);
                let wide = self.linear(&inside("intermediate.dense"), &token);
                let wide: Vec<f64> = wide.into_iter().map(gelu).collect();
                let narrow = self.linear(&inside("output.dense"), &wide);
                self.norm(&inside("output.LayerNorm"), &sum(&token, &narrow))
            };
            x = x.iter().zip(attended).map(after).collect();
        }
        let mean: Vec<f64> = (0..WIDTH)
            .map(|c| x.iter().map(|t| t[c]).sum::<f64>() / x.len() as f64)
            .collect();
        let rms = (mean.iter().map(|v| v * v).sum::<f64>() / WIDTH as f64).sqrt();
        mean.into_iter().map(|v| v / rms).collect()
    }
}

/// `x Phi(x)`, with the integral of the normal density by the midpoint rule.
fn gelu(x: f64) -> f64 {
    let steps = 4_000;
    let width = x / f64::from(steps);
    let density = |i: i32| (-((f64::from(i) + 0.5) * width).powi(2) / 2.0).exp();
    let integral: f64 = (0..steps).map(density).sum::<f64>() * width;
    x * (0.5 + integral / (2.0 * std::f64::consts::PI).sqrt())
}

fn weights(model: &Path) -> Tensors {
    tensors_of(&model_file::weights_file(model).unwrap())
}

#[test]
fn its_features_are_those_of_the_definition_and_it_teaches_a_small_encoder() {
    let folder = tempfile::tempdir().unwrap();
    let [source, out] = ["published", "sentences"].map(|name| folder.path().join(name));
    let published = write_sentence_encoder(&source);
    let logs = folder.path().join("logs");
    let start = small_model(&logs);
    import(&source, &out).set("--image", &start).done();
    features_are_those_of_the_definition(&published, &out);
    let (before, after) = (weights(&start), weights(&out));
    let mut images = before.tensors;
    images.retain(|name, _| !name.starts_with("textual"));
    for (name, tensor) in &images {
        assert_eq!(after.tensors.get(name), Some(tensor), "{name}");
    }
    its_projection_learns_alone(&logs, &out, &folder.path().join("features"));
    let learned = logs.join("projection");

    let bundle = folder.path().join("bundle");
    let export = call("export")
        .set("--checkpoint", &learned)
        .set("--out", &bundle);
    export.refused(&["as model.text_teacher"]);
    assert!(!bundle.exists());

    fit(&logs, "taught")
        .set("--init", &start)
        .with("--steps 30 --lr 3e-3 loss.text_teacher=5")
        .arg(format!("model.text_teacher=\"{}\"", learned.display()))
        .done();
    let lines = metrics(&logs.join("taught"));
    let [first, last] = [&lines[0], &lines[29]].map(|l| l["text_teacher"].as_f64().unwrap());
    assert!(
        last < 0.5 * first,
        "{first} at the start, {last} at the end"
    );
}

fn features_are_those_of_the_definition(published: &BTreeMap<String, HostTensor>, model: &Path) {
    let device = Device::flex();
    let model = model_file::open(model, &device).unwrap();
    let texts = ["a dog", "Two men play the guitar, on a stage!", "caf\u{e9}"];
    let batch = model.tokenizer.encode_batch(&texts, POSITIONS);
    let tokens = Tokens::new(&batch, &device);
    assert_eq!(tokens.texts()[0], [101, 1037, 3899, 102]);
    let found = values(model.encoder.text.textual.forward(&tokens));
    let reference = Reference(published);
    for (ids, found) in tokens.texts().iter().zip(found.chunks(WIDTH)) {
        close(found, &reference.feature(ids), 1e-4);
    }
}

fn its_projection_learns_alone(logs: &Path, sentences: &Path, cache: &Path) {
    let locked = "--steps 6 --lock-image train.lock_text_layers=true train.lock_projection=true";
    // The second run finds the features of texts that the first one has kept.
    for name in ["before", "projection"] {
        fit(logs, name)
            .set("--init", sentences)
            .set("--feature-cache", cache)
            .with(locked)
            .done();
        assert_eq!(fs::read_dir(cache.join("texts")).unwrap().count(), 1);
    }
    let (before, after) = (weights(sentences), weights(&logs.join("projection")));
    assert_eq!(weights(&logs.join("before")), after);
    for (name, tensor) in &before.tensors {
        let same = after.tensors.get(name) == Some(tensor);
        if name.starts_with("textual_") {
            let is_right = name == "textual_alpha" || !same;
            assert!(is_right, "{name} is trained but has not changed");
        } else if name.starts_with("textual.") {
            assert!(same, "{name} is locked but has changed");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    write_sentence_encoder(&folder.path().join("published"));
    let source = folder.path().join("published");
    let out = folder.path().join("out");
    let refused = |image: Option<&Path>, more: &str, expected: &str| {
        let import = import(&source, &out).with(more);
        let import = match image {
            Some(image) => import.set("--image", image),
            None => import,
        };
        import.refused(&[expected]);
        assert!(!out.exists());
    };
    refused(None, "", "with --image");
    refused(Some(Path::new("nowhere")), "", "nowhere");
    let start = small_model(&folder.path().join("logs"));
    let labels = "--labels: expected an EfficientNet";
    refused(Some(&start), "--labels x.tsv", labels);
    fs::write(source.join("vocab.txt"), "[PAD]\nother\n").unwrap();
    let pieces = "vocab.txt: expected the word pieces of BERT's uncased models";
    refused(Some(&start), "", pieces);
    fs::write(source.join("config.json"), "{\"model_type\": \"roberta\"}").unwrap();
    let kind = "`model_type`: expected \"bert\", found \"roberta\"";
    refused(Some(&start), "", kind);
}

//! An encoder of sentences: imported beside an image encoder, trained in its last layers only, and the
//! teacher of a small text encoder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use espalier_core::model::Tokens;
use espalier_core::weights::{HostTensor, Tensors};
use espalier_tests::{trainer, values};
use espalier_trainer::model_file::{self, WORD_PIECES};
use serde_json::Value;

const WIDTH: usize = 16;
const HIDDEN: usize = 24;
const HEADS: usize = 2;
const LAYERS: usize = 2;
const POSITIONS: usize = 20;

/// Runs the program; returns its exit code and what it says.
fn run(args: &[&str]) -> (Option<i32>, String) {
    let out = trainer(args);
    let said = [out.stdout, out.stderr].concat();
    (
        out.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// Trains on the synthetic data; returns the lines of metrics.
fn fit(logs: &Path, name: &str, more: &[&str]) -> Vec<Value> {
    let base = [
        "fit",
        "--dataset",
        "synthetic",
        "--method",
        "clip",
        "--batch-size",
        "8",
    ];
    let run_of = [
        "--warmup",
        "1",
        "--logs",
        logs.to_str().unwrap(),
        "--name",
        name,
    ];
    let data = ["train.log_frequency=1", "dataset.synthetic_records=48"];
    let (code, said) = run(&[&base[..], &run_of, &data, more].concat());
    assert_eq!(code, Some(0), "{said}");
    let metrics = fs::read_to_string(logs.join(name).join("metrics.jsonl")).unwrap();
    metrics
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Writes an encoder of sentences as `transformers` does, with made-up numbers.
fn write_sentence_encoder(folder: &Path) -> BTreeMap<String, HostTensor> {
    fs::create_dir_all(folder).unwrap();
    let mut shapes = vec![
        (
            "embeddings.word_embeddings.weight".to_owned(),
            vec![WORD_PIECES.lines().count(), WIDTH],
        ),
        (
            "embeddings.position_embeddings.weight".to_owned(),
            vec![POSITIONS, WIDTH],
        ),
        (
            "embeddings.token_type_embeddings.weight".to_owned(),
            vec![2, WIDTH],
        ),
        ("pooler.dense.weight".to_owned(), vec![WIDTH, WIDTH]),
    ];
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
    fs::write(
        folder.join("model.safetensors"),
        file.write(|_, _| None).unwrap(),
    )
    .unwrap();
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
            self.norm(
                "embeddings.LayerNorm",
                &sum(&sum(&token, &position), &segment),
            )
        };
        let mut x: Vec<Vec<f64>> = ids.iter().enumerate().map(embed).collect();
        for at in 0..LAYERS {
            let layer = format!("encoder.layer.{at}");
            let inside = |name: &str| format!("{layer}.{name}");
            let attended = self.attention(&layer, &x);
            let after = |(token, attended): (&Vec<f64>, Vec<f64>)| {
                let attended = self.linear(&inside("attention.output.dense"), &attended);
                let token = self.norm(
                    &inside("attention.output.LayerNorm"),
                    &sum(token, &attended),
                );
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
    let file = model_file::weights_file(model).unwrap();
    Tensors::read(&fs::read(file).unwrap()).unwrap()
}

/// Imports an encoder of sentences beside the image encoder of a small model; returns both
/// checkpoints.
fn imported(folder: &Path) -> (BTreeMap<String, HostTensor>, PathBuf, PathBuf) {
    let published = write_sentence_encoder(&folder.join("published"));
    fit(
        &folder.join("logs"),
        "start",
        &["--model", "vit_t8_64", "--steps", "1"],
    );
    let (start, out) = (folder.join("logs/start"), folder.join("sentences"));
    let source = folder.join("published");
    let paths = [&source, &start, &out].map(|path| path.to_str().unwrap());
    let (code, said) = run(&["import", paths[0], "--image", paths[1], "--out", paths[2]]);
    assert_eq!(code, Some(0), "{said}");
    (published, start, out)
}

#[test]
fn features_are_those_of_the_definition_and_the_image_encoder_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (published, start, out) = imported(folder.path());
    let device = Device::flex();
    let model = model_file::open(&out, &device).unwrap();
    let texts = ["a dog", "Two men play the guitar, on a stage!", "caf\u{e9}"];
    let batch = model.tokenizer.encode_batch(&texts, POSITIONS);
    let tokens = Tokens::new(&batch, &device);
    assert_eq!(tokens.texts()[0], [101, 1037, 3899, 102]);
    let found = values(model.encoder.text.textual.forward(&tokens));
    let reference = Reference(&published);
    for (ids, found) in tokens.texts().iter().zip(found.chunks(WIDTH)) {
        for (known, found) in reference.feature(ids).iter().zip(found) {
            assert!(
                (known - found).abs() < 1e-4,
                "expected {known}, found {found}"
            );
        }
    }
    let (before, after) = (weights(&start), weights(&out));
    let images = before
        .tensors
        .iter()
        .filter(|(name, _)| !name.starts_with("textual"));
    for (name, tensor) in images {
        assert_eq!(after.tensors.get(name), Some(tensor), "{name}");
    }
}

#[test]
fn its_projection_learns_alone_and_it_teaches_a_small_encoder() {
    let folder = tempfile::tempdir().unwrap();
    let (_, start, sentences) = imported(folder.path());
    let logs = folder.path().join("logs");
    let init = [
        "--init",
        sentences.to_str().unwrap(),
        "--steps",
        "6",
        "--lock-image",
    ];
    let cache = folder.path().join("features");
    let locked = [
        "--feature-cache",
        cache.to_str().unwrap(),
        "train.lock_text_layers=true",
        "train.lock_projection=true",
    ];
    // The second run finds the features of texts that the first one has kept.
    for name in ["before", "projection"] {
        fit(&logs, name, &[&init[..], &locked].concat());
        assert_eq!(fs::read_dir(cache.join("texts")).unwrap().count(), 1);
    }
    assert_eq!(
        weights(&logs.join("before")),
        weights(&logs.join("projection"))
    );
    let (before, after) = (weights(&sentences), weights(&logs.join("projection")));
    for (name, tensor) in &before.tensors {
        let same = after.tensors.get(name) == Some(tensor);
        if name.starts_with("textual_") {
            assert!(
                name == "textual_alpha" || !same,
                "{name} is trained but has not changed"
            );
        } else if name.starts_with("textual.") {
            assert!(same, "{name} is locked but has changed");
        }
    }

    let bundle = folder.path().join("bundle");
    let run_of = logs.join("projection");
    let paths = [&run_of, &bundle].map(|path| path.to_str().unwrap());
    let (code, said) = run(&["export", "--checkpoint", paths[0], "--out", paths[1]]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("as model.text_teacher"), "{said}");
    assert!(!bundle.exists());

    let teacher = format!(
        "model.text_teacher=\"{}\"",
        logs.join("projection").display()
    );
    let init = [
        "--init",
        start.to_str().unwrap(),
        "--steps",
        "30",
        "--lr",
        "3e-3",
    ];
    let taught = ["loss.text_teacher=5", &teacher];
    let lines = fit(&logs, "taught", &[&init[..], &taught].concat());
    let distance = |line: &Value| line["text_teacher"].as_f64().unwrap();
    let (first, last) = (distance(&lines[0]), distance(&lines[29]));
    assert!(
        last < 0.5 * first,
        "expected less than half of {first}, found {last}"
    );
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    write_sentence_encoder(&folder.path().join("published"));
    let source = folder.path().join("published");
    let out = folder.path().join("out");
    let [source_name, out_name] = [&source, &out].map(|path| path.to_str().unwrap());
    let refused = |more: &[&str], expected: &str| {
        let (code, said) = run(&[&["import", source_name, "--out", out_name], more].concat());
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(!out.exists());
    };
    refused(&[], "with --image");
    refused(&["--image", "nowhere"], "nowhere");
    let start = folder.path().join("logs");
    fit(&start, "start", &["--model", "vit_t8_64", "--steps", "1"]);
    let start = start.join("start");
    let image = ["--image", start.to_str().unwrap()];
    refused(
        &[&image[..], &["--labels", "x.tsv"]].concat(),
        "--labels: expected an EfficientNet",
    );
    fs::write(source.join("vocab.txt"), "[PAD]\nother\n").unwrap();
    refused(
        &image,
        "vocab.txt: expected the word pieces of BERT's uncased models",
    );
    fs::write(source.join("config.json"), "{\"model_type\": \"roberta\"}").unwrap();
    refused(&image, "`model_type`: expected \"bert\", found \"roberta\"");
}

//! The gate of `trainer export` on imported models, with the user's own images as probe.

use std::path::Path;

use espalier_tests::{photos, taxonomy};
use serde_json::Value;

use crate::import::support::{call, imported};

/// Writes a taxonomy of two labels and images of both.
fn probe(folder: &Path) {
    let two = taxonomy("r\tthing\t\t0\na\ta house\tr\t1\nb\ta tree\tr\t1\n");
    std::fs::write(folder.join("two.tsv"), two).unwrap();
    for label in ["a", "b"] {
        std::fs::create_dir_all(folder.join("probe").join(label)).unwrap();
        for i in 0..4 {
            let mut image = photos::landscape(60 + 5 * i, 60);
            if label == "b" {
                image.pixels_mut().for_each(|p| p.0.rotate_left(1));
            }
            let name = format!("probe/{label}/{i}.jpg");
            std::fs::write(folder.join(name), photos::jpeg(&image, 1)).unwrap();
        }
    }
}

#[test]
fn imported_models_pass_or_are_refused_by_their_own_probe() {
    let heads: &[&str] = &["--heads", "2", "--text-heads", "2"];
    for (name, flags, kind) in [
        ("hf", &[][..], "sphere"),
        ("meru.pth", heads, "lorentz"),
        ("phyclip.pth", heads, "product"),
    ] {
        let (folder, ours) = imported(name, flags);
        probe(folder.path());
        let path = |name: &str| folder.path().join(name).display().to_string();
        let export = |out: &str, most: &str| {
            call(&[
                "export",
                "--checkpoint",
                &ours.display().to_string(),
                "--out",
                &path(out),
                "--dtype",
                "q8",
                "--taxonomy",
                &path("two.tsv"),
                "--probe",
                &path("probe"),
                &format!("--max-drop={most}"),
                "--json",
            ])
        };
        // No gain can exceed 100 points, so no bundle passes this gate.
        let refused = export("refused", "-101");
        assert_eq!(refused.code, Some(3), "{name}: {}", refused.said);
        assert!(refused.said.contains("--max-drop"), "{}", refused.said);
        assert!(!Path::new(&path("refused")).exists());
        let passed = export("bundle", "100");
        assert_eq!(passed.code, Some(0), "{name}: {}", passed.said);
        let told: Value = serde_json::from_str(&passed.out).unwrap();
        assert_eq!(told["images"], 8, "{told}");
        let cosine = told["gate"]["cosine_mean"]["bundle"].as_f64().unwrap();
        assert!(cosine > 0.98, "{name}: {told}");
        let manifest = std::fs::read(folder.path().join("bundle/manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        assert_eq!(manifest["geometry"]["kind"], kind);
        assert_eq!(manifest["provenance"]["measured_on"], "probe");
        // The bundle can be evaluated like any other model.
        let found = call(&[
            "eval",
            "--checkpoint",
            &path("bundle"),
            "--task",
            "zero-shot",
            "--taxonomy",
            &path("two.tsv"),
            "--data",
            &path("probe"),
            "--json",
            "--no-cache",
        ]);
        assert_eq!(found.code, Some(0), "{name}: {}", found.said);
        let found: Value = serde_json::from_str(&found.out).unwrap();
        let gate = &told["gate"]["acc1"]["bundle"];
        let own = found["metrics"]["acc1"].as_f64().unwrap();
        assert!(
            (own - gate.as_f64().unwrap()).abs() < 1e-9,
            "{name}: {own} {gate}"
        );
    }
}

#[test]
fn an_imported_model_without_a_probe_asks_for_one() {
    let (folder, ours) = imported("hf", &[]);
    let out = folder.path().join("bundle");
    let called = call(&[
        "export",
        "--checkpoint",
        &ours.display().to_string(),
        "--out",
        &out.display().to_string(),
    ]);
    assert_eq!(called.code, Some(2), "{}", called.said);
    assert!(called.said.contains("--probe"), "{}", called.said);
    assert!(!out.exists());
}

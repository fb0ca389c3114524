//! The gate of `trainer export` on imported models, with the user's own images as probe.

use std::path::Path;

use espalier_tests::calls::call;
use espalier_tests::{json_of, photos, taxonomy};

use crate::import::support::{HEADS, imported};

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
    for (name, flags, kind) in [
        ("hf", "", "sphere"),
        ("meru.pth", HEADS, "lorentz"),
        ("phyclip.pth", HEADS, "product"),
    ] {
        let (folder, ours) = imported(name, flags);
        probe(folder.path());
        let path = |name: &str| folder.path().join(name);
        let export = |out: &str, most: &str| {
            call("export --dtype q8 --json")
                .set("--checkpoint", &ours)
                .set("--out", path(out))
                .set("--taxonomy", path("two.tsv"))
                .set("--probe", path("probe"))
                .with(most)
        };
        // No gain can exceed 100 points, so no bundle passes this gate.
        export("refused", "--max-drop=-101").ends_with(3, &["--max-drop"]);
        assert!(!path("refused").exists());
        let told = export("bundle", "--max-drop=100").json();
        assert_eq!(told["images"], 8, "{told}");
        let cosine = told["gate"]["cosine_mean"]["bundle"].as_f64().unwrap();
        assert!(cosine > 0.98, "{name}: {told}");
        let manifest = json_of(&path("bundle/manifest.json"));
        assert_eq!(manifest["geometry"]["kind"], kind);
        assert_eq!(manifest["provenance"]["measured_on"], "probe");
        // The bundle can be evaluated like any other model.
        let found = call("eval --task zero-shot --json --no-cache")
            .set("--checkpoint", path("bundle"))
            .set("--taxonomy", path("two.tsv"))
            .set("--data", path("probe"))
            .json();
        let gate = told["gate"]["acc1"]["bundle"].as_f64().unwrap();
        let own = found["metrics"]["acc1"].as_f64().unwrap();
        assert!((own - gate).abs() < 1e-9, "{name}: {own} {gate}");
        // An imported model has no images of its own to be measured on.
        let unmeasured = call("export").set("--out", path("unmeasured"));
        let unmeasured = unmeasured.set("--checkpoint", &ours);
        unmeasured.refused(&["--probe"]);
        assert!(!path("unmeasured").exists());
    }
}

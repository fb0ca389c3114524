//! What the tasks read: made once, of the sample photos, the stored checkpoints and the program itself.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xtask::files::copy_folder;

use super::process::{Conditions, run, set_mode};

/// Records of the data that is prepared.
const RECORDS: usize = 24;
/// Shards of that data.
const SHARDS: usize = 3;

/// Folder and program that all tasks share.
pub(super) struct Inputs {
    pub(super) folder: PathBuf,
    pub(super) trainer: PathBuf,
}

impl Inputs {
    /// Writes the inputs below a folder; trains a model if one is needed.
    pub(super) fn build(
        root: &Path,
        trainer: &Path,
        below: &Path,
        needs_model: bool,
    ) -> Result<Self> {
        let folder = below.join("inputs");
        fs::create_dir_all(&folder)?;
        // A user without rights runs the program in some rounds.
        fs::set_permissions(below, fs::Permissions::from_mode(0o755))?;
        let program = below.join("trainer");
        fs::copy(trainer, &program).with_context(|| format!("{}", trainer.display()))?;
        let inputs = Self {
            folder,
            trainer: program,
        };
        inputs.photos(root)?;
        inputs.shards(root)?;
        inputs.page()?;
        copy_folder(
            &root.join("tests/golden/checkpoints/hf"),
            &inputs.folder.join("published"),
        )?;
        fs::write(
            inputs.folder.join("captions.txt"),
            "a shape\na red circle\na blue square\na green triangle\n",
        )?;
        if needs_model {
            inputs.model()?;
        }
        set_mode(&inputs.folder, 0o755)?;
        Ok(inputs)
    }

    /// A folder of classes with small photos.
    fn photos(&self, root: &Path) -> Result<()> {
        for name in ["cat", "car", "clock", "barn"] {
            let class = self.folder.join("classes").join(name);
            fs::create_dir_all(&class)?;
            let photo = root.join(format!("static/samples/small/{name}.jpg"));
            fs::copy(&photo, class.join("1.jpg"))
                .with_context(|| format!("{}", photo.display()))?;
        }
        Ok(())
    }

    /// Tars as img2dataset writes them, of GRIT's records.
    fn shards(&self, root: &Path) -> Result<()> {
        let folder = self.folder.join("shards");
        fs::create_dir_all(&folder)?;
        let photo = fs::read(root.join("static/samples/small/cat.jpg"))?;
        for shard in 0..SHARDS {
            let file = fs::File::create(folder.join(format!("{shard:05}.tar")))?;
            let mut tar = tar::Builder::new(file);
            for record in 0..RECORDS / SHARDS {
                let key = format!("{:06}", shard * RECORDS / SHARDS + record);
                let about = serde_json::json!({
                    "key": key,
                    "caption": "a cat that looks up",
                    "noun_chunks": [[0, 5, 0.0, 0.0, 0.9, 1.0, 0.9]],
                    "ref_exps": [[0, 5, 0.1, 0.0, 0.9, 1.0, 0.9]],
                });
                for (ending, bytes) in [
                    ("jpg", photo.clone()),
                    ("json", serde_json::to_vec(&about)?),
                    ("txt", b"a cat that looks up".to_vec()),
                ] {
                    let mut header = tar::Header::new_ustar();
                    header.set_size(bytes.len() as u64);
                    header.set_mode(0o644);
                    header.set_cksum();
                    tar.append_data(&mut header, format!("{key}.{ending}"), bytes.as_slice())?;
                }
            }
            tar.finish()?;
        }
        Ok(())
    }

    /// Files of the names of a built page. What is in them does not matter here: the site is a copy.
    fn page(&self) -> Result<()> {
        let folder = self.folder.join("page");
        for (name, bytes) in [
            ("index.html", 40_000),
            ("engines.json", 300),
            ("sw.js", 3_000),
            ("widget/espalier-ladder.js", 20_000),
            ("demo/index.html", 2_000),
            ("engine/worker_bg.wasm", 3_000_000),
        ] {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            fs::write(path, name.as_bytes().repeat(bytes / name.len() + 1))?;
        }
        Ok(())
    }

    /// A model after two steps, and its bundle.
    fn model(&self) -> Result<()> {
        self.done(
            "fit --dataset synthetic --method clip --model vit_t8_64 --batch-size 4 --steps 2 --warmup 1 \
             --lr 1e-3 --deterministic --name model dataset.synthetic_records=16 --logs $ALL/logs",
        )?;
        self.done(
            "export --dtype q6 --probe-size 8 --max-drop 100 --checkpoint $ALL/logs/model \
             --captions $ALL/captions.txt --out $ALL/bundle",
        )
    }

    fn done(&self, line: &str) -> Result<()> {
        let arguments = words(line, &[("$ALL", self.folder.as_path())]);
        let conditions = Conditions::default();
        let ended = run(&self.trainer, &arguments, &self.folder, conditions)?;
        if ended.code() != 0 {
            bail!("trainer {}: {}", arguments.join(" "), ended.stderr);
        }
        Ok(())
    }
}

/// Returns the words of a command line without quotes, with paths in place of their names.
pub(super) fn words(line: &str, places: &[(&str, &Path)]) -> Vec<String> {
    let with_paths = |word: &str| {
        places.iter().fold(word.to_owned(), |word, (name, path)| {
            word.replace(name, &path.display().to_string())
        })
    };
    line.split_whitespace().map(with_paths).collect()
}

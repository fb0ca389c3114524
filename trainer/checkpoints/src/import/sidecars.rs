//! Sidecar files of the weights: configurations, merges, a README.

use espalier_core::input::{Resampling, ResizeMode, Tokenizer, TokenizerRules, merges_prefix};
use espalier_io::exit::usage;
use serde_json::json;

use super::choices::Choice;
use super::flags::Flags;
use super::source::{Files, read_json};
use super::stated_config::{Pixels, StatedConfig, stated};
use super::{family, hugging_face, open_clip, preprocessing};
use crate::layout::{Layout, Measured};
use crate::model_file::MERGES;

/// Reads the values that the sidecar files state.
pub(super) fn read_stated(
    layout: Layout,
    files: &Files,
    measured: &Measured,
) -> anyhow::Result<StatedConfig> {
    match layout {
        Layout::HuggingFace => {
            let mut config = match files.json("config.json")? {
                Some(config) => hugging_face::read_config(&config)?,
                None => StatedConfig {
                    pre_norm: stated(true, layout.title()),
                    ..family::clip(layout.title(), TokenizerRules::Transformers)
                },
            };
            for name in ["preprocessor_config.json", "processor_config.json"] {
                if let Some(preprocessor) = files.json(name)? {
                    config.pixels = preprocessing::hugging_face(&preprocessor, name)?;
                    break;
                }
            }
            Ok(config)
        }
        Layout::OpenClip => match files.json("open_clip_config.json")? {
            Some(config) => open_clip::read_config(&config),
            None => Ok(family::clip(layout.title(), TokenizerRules::OpenClip)),
        },
        Layout::Meru => Ok(family::meru(measured)),
        // Its shapes determine everything, see `efficientnet`.
        Layout::EfficientnetLite | Layout::Bert => Ok(StatedConfig::default()),
    }
}

/// Resolves the value of `--preprocess`.
pub(super) fn named_preprocessing(flags: &Flags) -> anyhow::Result<Pixels> {
    let Some(path) = &flags.preprocess else {
        return Ok(Pixels::default());
    };
    let name = path.to_string_lossy();
    let (mean, std) = match name.as_ref() {
        "openai" => preprocessing::OPENAI,
        "imagenet" => preprocessing::IMAGENET,
        _ => {
            return preprocessing::hugging_face(&read_json(path)?, &format!("--preprocess {name}"));
        }
    };
    Ok(Pixels {
        mean: stated(mean, "--preprocess"),
        std: stated(std, "--preprocess"),
        resize: stated(ResizeMode::CentreCrop, "--preprocess"),
        // torchvision's transforms of Pillow's images, in both recipes.
        resampling: stated(Resampling::PillowBicubic, "--preprocess"),
        ..Pixels::default()
    })
}

/// Checks that the tokenizer is CLIP's, at full size or truncated; sidecar merges must agree.
pub(super) fn check_vocabulary(files: &Files, vocab: usize) -> anyhow::Result<Choice> {
    Tokenizer::from_merges(MERGES, vocab)?;
    let by = match files.text("merges.txt")? {
        None => "number of token ids",
        Some(text) => {
            let lines = |text: &str| -> Vec<String> {
                let prefix = merges_prefix(text, vocab);
                let merges = prefix.lines().filter(|l| !l.contains("#version"));
                merges.map(str::to_owned).collect()
            };
            if lines(&text) != lines(MERGES) {
                return Err(usage(
                    "merges.txt: expected the merges of CLIP's vocabulary, found different ones; \
                     models with another tokenizer cannot be imported",
                ));
            }
            "merges.txt"
        }
    };
    let value = json!(format!("CLIP, {vocab} ids"));
    Ok(Choice::new("tokenizer", value, by))
}

/// Returns the licence that the user states, else that of a README beside the weights.
pub(super) fn licence(files: &Files, stated: Option<&String>) -> anyhow::Result<Option<String>> {
    let readme = files.text("README.md")?;
    let stated = stated.cloned();
    Ok(stated.or_else(|| licence_of(&readme?)))
}

/// Returns the value of `license:` in the front matter of a README; where that is `other`, the
/// value of `license_name:`.
fn licence_of(readme: &str) -> Option<String> {
    let matter = readme.strip_prefix("---")?.split("\n---").next()?;
    let value = |key: &str| {
        let line = matter.lines().find_map(|l| l.strip_prefix(key))?;
        let value = line.trim().trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| value.to_owned())
    };
    value("license:")
        .filter(|l| l != "other")
        .or_else(|| value("license_name:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_read_from_the_front_matter() {
        let readme = "---\ntags: [x]\nlicense: cc-by-nc-4.0\n---\nlicense: other\n";
        assert_eq!(licence_of(readme).as_deref(), Some("cc-by-nc-4.0"));
        assert_eq!(licence_of("license: mit"), None);
        assert_eq!(licence_of("---\nlicense: other\n---\n"), None);
        let named = "---\nlicense: other\nlicense_name: x-1\n---\n";
        assert_eq!(licence_of(named).as_deref(), Some("x-1"));
        assert_eq!(licence_of("---\nlicense:\n---\n"), None);
    }
}

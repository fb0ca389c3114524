//! Configurations of runs: TOML files and `block.key=value`.

use espalier_trainer::config::TrainConfig;
use toml::Table;

use crate::input_files::InputFiles;

/// Line between the text of a file and the pairs.
const PAIRS: &str = "\n---\n";

const NAME: &str = "config.toml";

thread_local! {
    static FILES: InputFiles = InputFiles::new(&[NAME], &[]);
}

/// Reads a text as a file; what follows a line `---` are pairs, one per line.
///
/// # Panics
/// If a configuration that was accepted cannot be used, or cannot be written and read again.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let (file, pairs) = text.split_once(PAIRS).unwrap_or((text, ""));
    let pairs: Vec<String> = pairs.lines().map(str::to_owned).collect();
    FILES.with(|files| {
        let path = files.path(NAME);
        let read = |text: &str, pairs: &[String]| {
            files.write(text.as_bytes());
            TrainConfig::resolve(Some(&path), Table::new(), pairs)
        };
        let Ok(config) = read(file, &pairs) else {
            return;
        };
        let _ = (config.samples_of_step(), config.checkpoint_bytes());
        let _ = (config.caches_features(), config.model.architecture());
        let written = config.to_toml().unwrap_or_else(|e| panic!("{e:#}"));
        let again = read(&written, &[]).unwrap_or_else(|e| panic!("{e:#}, in\n{written}"));
        assert_eq!(again, config);
        let published = config.without_folders();
        assert!(published.to_toml().is_ok());
    });
}

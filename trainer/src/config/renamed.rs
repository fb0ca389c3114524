//! Keys that were renamed. Their old names still work in files, flags and overrides, so that run
//! folders and configurations of earlier versions open.

use toml::{Table, Value};

/// Block, old key, and new key.
const RENAMED: [(&str, &str, &str); 5] = [
    ("dataset", "climb", "hypernym_prob"),
    ("dataset", "mirror", "hflip"),
    ("dataset", "worn", "corrupt_prob"),
    ("loss", "nothing", "outliers"),
    ("train", "tower_threads", "encoder_threads"),
];

/// Returns the current name of a key of a block.
pub(super) fn current<'a>(block: &str, key: &'a str) -> &'a str {
    RENAMED
        .iter()
        .find(|(b, old, _)| *b == block && *old == key)
        .map_or(key, |(_, _, new)| new)
}

/// Replaces old keys of a layer by the current ones. A layer that has both keeps the current one.
pub(super) fn rename(layer: &mut Table) {
    for (block, old, new) in RENAMED {
        let Some(Value::Table(block)) = layer.get_mut(block) else {
            continue;
        };
        if let Some(value) = block.remove(old) {
            block.entry(new).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BASE, TrainConfig};

    #[test]
    fn every_new_key_has_a_default_and_no_old_key_has_one() {
        let base: Table = BASE.parse().unwrap();
        for (block, old, new) in RENAMED {
            let block = base[block].as_table().unwrap();
            assert!(block.contains_key(new), "{new}");
            assert!(!block.contains_key(old), "{old}");
        }
    }

    #[test]
    fn old_keys_of_files_and_overrides_set_the_new_ones() {
        let mut layer: Table = "[dataset]\nworn = 0.25\nclimb = 0.5\n".parse().unwrap();
        rename(&mut layer);
        let pairs = ["dataset.mirror=true".to_owned()];
        let config = TrainConfig::resolve(None, layer, &pairs).unwrap();
        assert_eq!(config.dataset.corrupt_prob, 0.25);
        assert_eq!(config.dataset.hypernym_prob, 0.5);
        assert!(config.dataset.hflip);
    }

    #[test]
    fn the_current_key_wins_over_the_old_one_in_the_same_layer() {
        let mut layer: Table = "[dataset]\nworn = 0.25\ncorrupt_prob = 0.5\n"
            .parse()
            .unwrap();
        rename(&mut layer);
        assert_eq!(layer["dataset"]["corrupt_prob"].as_float(), Some(0.5));
        assert!(!layer["dataset"].as_table().unwrap().contains_key("worn"));
    }
}

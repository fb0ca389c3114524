//! Keys that were renamed or moved. Their old names still work in files, flags and overrides, so that run
//! folders and configurations of earlier versions open.

use toml::{Table, Value};

/// Block, old key, and new key.
const RENAMED: [(&str, &str, &str); 6] = [
    ("dataset", "climb", "hypernym_prob"),
    ("dataset", "mirror", "hflip"),
    ("dataset", "worn", "corrupt_prob"),
    ("loss", "nothing", "outliers"),
    ("loss", "parts_space", "space"),
    ("train", "tower_threads", "encoder_threads"),
];

/// Replaces old keys of a layer by the current ones. A layer that has both keeps the current one. `base` has
/// all keys of today.
pub(super) fn rename(layer: &mut Table, base: &Table) {
    for (block, old, new) in RENAMED {
        let Some(Value::Table(block)) = layer.get_mut(block) else {
            continue;
        };
        if let Some(value) = block.remove(old) {
            block.entry(new).or_insert(value);
        }
    }
    if let (Some(Value::Table(loss)), Some(Value::Table(base))) =
        (layer.get_mut("loss"), base.get("loss"))
    {
        move_to_methods(loss, base);
    }
}

/// Moves options of methods that stand in `[loss]` itself to the tables of all methods that have the option.
/// All stood there before methods had tables.
fn move_to_methods(loss: &mut Table, base: &Table) {
    let methods_with = |key: &str| {
        let has_key = |value: &Value| value.get(key).is_some();
        let methods = base.iter().filter(|(_, value)| has_key(value));
        methods
            .map(|(method, _)| method.as_str())
            .collect::<Vec<&str>>()
    };
    let keys: Vec<String> = loss.keys().cloned().collect();
    for key in keys {
        let methods = methods_with(&key);
        if methods.is_empty() {
            continue;
        }
        let Some(value) = loss.remove(&key) else {
            continue;
        };
        for method in methods {
            let options = loss.entry(method).or_insert_with(|| Table::new().into());
            if let Value::Table(options) = options {
                options.entry(key.as_str()).or_insert_with(|| value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BASE, TrainConfig};

    fn base() -> Table {
        BASE.parse().unwrap()
    }

    #[test]
    fn every_new_key_has_a_default_and_no_old_key_has_one() {
        for (block, old, new) in RENAMED {
            let base = base();
            let block = base[block].as_table().unwrap();
            let of_methods = || block.values().any(|value| value.get(new).is_some());
            assert!(block.contains_key(new) || of_methods(), "{new}");
            assert!(!block.contains_key(old), "{old}");
        }
    }

    #[test]
    fn old_keys_of_files_and_overrides_set_the_new_ones() {
        let layer = "[dataset]\nworn = 0.25\nclimb = 0.5\n".parse().unwrap();
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
        rename(&mut layer, &base());
        assert_eq!(layer["dataset"]["corrupt_prob"].as_float(), Some(0.5));
        assert!(!layer["dataset"].as_table().unwrap().contains_key("worn"));
    }

    #[test]
    fn options_in_loss_itself_are_those_of_every_method_that_has_them() {
        let file = "[loss]\nentail = 0.5\nparts_space = \"euclidean\"\nroot_text = \"thing\"\n\
                    order = 2.0\n[loss.meru]\nentail = 0.25\n";
        let pairs = ["loss.margin=1", "loss.rcme.margin=0.5"].map(str::to_owned);
        let config = TrainConfig::resolve(None, file.parse().unwrap(), &pairs).unwrap();
        let loss = &config.loss;
        assert_eq!(loss.meru.entail, 0.25);
        assert_eq!([loss.hycoclip.entail, loss.phyclip.entail], [0.5, 0.5]);
        assert_eq!((loss.ec.margin, loss.rcme.margin), (1.0, 0.5));
        let roots = [&loss.re.root_text, &loss.ec.root_text, &loss.rcme.root_text];
        assert_eq!(roots, ["thing"; 3]);
        assert_eq!(loss.parts.space, crate::config::PartsSpace::Euclidean);
        assert_eq!(loss.order, 2.0);
    }

    #[test]
    fn an_option_that_no_method_has_is_refused_by_name() {
        let refused = |pair: &str| TrainConfig::of_pairs(&[pair]).unwrap_err().to_string();
        assert!(refused("loss.marjin=1").contains("unknown field `marjin`"));
        assert!(refused("loss.re.margin=1").contains("unknown field `margin`"));
    }
}

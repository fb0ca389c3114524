//! Finds the dictionary of weights inside a training checkpoint of PyTorch.

use std::collections::{BTreeMap, BTreeSet};

use super::pickle::{Arena, Node, Ref, TensorView};

/// Keys under which programs store weights, in order of preference. An average stands behind the weights that it
/// was made from.
const KEYS: [&str; 10] = [
    "model",
    "state_dict",
    "model_state_dict",
    "module",
    "network",
    "net",
    "weights",
    "ema",
    "model_ema",
    "ema_state_dict",
];
/// Most dictionaries inside each other.
const MAX_DEPTH: usize = 8;

/// The weights of a training checkpoint.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Tensors by their names.
    pub(super) tensors: BTreeMap<String, TensorView>,
    /// Keys that lead to their dictionary.
    pub(super) keys: Vec<String>,
    /// Keys of the other entries on the way, for example `optimizer`.
    pub(super) others: Vec<String>,
}

impl Weights {
    /// Returns the names and shapes of all tensors.
    pub(super) fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        let shapes = self.tensors.iter();
        shapes.map(|(n, t)| (n.clone(), t.shape.clone())).collect()
    }
}

/// Returns the tensors of a dictionary by their names.
fn tensors(arena: &Arena, entries: &[(Ref, Ref)]) -> Result<BTreeMap<String, TensorView>, String> {
    let named = entries.iter().map(|(key, value)| {
        let name = arena
            .text(*key)
            .ok_or("a key of its dictionary is not a string")?;
        match arena.get(*value) {
            Node::Tensor(view) => Ok((name.to_owned(), view.clone())),
            _ => Err(format!(
                "`{name}` in its dictionary of weights is not a tensor"
            )),
        }
    });
    named.collect()
}

/// Enters dictionaries until one contains tensors.
///
/// # Errors
/// With the keys that were found, if none does; for one that contains anything else besides tensors.
pub(super) fn find(arena: &Arena, top: Ref) -> Result<Weights, String> {
    let mut found = Weights::default();
    let mut dict = top;
    for _ in 0..MAX_DEPTH {
        let entries = arena.entries(dict);
        let entries = entries.ok_or("it contains no dictionary of tensors")?;
        let is_dict = |at: Ref| arena.entries(at).is_some_and(|e| !e.is_empty());
        let named = KEYS.iter().find_map(|key| {
            let inner = arena.lookup(dict, key).filter(|at| is_dict(*at));
            inner.map(|at| ((*key).to_owned(), at))
        });
        let has_tensors = || {
            let mut values = entries.iter().map(|(_, value)| arena.get(*value));
            values.any(|value| matches!(value, Node::Tensor(_)))
        };
        let only = || {
            let mut dicts = entries.iter().filter(|(_, value)| is_dict(*value));
            let (key, value) = dicts.next().filter(|_| dicts.next().is_none())?;
            Some((arena.text(*key)?.to_owned(), *value))
        };
        let next = match named {
            None if entries.is_empty() || has_tensors() => {
                found.tensors = tensors(arena, entries)?;
                return Ok(found);
            }
            None => only(),
            named => named,
        };
        // One long key may be named many times.
        let keys: BTreeSet<&str> = entries.iter().filter_map(|(k, _)| arena.text(*k)).collect();
        let Some((key, inner)) = next else {
            let keys: Vec<&str> = keys.into_iter().take(12).collect();
            return Err(format!(
                "expected tensors or a dictionary of them under one of {}; found the keys {}",
                KEYS.join(", "),
                keys.join(", ")
            ));
        };
        let others = keys.into_iter().filter(|other| *other != key);
        found.others.extend(others.map(str::to_owned));
        found.keys.push(key);
        dict = inner;
    }
    Err(format!(
        "expected at most {MAX_DEPTH} dictionaries inside each other"
    ))
}

#[cfg(test)]
mod tests {
    use espalier_io::disk::dtype::Number;

    use super::super::pickle::Storage;
    use super::*;

    fn tensor(arena: &mut Arena) -> Ref {
        let storage = Storage {
            key: "0".into(),
            number: Number::F32,
            len: 1,
        };
        arena.push(Node::Tensor(TensorView {
            storage,
            offset: 0,
            shape: vec![1],
            strides: vec![1],
        }))
    }

    fn dict(arena: &mut Arena, entries: &[(&str, Ref)]) -> Ref {
        let entries = entries.iter();
        let entries = entries
            .map(|(key, value)| (arena.push(Node::Text((*key).to_owned())), *value))
            .collect();
        arena.push(Node::Dict(entries))
    }

    #[test]
    fn dictionaries_are_entered_until_tensors_are_found() {
        let mut arena = Arena::default();
        let weight = tensor(&mut arena);
        let weights = dict(&mut arena, &[("a.weight", weight)]);
        let epoch = arena.push(Node::Int(3));
        let inner = dict(&mut arena, &[("state_dict", weights), ("epoch", epoch)]);
        let top = dict(
            &mut arena,
            &[("optimizer", epoch), ("ema", weights), ("model", inner)],
        );
        let found = find(&arena, top).unwrap();
        assert!(found.tensors.keys().eq(["a.weight"]));
        assert_eq!(found.keys, ["model", "state_dict"]);
        assert_eq!(found.others, ["ema", "optimizer", "epoch"]);

        let odd = dict(&mut arena, &[("my_encoder", weights), ("epoch", epoch)]);
        assert_eq!(find(&arena, odd).unwrap().keys, ["my_encoder"]);
        assert!(find(&arena, weights).unwrap().keys.is_empty());
    }

    #[test]
    fn several_unknown_dictionaries_are_named() {
        let mut arena = Arena::default();
        let weight = tensor(&mut arena);
        let weights = dict(&mut arena, &[("a.weight", weight)]);
        let top = dict(&mut arena, &[("student", weights), ("teacher", weights)]);
        let error = find(&arena, top).unwrap_err();
        assert!(error.ends_with("the keys student, teacher"), "{error}");
        let mut dict_of_itself = top;
        for _ in 0..20 {
            dict_of_itself = dict(&mut arena, &[("model", dict_of_itself)]);
        }
        assert!(
            find(&arena, dict_of_itself)
                .unwrap_err()
                .contains("at most 8")
        );
    }
}

//! Converts tensors to our names and shapes; reports missing, unused and misshapen tensors.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use espalier_core::model::LiftKind;
use espalier_core::weights::Tensors;
use espalier_io::exit::usage;
use serde::Serialize;

use super::store::Store;
use crate::layout::{Layout, TensorMapping, import_tensor};

/// Number of names that a message lists before it gives only the count of the rest.
const LISTED: usize = 20;

/// A tensor that fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Our name.
    pub tensor: String,
    /// Names in the file.
    pub from: Vec<String>,
}

/// A tensor whose shape does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misshapen {
    /// Name in the file.
    pub tensor: String,
    /// Shape that the architecture needs.
    #[serde(rename = "wanted")]
    pub expected: Vec<usize>,
    /// Shape in the file.
    pub found: Vec<usize>,
}

/// How a file fits an architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Match {
    /// Tensors that fit.
    pub applied: Vec<Applied>,
    /// Needed but not in the file, by their names in that layout.
    pub missing: Vec<String>,
    /// In the file but not used.
    pub unused: Vec<String>,
    /// In the file with another shape.
    pub misshapen: Vec<Misshapen>,
    /// In the file and known to carry no information: masks, counters, sizes.
    pub ignored: Vec<String>,
    /// Kept for the conversion back, although the model does not use them.
    pub kept: Vec<String>,
}

impl Match {
    /// Compares a file with the table of an architecture.
    pub fn of(store: &Store, layout: Layout, lift: LiftKind, mappings: &[TensorMapping]) -> Self {
        let mut found = Self::default();
        let mut used = BTreeSet::new();
        for mapping in mappings {
            let mut fits = true;
            for name in &mapping.theirs {
                used.insert(name.as_str());
                match store.shape(name) {
                    None => {
                        fits = false;
                        found.missing.push(name.clone());
                    }
                    Some(shape) if !same_shape(shape, &mapping.their_shape) => {
                        fits = false;
                        found.misshapen.push(Misshapen {
                            tensor: name.clone(),
                            expected: mapping.their_shape.clone(),
                            found: shape.to_vec(),
                        });
                    }
                    Some(_) => {}
                }
            }
            if fits {
                found.applied.push(Applied {
                    tensor: mapping.ours.clone(),
                    from: mapping.theirs.clone(),
                });
            }
        }
        for name in store.names().filter(|name| !used.contains(name)) {
            let is_scalar = store.shape(name).is_some_and(|s| s.iter().all(|n| *n == 1));
            let list = if layout.unused_scalars(lift).contains(&name) && is_scalar {
                &mut found.kept
            } else if layout.is_uninformative(name) {
                &mut found.ignored
            } else {
                &mut found.unused
            };
            list.push(name.to_owned());
        }
        found
    }

    /// Returns whether every tensor fits and none is unused.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.unused.is_empty() && self.misshapen.is_empty()
    }

    /// Describes what does not fit, as text for the user.
    pub fn describe_problems(&self) -> String {
        let misshapen = self.misshapen.iter().map(|m| {
            format!(
                "{}: expected {:?}, found {:?}",
                m.tensor, m.expected, m.found
            )
        });
        let mut out = String::new();
        for (what, names) in [
            ("missing", self.missing.clone()),
            ("unused", self.unused.clone()),
            ("misshapen", misshapen.collect()),
        ] {
            if names.is_empty() {
                continue;
            }
            // Writing to a String cannot fail.
            let _ = write!(out, "\n  {} {what}:", names.len());
            for name in names.iter().take(LISTED) {
                let _ = write!(out, "\n    {name}");
            }
            if names.len() > LISTED {
                let _ = write!(out, "\n    and {} more, see --json", names.len() - LISTED);
            }
        }
        out
    }
}

/// Returns whether two shapes are equal; a single number may have rank 0 or 1.
fn same_shape(found: &[usize], expected: &[usize]) -> bool {
    found == expected || (expected.is_empty() && found == [1])
}

/// Reads the numbers of all tensors, converted to our layout.
///
/// # Errors
/// Bad usage: tensors that do not fit (all of them named), or that cannot be read or are not finite.
pub fn read_fitting(
    store: &mut Store,
    matched: &Match,
    mappings: &[TensorMapping],
) -> anyhow::Result<Tensors> {
    if !matched.is_complete() {
        return Err(usage(format!(
            "the tensors do not fit the architecture; nothing was written{}",
            matched.describe_problems()
        )));
    }
    let mut out = Tensors::default();
    for mapping in mappings {
        let parts: Result<Vec<_>, _> = mapping.theirs.iter().map(|n| store.read(n)).collect();
        let tensor = import_tensor(mapping, parts?).map_err(usage)?;
        if tensor.data.iter().any(|v| !v.is_finite()) {
            return Err(usage(format!(
                "tensor `{}`: expected finite numbers, found NaN or infinity",
                mapping.theirs.join(", ")
            )));
        }
        out.tensors.insert(mapping.ours.clone(), tensor);
    }
    Ok(out)
}

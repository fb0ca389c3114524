//! Prefixes that wrappers put before all names of a file: data parallelism, compilation, training frameworks.

/// Prefixes of wrappers, which may stand one behind the other in any order.
const WRAPPERS: [&str; 4] = ["_orig_mod.", "module.", "model.", "state_dict."];

/// Returns the prefix of wrappers that all names share; empty if there is none.
pub(super) fn shared<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let mut prefix = String::new();
    loop {
        let fits = |wrapper: &&&str| {
            let start = format!("{prefix}{wrapper}");
            let mut names = names.clone().peekable();
            names.peek().is_some() && names.all(|name| name.starts_with(&start))
        };
        match WRAPPERS.iter().find(fits) {
            Some(wrapper) => prefix.push_str(wrapper),
            None => return prefix,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_names_share_is_found_in_any_order() {
        let of = |names: &[&str]| shared(names.iter().copied());
        assert_eq!(
            of(&["module._orig_mod.a", "module._orig_mod.b"]),
            "module._orig_mod."
        );
        assert_eq!(
            of(&["_orig_mod.module.a", "_orig_mod.module.b"]),
            "_orig_mod.module."
        );
        assert_eq!(of(&["model.model.a", "model.b"]), "model.");
        assert_eq!(of(&["model.a", "loss.b"]), "");
        assert_eq!(of(&["visual.a", "visual.b"]), "");
        assert_eq!(of(&[]), "");
    }
}

//! Checks of the inputs of losses, whose functions in core require fitting shapes.

use pyo3::PyResult;

use crate::arrays::Array;
use crate::errors::refused;

/// Checks that matrices have one shape, and returns it.
///
/// # Errors
/// Bad usage naming the first that differs.
pub(super) fn same<const N: usize>(arrays: [(&str, &Array); N]) -> PyResult<[usize; 2]> {
    let Some((first, array)) = arrays.first() else {
        return Err(refused("expected an array, found none"));
    };
    let dims = array.dims::<2>(first)?;
    for (name, array) in &arrays[1..] {
        array.expect(name, &dims, &format!("that of {first}"))?;
    }
    Ok(dims)
}

/// Checks that a width divides by the number of curvatures, and returns that number.
///
/// # Errors
/// Bad usage otherwise.
pub(super) fn curvatures(c: &Array, width: usize) -> PyResult<usize> {
    let [factors] = c.dims::<1>("c")?;
    if width.is_multiple_of(factors) {
        return Ok(factors);
    }
    Err(refused(format!(
        "c: expected one curvature for each factor of points of width {width}, found {factors}, by \
         which it does not divide"
    )))
}

/// Checks wholes, parts and the two matrices of their relations.
///
/// # Errors
/// Bad usage naming the array that does not fit.
pub(super) fn relations(
    wholes: &Array,
    parts: &Array,
    [pairs, entails]: [&Array; 2],
) -> PyResult<()> {
    let [n, d] = wholes.dims::<2>("wholes")?;
    let [m, _] = parts.dims::<2>("parts")?;
    parts.expect("parts", &[m, d], "of the width of wholes")?;
    let why = "one row for each whole and one column for each part";
    pairs.expect("pairs", &[n, m], why)?;
    entails.expect("entails", &[n, m], why)
}

/// Returns the sizes of chains `[b, n, d]` of at least `least` tiers.
///
/// # Errors
/// Bad usage for another array.
pub(super) fn chains((name, array): (&str, &Array), least: usize) -> PyResult<[usize; 3]> {
    let dims = array.dims::<3>(name)?;
    if dims[1] < least {
        return Err(refused(format!(
            "{name}: expected chains of at least {least} tiers, [b, n, d], found shape {dims:?}"
        )));
    }
    Ok(dims)
}

/// Checks the lineages of RCME, and returns the sizes of their texts.
///
/// # Errors
/// Bad usage naming the array that does not fit.
pub(super) fn lineages(texts: &Array, negatives: &Array, root: &Array) -> PyResult<[usize; 3]> {
    let [b, n, d] = chains(("texts", texts), 3)?;
    let why = "one for each text but the first";
    negatives.expect("negatives", &[b, n - 1, d], why)?;
    root.expect("root", &[1, d], "one point")?;
    Ok([b, n, d])
}

/// Returns the value of a name.
///
/// # Errors
/// Bad usage for an unknown name.
pub(super) fn choice<T, const N: usize>(
    argument: &str,
    found: &str,
    known: [(&str, T); N],
) -> PyResult<T> {
    let names = known.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let expected = names.join(" or ");
    let value = known.into_iter().find(|(name, _)| *name == found);
    value
        .map(|(_, value)| value)
        .ok_or_else(|| refused(format!("{argument}: expected {expected}, found {found}")))
}

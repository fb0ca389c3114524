//! Number formatting for SVG.

/// Returns at most two decimals; a value that is not finite cannot be drawn and becomes 0.
pub(super) fn number(v: f64) -> String {
    if !v.is_finite() {
        return "0".into();
    }
    let text = format!("{v:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

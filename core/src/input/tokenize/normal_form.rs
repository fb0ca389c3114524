//! Unicode's normal forms of a text. Browsers have the tables for them; elsewhere a crate brings them, which would be
//! a tenth of what the page's CPU engine weighs.

#[cfg(not(target_family = "wasm"))]
mod tables {
    use unicode_normalization::UnicodeNormalization;

    pub(super) fn composed(text: &str) -> String {
        text.nfc().collect()
    }

    #[cfg(feature = "burn")]
    pub(super) fn decomposed(text: &str) -> String {
        text.nfd().collect()
    }

    pub(super) fn compatible(text: &str) -> String {
        text.nfkc().collect()
    }
}

#[cfg(target_family = "wasm")]
mod tables {
    use js_sys::JsString;

    pub(super) fn composed(text: &str) -> String {
        JsString::from(text).normalize("NFC").into()
    }

    #[cfg(feature = "burn")]
    pub(super) fn decomposed(text: &str) -> String {
        JsString::from(text).normalize("NFD").into()
    }

    pub(super) fn compatible(text: &str) -> String {
        JsString::from(text).normalize("NFKC").into()
    }
}

/// Returns a text with composed characters (NFC).
pub(super) fn composed(text: &str) -> String {
    changed(text, tables::composed)
}

/// Returns a text with decomposed characters (NFD).
#[cfg(feature = "burn")]
pub(super) fn decomposed(text: &str) -> String {
    changed(text, tables::decomposed)
}

/// Returns the plain form of a character, such as the letters of a ligature (NFKC).
pub(super) fn compatible(c: char) -> String {
    changed(c.encode_utf8(&mut [0; 4]), tables::compatible)
}

/// Returns the form of a text; ASCII is in all of them.
fn changed(text: &str, form: fn(&str) -> String) -> String {
    if text.is_ascii() {
        text.to_owned()
    } else {
        form(text)
    }
}

//! Unicode's normal forms of a text. Browsers have the tables for them; elsewhere a crate brings them, which are too
//! large for the page's CPU engine.

/// A normal form.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// NFC: characters are composed.
    Composed,
    /// NFD: characters are decomposed.
    #[cfg(feature = "burn")]
    Decomposed,
    /// NFKC: as NFC, and ligatures, wide letters and the like become plain letters.
    Compatible,
}

/// Returns a text in a normal form.
pub(super) fn normalised(text: &str, form: Form) -> String {
    // ASCII is in all of them.
    if text.is_ascii() {
        text.to_owned()
    } else {
        by_tables(text, form)
    }
}

#[cfg(not(target_family = "wasm"))]
fn by_tables(text: &str, form: Form) -> String {
    use unicode_normalization::UnicodeNormalization;

    match form {
        Form::Composed => text.nfc().collect(),
        #[cfg(feature = "burn")]
        Form::Decomposed => text.nfd().collect(),
        Form::Compatible => text.nfkc().collect(),
    }
}

#[cfg(target_family = "wasm")]
fn by_tables(text: &str, form: Form) -> String {
    let name = match form {
        Form::Composed => "NFC",
        #[cfg(feature = "burn")]
        Form::Decomposed => "NFD",
        Form::Compatible => "NFKC",
    };
    js_sys::JsString::from(text).normalize(name).into()
}

//! Encodes parts of the page's state in a link: model, node, sample and dial. Never a photo.

use crate::messages::protocol::Backend;

/// The parsed query of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The requested engine; `None` for any other value than those of [`Backend::as_str`].
    pub backend: Option<Backend>,
    /// Names of models; the first is the page's own, the others are shown next to it.
    pub models: Vec<String>,
    /// First digits of the hash of the model that the link was made with.
    pub made_with: Option<String>,
    /// Id of a node to show in the taxonomy.
    pub node: Option<String>,
    /// Name of a sample photo to read, as in the file names of `samples/`.
    pub sample: Option<String>,
    /// Level of the dial; `None` is where the evidence stops.
    pub level: Option<usize>,
}

/// Number of digits of a model's hash in a link.
pub const HASH_DIGITS: usize = 12;

/// Maximum number of models shown side by side.
pub const MAX_MODELS: usize = 4;

impl Link {
    /// Parses a query, with or without its question mark. Ignores invalid and unknown parameters.
    pub fn from_query(query: &str) -> Self {
        let mut link = Self::default();
        for pair in query.trim_start_matches('?').split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value);
            match key {
                "backend" => link.backend = Backend::named(&value),
                "model" => {
                    for name in value.split(',').filter(|name| is_name(name)) {
                        if link.models.len() < MAX_MODELS && !link.models.iter().any(|m| m == name)
                        {
                            link.models.push(name.to_owned());
                        }
                    }
                }
                "with" => link.made_with = Some(value).filter(|v| !v.is_empty()),
                "node" => link.node = Some(value).filter(|v| !v.is_empty()),
                "sample" => link.sample = Some(value).filter(|v| is_name(v)),
                "level" => link.level = value.parse().ok(),
                _ => {}
            }
        }
        link
    }

    /// Returns the query with its question mark; empty if no parameter is set.
    pub fn to_query(&self) -> String {
        let backend = self.backend.map(|backend| backend.as_str().to_owned());
        let encoded = |value: &Option<String>| value.as_deref().map(encoded);
        let pairs = [
            ("backend", backend),
            ("model", Some(self.models.join(","))),
            ("with", encoded(&self.made_with)),
            ("node", encoded(&self.node)),
            ("sample", encoded(&self.sample)),
            ("level", self.level.map(|level| level.to_string())),
        ];
        let mut query = String::new();
        for (key, value) in pairs {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                let sign = if query.is_empty() { '?' } else { '&' };
                query.push_str(&format!("{sign}{key}={value}"));
            }
        }
        query
    }
}

/// Returns whether this is a valid name of a model's folder or of a sample photo; rejects names that
/// could leave the folder they are in.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(fits)
}

/// Percent-encodes everything except ASCII letters, digits and `-_.~`.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = |index: usize| bytes.get(index).and_then(|b| char::from(*b).to_digit(16));
        match (bytes[i], hex(i + 1), hex(i + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                i += 3;
            }
            (b'+', ..) => {
                out.push(b' ');
                i += 1;
            }
            (other, ..) => {
                out.push(other);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_survives_writing_and_reading() {
        let link = Link {
            backend: Some(Backend::Cpu),
            models: vec!["default".into(), "birds-2".into()],
            made_with: Some("00ff".into()),
            node: Some("animal/song thrush".into()),
            sample: Some("cat".into()),
            level: Some(2),
        };
        let query = link.to_query();
        assert_eq!(
            query,
            "?backend=cpu&model=default,birds-2&with=00ff&node=animal%2Fsong%20thrush&sample=cat&level=2"
        );
        assert_eq!(Link::from_query(&query), link);
        assert_eq!(Link::default().to_query(), "");
        assert_eq!(Link::from_query(""), Link::default());
    }

    #[test]
    fn the_engine_is_read_from_the_address() {
        for (query, expected) in [
            ("", None),
            ("?backend=auto", None),
            ("?backend=cpu", Some(Backend::Cpu)),
            ("?x=1&backend=webgpu", Some(Backend::WebGpu)),
            ("backend=cpu&y", Some(Backend::Cpu)),
            ("?backend=abacus", None),
            ("?notbackend=cpu", None),
        ] {
            assert_eq!(Link::from_query(query).backend, expected, "{query}");
        }
    }

    #[test]
    fn unsafe_names_of_models_and_samples_are_ignored() {
        let link = Link::from_query("?model=../x,a%2Fb,https:,.hidden,ok&sample=../cat&level=x");
        assert_eq!(link.models, ["ok"]);
        assert_eq!((link.sample, link.level), (None, None));
    }

    #[test]
    fn models_are_deduplicated_and_limited() {
        assert_eq!(
            Link::from_query("?model=a,b,a,c,d,e").models,
            ["a", "b", "c", "d"]
        );
    }

    #[test]
    fn invalid_percent_escapes_are_left_unchanged() {
        assert_eq!(decoded("100%25%zz%"), "100%%zz%");
    }
}

//! Pictures with boxes, embedded as wholes and as parts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use espalier_core::input::ResizeMode;

use crate::data::{Crops, Dataset, Ledger, open};
use crate::eval::embedder::Embedded;
use crate::eval::task::Context;

/// Wholes and parts of some data.
pub struct Scenes {
    /// Whole pictures.
    pub wholes: Rc<Embedded>,
    /// Boxes.
    pub parts: Rc<Embedded>,
    /// The whole of each part; `None` where that could not be read.
    pub whole_of: Vec<Option<usize>>,
    /// Label of each part, or its phrase where it has none.
    pub labels: Vec<String>,
    /// What is there; items are boxes.
    pub ledger: Ledger,
}

impl Scenes {
    /// Embed pictures and boxes.
    ///
    /// # Errors
    /// Bad data; a failing device.
    pub fn open(cx: &Context<'_>, paths: &[PathBuf]) -> anyhow::Result<Self> {
        let model = cx.model()?;
        let data = open::scenes(paths)?;
        let crops: Arc<dyn Dataset> = Arc::new(Crops::new(Arc::clone(&data)));
        let expected = crops.records();
        let resize = cx.resize(ResizeMode::WhitePad);
        let wholes = model.dataset(data, paths, resize)?;
        let parts = model.dataset(crops, paths, resize)?;
        let mut ledger = Ledger {
            expected,
            found: parts.points.len() as u64,
            missing: parts.about.broken(),
            ..Ledger::default()
        };
        let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
        for (row, key) in wholes.about.keys.iter().enumerate() {
            if rows.insert(key, row).is_some() {
                ledger.note("key given twice, boxes go to the last picture", 1, key);
            }
        }
        let whole = |key: &String| rows.get(key.rsplit_once('#')?.0).copied();
        let whole_of: Vec<Option<usize>> = parts.about.keys.iter().map(whole).collect();
        let lost = whole_of.iter().filter(|w| w.is_none()).count() as u64;
        ledger.note("box whose picture cannot be read", lost, "");
        let named = parts.about.labels.iter().zip(&parts.about.captions);
        let labels = named.map(|(label, phrase)| label.clone().unwrap_or_else(|| phrase.clone()));
        Ok(Self {
            labels: labels.collect(),
            whole_of,
            wholes,
            parts,
            ledger,
        })
    }
}

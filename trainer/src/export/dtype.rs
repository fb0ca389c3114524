//! How the tensors of a bundle are stored.

use espalier_core::bundle::pack;
use espalier_core::weights::{HostTensor, Tensors, q8};

use super::pieces;
use crate::cli::ExportDtype;

/// A file of tensors as it is stored.
pub(super) struct Stored {
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    /// Word for what it holds.
    pub(super) dtype: &'static str,
    /// Length of its content where that was deflated.
    pub(super) unpacked: Option<u64>,
}

impl Stored {
    /// A file that is stored as it is.
    pub(super) fn plain(dtype: &'static str, bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            dtype,
            unpacked: None,
        }
    }
}

impl ExportDtype {
    /// Its word in a manifest, and the largest value of a matrix of a tower; none where that stays in
    /// 32-bit floats.
    fn levels(self) -> (&'static str, Option<i8>) {
        match self {
            Self::Q8 => ("q8", Some(q8::Q8)),
            Self::Q6 => ("q6", Some(q8::Q6)),
            Self::Fp32 => ("f32", None),
        }
    }

    /// A file of embeddings. They are few and every answer rests on them: never fewer than 8 bits.
    pub(super) fn embeddings(self, tensors: &Tensors) -> anyhow::Result<Stored> {
        let (dtype, most) = match self {
            Self::Q6 => Self::Q8.levels(),
            other => other.levels(),
        };
        Ok(Stored::plain(dtype, tensors.write(|_, _| most)?))
    }

    /// The files of a tower.
    pub(super) fn tower(self, tensors: Tensors) -> anyhow::Result<Vec<Stored>> {
        let (dtype, most) = self.levels();
        let rounded = |name: &str, t: &HostTensor| most.filter(|_| q8::worthwhile(name, t));
        let bytes = |name: &str, t: &HostTensor| t.data.len() * rounded(name, t).map_or(4, |_| 1);
        let stored = |piece: &Tensors| {
            let content = piece.write(rounded)?;
            // Only few levels leave anything that deflating saves.
            Ok(match self {
                Self::Q6 => Stored {
                    bytes: pack(&content),
                    dtype,
                    unpacked: Some(content.len() as u64),
                },
                Self::Q8 | Self::Fp32 => Stored::plain(dtype, content),
            })
        };
        let pieces = pieces::of_tensors(tensors, pieces::PIECE, bytes);
        pieces.iter().map(stored).collect()
    }
}

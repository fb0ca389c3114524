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

impl ExportDtype {
    /// Largest value of a matrix of a tower; none where it stays in 32-bit floats.
    fn most(self) -> Option<i8> {
        match self {
            Self::Q8 => Some(q8::Q8),
            Self::Q6 => Some(q8::Q6),
            Self::Fp32 => None,
        }
    }

    /// A file of embeddings. They are few and every answer rests on them: never fewer than 8 bits.
    pub(super) fn embeddings(self, tensors: &Tensors) -> anyhow::Result<Stored> {
        let most = self.most().map(|_| q8::Q8);
        Ok(Stored {
            bytes: tensors.write(|_, _| most)?,
            dtype: if most.is_some() { "q8" } else { "f32" },
            unpacked: None,
        })
    }

    /// The files of a tower.
    pub(super) fn tower(self, tensors: Tensors) -> anyhow::Result<Vec<Stored>> {
        let rounded = |name: &str, t: &HostTensor| self.most().filter(|_| q8::worthwhile(name, t));
        let bytes = |name: &str, t: &HostTensor| t.data.len() * rounded(name, t).map_or(4, |_| 1);
        let stored = |piece: &Tensors| {
            let content = piece.write(rounded)?;
            Ok(match self {
                Self::Q8 => Stored {
                    bytes: content,
                    dtype: "q8",
                    unpacked: None,
                },
                Self::Q6 => Stored {
                    bytes: pack(&content),
                    dtype: "q6",
                    unpacked: Some(content.len() as u64),
                },
                Self::Fp32 => Stored {
                    bytes: content,
                    dtype: "f32",
                    unpacked: None,
                },
            })
        };
        let pieces = pieces::of_tensors(tensors, pieces::PIECE, bytes);
        pieces.iter().map(stored).collect()
    }
}

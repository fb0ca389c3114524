//! Splits large parts of a bundle into files that are downloaded, checked and stored separately.
//!
//! Encoders are split so that a broken download loses little and a page never holds an encoder
//! twice. Captions are split so that the general ones, which are most useful, come first.

use std::collections::BTreeMap;

use espalier_core::caption::CaptionEntry;
use espalier_core::taxonomy::Taxonomy;
use espalier_core::weights::{HostTensor, Tensors};

/// Maximum size of an encoder's file in bytes; exceeded only by a single larger tensor.
pub const PIECE: usize = 3 << 20;

/// Maximum number of captions in the first shard.
const FIRST: usize = 256;

/// Maximum number of captions in each later shard.
const LATER: usize = 8192;

/// Returns the name of piece `number` of the file `first`: itself, then `image-1.safetensors` and
/// so on.
pub fn name(first: &str, number: usize) -> String {
    match (number, first.rsplit_once('.')) {
        (0, _) => first.to_owned(),
        (_, Some((stem, extension))) => format!("{stem}-{number}.{extension}"),
        (_, None) => format!("{first}-{number}"),
    }
}

/// Splits tensors into files of about `limit` bytes, without splitting a tensor; `stored` returns
/// the stored size of one in bytes.
pub fn of_tensors(
    tensors: Tensors,
    limit: usize,
    stored: impl Fn(&str, &HostTensor) -> usize,
) -> Vec<Tensors> {
    let mut pieces: Vec<Tensors> = Vec::new();
    let mut room = 0;
    for (name, tensor) in tensors.tensors {
        let bytes = stored(&name, &tensor);
        if bytes > room || pieces.is_empty() {
            pieces.push(Tensors {
                tensors: BTreeMap::new(),
                metadata: tensors.metadata.clone(),
            });
            room = limit;
        }
        room = room.saturating_sub(bytes);
        if let Some(piece) = pieces.last_mut() {
            piece.tensors.insert(name, tensor);
        }
    }
    pieces
}

/// Returns the captions in shards, the general ones first: by detail beyond a name, then by the
/// depth of their node in the taxonomy. The first shard holds only names, if there are any.
pub fn of_captions(mut captions: Vec<CaptionEntry>, taxonomy: &Taxonomy) -> Vec<Vec<CaptionEntry>> {
    let depth = |caption: &CaptionEntry| {
        let node = caption.node.as_deref().and_then(|id| taxonomy.find(id));
        node.map_or(u32::MAX, |ix| taxonomy.depth(ix))
    };
    captions.sort_by_cached_key(|caption| (caption.detail, depth(caption)));
    let least = captions.first().map_or(0, |caption| caption.detail);
    let names = captions.iter().take_while(|c| c.detail == least).count();
    let later = captions.split_off(names.min(FIRST));
    let mut shards = vec![captions];
    shards.extend(later.chunks(LATER).map(<[CaptionEntry]>::to_vec));
    shards
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        r\tthing\t\t0\na\tanimal\tr\t0\nc\tcat\ta\t1\n";

    fn caption(text: &str, node: Option<&str>, detail: u8) -> CaptionEntry {
        CaptionEntry {
            text: text.into(),
            node: node.map(Into::into),
            detail,
        }
    }

    #[test]
    fn general_captions_come_first_and_none_is_lost() {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let captions = vec![
            caption("a cat on the left", Some("c"), 1),
            caption("a cat", Some("c"), 0),
            caption("whatever", None, 0),
            caption("an animal", Some("a"), 0),
        ];
        let shards = of_captions(captions, &taxonomy);
        let texts: Vec<Vec<&str>> = shards
            .iter()
            .map(|shard| shard.iter().map(|c| c.text.as_str()).collect())
            .collect();
        assert_eq!(
            texts,
            [
                vec!["an animal", "a cat", "whatever"],
                vec!["a cat on the left"]
            ]
        );
        let many = (0..2 * LATER)
            .map(|i| caption(&i.to_string(), None, 0))
            .collect();
        let shards = of_captions(many, &taxonomy);
        let sizes: Vec<usize> = shards.iter().map(Vec::len).collect();
        assert_eq!(sizes, [FIRST, LATER, LATER - FIRST]);
    }

    #[test]
    fn an_encoder_is_split_between_tensors_and_none_is_lost() {
        let tensor = |n: usize| HostTensor {
            shape: vec![n],
            data: vec![0.5; n],
        };
        let sizes = [("a", 6), ("b", 3), ("c", 3), ("d", 30), ("e", 1)];
        let tensors = Tensors {
            tensors: sizes
                .iter()
                .map(|(n, s)| ((*n).to_owned(), tensor(*s)))
                .collect(),
            metadata: BTreeMap::new(),
        };
        let pieces = of_tensors(tensors, 10, |_, t| t.data.len());
        let names: Vec<String> = pieces
            .iter()
            .map(|piece| piece.tensors.keys().map(String::as_str).collect())
            .collect();
        assert_eq!(names, ["ab", "c", "d", "e"]);
    }

    #[test]
    fn pieces_are_numbered_before_the_extension() {
        assert_eq!(name("image.safetensors", 0), "image.safetensors");
        assert_eq!(name("image.safetensors", 12), "image-12.safetensors");
    }
}

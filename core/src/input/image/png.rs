//! The chunks of a PNG, for what the decoder does not report.

/// Result of [`chunks`].
pub(super) struct Chunks<'a> {
    /// Content of the `eXIf` chunk. The format also allows it after the pixels, which the decoder
    /// has not read yet when it is asked.
    pub(super) exif: Option<&'a [u8]>,
    /// Whether the end chunk is there. Without it, data may be missing that the decoder does not
    /// need, such as the orientation.
    pub(super) complete: bool,
}

/// Reads all chunks, by their lengths.
pub(super) fn chunks(bytes: &[u8]) -> Chunks<'_> {
    let mut chunks = Chunks {
        exif: None,
        complete: false,
    };
    let mut rest = bytes.get(SIGNATURE..).unwrap_or_default();
    while let Some((kind, data, after)) = next(rest) {
        match kind {
            b"eXIf" => chunks.exif = Some(data),
            b"IEND" => {
                chunks.complete = true;
                break;
            }
            _ => {}
        }
        rest = after;
    }
    chunks
}

const SIGNATURE: usize = 8;
const CHECK_SUM: usize = 4;

/// Returns the kind and content of the first chunk, and the rest.
fn next(bytes: &[u8]) -> Option<(&[u8; 4], &[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (kind, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (data, rest) = rest.split_at_checked(length)?;
    Some((kind, data, rest.get(CHECK_SUM..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &[u8]) -> (Option<&[u8]>, bool) {
        let Chunks { exif, complete } = chunks(file);
        (exif, complete)
    }

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length[..], kind, data, &[0; CHECK_SUM]].concat()
    }

    #[test]
    fn metadata_is_found_behind_the_pixels() {
        let file = [
            vec![0; SIGNATURE],
            chunk(b"IHDR", &[0; 13]),
            chunk(b"IDAT", b"eXIf IEND"),
            chunk(b"eXIf", b"abc"),
            chunk(b"IEND", b""),
        ]
        .concat();
        assert_eq!(found(&file), (Some(&b"abc"[..]), true));
        let without_end = file.len() - 12;
        assert_eq!(found(&file[..without_end]), (Some(&b"abc"[..]), false));
        for n in 0..without_end {
            assert_eq!(found(&file[..n]), (None, false), "cut at {n}");
        }
    }

    #[test]
    fn a_length_past_the_end_ends_the_walk() {
        let mut file = [vec![0; SIGNATURE], chunk(b"IEND", b"")].concat();
        file[SIGNATURE] = 0xff;
        assert_eq!(found(&file), (None, false));
    }
}

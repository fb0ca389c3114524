//! Image files of every kind: whole, truncated, damaged and huge.
//!
//! `golden/gen_pictures.py` writes the files and their expected pixels.

use std::path::PathBuf;

use espalier_core::input::image::{MAX_SIDE, RgbImage, decode};

use super::preprocess::bytes;

const GOLDEN: &str = include_str!("../../../tests/golden/pictures.tsv");

struct Case {
    name: String,
    file: Vec<u8>,
    width: u32,
    height: u32,
    tolerance: u8,
    rgb: Vec<u8>,
}

fn cases() -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/pictures");
    let case = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        Case {
            name: fields[0].to_owned(),
            file: std::fs::read(folder.join(fields[0])).unwrap(),
            width: fields[1].parse().unwrap(),
            height: fields[2].parse().unwrap(),
            tolerance: fields[3].parse().unwrap(),
            rgb: bytes(fields[4]),
        }
    };
    let cases: Vec<Case> = GOLDEN.lines().skip(2).map(case).collect();
    assert!(cases.len() >= 40, "expected at least 40 golden images");
    cases
}

fn message(file: &[u8]) -> String {
    let decoded = decode(file).map(|img| img.dimensions());
    decoded.unwrap_err().to_string()
}

/// Returns pseudo-random numbers that are the same on every run.
fn noise(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

#[test]
fn every_kind_of_image_looks_as_it_should() {
    for case in cases() {
        let name = &case.name;
        let found = decode(&case.file).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(found.dimensions(), (case.width, case.height), "{name}");
        for (i, (&f, &e)) in found.as_raw().iter().zip(&case.rgb).enumerate() {
            let width = case.width as usize;
            let (x, y, channel) = (i / 3 % width, i / 3 / width, i % 3);
            assert!(
                f.abs_diff(e) <= case.tolerance,
                "{name} at {x}, {y}, channel {channel}: expected {e}, found {f}"
            );
        }
    }
}

#[test]
fn a_cut_file_is_an_error_or_the_whole_image() {
    for case in cases() {
        let Case { name, file, .. } = case;
        let whole = decode(&file).unwrap();
        for n in 0..file.len() {
            match decode(&file[..n]) {
                Ok(img) => assert!(img == whole, "{name} looks different at byte {n}"),
                Err(e) => assert!(e.to_string().starts_with("image: "), "{name}: {e}"),
            }
        }
        // Half of a file is never enough.
        let half = message(&file[..file.len() / 2]);
        assert!(half.contains("truncated: it ends after"), "{name}: {half}");
    }
}

#[test]
fn damaged_files_do_not_panic() {
    let mut seed = 0x2545_f491_4f6c_dd1d;
    for case in cases() {
        for _ in 0..150 {
            let mut file = case.file.clone();
            for _ in 0..1 + noise(&mut seed) % 4 {
                let at = noise(&mut seed) as usize % file.len();
                file[at] = noise(&mut seed) as u8;
            }
            // An image and an error are both fine; a panic is not.
            let _: Result<RgbImage, _> = decode(&file);
        }
    }
}

/// Returns a black PNG of any size: its pixels and filter bytes are all zero, so the compressed
/// data is one zero and a run of repetitions of it.
fn black_png(width: u32, height: u32, depth: u8, colour: u8, channels: u64) -> Vec<u8> {
    let row = 1 + (u64::from(width) * channels * u64::from(depth)).div_ceil(8);
    let zeros = row * u64::from(height);
    let mut bits = Bits::default();
    // Last block, fixed codes; a literal zero; then copies of 258 bytes at distance 1.
    bits.push(0b1, 1);
    bits.push(0b01, 2);
    let copies = (zeros - 1) / 258;
    for _ in 0..zeros - copies * 258 {
        bits.push_code(0x30, 8);
    }
    for _ in 0..copies {
        bits.push_code(0xc5, 8);
        bits.push_code(0, 5);
    }
    bits.push_code(0, 7);
    let mut data = vec![0x78, 0x01];
    data.extend(bits.bytes);
    // Adler-32 of zeros.
    data.extend(u16::try_from(zeros % 65_521).unwrap().to_be_bytes());
    data.extend([0, 1]);

    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([depth, colour, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, body) in [(b"IHDR", &header), (b"IDAT", &data), (b"IEND", &Vec::new())] {
        file.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
        let start = file.len();
        file.extend(kind);
        file.extend(body);
        let check = crc32(&file[start..]);
        file.extend(check.to_be_bytes());
    }
    file
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    filled: u32,
}

impl Bits {
    /// Appends the low bits of a value, lowest first.
    fn push(&mut self, value: u32, count: u32) {
        for i in 0..count {
            if self.filled.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = u8::from(value >> i & 1 == 1);
            *self.bytes.last_mut().unwrap() |= bit << (self.filled % 8);
            self.filled += 1;
        }
    }

    /// Appends a code, which deflate stores highest bit first.
    fn push_code(&mut self, code: u32, count: u32) {
        self.push(code.reverse_bits() >> (32 - count), count);
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let shifted = |crc: u32| crc >> 1 ^ (0xedb8_8320 * (crc & 1));
    let step = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |c, _| shifted(c));
    !bytes.iter().fold(!0, step)
}

#[test]
fn an_image_of_144_megapixels_is_decoded() {
    let file = black_png(12_000, 12_000, 8, 2, 3);
    let img = decode(&file).unwrap();
    assert_eq!(img.dimensions(), (12_000, 12_000));
    assert!(img.as_raw().iter().all(|&v| v == 0));
}

#[test]
fn long_sides_are_fine_and_longer_ones_are_not() {
    let wide = decode(&black_png(30_000, 40, 8, 2, 3)).unwrap();
    assert_eq!(wide.dimensions(), (MAX_SIDE, 40));
    let high = decode(&black_png(7, 30_000, 1, 0, 1)).unwrap();
    assert_eq!(high.dimensions(), (7, MAX_SIDE));
    assert_eq!(
        message(&black_png(30_001, 1, 8, 2, 3)),
        "image: expected sides of at most 30000 pixels, found 30001 x 1; make the image smaller"
    );
}

#[test]
fn an_image_over_the_budget_is_refused_with_its_size() {
    // The header is enough: nothing of that size is allocated.
    let mut file = black_png(30_000, 30_000, 8, 2, 3);
    file.truncate(64);
    assert_eq!(
        message(&file),
        "image: 30000 x 30000 pixels need 2575 MiB of memory, expected at most 1200 MiB; make \
         the image smaller"
    );
    let deep = message(&black_png(13_000, 13_000, 16, 6, 4)[..64]);
    assert!(
        deep.contains("13000 x 13000 pixels need 1290 MiB"),
        "{deep}"
    );
    // One bit a pixel in the file is three bytes in memory.
    let thin = message(&black_png(30_000, 30_000, 1, 0, 1)[..64]);
    assert!(thin.contains("need 2575 MiB"), "{thin}");
}

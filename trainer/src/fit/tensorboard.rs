//! Scalars of a run in TensorBoard's event files.
//!
//! The crates that write these files depend on protobuf and on an old image library; the four
//! messages with seven fields are less code. Format: records of length, masked CRC-32C of the
//! length, payload, masked CRC-32C of the payload (`tensorflow/core/lib/io/record_writer`), each
//! payload an `Event` (`tensorflow/core/util/event.proto`).

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;

/// Field numbers of `Event`.
mod event {
    pub const WALL_TIME: u64 = 1;
    pub const STEP: u64 = 2;
    pub const FILE_VERSION: u64 = 3;
    pub const SUMMARY: u64 = 5;
    pub const SESSION_LOG: u64 = 7;
}

/// Field numbers of `Summary` and of its values.
mod summary {
    pub const VALUE: u64 = 1;
    pub const TAG: u64 = 1;
    pub const SIMPLE_VALUE: u64 = 2;
}

/// A protobuf message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// Begins an event at this time, in seconds since 1970.
    fn event(wall_time: f64) -> Self {
        Self::default().double(event::WALL_TIME, wall_time)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn int(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn double(mut self, field: u64, value: f64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }
}

/// Returns the checksum of the format, rotated so that a checksum of checksums differs from its
/// parts.
fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes)
        .rotate_right(15)
        .wrapping_add(0xa282_ead8)
        .to_le_bytes()
}

fn record(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    let mut out = Vec::with_capacity(payload.len() + 16);
    out.extend(length);
    out.extend(masked(&length));
    out.extend(payload);
    out.extend(masked(payload));
    out
}

/// One event file; a resumed run starts a new one.
pub struct EventFile(File);

impl EventFile {
    /// Creates a file in `folder` for a process that continues after step `first`.
    ///
    /// # Errors
    /// When the folder or the file cannot be written.
    pub fn create(folder: &Path, first: u64) -> anyhow::Result<Self> {
        let seconds = now();
        // TensorBoard reads the files of a folder in the order of their names.
        let process = std::process::id();
        let path = folder.join(format!("events.out.tfevents.{seconds:010.6}.{process}"));
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        let file = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
        let mut events = Self(file);
        let version = Message::event(seconds).bytes(event::FILE_VERSION, b"brain.Event:2");
        events.write(&version)?;
        if first > 0 {
            // A session start (status 1) at a step: readers drop what an earlier process wrote from
            // there on.
            let start = Message::default().int(1, 1);
            let start = Message::event(seconds)
                .int(event::STEP, first + 1)
                .bytes(event::SESSION_LOG, &start.0);
            events.write(&start)?;
        }
        Ok(events)
    }

    /// Writes the values of a step.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn scalars<'a>(
        &mut self,
        step: u64,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> anyhow::Result<()> {
        let mut all = Message::default();
        for (tag, value) in values {
            let one = Message::default()
                .bytes(summary::TAG, tag.as_bytes())
                .float(summary::SIMPLE_VALUE, value as f32);
            all = all.bytes(summary::VALUE, &one.0);
        }
        let event = Message::event(now()).int(event::STEP, step);
        self.write(&event.bytes(event::SUMMARY, &all.0))
    }

    fn write(&mut self, event: &Message) -> anyhow::Result<()> {
        // Writes in one call: a killed process leaves at most one truncated record, which readers
        // skip.
        let written = self.0.write_all(&record(&event.0));
        written.context("writing to tensorboard/")
    }
}

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_format() {
        // RFC 3720, B.4: 32 bytes of zeros.
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        // Rotated right by 15 bits (0x6d55_1522), plus the constant.
        assert_eq!(masked(&[0; 32]), 0x0fd7_fffa_u32.to_le_bytes());
    }

    #[test]
    fn a_file_consists_of_complete_records() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("tensorboard");
        let mut file = EventFile::create(&folder, 200).unwrap();
        file.scalars(201, [("loss", 1.5)]).unwrap();
        let mut files = fs::read_dir(&folder).unwrap();
        let bytes = fs::read(files.next().unwrap().unwrap().path()).unwrap();
        let mut rest = bytes.as_slice();
        let mut payloads = Vec::new();
        while !rest.is_empty() {
            let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
            assert_eq!(rest[8..12], masked(&rest[..8]));
            let payload = &rest[12..12 + length];
            assert_eq!(rest[12 + length..16 + length], masked(payload));
            payloads.push(payload.to_vec());
            rest = &rest[16 + length..];
        }
        assert_eq!(payloads.len(), 3, "version, start, scalars");
        assert!(payloads[0].ends_with(b"brain.Event:2"));
        // Step 201 as field 2, then a summary with one value: tag "loss", value 1.5.
        let scalars = &payloads[2];
        assert_eq!(scalars[9..12], [0x10, 0xc9, 0x01]);
        let mut value = vec![0x0a, 4];
        value.extend(b"loss");
        value.push(0x15);
        value.extend(1.5_f32.to_le_bytes());
        assert!(scalars.ends_with(&value));
    }
}

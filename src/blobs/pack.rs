//! Packs the content of blob files with zstd if that makes it at least a tenth smaller.

use std::borrow::Cow;
use std::io::Read;

/// The kind of a payload that is not packed.
pub(super) const RAW: u8 = 0;
/// The kind of a payload that zstd packed.
const ZSTD: u8 = 1;

/// The level of zstd. Higher levels gain little and take three times as long (measured).
const LEVEL: i32 = 1;
/// Content that does not shrink by a tenth is stored unpacked, which is faster to read.
const GAIN: usize = 10;
/// A sample of longer content is packed first, to see whether packing pays. It has this many
/// pieces.
const SAMPLE_PIECES: usize = 4;
const SAMPLE_PIECE_BYTES: usize = 32 * 1024;
/// Shorter content is not packed.
const MIN_BYTES: usize = 128;

/// The kind and the payload for these bytes.
pub(super) fn pack(bytes: &[u8]) -> (u8, Cow<'_, [u8]>) {
    let raw = (RAW, Cow::Borrowed(bytes));
    if bytes.len() < MIN_BYTES || !sample_pays(bytes) {
        return raw;
    }
    match zstd::bulk::compress(bytes, LEVEL) {
        Ok(packed) if pays(packed.len(), bytes.len()) => (ZSTD, Cow::Owned(packed)),
        _ => raw,
    }
}

fn sample_pays(bytes: &[u8]) -> bool {
    if bytes.len() <= SAMPLE_PIECES * SAMPLE_PIECE_BYTES * 2 {
        return true;
    }
    let step = (bytes.len() - SAMPLE_PIECE_BYTES) / (SAMPLE_PIECES - 1);
    let sample: Vec<u8> =
        (0..SAMPLE_PIECES).flat_map(|i| &bytes[i * step..i * step + SAMPLE_PIECE_BYTES]).copied().collect();
    zstd::bulk::compress(&sample, LEVEL).is_ok_and(|packed| pays(packed.len(), sample.len()))
}

fn pays(packed: usize, bytes: usize) -> bool {
    packed <= bytes - bytes / GAIN
}

/// Unpacks a payload. Fails if that gives more than `max_bytes`.
pub(super) fn unpack(kind: u8, payload: &[u8], max_bytes: usize) -> Result<Vec<u8>, String> {
    check_kind(kind)?;
    let decoder = zstd::stream::read::Decoder::with_buffer(payload).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    decoder.take(max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() > max_bytes {
        return Err(format!("it unpacks to more than {max_bytes} bytes"));
    }
    Ok(bytes)
}

/// Unpacks a payload into memory. Fails if the lengths differ.
pub(super) fn unpack_into(kind: u8, payload: &[u8], into: &mut [u8]) -> Result<(), String> {
    check_kind(kind)?;
    let length = into.len();
    match zstd::bulk::decompress_to_buffer(payload, into) {
        Ok(got) if got == length => Ok(()),
        Ok(got) => Err(format!("it unpacks to {got} bytes instead of {length}")),
        Err(error) => Err(error.to_string()),
    }
}

fn check_kind(kind: u8) -> Result<(), String> {
    if kind == ZSTD { Ok(()) } else { Err(format!("its kind byte {kind} is unknown")) }
}

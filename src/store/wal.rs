//! Finds damage in the middle of SQLite's write-ahead log. SQLite would treat such damage as the
//! log's end (sqlite.org/walformat.html).

use crate::blobs::nofollow::read_file;
use std::io::{self, ErrorKind};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// Describes damage that would make SQLite silently lose commits of the log. Returns `None` if
/// there is no such damage.
pub(super) fn damage(path: &Path) -> io::Result<Option<&'static str>> {
    match read_file(path) {
        Ok(log) => Ok(judge(&log)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn judge(log: &[u8]) -> Option<&'static str> {
    if log.len() < HEADER + FRAME_HEADER {
        return None;
    }
    let is_big = match word(log, 0) {
        0x377f_0683 => true,
        0x377f_0682 => false,
        _ => return Some("its log has a damaged header"),
    };
    let mut sums = sum(is_big, (0, 0), &log[..24]);
    let page = word(log, 8) as usize;
    if sums != (word(log, 24), word(log, 28)) || !(512..=65536).contains(&page) {
        return Some("its log has a damaged header");
    }
    let salts = &log[16..24];
    let mut is_good = true;
    let mut commits_behind = 0;
    for frame in log[HEADER..].chunks_exact(FRAME_HEADER + page) {
        let is_ours = &frame[8..16] == salts;
        let is_commit = word(frame, 4) != 0;
        if is_good {
            sums = sum(is_big, sums, &frame[..8]);
            sums = sum(is_big, sums, &frame[FRAME_HEADER..]);
            if is_ours && sums == (word(frame, 16), word(frame, 20)) {
                continue;
            }
            is_good = false;
            // This frame is either damaged, or the first frame after the log's end. A frame after
            // the end is from an earlier round, with other salts and another checksum. If only one
            // of the two is wrong in a commit, the commit is damaged.
            commits_behind +=
                usize::from(is_commit && (is_ours || sums == (word(frame, 16), word(frame, 20))));
            continue;
        }
        commits_behind += usize::from(is_ours && is_commit);
    }
    // One commit may have been unfinished when the machine stopped. A second commit begins only
    // when the first one is on disk.
    (commits_behind >= 2).then_some("its log is damaged before its end")
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_be_bytes)
}

fn sum(is_big: bool, (mut a, mut b): (u32, u32), bytes: &[u8]) -> (u32, u32) {
    let of = |w: &[u8]| {
        let w = w.try_into().unwrap_or_default();
        if is_big { u32::from_be_bytes(w) } else { u32::from_le_bytes(w) }
    };
    for pair in bytes.chunks_exact(8) {
        a = a.wrapping_add(of(&pair[..4])).wrapping_add(b);
        b = b.wrapping_add(of(&pair[4..])).wrapping_add(a);
    }
    (a, b)
}

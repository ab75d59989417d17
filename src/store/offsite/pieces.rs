//! Cuts rows into pieces, so that a change of some rows changes few pieces.
//!
//! Rows are sorted. A piece ends after a row whose digest begins with certain bits, so the cuts
//! move with the rows: an inserted row changes one piece and shifts no other.

use crate::blobs::Digest;
use crate::store::key::{bytes, hex};
use crate::store::tables::SqlValue;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A row ends a piece if its digest begins with a byte below this: two of 256, so that a piece has
/// 128 rows on average, some 50 KB.
const ENDS_BELOW: u8 = 2;
/// A piece is cut before it becomes longer than this number of bytes, unless it is one row.
const MAX_PIECE_BYTES: usize = 256 << 10;

/// Content in a blob, with its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Piece(pub(super) Digest, pub(super) u64);

/// Cuts lines into pieces.
pub(super) fn cut(lines: impl IntoIterator<Item = String>) -> Vec<Vec<u8>> {
    let (mut pieces, mut piece) = (Vec::new(), Vec::new());
    for line in lines {
        if !piece.is_empty() && piece.len() + line.len() >= MAX_PIECE_BYTES {
            pieces.push(std::mem::take(&mut piece));
        }
        let ends = blake3::hash(line.as_bytes()).as_bytes()[0] < ENDS_BELOW;
        piece.extend_from_slice(line.as_bytes());
        piece.push(b'\n');
        if ends {
            pieces.push(std::mem::take(&mut piece));
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// A row as one line: a JSON array. Bytes are an object with hexadecimal digits.
pub(super) fn line(row: &[SqlValue]) -> String {
    let cell = |cell: &SqlValue| match cell {
        SqlValue::Null => Value::Null,
        SqlValue::Int(number) => json!(number),
        SqlValue::Text(text) => json!(text),
        SqlValue::Bytes(bytes) => json!({"hex": hex(bytes)}),
    };
    Value::Array(row.iter().map(cell).collect()).to_string()
}

/// The rows of a piece; none if it has other content.
pub(super) fn rows(piece: &[u8]) -> Option<Vec<Vec<SqlValue>>> {
    let lines = piece.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(row).collect()
}

fn row(line: &[u8]) -> Option<Vec<SqlValue>> {
    let cell = |cell: Value| match cell {
        Value::Null => Some(SqlValue::Null),
        Value::Number(number) => number.as_i64().map(SqlValue::Int),
        Value::String(text) => Some(SqlValue::Text(text)),
        Value::Object(cell) => bytes(cell.get("hex")?.as_str()?).map(SqlValue::Bytes),
        _ => None,
    };
    serde_json::from_slice::<Vec<Value>>(line).ok()?.into_iter().map(cell).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rows_come_back_as_they_were() {
        let cells = [
            SqlValue::Null,
            SqlValue::Int(i64::MIN),
            SqlValue::Text("a\n\"b\" é \u{0}".into()),
            SqlValue::Bytes(vec![0, 255, 16]),
        ];
        let pieces = cut([line(&cells), line(&cells[..1])]);
        let back: Vec<_> = pieces.iter().flat_map(|piece| rows(piece).unwrap()).collect();
        assert_eq!(back, [cells.to_vec(), cells[..1].to_vec()]);
        assert!(rows(b"[1.5]").is_none() && rows(b"[{\"hex\":\"0g\"}]").is_none() && rows(b"no").is_none());
    }

    #[test]
    fn a_new_row_changes_one_piece() {
        let lines = |skip: usize| (0..2000).filter(move |n| *n != skip).map(|n| format!("row {n:05}"));
        let (with, without) = (cut(lines(9999)), cut(lines(1000)));
        assert!(with.len() > 5, "{}", with.len());
        let old: HashSet<&Vec<u8>> = without.iter().collect();
        let changed = with.iter().filter(|piece| !old.contains(piece)).count();
        assert!(changed <= 2, "{changed} of {}", with.len());
        assert_eq!(with.concat(), lines(9999).map(|line| line + "\n").collect::<String>().into_bytes());
        let long = cut((0..3).map(|n| format!("{n}").repeat(200_000)));
        assert_eq!(long.len(), 3);
    }
}

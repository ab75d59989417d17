//! The value of a column, and the digest of a row.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

/// The value in one column of one row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::store) enum SqlValue {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl SqlValue {
    pub(in crate::store) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(in crate::store) fn int(&self) -> Option<i64> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }

    pub(in crate::store) fn bytes(&self) -> &[u8] {
        if let Self::Bytes(bytes) = self { bytes } else { &[] }
    }

    /// Reads a value from SQLite. Returns `None` for a type that we never write.
    pub(super) fn read(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Null => Some(Self::Null),
            ValueRef::Integer(number) => Some(Self::Int(number)),
            ValueRef::Text(text) => Some(Self::Text(std::str::from_utf8(text).ok()?.to_owned())),
            ValueRef::Blob(bytes) => Some(Self::Bytes(bytes.to_owned())),
            ValueRef::Real(_) => None,
        }
    }
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for SqlValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Option<&str>> for SqlValue {
    fn from(text: Option<&str>) -> Self {
        text.map_or(Self::Null, Self::from)
    }
}

impl From<i64> for SqlValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Computes the digest of a row: see docs/format.md.
pub(in crate::store) fn digest(table: &str, cells: &[SqlValue]) -> SqlValue {
    let mut hasher = blake3::Hasher::new();
    let mut add = |kind: u8, bytes: &[u8]| {
        hasher.update(&[kind]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    add(b't', table.as_bytes());
    for cell in cells {
        match cell {
            SqlValue::Null => add(b'n', &[]),
            SqlValue::Int(number) => add(b'i', &number.to_le_bytes()),
            SqlValue::Text(text) => add(b't', text.as_bytes()),
            SqlValue::Bytes(bytes) => add(b'b', bytes),
        }
    }
    SqlValue::Bytes(hasher.finalize().as_bytes().to_vec())
}

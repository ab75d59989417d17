//! A table of the database.

/// A table. Its first `keys` columns are the key. The database has one more column, the row's
/// digest.
#[derive(Debug)]
pub(in crate::store) struct Table {
    pub(in crate::store) name: &'static str,
    pub(super) columns: &'static [&'static str],
    pub(super) keys: usize,
}

impl Table {
    pub(super) fn list(&self) -> String {
        self.columns.join(", ")
    }

    pub(super) fn is_key(&self) -> String {
        let parts: Vec<String> =
            self.columns[..self.keys].iter().enumerate().map(|(i, c)| format!("{c} IS ?{}", i + 1)).collect();
        parts.join(" AND ")
    }

    /// Number of columns, without the digest.
    pub(in crate::store) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The index of the column that orders the rows, if the table has one.
    pub(super) fn pos(&self) -> Option<usize> {
        self.columns.iter().position(|c| *c == "pos")
    }
}

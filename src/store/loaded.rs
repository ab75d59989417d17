//! The content of a notebook's database.

use super::tables::{Fault, Row, Table, Tables};
use crate::blobs::Digest;
use crate::notebook::{KeptCredentials, Parts, StateId};
use serde::de::DeserializeOwned;
use std::collections::HashSet;

/// The content of a notebook's database.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) parts: Parts,
    pub(super) credentials: KeptCredentials,
    /// The notebook's id; `None` if the row with the id is damaged.
    pub(super) notebook_id: Option<String>,
    /// Number of transactions since the notebook was created.
    pub(super) commits: i64,
    /// The manifests that the rows of checkpoints name, by state.
    pub(super) manifests: Vec<(StateId, Digest)>,
    /// The blobs that the rows of outputs name.
    pub(super) blobs: HashSet<Digest>,
    /// The damage, described in sentences for the user.
    pub(super) damage: Vec<String>,
    /// The damaged rows, by table and row number.
    pub(super) bad: Vec<(&'static Table, i64)>,
}

impl Loaded {
    /// Notes a damaged row. `what` is a sentence for the user.
    pub(super) fn lose(&mut self, table: &'static Table, number: i64, what: String) {
        self.damage.push(what);
        self.bad.push((table, number));
    }

    /// Returns the undamaged rows of a table, sorted by the column `at`. Reports the damaged rows.
    pub(super) fn whole(
        &mut self,
        tables: &mut Tables,
        table: &'static Table,
        at: usize,
    ) -> Result<Vec<Row>, Fault> {
        let (mut whole, bad): (Vec<Row>, Vec<Row>) =
            tables.rows(table)?.into_iter().partition(|row| row.is_whole);
        for row in bad {
            let key = row.cells[0].text().map(|key| format!(" of {key:?}")).unwrap_or_default();
            self.lose(
                table,
                row.number,
                format!("a record{key} in the table `{}` is damaged and lost", table.name),
            );
        }
        whole.sort_by_key(|row| row.cells[at].int());
        Ok(whole)
    }

    /// Parses the body of a row whose digest is right. If the body cannot be parsed, reports the
    /// row as damaged.
    pub(super) fn body<T: DeserializeOwned>(
        &mut self,
        table: &'static Table,
        row: &Row,
        at: usize,
    ) -> Option<T> {
        let body = serde_json::from_str(row.cells[at].text().unwrap_or_default());
        if let Err(error) = &body {
            let key = row.cells[0].text().unwrap_or_default();
            self.lose(
                table,
                row.number,
                format!("a record of {key:?} in the table `{}` cannot be read: {error}", table.name),
            );
        }
        body.ok()
    }
}

//! The rows of sweeps. A sweep and its rows are in two tables, so that the end of a row writes one
//! small row of the database.
//!
//! The rows of a running sweep run when the notebook is opened, without a request. So this install
//! signs what runs, and a notebook that came from elsewhere, or a copy, runs nothing by itself.

use super::key::Seal;
use super::loaded::Loaded;
use super::tables::{Fault, META, SWEEP_ROWS, SWEEPS, SqlValue, Tables};
use crate::notebook::{Fact, RowEnd, Sweep, SweepId, SweepRow, SweepStatus};

/// Writes a fact about sweeps. Ignores other facts.
pub(super) fn write(tables: &mut Tables, fact: &Fact) -> Result<(), Fault> {
    match fact {
        Fact::SweepAdded { sweep } => {
            let pos = tables.new_pos();
            tables.put(&SWEEPS, &sweep_row(sweep, pos)?)?;
            rows_of(sweep).try_for_each(|row| tables.put(&SWEEP_ROWS, &row?))
        }
        Fact::SweepRowsAdded { sweep, first, rows } => (*first..)
            .zip(rows)
            .try_for_each(|(number, row)| tables.put(&SWEEP_ROWS, &row_of(sweep, number, row)?)),
        Fact::SweepRowEnded { sweep, row, end } => {
            let key = [sweep.as_str().into(), number_of(*row)];
            let Some(mut cells) = tables.get(&SWEEP_ROWS, &key)? else { return Ok(()) };
            let mut there: SweepRow = serde_json::from_str(cells[2].text().unwrap_or_default())?;
            there.ends.push(end.clone());
            cells[2] = serde_json::to_string(&there)?.into();
            tables.put(&SWEEP_ROWS, &cells)
        }
        Fact::SweepEnded { sweep, status, ended_at, note } => {
            let Some(mut cells) = tables.get(&SWEEPS, &[sweep.as_str().into()])? else { return Ok(()) };
            let mut there: Sweep = serde_json::from_str(cells[2].text().unwrap_or_default())?;
            (there.status, there.ended_at) = (*status, Some(*ended_at));
            there.note.clone_from(note);
            cells[2] = serde_json::to_string(&there)?.into();
            tables.put(&SWEEPS, &cells)
        }
        Fact::SweepRemoved { sweep } => {
            tables.remove(&SWEEP_ROWS, "sweep", sweep.as_str())?;
            tables.remove(&SWEEPS, "id", sweep.as_str())
        }
        _ => Ok(()),
    }
}

/// Signs a sweep whose rows were written, or removes the signature of one that has ended.
pub(super) fn sign(tables: &Tables, fact: &Fact, seal: &Seal) -> Result<(), Fault> {
    match fact {
        Fact::SweepAdded { sweep } => put_signature(tables, sweep, seal),
        Fact::SweepRowsAdded { sweep: id, .. } => {
            let Some(sweep) = stored(tables, id)? else { return Ok(()) };
            put_signature(tables, &sweep, seal)
        }
        Fact::SweepEnded { sweep, .. } | Fact::SweepRemoved { sweep } => {
            tables.remove_row(&META, &[signature_key(sweep)])
        }
        _ => Ok(()),
    }
}

/// Signs all sweeps that run.
pub(super) fn sign_all(tables: &Tables, sweeps: &[Sweep], seal: &Seal) -> Result<(), Fault> {
    let mut running = sweeps.iter().filter(|sweep| sweep.status == SweepStatus::Running);
    running.try_for_each(|sweep| put_signature(tables, sweep, seal))
}

fn put_signature(tables: &Tables, sweep: &Sweep, seal: &Seal) -> Result<(), Fault> {
    let hmac = seal.sweep(sweep.id.as_str(), &definition(sweep)?);
    tables.put(&META, &[signature_key(&sweep.id), hmac])
}

/// Stops the sweeps that this install has not begun in this notebook.
pub(super) fn stop_foreign(tables: &Tables, loaded: &mut Loaded, seal: Option<&Seal>) -> Result<(), Fault> {
    for sweep in &mut loaded.parts.sweeps {
        if sweep.status != SweepStatus::Running {
            continue;
        }
        let row = tables.get(&META, &[signature_key(&sweep.id)])?;
        let definition = definition(sweep)?;
        let is_own =
            |seal: &Seal| row.is_some_and(|row| seal.is_sweep(sweep.id.as_str(), &definition, &row[1]));
        if !seal.is_some_and(is_own) {
            (sweep.status, sweep.ended_at) = (SweepStatus::Stopped, Some(sweep.created_at));
            let why =
                "the notebook was copied, or comes from elsewhere: start the sweep again to run its rows";
            sweep.note = Some(why.to_owned());
        }
    }
    Ok(())
}

fn signature_key(id: &SweepId) -> SqlValue {
    format!("sweep:{id}").into()
}

/// All that decides what the rows run, as text.
fn definition(sweep: &Sweep) -> Result<String, Fault> {
    let values: Vec<&Vec<String>> = sweep.rows.iter().map(|row| &row.values).collect();
    let Sweep { at, code, parameters, options, sampler, .. } = sweep;
    Ok(serde_json::to_string(&(at, code, parameters, options, sampler, values))?)
}

/// Reads a sweep with its rows from the tables.
fn stored(tables: &Tables, id: &SweepId) -> Result<Option<Sweep>, Fault> {
    let Some(cells) = tables.get(&SWEEPS, &[id.as_str().into()])? else { return Ok(None) };
    let mut sweep: Sweep = serde_json::from_str(cells[2].text().unwrap_or_default())?;
    while let Some(cells) = tables.get(&SWEEP_ROWS, &[id.as_str().into(), number_of(sweep.rows.len())])? {
        sweep.rows.push(serde_json::from_str(cells[2].text().unwrap_or_default())?);
    }
    Ok(Some(sweep))
}

/// Replaces all stored sweeps with these.
pub(super) fn replace(tables: &mut Tables, sweeps: &[Sweep]) -> Result<(), Fault> {
    tables.replace_all(&SWEEPS, sweeps.iter().map(|sweep| sweep_row(sweep, SqlValue::Null)))?;
    tables.replace_all(&SWEEP_ROWS, sweeps.iter().flat_map(rows_of))
}

/// Reads all sweeps with their rows.
pub(super) fn load(tables: &mut Tables, loaded: &mut Loaded) -> Result<(), Fault> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    for row in loaded.whole(tables, &SWEEPS, 1)? {
        sweeps.extend(loaded.body::<Sweep>(&SWEEPS, &row, 2));
    }
    for row in loaded.whole(tables, &SWEEP_ROWS, 1)? {
        let (id, number) = (row.cells[0].text().unwrap_or_default(), row.cells[1].int());
        let sweep = sweeps.iter_mut().find(|sweep| sweep.id.as_str() == id);
        let number = number.and_then(|number| usize::try_from(number).ok());
        if let (Some(sweep), Some(number), Some(body)) = (sweep, number, loaded.body(&SWEEP_ROWS, &row, 2)) {
            // A damaged row must neither run nor move the rows after it.
            while sweep.rows.len() < number {
                sweep.rows.push(SweepRow {
                    values: Vec::new(),
                    ends: vec![RowEnd::failed("the record of this row was damaged")],
                });
            }
            sweep.rows.push(body);
        }
    }
    loaded.parts.sweeps = sweeps;
    Ok(())
}

fn sweep_row(sweep: &Sweep, pos: SqlValue) -> Result<Vec<SqlValue>, Fault> {
    let body = Sweep { rows: Vec::new(), ..sweep.clone() };
    Ok(vec![sweep.id.as_str().into(), pos, serde_json::to_string(&body)?.into()])
}

fn rows_of(sweep: &Sweep) -> impl Iterator<Item = Result<Vec<SqlValue>, Fault>> {
    sweep.rows.iter().enumerate().map(|(number, row)| row_of(&sweep.id, number, row))
}

fn row_of(sweep: &SweepId, number: usize, row: &SweepRow) -> Result<Vec<SqlValue>, Fault> {
    Ok(vec![sweep.as_str().into(), number_of(number), serde_json::to_string(row)?.into()])
}

fn number_of(row: usize) -> SqlValue {
    i64::try_from(row).unwrap_or(i64::MAX).into()
}

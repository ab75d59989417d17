//! Begins the rows of sweeps, lets the states of rows that are not among the best leave memory, and
//! deletes the rows that a user does not keep.

use super::deletion::{remove_for_good, take_out};
use super::removal::{drop_attempt, lineage, move_away, publish_removed, take_attempt, trim_trash};
use super::settle::{ask_run, settle};
use crate::notebook::{Base, ExecId, Fact, Reply, Residency, Run, State, StateId, SweepId};
use crate::problem::{Kind, Problem};
use crate::session::machine::budget;
use crate::session::machine::core::not_found;
use crate::session::machine::introspect;
use crate::session::machine::outcome::STOPPED;
use crate::session::machine::parts::Parts;
use crate::session::machine::runs::Stop;
use std::collections::HashSet;

/// Notes which rows have ended, and begins the next ones.
pub(in crate::session::machine) fn serve_sweeps(parts: &mut Parts) {
    loop {
        release_rows(parts);
        let is_short = parts.memory.is_short(&parts.core, &parts.held);
        let due = parts.sweeps.due(&mut parts.core, &mut parts.introspection, is_short);
        let mut begun = Vec::new();
        for begin in due {
            begun.push(begin.spec.exec_id.clone());
            match ask_run(parts, None, begin.spec.clone()) {
                // Rows of other sweeps or of clients run. Their ends lead here again.
                Err(busy) if busy.kind == Kind::Busy => parts.sweeps.put_back(begin),
                Err(refused) => parts.sweeps.cannot_begin(&mut parts.core, &begin, &refused),
                Ok(_) => {}
            }
        }
        settle(parts);
        let is_over = |run: &ExecId| parts.core.notebook.run(run).is_some_and(|run| run.status.has_ended());
        if !begun.iter().any(is_over) {
            return;
        }
    }
}

/// Notes which rows have ended, and ends the processes of those that are not among the best.
pub(in crate::session::machine) fn release_rows(parts: &mut Parts) {
    for state in parts.sweeps.note_ends(&mut parts.core) {
        if !release(parts, &state) {
            parts.sweeps.release_later(state);
        }
    }
}

/// Continues the sweeps that ran when the server stopped.
pub(in crate::session::machine) fn resume_sweeps(parts: &mut Parts) {
    let was_stopped = |run: &Run| run.error.as_ref().is_some_and(|error| error.evalue == STOPPED);
    for run in parts.sweeps.resume(&mut parts.core, was_stopped) {
        // If the server stopped between storing the row's state and storing the end of its run,
        // the row runs again and leaves a second state. So the first state is removed.
        let orphan = parts.core.notebook.states().find(|s| s.exec_id.as_ref() == Some(&run.exec_id));
        if let Some(orphan) = orphan.map(|state| state.id.clone()) {
            remove_for_good(parts, &orphan);
        }
        drop_attempt(parts, &run.exec_id);
    }
}

/// Ends the processes of a row's state, unless the state is pinned, labelled or used. Later the
/// state is restored from its checkpoint if it has one, otherwise by a replay. Returns false if a
/// process still works on the state, so that the caller tries again later.
fn release(parts: &mut Parts, id: &StateId) -> bool {
    let Some(state) = parts.core.notebook.state(id) else { return true };
    let is_held = state.residency.is_in_memory();
    if !is_held || state.pinned || state.label.is_some() || is_used(parts, id) {
        return true;
    }
    if budget::is_worked_on(&parts.core, &parts.saver, id) || !parts.core.processes.only_rest_at(id) {
        return false;
    }
    introspect::end_answers(&mut parts.core, id, Kind::Busy, "the sweep has kept better rows");
    if let Some(frozen) = parts.core.processes.frozen(id) {
        parts.core.end(frozen);
    }
    while let Some(head) = parts.core.processes.resting_at(id) {
        parts.core.discard(head);
    }
    parts.core.uses.forget(id);
    parts.memory.forget(id);
    parts.comparer.forget(&mut parts.core, std::slice::from_ref(id));
    parts.core.left(id);
    true
}

/// Whether a user is at a row's state, runs a cell against it, or has continued from it.
fn is_used(parts: &Parts, id: &StateId) -> bool {
    let is_open = |run: &ExecId| {
        let on = parts.core.notebook.run(run).map(|run| &run.on);
        matches!(on, Some(Base::State(on)) if on == id)
    };
    parts.presence.participants.iter().any(|one| one.state == *id)
        || parts.core.open.iter().any(is_open)
        || parts.core.notebook.dependents(id).any(|other| !is_next_rung(parts, id, other))
}

fn is_next_rung(parts: &Parts, id: &StateId, child: &State) -> bool {
    let own = parts.core.notebook.state(id).and_then(|state| state.exec_id.as_ref());
    own.zip(child.exec_id.as_ref()).is_some_and(|(own, next)| follows(own.as_str(), next.as_str()))
}

/// Stops a sweep. The rows that run are interrupted.
pub(in crate::session::machine) fn stop_sweep(parts: &mut Parts, id: &SweepId) -> Result<Reply, Problem> {
    for run in parts.sweeps.stop(&mut parts.core, id)? {
        parts.runs.stop(&mut parts.core, &run, Stop::Asked);
    }
    Ok(Reply::Done)
}

/// Keeps one row of a sweep, and deletes the others.
pub(in crate::session::machine) fn collapse(
    parts: &mut Parts,
    id: &SweepId,
    row: Option<usize>,
    label: Option<String>,
) -> Result<Reply, Problem> {
    let refused = |kind, why: String, how| Err(Problem::new(kind, "collapse the sweep", why, how));
    let sweep = parts.core.notebook.sweep(id).ok_or_else(|| not_found("sweep", id))?;
    if parts.sweeps.is_running(id) {
        return refused(Kind::Conflict, "its rows are running".into(), "stop it first, or wait");
    }
    let Some(row) = row.or_else(|| sweep.best()) else {
        let how = "name the row that is to be kept";
        return refused(Kind::Conflict, "no row has a metric, so none is the best".into(), how);
    };
    let last = sweep.rows.get(row).and_then(|row| row.ends.iter().rev().find_map(|end| end.state.clone()));
    let is_there =
        |id: &StateId| parts.core.notebook.state(id).is_some_and(|s| s.residency != Residency::Deleted);
    let Some(kept) = last.filter(is_there) else {
        return refused(Kind::Conflict, format!("row {row} has no state"), "keep another row");
    };
    let (deleted, continued) = delete_rows(parts, id, Some(row));
    if label.is_some() {
        parts.core.change_state(&kept, |state| state.label = label);
    }
    Ok(Reply::Collapsed { kept, deleted, continued })
}

/// Deletes a sweep and the states of its rows.
pub(in crate::session::machine) fn delete_sweep(parts: &mut Parts, id: &SweepId) -> Result<Reply, Problem> {
    // An interrupted cell may go on, and leave a state.
    let running = parts.sweeps.stop(&mut parts.core, id)?;
    parts.runs.kill_and_end(&mut parts.core, &running, "the sweep was deleted");
    settle(parts);
    release_rows(parts);
    delete_rows(parts, id, None);
    parts.core.notebook.remove_sweep(id);
    parts.core.publish(Fact::SweepRemoved { sweep: id.clone() });
    Ok(Reply::Done)
}

/// Deletes the states and failed runs of all rows but one. Returns the deleted states, and
/// those that stay because someone has continued from them or taken variables of them.
fn delete_rows(parts: &mut Parts, id: &SweepId, kept: Option<usize>) -> (Vec<StateId>, Vec<StateId>) {
    let Some(sweep) = parts.core.notebook.sweep(id) else { return Default::default() };
    let others = sweep.rows.iter().enumerate().filter(|(number, _)| Some(*number) != kept);
    let (mut states, mut failed) = (Vec::new(), Vec::new());
    for (number, row) in others {
        // The states of later rungs come first: they are children of the earlier ones.
        for (rung, end) in row.ends.iter().enumerate().rev() {
            match &end.state {
                Some(state) => states.push(state.clone()),
                None => failed.push(sweep.exec_id(number, rung)),
            }
        }
    }
    let mut before = Vec::new();
    let at = parts.core.notebook.next_deletion(parts.core.now_ms);
    let mut going: HashSet<StateId> = HashSet::new();
    let (mut deleted, mut continued, mut gone, mut runs) = (vec![], vec![], vec![], vec![]);
    for state in states {
        if !parts.core.notebook.state(&state).is_some_and(|s| s.residency != Residency::Deleted) {
            continue;
        }
        if parts.core.notebook.dependents(&state).any(|other| !going.contains(&other.id)) {
            continued.push(state);
            continue;
        }
        if before.is_empty() {
            before = lineage(parts, &state);
        }
        let (taken, ended) = take_out(parts, &state, at).unwrap_or_default();
        gone.extend(taken);
        runs.extend(ended);
        going.insert(state.clone());
        deleted.push(state);
    }
    for run in failed {
        runs.extend(take_attempt(parts, &run, at).unwrap_or_default());
    }
    move_away(parts, &before, &gone);
    publish_removed(parts, gone, runs, Some(at));
    trim_trash(parts);
    parts.save_next();
    (deleted, continued)
}

/// Whether the run `next` is the rung after the run `own`: `S.3` continues as `S.3.1`, and `S.3.1`
/// as `S.3.2`. `S.4` is another row, but never against the state of `S.3`.
fn follows(own: &str, next: &str) -> bool {
    let (stem, number) = own.rsplit_once('.').unwrap_or((own, ""));
    let after = number.parse::<u32>().map(|number| format!("{stem}.{}", number + 1));
    next == format!("{own}.1") || after.is_ok_and(|after| next == after)
}

//! Begins the rows of sweeps, lets the states of rows that are not among the best leave memory, and
//! deletes the rows that a user does not keep.

use super::deletion::STOPPED;
use crate::notebook::{Base, ExecId, Fact, Reply, Residency, Run, State, StateId, SweepId};
use crate::problem::{Kind, Problem};
use crate::session::machine::cancel::Stop;
use crate::session::machine::{Machine, budget, introspect, not_found};
use std::collections::HashSet;

impl Machine {
    /// Notes which rows have ended, and begins the next ones.
    pub(in crate::session::machine) fn serve_sweeps(&mut self) {
        loop {
            self.release_rows();
            let is_short = self.memory.is_short(&self.core, &self.held);
            let due = self.sweeps.due(&mut self.core, &mut self.introspection, is_short);
            let mut begun = Vec::new();
            for begin in due {
                begun.push(begin.spec.exec_id.clone());
                match self.ask_run(None, begin.spec.clone()) {
                    // Rows of other sweeps or of clients run. Their ends lead here again.
                    Err(busy) if busy.kind == Kind::Busy => self.sweeps.put_back(begin),
                    Err(refused) => self.sweeps.cannot_begin(&mut self.core, &begin, &refused),
                    Ok(_) => {}
                }
            }
            self.settle();
            let is_over =
                |run: &ExecId| self.core.notebook.run(run).is_some_and(|run| run.status.has_ended());
            if !begun.iter().any(is_over) {
                return;
            }
        }
    }

    /// Notes which rows have ended, and ends the processes of those that are not among the best.
    pub(super) fn release_rows(&mut self) {
        for state in self.sweeps.note_ends(&mut self.core) {
            if !self.release(&state) {
                self.sweeps.release_later(state);
            }
        }
    }

    /// Continues the sweeps that ran when the server stopped.
    pub(in crate::session::machine) fn resume_sweeps(&mut self) {
        let was_stopped = |run: &Run| run.error.as_ref().is_some_and(|error| error.evalue == STOPPED);
        for run in self.sweeps.resume(&mut self.core, was_stopped) {
            // If the server stopped between storing the row's state and storing the end of its run,
            // the row runs again and leaves a second state. So the first state is removed.
            let orphan = self.core.notebook.states().find(|s| s.exec_id.as_ref() == Some(&run.exec_id));
            if let Some(orphan) = orphan.map(|state| state.id.clone()) {
                self.remove_for_good(&orphan);
            }
            self.drop_attempt(&run.exec_id);
        }
    }

    /// Ends the processes of a row's state, unless someone uses it. The state is restored from its
    /// checkpoint if it has one, and by a replay otherwise. Returns false while a process works on
    /// the state.
    fn release(&mut self, id: &StateId) -> bool {
        let Some(state) = self.core.notebook.state(id) else { return true };
        let is_held = state.residency.is_in_memory();
        if !is_held || state.pinned || state.label.is_some() || self.is_used(id) {
            return true;
        }
        if budget::is_worked_on(&self.core, &self.saver, id) || !self.core.processes.only_rest_at(id) {
            return false;
        }
        introspect::end_answers(&mut self.core, id, Kind::Busy, "the sweep has kept better rows");
        if let Some(frozen) = self.core.processes.frozen(id) {
            self.core.end(frozen);
        }
        while let Some(head) = self.core.processes.resting_at(id) {
            self.core.discard(head);
        }
        self.core.uses.forget(id);
        self.memory.forget(id);
        self.comparer.forget(&mut self.core, std::slice::from_ref(id));
        self.core.left(id);
        true
    }

    /// Whether a user is at a row's state, runs a cell against it, or has continued from it.
    fn is_used(&self, id: &StateId) -> bool {
        let is_open = |run: &ExecId| {
            let on = self.core.notebook.run(run).map(|run| &run.on);
            matches!(on, Some(Base::State(on)) if on == id)
        };
        self.presence.participants.iter().any(|one| one.state == *id)
            || self.core.open.iter().any(is_open)
            || self.core.notebook.dependents(id).any(|other| !self.is_next_rung(id, other))
    }

    fn is_next_rung(&self, id: &StateId, child: &State) -> bool {
        let own = self.core.notebook.state(id).and_then(|state| state.exec_id.as_ref());
        own.zip(child.exec_id.as_ref()).is_some_and(|(own, next)| follows(own.as_str(), next.as_str()))
    }

    /// Stops a sweep. The rows that run are interrupted.
    pub(in crate::session::machine) fn stop_sweep(&mut self, id: &SweepId) -> Result<Reply, Problem> {
        for run in self.sweeps.stop(&mut self.core, id)? {
            self.runs.stop(&mut self.core, &run, Stop::Asked);
        }
        Ok(Reply::Done)
    }

    /// Keeps one row of a sweep, and deletes the others.
    pub(in crate::session::machine) fn collapse(
        &mut self,
        id: &SweepId,
        row: Option<usize>,
        label: Option<String>,
    ) -> Result<Reply, Problem> {
        let refused = |kind, why: String, how| Err(Problem::new(kind, "collapse the sweep", why, how));
        let sweep = self.core.notebook.sweep(id).ok_or_else(|| not_found("sweep", id))?;
        if self.sweeps.is_running(id) {
            return refused(Kind::Conflict, "its rows are running".into(), "stop it first, or wait");
        }
        let Some(row) = row.or_else(|| sweep.best()) else {
            let how = "name the row that is to be kept";
            return refused(Kind::Conflict, "no row has a metric, so none is the best".into(), how);
        };
        let last =
            sweep.rows.get(row).and_then(|row| row.ends.iter().rev().find_map(|end| end.state.clone()));
        let is_there =
            |id: &StateId| self.core.notebook.state(id).is_some_and(|s| s.residency != Residency::Deleted);
        let Some(kept) = last.filter(is_there) else {
            return refused(Kind::Conflict, format!("row {row} has no state"), "keep another row");
        };
        let (deleted, continued) = self.delete_rows(id, Some(row));
        if label.is_some() {
            self.core.change_state(&kept, |state| state.label = label);
        }
        Ok(Reply::Collapsed { kept, deleted, continued })
    }

    /// Deletes a sweep and the states of its rows.
    pub(in crate::session::machine) fn delete_sweep(&mut self, id: &SweepId) -> Result<Reply, Problem> {
        // An interrupted cell may go on, and leave a state.
        let running = self.sweeps.stop(&mut self.core, id)?;
        self.runs.kill_and_end(&mut self.core, &running, "the sweep was deleted");
        self.settle();
        self.release_rows();
        self.delete_rows(id, None);
        self.core.notebook.remove_sweep(id);
        self.core.publish(Fact::SweepRemoved { sweep: id.clone() });
        Ok(Reply::Done)
    }

    /// Deletes the states and failed runs of all rows but one. Returns the deleted states, and
    /// those that stay because someone has continued from them or taken variables of them.
    fn delete_rows(&mut self, id: &SweepId, kept: Option<usize>) -> (Vec<StateId>, Vec<StateId>) {
        let Some(sweep) = self.core.notebook.sweep(id) else { return Default::default() };
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
        let at = self.core.notebook.next_deletion(self.core.now_ms);
        let mut going: HashSet<StateId> = HashSet::new();
        let (mut deleted, mut continued, mut gone, mut runs) = (vec![], vec![], vec![], vec![]);
        for state in states {
            if !self.core.notebook.state(&state).is_some_and(|s| s.residency != Residency::Deleted) {
                continue;
            }
            if self.core.notebook.dependents(&state).any(|other| !going.contains(&other.id)) {
                continued.push(state);
                continue;
            }
            if before.is_empty() {
                before = self.lineage(&state);
            }
            let (taken, ended) = self.take_out(&state, at).unwrap_or_default();
            gone.extend(taken);
            runs.extend(ended);
            going.insert(state.clone());
            deleted.push(state);
        }
        for run in failed {
            self.held.end_of(&mut self.core, &run);
            runs.extend(self.core.notebook.drop_attempt(&run, at).unwrap_or_default());
        }
        self.forget_runs(&runs);
        self.publish_removed(&before, gone, runs, Some(at));
        self.trim_trash();
        self.save_next();
        (deleted, continued)
    }
}

/// Whether the run `next` is the rung after the run `own`: `S.3` continues as `S.3.1`, and `S.3.1`
/// as `S.3.2`. `S.4` is another row, but never against the state of `S.3`.
fn follows(own: &str, next: &str) -> bool {
    let (stem, number) = own.rsplit_once('.').unwrap_or((own, ""));
    let after = number.parse::<u32>().map(|number| format!("{stem}.{}", number + 1));
    next == format!("{own}.1") || after.is_ok_and(|after| next == after)
}

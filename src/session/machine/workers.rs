//! Runs at workers. A run is sent when its state has a checkpoint, and it ends when its result has
//! arrived. The result's state is added to the graph, on disk.
//!
//! Everything that can happen twice is harmless: reports about a run that has ended are ignored, so
//! each run takes one result. When a run ends, for whatever reason, its task is recalled
//! (`Runs::end`): a worker that still runs it interrupts it.

use super::core::Core;
use super::effect::{Effect, Serial};
use super::runs::Runs;
use crate::kernel::{CellReport, Hazards};
use crate::notebook::{
    Cause, Checkpoint, Dispatch, ExecId, Fact, Output, OutputChange, Residency, RunError, RunStatus,
    RunWorker, StateId, WorkerReport, WorkerResult, WorkerTask,
};
use std::collections::BTreeMap;

/// The states of results whose checkpoints the store has not added yet, with their runs and how
/// these end.
#[derive(Debug, Default)]
pub(super) struct Workers {
    arriving: BTreeMap<StateId, (ExecId, Serial, Result<(), RunError>)>,
}

impl Workers {
    /// Sends a run to the workers. `parent` is the checkpoint of the state that it runs against;
    /// none for the root.
    pub(super) fn send(&self, core: &mut Core, runs: &Runs, exec_id: &ExecId, parent: Option<Checkpoint>) {
        let Some(spec) = runs.get(exec_id).map(|request| &request.spec) else { return };
        let task = WorkerTask {
            exec_id: exec_id.clone(),
            code: spec.code.clone(),
            parent,
            python: core.notebook.python().series().to_owned(),
            timeout: spec.timeout,
            run_memory: spec.run_memory,
            on_error: spec.on_error,
            metric: spec.metric.clone(),
            threads: spec.threads,
        };
        let dispatch = Box::new(Dispatch { task, resources: spec.resources.clone() });
        core.emit(Effect::Dispatch(exec_id.clone(), runs.serial(exec_id), dispatch));
    }

    /// Handles a report about a run at a worker. Reports about a run that has ended are ignored:
    /// they are late, or repeat what is known.
    pub(super) fn reported(
        &mut self,
        core: &mut Core,
        runs: &mut Runs,
        exec_id: &ExecId,
        serial: Serial,
        report: WorkerReport,
    ) {
        let is_open = core.notebook.run(exec_id).is_some_and(|run| !run.status.has_ended());
        let is_arriving = self.arriving.values().any(|(run, of, _)| (run, *of) == (exec_id, serial));
        if !is_open || is_arriving || !runs.is_still(exec_id, serial) {
            return;
        }
        match report {
            WorkerReport::Began { node } => began(core, exec_id, node),
            WorkerReport::Outputs(change) => change_outputs(core, exec_id, change),
            WorkerReport::Ended(result) => self.ended(core, runs, exec_id, serial, *result),
            WorkerReport::Failed(error) => runs.fail(core, exec_id, error),
        }
    }

    fn ended(
        &mut self,
        core: &mut Core,
        runs: &mut Runs,
        exec_id: &ExecId,
        serial: Serial,
        result: WorkerResult,
    ) {
        let WorkerResult { node, status, error, outputs, metric, duration_ms, state, .. } = result;
        let unknown = || RunError::of(Cause::WorkerFailed, "its worker gave no reason");
        let ending = if status == RunStatus::Ok { Ok(()) } else { Err(error.unwrap_or_else(unknown)) };
        began_at_last(core, exec_id, duration_ms.unwrap_or_default());
        replace_outputs(core, exec_id, outputs);
        if let Some(run) = core.notebook.run_mut(exec_id) {
            let (fetched_bytes, pushed_bytes) = (result.fetched_bytes, result.pushed_bytes);
            run.worker = Some(RunWorker { node: Some(node), fetched_bytes, pushed_bytes });
            run.metric = metric;
        }
        runs.note_duration(exec_id, duration_ms);
        let Some(left) = state else { return runs.end(core, exec_id, ending) };
        let partial = ending.is_err();
        let hazards = Hazards { warnings: left.warnings, forks: left.forks, is_alone: false };
        let report = CellReport { exec_count: left.exec_count, hazards };
        let Some(id) = runs.add_state(core, exec_id, report, partial, Residency::Replay) else {
            return runs.end(core, exec_id, ending);
        };
        let parent = core.notebook.state(&id).and_then(|state| state.parent.clone());
        // The result's signature covers the digest of the manifest, so this install may sign the
        // checkpoint as its own.
        let checkpoint = Checkpoint { is_trusted: true, state_id: id.clone(), ..left.checkpoint };
        core.emit(Effect::Keep { state: id.clone(), parent, checkpoint: Box::new(checkpoint) });
        self.arriving.insert(id, (exec_id.clone(), serial, ending));
    }

    /// Ends the run of a state when the store has added the state's checkpoint. If the store could
    /// not add it, the state comes back by a replay.
    pub(super) fn kept(&mut self, core: &mut Core, runs: &mut Runs, id: &StateId, failure: Option<&str>) {
        let Some((exec_id, serial, ending)) = self.arriving.remove(id) else { return };
        if !runs.is_still(&exec_id, serial) {
            return;
        }
        if let Some(why) = failure {
            let warning = format!("its checkpoint could not be stored, so it comes back by a replay: {why}");
            core.warn_run(&exec_id, warning);
        }
        runs.end(core, &exec_id, ending);
    }

    /// Forgets the results, because the notebook is reset.
    pub(super) fn reset(&mut self) {
        self.arriving.clear();
    }
}

/// Notes that an attempt has begun. What an earlier attempt has printed is cleared.
fn began(core: &mut Core, exec_id: &ExecId, node: String) {
    if let Some(run) = core.notebook.run_mut(exec_id) {
        run.worker = Some(RunWorker { node: Some(node), ..RunWorker::default() });
    }
    began_at_last(core, exec_id, 0.0);
    replace_outputs(core, exec_id, Vec::new());
}

/// Notes that a run has begun, this many milliseconds ago. The worker's clock is never used.
fn began_at_last(core: &mut Core, exec_id: &ExecId, ago_ms: f64) {
    let started_at = core.now_ms - ago_ms;
    let Some(run) = core.notebook.run_mut(exec_id).filter(|run| run.started_at.is_none()) else { return };
    (run.status, run.started_at) = (RunStatus::Running, Some(started_at));
    let on = run.on.clone();
    core.publish(Fact::RunStarted { exec_id: exec_id.clone(), on, started_at });
}

fn replace_outputs(core: &mut Core, exec_id: &ExecId, outputs: Vec<Output>) {
    let before = core.notebook.run(exec_id).map(|run| run.outputs.items()).unwrap_or_default();
    if let Some(change) = OutputChange::between(before, &outputs) {
        change_outputs(core, exec_id, change);
    }
}

fn change_outputs(core: &mut Core, exec_id: &ExecId, change: OutputChange) {
    let Some(run) = core.notebook.run_mut(exec_id) else { return };
    let OutputChange { replaces, added } = change;
    if replaces {
        // If something follows, pages keep the old outputs until then, so nothing flickers.
        let wait = !added.is_empty();
        run.outputs.clear(wait);
        core.publish(Fact::OutputsCleared { exec_id: exec_id.clone(), wait });
    }
    for output in added {
        let shown = core.notebook.run_mut(exec_id).and_then(|run| run.outputs.push(output));
        if let Some(output) = shown {
            core.publish(Fact::OutputAdded { exec_id: exec_id.clone(), output });
        }
    }
}

//! Changes a notebook at random and collects the facts of these changes. The changes are of the
//! kinds that the session makes.

use super::Dice;
use crate::notebook::{
    Asked, Base, CodeRange, Draft, DraftId, DraftKind, ExecId, Fact, MimeBundle, Notebook, Output, Residency,
    Restored, RowEnd, Run, RunError, RunStatus, Saving, Slot, State, StateId, StreamName, Sweep, SweepId,
    SweepOptions, SweepRow, SweepStatus, TaskCheckpoint, Updated,
};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

pub(super) struct Story {
    pub(super) notebook: Notebook,
    pub(super) facts: Vec<Fact>,
    pub(super) dice: Dice,
    /// Maximum length of an output's text, in bytes.
    pub(super) longest: usize,
    serial: usize,
}

pub(super) fn new_state(id: &str, name: &str, parent: &StateId, run: Option<&ExecId>) -> State {
    State {
        id: StateId::new(id),
        name: name.into(),
        parent: Some(parent.clone()),
        taken_from: None,
        exec_id: run.cloned(),
        exec_count: 1,
        created_at: 1.1 / 3.0,
        label: None,
        prose: vec![],
        warnings: vec![],
        forks: true,
        fork_anyway: false,
        pinned: false,
        residency: Residency::Freezing,
        deleted_at: None,
        checkpoint: None,
        saving: Saving::Idle,
        restored_from: None,
        memory_bytes: None,
        shared_bytes: None,
        in_memory_since: None,
        changes: None,
        partial: true,
    }
}

pub(super) fn new_run(id: &str, on: &StateId, code: &str) -> Run {
    let on = Base::State(on.clone());
    let asked = Asked { on: on.clone(), new_state_name: None };
    Run { variant: true, ..Run::new(ExecId::new(id), on, code.into(), None, asked) }
}

pub(super) fn bundle(text: &str) -> MimeBundle {
    Map::from_iter([("text/plain".to_owned(), Value::from(text)), ("n".to_owned(), json!(0.1 + 0.2))])
}

impl Story {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            notebook: Notebook::new("main", 1.0),
            facts: Vec::new(),
            dice: Dice(seed),
            longest: 300_000,
            serial: 0,
        }
    }

    fn new_id(&mut self, what: &str) -> String {
        self.serial += 1;
        format!("{what}{}", self.serial)
    }

    fn live_states(&self) -> Vec<StateId> {
        self.notebook.states().filter(|s| s.residency != Residency::Deleted).map(|s| s.id.clone()).collect()
    }

    fn any_state(&mut self) -> Option<StateId> {
        let live = self.live_states();
        if live.is_empty() { None } else { Some(live[self.dice.roll(live.len())].clone()) }
    }

    fn open_run(&mut self) -> Option<ExecId> {
        let open: Vec<ExecId> =
            self.notebook.runs().filter(|r| !r.status.has_ended()).map(|r| r.exec_id.clone()).collect();
        if open.is_empty() { None } else { Some(open[self.dice.roll(open.len())].clone()) }
    }

    /// Makes one random change. Does nothing if the notebook does not allow the change.
    pub(super) fn go_on(&mut self) {
        match self.dice.roll(48) {
            0..4 => self.add_run(),
            4..7 => self.start(),
            7..20 => self.output(),
            20..22 => self.clear(),
            22..25 => self.update(),
            25..30 => self.end(),
            30..32 => self.draft(),
            32..34 => self.change(),
            34..36 => self.delete(),
            39 => self.drop_attempt(),
            40 => self.restore(),
            41 if self.dice.roll(4) == 0 => self.empty_trash(),
            36..39 => self.task(),
            43..48 => self.sweep(),
            _ => {
                if self.dice.roll(12) == 0 {
                    self.notebook.reset(7.25);
                    let notebook = self.notebook.snapshot(Vec::new());
                    self.facts.push(Fact::Reset { notebook });
                }
            }
        }
    }

    fn add_run(&mut self) {
        let Some(on) = self.any_state() else { return };
        let id = self.new_id("run");
        let mut run = new_run(&id, &on, "print('ä')\n");
        run.asked.new_state_name = (self.dice.roll(2) == 0).then(|| format!("name{}", self.dice.roll(4)));
        self.notebook.add_run(run.clone());
        self.facts.push(Fact::RunAdded { run });
    }

    fn start(&mut self) {
        let Some(id) = self.open_run() else { return };
        let run = self.notebook.run_mut(&id).unwrap();
        (run.status, run.started_at) = (RunStatus::Running, Some(12.3456789));
        self.facts.push(Fact::RunStarted { exec_id: id, on: run.on.clone(), started_at: 12.3456789 });
    }

    fn output(&mut self) {
        let Some(exec_id) = self.open_run() else { return };
        let n = self.dice.roll(9);
        let output = match n {
            0..3 => Output::stream(StreamName::Stdout, format!("out {n}\n")),
            3..5 => Output::stream(StreamName::Stderr, "err"),
            5 => Output::stream(StreamName::Stdout, "x".repeat(1 + self.dice.roll(self.longest))),
            6 => Output::ExecuteResult { data: bundle("r"), metadata: Map::new(), execution_count: 3 },
            _ => Output::DisplayData {
                data: bundle(&"d".repeat(self.dice.roll(self.longest))),
                metadata: bundle("m"),
                display_id: (n == 7).then(|| format!("id{}", self.dice.roll(2))),
            },
        };
        if let Some(output) = self.notebook.run_mut(&exec_id).unwrap().outputs.push(output) {
            self.facts.push(Fact::OutputAdded { exec_id, output });
        }
    }

    fn clear(&mut self) {
        let Some(exec_id) = self.open_run() else { return };
        let wait = self.dice.roll(2) == 0;
        self.notebook.run_mut(&exec_id).unwrap().outputs.clear(wait);
        self.facts.push(Fact::OutputsCleared { exec_id, wait });
    }

    fn update(&mut self) {
        let Some(exec_id) = self.open_run() else { return };
        let (display_id, data, metadata) = (format!("id{}", self.dice.roll(2)), bundle("new"), Map::new());
        let outputs = &mut self.notebook.run_mut(&exec_id).unwrap().outputs;
        if outputs.update_display(&display_id, &data, &metadata) == Updated::Yes {
            self.facts.push(Fact::DisplayUpdated { exec_id, display_id, data, metadata });
        }
    }

    fn end(&mut self) {
        let Some(exec_id) = self.open_run() else { return };
        let run = self.notebook.run(&exec_id).unwrap().clone();
        let Base::State(on) = run.on.clone() else { return };
        let is_good = self.dice.roll(3) > 0 && self.live_states().contains(&on);
        let (mut status, mut error, mut left) = (RunStatus::Error, None, None);
        if is_good {
            status = RunStatus::Ok;
            let id = self.new_id("state");
            let name = run.asked.new_state_name.as_deref().unwrap_or(&id);
            let created_at = self.serial as f64 / 3.0;
            let state = State { created_at, ..new_state(&id, name, &on, Some(&exec_id)) };
            left = Some(state.id.clone());
            let renamed = self.notebook.add_state(state.clone());
            if let Some(earlier) = renamed.and_then(|id| self.notebook.state(&id).cloned()) {
                self.facts.push(Fact::StateChanged { state: earlier });
            }
            self.facts.push(Fact::StateAdded { state });
        } else {
            let raised =
                RunError { ename: "E".into(), evalue: "v".into(), traceback: vec!["a".into()], cause: None };
            let run = self.notebook.run_mut(&exec_id).unwrap();
            run.outputs.push_last(raised.clone());
            self.facts
                .push(Fact::OutputAdded { exec_id: exec_id.clone(), output: Output::Error(raised.clone()) });
            error = Some(raised);
        }
        let run = self.notebook.run_mut(&exec_id).unwrap();
        (run.status, run.duration_ms, run.state) = (status, Some(0.1), left.clone());
        run.error.clone_from(&error);
        self.facts.push(Fact::RunEnded {
            exec_id,
            status,
            error,
            duration_ms: Some(0.1),
            state: left,
            symbols: None,
            metric: None,
            worker: None,
        });
    }

    fn draft(&mut self) {
        let Some(on) = self.any_state() else { return };
        let known: Vec<Draft> = self.notebook.drafts().cloned().collect();
        let mut put = HashSet::new();
        for _ in 0..self.dice.roll(4) {
            // Adds a new draft, or changes a known draft and moves it to this state.
            let source = format!("x{}", self.dice.roll(100));
            let id = match known.len() {
                n if n > 0 && self.dice.roll(2) == 0 => known[self.dice.roll(n)].id.clone(),
                _ => DraftId::new(self.new_id("draft")),
            };
            let child = self.notebook.children(&on).next().filter(|_| self.dice.roll(2) == 0);
            let (before, kind) = (child.map(|child| child.id.clone()), DraftKind::Code);
            let draft = Draft {
                id: id.clone(),
                on: on.clone(),
                instead_of: before.clone().filter(|_| self.dice.roll(4) == 0),
                before,
                kind,
                source,
                version: 1,
                received: Vec::new(),
                imported_cell: None,
                stale_run: None,
            };
            let there: Vec<Draft> = self.notebook.drafts().filter(|d| d.on == on).cloned().collect();
            match (self.dice.roll(4), there.len()) {
                (0, n) if n > 0 => self.notebook.place_draft(draft, Some(&there[self.dice.roll(n)].id)),
                (1, _) => self.notebook.place_draft(draft, None),
                (2, _) if self.notebook.change_draft(&draft) => {}
                _ => self.notebook.place_draft(draft, there.last().map(|d| &d.id)),
            }
            put.insert(id);
        }
        let put = self.notebook.placed_drafts(&on, &put);
        self.facts.push(Fact::DraftsChanged { on: on.clone(), removed: Vec::new(), put });
        let there: Vec<Draft> = self.notebook.drafts().filter(|d| d.on == on).cloned().collect();
        if !there.is_empty() && self.dice.roll(3) == 0 {
            let id = there[self.dice.roll(there.len())].id.clone();
            self.notebook.remove_draft(&id);
            self.facts.push(Fact::DraftsChanged { on, removed: vec![id], put: Vec::new() });
        }
    }

    fn change(&mut self) {
        let Some(id) = self.any_state() else { return };
        let n = self.dice.roll(100);
        let state = self.notebook.state_mut(&id).unwrap();
        (state.label, state.prose, state.pinned) = (Some(format!("l{n}")), vec!["# p".into()], n > 50);
        state.fork_anyway = n > 30;
        (state.residency, state.memory_bytes, state.shared_bytes) = (Residency::Memory, Some(5), Some(6));
        let state = state.clone();
        self.facts.push(Fact::StateChanged { state });
    }

    fn delete(&mut self) {
        let Some(id) = self.any_state() else { return };
        if id == StateId::root() && self.dice.roll(20) > 0 {
            return;
        }
        let before: Vec<StateId> = self.notebook.lineage(&id).iter().map(|s| s.id.clone()).collect();
        let at = self.notebook.next_deletion(1000.0);
        let (states, runs) = self.notebook.delete_state(&id, at).unwrap();
        for id in before.iter().filter(|id| !states.contains(id)) {
            if let Some(state) =
                self.notebook.state(id).filter(|s| s.residency == Residency::Deleted).cloned()
            {
                self.facts.push(Fact::StateChanged { state });
            }
        }
        if !states.is_empty() {
            self.facts.push(Fact::Removed { states, runs, deleted_at: Some(at) });
        }
    }

    fn drop_attempt(&mut self) {
        let failed: Vec<ExecId> = self
            .notebook
            .runs()
            .filter(|r| r.status.has_ended() && r.state.is_none())
            .map(|r| r.exec_id.clone())
            .collect();
        if failed.is_empty() {
            return;
        }
        let at = self.notebook.next_deletion(1000.0);
        let runs = self.notebook.drop_attempt(&failed[self.dice.roll(failed.len())], at).unwrap();
        self.facts.push(Fact::Removed { states: Vec::new(), runs, deleted_at: Some(at) });
    }

    /// Begins a sweep, or lets something happen to the last one.
    fn sweep(&mut self) {
        let last = self.notebook.sweeps().last().cloned();
        let what = self.dice.roll(6);
        let (Some(sweep), 1..) = (last, what) else {
            let Some(at) = self.any_state() else { return };
            let sweep = self.new_sweep(at);
            self.notebook.add_sweep(sweep.clone());
            return self.facts.push(Fact::SweepAdded { sweep });
        };
        let id = sweep.id.clone();
        let Some(there) = self.notebook.sweep_mut(&id) else { return };
        self.facts.push(match what {
            1 => {
                self.notebook.remove_sweep(&id);
                Fact::SweepRemoved { sweep: id }
            }
            2 => {
                there.status = SweepStatus::Done;
                (there.ended_at, there.note) = (Some(3.5), Some("a target".into()));
                let (status, ended_at, note) = (there.status, 3.5, there.note.clone());
                Fact::SweepEnded { sweep: id, status, ended_at, note }
            }
            3 => {
                let (first, rows) =
                    (there.rows.len(), vec![SweepRow { values: vec!["9".into()], ends: vec![] }]);
                there.rows.extend(rows.clone());
                Fact::SweepRowsAdded { sweep: id, first, rows }
            }
            _ => {
                let row = self.dice.roll(there.rows.len());
                let (status, state) = (RunStatus::Ok, Some(StateId::new("s1")));
                let end = RowEnd {
                    status,
                    state,
                    metric: Some(0.1 + 0.2),
                    error: None,
                    duration_ms: Some(1.5),
                    node: None,
                };
                there.rows[row].ends.push(end.clone());
                Fact::SweepRowEnded { sweep: id, row, end }
            }
        });
    }

    fn new_sweep(&mut self, at: StateId) -> Sweep {
        let row = |value: &str| SweepRow { values: vec![value.into()], ends: vec![] };
        Sweep {
            id: SweepId::new(self.new_id("sweep")),
            at,
            code: "x = 1  # ä".into(),
            parameters: vec![Slot { name: "x".into(), range: Some(CodeRange { from: 4, to: 5 }) }],
            options: SweepOptions { metric: Some("x".into()), keep: Some(2), ..SweepOptions::default() },
            sampler: None,
            rows: vec![row("1"), row("'ä'"), row("(1, 2)")],
            created_at: 1.1 / 3.0,
            status: SweepStatus::Running,
            ended_at: None,
            note: None,
        }
    }

    fn restore(&mut self) {
        let deletions = self.notebook.deletions();
        if deletions.is_empty() {
            return;
        }
        let deletion = &deletions[self.dice.roll(deletions.len())];
        let state = deletion.states.first().map(|(state, _)| state.id.to_string());
        let id = state.unwrap_or_else(|| deletion.runs[0].exec_id.to_string());
        let Restored { states, runs, drafts } = self.notebook.restore(&id).unwrap();
        self.facts.push(Fact::Restored { states, runs });
        let on: HashSet<StateId> = drafts.iter().map(|draft| draft.on.clone()).collect();
        for on in on {
            let ids = drafts.iter().filter(|draft| draft.on == on).map(|draft| draft.id.clone()).collect();
            let put = self.notebook.placed_drafts(&on, &ids);
            self.facts.push(Fact::DraftsChanged { on, removed: Vec::new(), put });
        }
    }

    fn empty_trash(&mut self) {
        let (states, runs) = self.notebook.empty_trash();
        // The session removes the edits of cells that are gone for good.
        let is_of = |draft: &&Draft| draft.instead_of.as_ref().is_some_and(|state| states.contains(state));
        let edits: Vec<Draft> = self.notebook.drafts().filter(is_of).cloned().collect();
        for Draft { id, on, .. } in edits {
            self.notebook.remove_draft(&id);
            self.facts.push(Fact::DraftsChanged { on, removed: vec![id], put: Vec::new() });
        }
        self.facts.push(Fact::Removed { states, runs, deleted_at: None });
    }

    fn task(&mut self) {
        let task_id = format!("task{}", self.dice.roll(3));
        let version = self.notebook.task(&task_id).map_or(0, <[_]>::len) as u64 + 1;
        let checkpoint = TaskCheckpoint {
            task_id,
            version,
            state: None,
            values: bundle("v"),
            token_usage: Map::new(),
            metadata: Map::new(),
            created_at: 0.3,
        };
        self.notebook.add_task(checkpoint.clone());
        self.facts.push(Fact::TaskSaved { checkpoint });
    }
}

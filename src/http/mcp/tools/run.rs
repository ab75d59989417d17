//! `run` and `read_run`: one cell against one state.

use super::call::{Answer, Call, OpenCall, POLL, new_run, wait, word};
use crate::http::app_state::detached;
use crate::http::authorize::unexpected;
use crate::http::mcp::arguments::{ReadRunArguments, RunArguments, RunResult};
use crate::http::mcp::text::{Cursor, ShownOutputs, show};
use crate::notebook::{
    Base, Command, ExecId, Notebook, Output, Outputs, Reply, Run, RunSpec, StateRef, SweepId, Symbols,
};
use crate::problem::{Kind, Problem};
use std::time::Instant;

/// Runs code, and answers when the run has ended or `wait_s` have passed.
pub(super) async fn run(call: Call, arguments: RunArguments) -> Result<Answer, Problem> {
    let patience = wait(arguments.wait_s)?;
    let call = call.open(arguments.notebook.as_deref()).await?;
    call.agent.check_may_run()?;
    let state = call.state(&arguments.at).await?;
    let exec_id = new_run();
    let spec = RunSpec {
        timeout: arguments.timeout_s,
        run_memory: arguments.run_memory,
        // An agent has no other way to get back a state that is only in the history.
        replay: true,
        with_outputs: true,
        ..RunSpec::new(exec_id.clone(), arguments.code, Base::State(state))
    };
    if let Some(label) = &arguments.label {
        crate::http::limits::check_label(label)?;
    }
    let command = call.app.authorize(&call.access, Command::Run(spec))?;
    call.agent.add_runs([exec_id.clone()]);
    let guard = call.stop_if_cancelled(vec![Command::Interrupt { exec_id: exec_id.clone() }]);
    let (app, access, session) = (call.app.clone(), call.access.clone(), call.session.clone());
    // Continues when this call no longer waits: the label belongs to the state, not to the call.
    let ended = detached(async move {
        let reply = session.ask(command).await?;
        if let (Reply::Ended(ended), Some(label)) = (&reply, arguments.label)
            && let Some(state) = ended.state.clone()
        {
            app.ask(&session, &access, Command::Label { state: StateRef::Id(state), label: Some(label) })
                .await?;
        }
        Ok(reply)
    });
    match tokio::time::timeout(patience, ended).await {
        Ok(reply) => match reply? {
            Reply::Ended(_) => call.agent.remove_run(&exec_id),
            Reply::Refused(refused) => {
                guard.finish();
                return Err(refused);
            }
            other => return Err(unexpected(other)),
        },
        Err(_still_running) => (),
    }
    let answer = answer(&call, exec_id, Cursor::default()).await;
    guard.finish();
    answer
}

/// Reads the outputs of a run after a position. Waits for new output or the end of the run.
pub(super) async fn read_run(call: Call, arguments: ReadRunArguments) -> Result<Answer, Problem> {
    let patience = wait(arguments.wait_s)?;
    let cursor = match arguments.cursor.as_deref() {
        None | Some("") => Cursor::default(),
        Some(text) => Cursor::read(text).ok_or_else(|| {
            let how = "use the `cursor` of the last answer, or none";
            Problem::bad_request(format!("read after {text:?}"), "that is no cursor", how)
        })?,
    };
    let call = call.open(arguments.notebook.as_deref()).await?;
    let sweep = SweepId::new(&arguments.run);
    let of_sweep = sweep.clone();
    if call.session.read(move |notebook| notebook.sweep(&of_sweep).is_some()).await? {
        let rows = super::many::wait_for_sweep(&call, sweep, patience).await?;
        let result = RunResult {
            run: arguments.run,
            status: rows.status.clone(),
            cursor: Cursor::default().to_string(),
            rows: Some(rows),
            ..RunResult::default()
        };
        return Ok(Answer::new(&result, Vec::new()));
    }
    let exec_id = ExecId::new(&arguments.run);
    let by = Instant::now() + patience;
    loop {
        let id = exec_id.clone();
        let seen = call.session.read(move |notebook| {
            notebook.run(&id).map(|run| (run.status.has_ended(), Cursor::end_of(&run.outputs)))
        });
        match seen.await? {
            Some((has_ended, end)) if has_ended || end != cursor => break,
            None if !call.agent_has_begun(&exec_id) => break,
            _ if Instant::now() >= by => break,
            _ => tokio::time::sleep(POLL).await,
        }
    }
    answer(&call, exec_id, cursor).await
}

impl OpenCall {
    fn agent_has_begun(&self, run: &ExecId) -> bool {
        self.app.agents.have_begun(self.session.name(), run)
    }
}

/// The outputs of a run after a position, and how it stands.
async fn answer(call: &OpenCall, exec_id: ExecId, after: Cursor) -> Result<Answer, Problem> {
    let id = exec_id.clone();
    let run = call.session.read(move |notebook: &Notebook| notebook.run(&id).cloned()).await?;
    let Some(run) = run else {
        if call.agent_has_begun(&exec_id) {
            let run = exec_id.as_str().to_owned();
            let cursor = Cursor::default().to_string();
            let result = RunResult { run, status: "queued".into(), cursor, ..RunResult::default() };
            return Ok(Answer::new(&result, Vec::new()));
        }
        let how = "runs that left a state or failed are in the tool `history`";
        return Err(Problem::new(Kind::NotFound, format!("find run {exec_id}"), "there is none", how));
    };
    if let Some(state) = &run.state {
        call.stand_at(state.clone()).await;
    }
    let (result, items) = result_of(call.session.name(), run, after);
    Ok(Answer::new(&result, items))
}

fn result_of(notebook: &str, run: Run, after: Cursor) -> (RunResult, Vec<serde_json::Value>) {
    let mut outputs: Outputs = run.outputs;
    // The error is the last output of most runs that fail, but not of one that was interrupted.
    if let Some(error) = &run.error
        && !matches!(outputs.items().last(), Some(Output::Error(_)))
    {
        outputs.push_last(error.clone());
    }
    let ShownOutputs { text, items } = show(notebook, &run.exec_id, &outputs, after);
    let Symbols { modified, deleted, .. } = run.symbols.unwrap_or_default();
    let result = RunResult {
        run: run.exec_id.as_str().to_owned(),
        status: word(&run.status),
        state: run.state.map(|state| state.as_str().to_owned()),
        output: text,
        cursor: Cursor::end_of(&outputs).to_string(),
        error: run.error.map(|error| error.in_words()),
        assigned: modified,
        deleted,
        seconds: run.duration_ms.map(|ms| ms / 1000.0),
        warnings: run.warnings,
        rows: None,
    };
    (result, items)
}

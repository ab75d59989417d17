//! `take` and `interrupt`.

use super::call::{Answer, Call, new_run};
use crate::http::authorize::{clean_up, unexpected};
use crate::http::mcp::arguments::{InterruptArguments, InterruptResult, TakeArguments, TakeResult};
use crate::notebook::{
    Command, Ended, ExecId, MergeSpec, Notebook, Reply, RunStatus, StateRef, SweepId, SweepStatus, Take,
    Wanted,
};
use crate::problem::{Kind, Problem};
use std::collections::BTreeMap;

/// Takes variables of one state into a new child of another.
pub(super) async fn take(call: Call, arguments: TakeArguments) -> Result<Answer, Problem> {
    let call = call.open(arguments.notebook.as_deref()).await?;
    call.agent.check_may_run()?;
    let from = call.state(&arguments.from).await?;
    let into = call.state(&arguments.into).await?;
    let what = format!("take variables of {from} into {into}");
    let exec_id = new_run();
    let spec = MergeSpec {
        exec_id: exec_id.clone(),
        into: StateRef::Id(into),
        from: StateRef::Id(from),
        take: Wanted::Names(arguments.names),
        on_conflict: arguments.on_conflict,
        resolve: BTreeMap::new(),
        new_state_name: None,
        dry_run: false,
    };
    let command = call.app.authorize(&call.access, Command::Merge(spec))?;
    call.agent.add_runs([exec_id.clone()]);
    let guard = call.stop_if_cancelled(vec![Command::Interrupt { exec_id: exec_id.clone() }]);
    let id = exec_id.clone();
    let read = move |notebook: &Notebook, reply| {
        let take = notebook.run(&id).and_then(|run| Take::read(&run.code)).map(|(_, take)| take);
        (reply, take.unwrap_or_default())
    };
    let reply = call.session.ask_then(command, read).await;
    guard.finish();
    call.agent.remove_run(&exec_id);
    match reply? {
        (Reply::Ended(Ended { status: RunStatus::Ok, state: Some(state), warnings, .. }), taken) => {
            call.stand_at(state.clone()).await;
            let result = TakeResult {
                run: exec_id.as_str().to_owned(),
                state: state.as_str().to_owned(),
                taken: taken.names,
                deleted: taken.delete,
                warnings,
            };
            Ok(Answer::new(&result, Vec::new()))
        }
        (Reply::Ended(Ended { status, error, .. }), _) => {
            clean_up(&call.session, exec_id).await?;
            let why = match error {
                Some(error) if status != RunStatus::Interrupted => error.evalue,
                _ => "the run was interrupted".into(),
            };
            let how = "leave these variables out, or run the cells that made them";
            Err(Problem::new(Kind::Conflict, what, why, how))
        }
        (other, _) => Err(unexpected(other)),
    }
}

/// Interrupts a run, or stops a sweep.
pub(super) async fn interrupt(call: Call, arguments: InterruptArguments) -> Result<Answer, Problem> {
    let call = call.open(arguments.notebook.as_deref()).await?;
    let sweep = SweepId::new(&arguments.run);
    let id = sweep.clone();
    let status = call.session.read(move |notebook| notebook.sweep(&id).map(|sweep| sweep.status)).await?;
    let interrupted = match status {
        Some(status) => {
            call.app.ask(&call.session, &call.access, Command::StopSweep { sweep }).await?;
            status == SweepStatus::Running
        }
        None => {
            let command = Command::Interrupt { exec_id: ExecId::new(&arguments.run) };
            match call.app.ask(&call.session, &call.access, command).await? {
                Reply::Interrupted { interrupted } => interrupted,
                other => return Err(unexpected(other)),
            }
        }
    };
    Ok(Answer::new(&InterruptResult { interrupted }, Vec::new()))
}

//! `run_many`: a sweep for a grid of values, and single runs for variants of a cell.

use super::call::{Answer, Call, MAX_WAIT_S, OpenCall, POLL, new_run, word};
use crate::http::authorize::unexpected;
use crate::http::mcp::arguments::{ManyResult, RowResult, RunManyArguments};
use crate::http::mcp::text::{Cursor, MAX_TEXT_CHARS, cut, show};
use crate::notebook::{
    Base, Command, ExecId, Goal, Notebook, Reply, RunSpec, StateId, StateRef, Sweep, SweepId, SweepOptions,
    SweepSpec, SweepStatus,
};
use crate::problem::{Kind, Problem};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Maximum number of variants of one call.
const MAX_VARIANTS: usize = 100;
/// Maximum number of rows in an answer.
const MAX_ROWS: usize = 50;

/// Runs many branches. Answers when all have ended, or after `MAX_WAIT_S`.
pub(super) async fn run_many(call: Call, arguments: RunManyArguments) -> Result<Answer, Problem> {
    let call = call.open(arguments.notebook.as_deref()).await?;
    call.agent.check_may_run()?;
    let state = call.state(&arguments.at).await?;
    let RunManyArguments { code, grid, variants, metric, goal, parallel, keep, .. } = arguments;
    let result = match (code, grid, variants) {
        (Some(code), Some(grid), None) => {
            let options = SweepOptions { metric, goal, parallel, keep, ..SweepOptions::default() };
            run_grid(&call, state, code, grid, options).await?
        }
        (None, None, Some(_)) if keep.is_some() => {
            let how = "leave it out, or use `code` with `grid`";
            return Err(Problem::bad_request("run variants", "`keep` needs a grid", how));
        }
        (None, None, Some(variants)) => run_variants(&call, state, variants, metric, goal, parallel).await?,
        _ => {
            let why = "the branches are not clear";
            return Err(Problem::bad_request("run many", why, "give `code` and `grid`, or `variants` alone"));
        }
    };
    Ok(Answer::new(&result, Vec::new()))
}

async fn run_grid(
    call: &OpenCall,
    state: StateId,
    code: String,
    grid: Map<String, Value>,
    options: SweepOptions,
) -> Result<ManyResult, Problem> {
    let spec = SweepSpec {
        id: None,
        at: StateRef::name(state.as_str()),
        code,
        grid: Some(grid),
        rows: None,
        sampler: None,
        options,
        unknown: Map::new(),
    };
    let sweep = match call.app.ask(&call.session, &call.access, Command::Sweep(Box::new(spec))).await? {
        Reply::SweepStarted { id, .. } => id,
        other => return Err(unexpected(other)),
    };
    call.agent.add_sweep(sweep.clone());
    let guard = call.stop_if_cancelled(vec![Command::StopSweep { sweep: sweep.clone() }]);
    let result = wait_for_sweep(call, sweep, Duration::from_secs_f64(MAX_WAIT_S)).await;
    guard.finish();
    result
}

/// Waits until a sweep has ended, and returns its rows.
pub(super) async fn wait_for_sweep(
    call: &OpenCall,
    sweep: SweepId,
    patience: Duration,
) -> Result<ManyResult, Problem> {
    let by = Instant::now() + patience;
    loop {
        let id = sweep.clone();
        let running =
            call.session.read(move |n| n.sweep(&id).is_some_and(|s| s.status == SweepStatus::Running));
        if !running.await? || Instant::now() >= by {
            break;
        }
        tokio::time::sleep(POLL).await;
    }
    let id = sweep.clone();
    let result =
        call.session.read(move |notebook| notebook.sweep(&id).map(|s| of_sweep(notebook, s))).await?;
    result.ok_or_else(|| {
        let how = "someone has deleted it; start another one";
        Problem::new(Kind::NotFound, format!("find sweep {sweep}"), "there is none", how)
    })
}

fn of_sweep(notebook: &Notebook, sweep: &Sweep) -> ManyResult {
    let names: Vec<&str> = sweep.parameters.iter().map(|slot| slot.name.as_str()).collect();
    let rows = (0..sweep.rows.len()).map(|index| {
        let row = &sweep.rows[index];
        let rung = row.ends.len().saturating_sub(1);
        let values = row.values.iter().map(|source| serde_json::from_str(source).unwrap_or(json!(source)));
        RowResult {
            params: names.iter().map(|name| (*name).to_owned()).zip(values).collect(),
            metric: row.ends.iter().rev().find_map(|end| end.metric),
            error: row.ends.last().and_then(|end| end.error.clone()),
            ..row_of(notebook, index, &sweep.exec_id(index, rung))
        }
    });
    let ended = sweep.rows.iter().filter(|row| !row.ends.is_empty()).count();
    let rows: Vec<RowResult> = rows.collect();
    ManyResult {
        sweep: Some(sweep.id.as_str().to_owned()),
        status: word(&sweep.status),
        count: rows.len() + sweep.to_draw(),
        ended,
        best: sweep.best(),
        rows: shortened(rows, sweep.options.goal),
        note: sweep.note.clone(),
    }
}

/// A row as its run stands.
fn row_of(notebook: &Notebook, index: usize, run: &ExecId) -> RowResult {
    let unbegun =
        RowResult { index, run: run.as_str().to_owned(), status: "queued".into(), ..RowResult::default() };
    let Some(run) = notebook.run(run) else { return unbegun };
    RowResult {
        status: word(&run.status),
        state: run.state.as_ref().map(|state| state.as_str().to_owned()),
        metric: run.metric.as_ref().and_then(|metric| metric.value),
        error: run
            .error
            .as_ref()
            .map(crate::notebook::RunError::in_words)
            .or_else(|| run.metric.as_ref().and_then(|metric| metric.problem.clone())),
        output: show(notebook.name(), &run.exec_id, &run.outputs, Cursor::default()).text,
        ..unbegun
    }
}

/// Orders the rows by their metrics, and shortens the list and the outputs.
fn shortened(mut rows: Vec<RowResult>, goal: Goal) -> Vec<RowResult> {
    rows.sort_by(|a, b| match (a.metric, b.metric) {
        (Some(a), Some(b)) if goal.is_better(a, b) => std::cmp::Ordering::Less,
        (Some(a), Some(b)) if goal.is_better(b, a) => std::cmp::Ordering::Greater,
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    rows.truncate(MAX_ROWS);
    let each = MAX_TEXT_CHARS / rows.len().max(1);
    for row in &mut rows {
        row.output = cut(&row.output, each);
        row.error = row.error.take().map(|error| cut(&error, 500));
    }
    rows
}

async fn run_variants(
    call: &OpenCall,
    state: StateId,
    variants: Vec<String>,
    metric: Option<String>,
    goal: Goal,
    parallel: Option<u32>,
) -> Result<ManyResult, Problem> {
    let count = variants.len();
    if count == 0 || count > MAX_VARIANTS || parallel == Some(0) {
        let why = format!("there are {count} of them, {parallel:?} at once");
        let how = format!("give 1 to {MAX_VARIANTS} variants, and at least one at once");
        return Err(Problem::bad_request("run variants", why, how));
    }
    let specs: Vec<RunSpec> = variants
        .into_iter()
        .map(|code| RunSpec {
            variant: true,
            replay: true,
            with_outputs: true,
            metric: metric.clone(),
            ..RunSpec::new(new_run(), code, Base::State(state.clone()))
        })
        .collect();
    let runs: Vec<ExecId> = specs.iter().map(|spec| spec.exec_id.clone()).collect();
    let commands = specs.into_iter().map(|spec| call.app.authorize(&call.access, Command::Run(spec)));
    let commands = commands.collect::<Result<Vec<_>, Problem>>()?;
    call.agent.add_runs(runs.iter().cloned());
    let interrupts = runs.iter().map(|run| Command::Interrupt { exec_id: run.clone() });
    let guard = call.stop_if_cancelled(interrupts.collect());
    // Variants that have not begun when the call is cancelled, or its agent stopped, never begin.
    let may_begin = Rc::new(Cell::new(true));
    let cancelled = OnDrop(may_begin.clone());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = parallel.map_or(cores, |parallel| usize::try_from(parallel).unwrap_or(cores));
    let (session, agent) = (call.session.clone(), call.agent.again());
    let all = actix_web::rt::spawn(async move {
        let each = stream::iter(commands).map(|command| {
            let (session, may_begin, agent) = (session.clone(), may_begin.clone(), &agent);
            async move {
                if !may_begin.get() {
                    return None;
                }
                if let Err(stopped) = agent.check_may_run() {
                    return Some(Err(stopped));
                }
                Some(session.ask(command).await)
            }
        });
        each.buffered(at_once.max(1)).collect::<Vec<_>>().await
    });
    let ended = tokio::time::timeout(Duration::from_secs_f64(MAX_WAIT_S), all).await;
    guard.finish();
    cancelled.forget();
    let refusals: Vec<Option<String>> = match &ended {
        Ok(Ok(replies)) => replies
            .iter()
            .map(|reply| match reply {
                Some(Ok(Reply::Refused(problem)) | Err(problem)) => Some(problem.to_string()),
                _ => None,
            })
            .collect(),
        _ => vec![None; count],
    };
    let result = call.session.read(move |notebook| {
        let mut rows: Vec<RowResult> =
            runs.iter().enumerate().map(|(index, run)| row_of(notebook, index, run)).collect();
        for (row, refusal) in rows.iter_mut().zip(refusals) {
            if let Some(why) = refusal {
                (row.status, row.error) = ("error".into(), Some(why));
            }
        }
        let ended = rows.iter().filter(|row| !matches!(&*row.status, "queued" | "running")).count();
        let rows = shortened(rows, goal);
        let best = rows.first().filter(|row| row.metric.is_some()).map(|row| row.index);
        let status = if ended == count { "done" } else { "running" };
        ManyResult { sweep: None, status: status.into(), count, ended, best, rows, note: None }
    });
    result.await
}

/// Sets a flag to false when it is dropped.
struct OnDrop(Rc<Cell<bool>>);

impl OnDrop {
    /// Leaves the flag alone.
    fn forget(mut self) {
        self.0 = Rc::new(Cell::new(true));
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_rows_come_first_and_rows_without_metric_last() {
        let row = |index, metric| RowResult { index, metric, ..RowResult::default() };
        let rows = || vec![row(0, None), row(1, Some(1.0)), row(2, Some(3.0)), row(3, Some(2.0))];
        let order = |goal| shortened(rows(), goal).iter().map(|row| row.index).collect::<Vec<_>>();
        assert_eq!((order(Goal::Max), order(Goal::Min)), (vec![2, 3, 1, 0], vec![1, 3, 2, 0]));
    }

    #[test]
    fn all_outputs_together_are_short() {
        let row = |index| RowResult { index, output: "x".repeat(5000), ..RowResult::default() };
        let rows = shortened((0..200).map(row).collect(), Goal::Max);
        let length: usize = rows.iter().map(|row| row.output.chars().count()).sum();
        assert_eq!(rows.len(), MAX_ROWS);
        assert!(length < MAX_TEXT_CHARS + MAX_ROWS * 60, "{length}");
    }
}

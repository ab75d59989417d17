//! `peek`, `compare` and `history`: tools that change nothing.

use super::call::{Answer, Call, OpenCall, word};
use crate::http::authorize::unexpected;
use crate::http::mcp::arguments::{
    CellOfBranch, CompareArguments, CompareResult, Difference, HistoryArguments, HistoryEntry, HistoryResult,
    PeekArguments, PeekResult, PeekedValue, PeekedVariable,
};
use crate::http::mcp::text::cut;
use crate::notebook::{Base, Command, Digests, Notebook, Reply, Residency, Run, State, StateId, Variable};
use crate::problem::Problem;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of variables in an answer.
const MAX_VARIABLES: usize = 100;
/// Maximum length of one value in a list, in characters.
const MAX_VALUE_CHARS: usize = 200;
/// Maximum length of a cell in a list, in characters.
const MAX_CODE_CHARS: usize = 600;
const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

/// Evaluates an expression, or describes variables.
pub(super) async fn peek(call: Call, arguments: PeekArguments) -> Result<Answer, Problem> {
    let call = call.open(arguments.notebook.as_deref()).await?;
    let state = call.state(&arguments.state).await?;
    let mut result = PeekResult { state: state.as_str().to_owned(), ..PeekResult::default() };
    if arguments.expr.is_none() && arguments.names.is_none() {
        let how = "give `expr`, or `names` (an empty list: all variables)";
        return Err(Problem::bad_request("peek at a state", "neither `expr` nor `names` is given", how));
    }
    if let Some(expr) = arguments.expr {
        // An expression is code: it can write files. Reading variables stays allowed.
        call.agent.check_may_run()?;
        let command = Command::Evaluate { state: state.clone(), expressions: vec![expr] };
        let Reply::Evaluated { mut values } = call.ask_when_free(&command).await? else {
            return Err(Problem::internal("the notebook sent the answer to another command"));
        };
        result.value = values.pop().map(|value| PeekedValue {
            text: value.text,
            number: value.number,
            failed: value.failed,
        });
    }
    if let Some(names) = arguments.names {
        let all = variables(&call, &state).await?;
        let is_wanted = |variable: &&Variable| names.is_empty() || names.contains(&variable.name);
        let found = all.iter().filter(is_wanted).take(MAX_VARIABLES).map(|variable| PeekedVariable {
            name: variable.name.clone(),
            type_name: variable.type_name.clone(),
            size: variable.size.clone(),
            repr: cut(&variable.repr, MAX_VALUE_CHARS),
        });
        result.variables = Some(found.collect());
        result.unknown =
            names.into_iter().filter(|name| !all.iter().any(|variable| variable.name == *name)).collect();
    }
    Ok(Answer::new(&result, Vec::new()))
}

async fn variables(call: &OpenCall, state: &StateId) -> Result<Vec<Variable>, Problem> {
    let command = Command::ListVariables { state: state.clone().into() };
    match call.ask_when_free(&command).await? {
        Reply::Variables { variables } => Ok(variables),
        other => Err(unexpected(other)),
    }
}

async fn digests(call: &OpenCall, state: &StateId) -> Result<Digests, Problem> {
    match call.ask_when_free(&Command::Digest { state: state.clone().into() }).await? {
        Reply::Digested { digests } => Ok(digests),
        other => Err(unexpected(other)),
    }
}

/// Compares the cells and the variables of two states.
pub(super) async fn compare(call: Call, arguments: CompareArguments) -> Result<Answer, Problem> {
    let call = call.open(arguments.notebook.as_deref()).await?;
    let (a, b) = (call.state(&arguments.a).await?, call.state(&arguments.b).await?);
    let (of_a, of_b) = (digests(&call, &a).await?.hashes, digests(&call, &b).await?.hashes);
    let (shown_a, shown_b) = (by_name(variables(&call, &a).await?), by_name(variables(&call, &b).await?));
    let mut result =
        call.session.read(move |notebook: &Notebook| cells_of_branches(notebook, &a, &b)).await?;
    let names: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
    let shown = |all: &BTreeMap<String, String>, name: &String| all.get(name).cloned().unwrap_or_default();
    for name in names {
        match (of_a.get(name), of_b.get(name)) {
            (Some(_), None) => result.only_a.push(name.clone()),
            (None, _) => result.only_b.push(name.clone()),
            (Some(Some(one)), Some(Some(other))) if one == other => result.equal += 1,
            (Some(Some(_)), Some(Some(_))) => result.different.push(Difference {
                name: name.clone(),
                a: shown(&shown_a, name),
                b: shown(&shown_b, name),
            }),
            (Some(_), Some(_)) => result.unreadable.push(name.clone()),
        }
    }
    result.different.truncate(MAX_VARIABLES);
    Ok(Answer::new(&result, Vec::new()))
}

fn by_name(variables: Vec<Variable>) -> BTreeMap<String, String> {
    let size =
        |variable: &Variable| variable.size.as_ref().map_or_else(String::new, |size| format!(" {size}"));
    let shown = |v: &Variable| cut(&format!("{}{}: {}", v.type_name, size(v), v.repr), MAX_VALUE_CHARS);
    variables.into_iter().map(|variable| (variable.name.clone(), shown(&variable))).collect()
}

fn cells_of_branches(notebook: &Notebook, a: &StateId, b: &StateId) -> CompareResult {
    let (line_a, line_b) = (notebook.lineage(a), notebook.lineage(b));
    let common = line_a.iter().zip(&line_b).take_while(|(one, other)| one.id == other.id).count();
    let cells = |line: &[&State]| -> Vec<CellOfBranch> {
        let of = |state: &State| state.exec_id.as_ref().and_then(|id| notebook.run(id));
        line[common..]
            .iter()
            .map(|state| CellOfBranch {
                state: state.id.as_str().to_owned(),
                code: of(state).map_or_else(String::new, |run| cut(&run.code, MAX_CODE_CHARS)),
            })
            .collect()
    };
    let ancestor =
        line_a.get(common.saturating_sub(1)).map_or_else(String::new, |s| s.id.as_str().to_owned());
    CompareResult { ancestor, cells_a: cells(&line_a), cells_b: cells(&line_b), ..CompareResult::default() }
}

/// Lists cells that ran, oldest first.
pub(super) async fn history(call: Call, arguments: HistoryArguments) -> Result<Answer, Problem> {
    let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
    let call = call.open(arguments.notebook.as_deref()).await?;
    let at = match &arguments.at {
        Some(at) => Some(call.state(at).await?),
        None => None,
    };
    let query = arguments.query.map(|query| query.to_lowercase()).filter(|query| !query.is_empty());
    let result = call.session.read(move |notebook: &Notebook| {
        let all: Vec<HistoryEntry> = match &at {
            Some(at) => notebook.lineage(at).into_iter().map(|state| entry_of(notebook, state)).collect(),
            None => everything(notebook),
        };
        let is_wanted = |entry: &HistoryEntry| {
            query.as_ref().is_none_or(|query| {
                let label = entry.label.as_deref().unwrap_or_default();
                entry.code.to_lowercase().contains(query) || label.to_lowercase().contains(query)
            })
        };
        let mut cells: Vec<HistoryEntry> = all.into_iter().filter(is_wanted).collect();
        let older = cells.len().saturating_sub(limit);
        cells.drain(..older);
        for entry in &mut cells {
            entry.code = cut(&entry.code, MAX_CODE_CHARS);
        }
        HistoryResult { cells, older }
    });
    Ok(Answer::new(&result.await?, Vec::new()))
}

/// The root, and all runs in the order in which they were requested.
fn everything(notebook: &Notebook) -> Vec<HistoryEntry> {
    let root = notebook.state(&StateId::root()).map(|root| entry_of(notebook, root));
    let of_run = |run: &Run| match run.state.as_ref().and_then(|state| notebook.state(state)) {
        Some(state) if state.residency == Residency::Deleted => None,
        Some(state) => Some(entry_of(notebook, state)),
        None => Some(entry_of_run(notebook, run)),
    };
    root.into_iter().chain(notebook.runs().filter_map(of_run)).collect()
}

fn entry_of(notebook: &Notebook, state: &State) -> HistoryEntry {
    let run = state.exec_id.as_ref().and_then(|id| notebook.run(id));
    let changes = state.changes.clone().unwrap_or_default();
    HistoryEntry {
        state: Some(state.id.as_str().to_owned()),
        parent: state.parent.as_ref().map(|parent| parent.as_str().to_owned()),
        run: run.map(|run| run.exec_id.as_str().to_owned()),
        status: run.map_or_else(|| "ok".to_owned(), |run| word(&run.status)),
        label: state.label.clone(),
        code: run.map(|run| run.code.clone()).unwrap_or_default(),
        error: run.and_then(|run| run.error.as_ref()).map(|error| cut(&error.in_words(), MAX_VALUE_CHARS)),
        changed: [changes.added, changes.changed].concat(),
        residency: Some(word(&state.residency)),
    }
}

fn entry_of_run(notebook: &Notebook, run: &Run) -> HistoryEntry {
    let parent = match &run.on {
        Base::Name(name) => Some(name.as_str()),
        _ => notebook.state_under(run).map(StateId::as_str),
    };
    HistoryEntry {
        state: None,
        parent: parent.map(str::to_owned),
        run: Some(run.exec_id.as_str().to_owned()),
        status: word(&run.status),
        label: None,
        code: run.code.clone(),
        error: run.error.as_ref().map(|error| cut(&error.in_words(), MAX_VALUE_CHARS)),
        changed: Vec::new(),
        residency: None,
    }
}

//! Tests of the machine with scripts. Inputs and effects are lines of text, and the graph of states
//! is drawn as a tree.
//!
//! A script has one input per line (see `parse`). States are called s1, s2, … and processes p1, p2,
//! … in the order in which they are created, so p1 is always the root process.

mod asking;
mod drafts;
mod durable;
mod growth;
mod held;
mod presence;
mod python;
mod runs;
mod states;
mod storm;
mod transfers;
mod widgets;
mod workers;

use super::{Adopted, Alarm, Budget, Effect, Input, Machine, RunMemory, Serial, Standing, Ticket, Visitor};
use crate::kernel::interpreter::Version;
use crate::kernel::{
    CellReport, Contents, Delivery, Exit, Fingerprint, Hazards, How, Hung, Introspected, MemoryUse, ProcId,
    ReadyPython, Remains, Report, Seen, WidgetEnd,
};
use crate::notebook::{
    Base, Cause, Changed, Checkpoint, Command, Digests, DiskStatus, Draft, DraftId, DraftKind, Ended, Event,
    ExecId, Fact, Form, LineageRange, Live, MergeSpec, Missing, Notebook, OffsitePhase, OffsiteStatus,
    OnConflict, OnError, Output, OutputChange, Place, PlacedDraft, Prompt, Python, Reading, Reply, Residency,
    RunError, RunSpec, RunStatus, StateId, StateRef, StreamName, TableAnswer, TextUpdate, Wanted,
    WidgetMessage, WorkerReport, WorkerResult, WorkerState,
};
use crate::session::permit::Scope;
use crate::session::system_memory::Footprint;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// A machine that calls its states s1, s2, …
pub(super) fn machine() -> Machine {
    machine_with(Budget::default(), false)
}

fn machine_with(budget: Budget, saves: bool) -> Machine {
    let mut last = 0;
    let new_id = move || {
        last += 1;
        format!("s{last}")
    };
    let mut notebook = Notebook::new("n", 0.0);
    let (path, version) = ("/bin/python3".into(), "3.12.1".into());
    notebook.set_python(Python { path, version, is_chosen: false, problem: None });
    Machine::new(notebook, Box::new(new_id), budget, saves)
}

/// Plays a script and returns the effects as lines, then the graph.
pub(super) fn play(script: &str) -> String {
    play_on(machine(), script)
}

/// Like `play`, with at most `processes` states in memory. With `saves`, checkpoints are written
/// automatically.
pub(super) fn play_within(processes: usize, saves: bool, script: &str) -> String {
    play_on(machine_with(Budget { processes, ..Budget::default() }, saves), script)
}

fn play_on(mut machine: Machine, script: &str) -> String {
    let (mut text, mut ticket) = (String::new(), 0);
    let mut now_ms = -1000.0;
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
        (ticket, now_ms) = (ticket + 1, now_ms + 1000.0);
        writeln!(text, "{line}").expect("text");
        if let Some(seconds) = line.strip_prefix("wait ") {
            now_ms += 1000.0 * seconds.parse::<f64>().expect("a number");
            continue;
        }
        if line == "all saved?" {
            writeln!(text, "    {}", machine.is_all_saved()).expect("text");
            continue;
        }
        for effect in machine.step(now_ms, parse(line, Ticket(ticket))) {
            if let Some(effect) = effect_text(&effect) {
                writeln!(text, "    {effect}").expect("text");
            }
        }
    }
    text + &picture(machine.notebook())
}

fn proc(word: &str) -> ProcId {
    ProcId(word.trim_start_matches('p').parse().expect("a process"))
}

/// The serial number of a run, from the script. If the script gives none, it is the position of the
/// run's letter in the alphabet: 1 for run a, 2 for run b.
fn serial(id: &str, said: &[&str]) -> Serial {
    let place = id.bytes().next().map_or(0, |letter| u64::from(letter - b'a') + 1);
    Serial(said.first().map_or(place, |n| n.parse().expect("a number")))
}

fn visitor(word: &str) -> Visitor {
    Visitor(word.trim_start_matches('v').parse().expect("a visitor"))
}

fn state(word: &str) -> StateId {
    StateId::new(word)
}

fn exec(word: &str) -> ExecId {
    ExecId::new(word)
}

/// A command that runs a cell with the parameters that most tests use.
pub(super) fn run(id: &str, on: Base) -> Command {
    let spec = RunSpec::new(exec(id), format!("code of {id}"), on);
    Command::Run(RunSpec { allow_stdin: true, ..spec })
}

fn parse_run(words: &[&str]) -> Command {
    let mut command = run(words[0], Base::State(StateId::root()));
    let Command::Run(spec) = &mut command else { unreachable!() };
    for pair in words[1..].chunks(2) {
        match *pair {
            ["on", id] => spec.on = Base::State(state(id)),
            ["after", id] => spec.on = Base::Run(exec(id)),
            ["named", name] => spec.on = Base::Name(name.into()),
            ["as", name] => spec.new_state_name = Some(name.into()),
            ["draft", id] => spec.draft = Some(DraftId::new(id)),
            ["memory", bytes] => spec.run_memory = bytes.parse().ok(),
            ["limit", seconds] => spec.timeout = seconds.parse().ok(),
            ["code", text] => spec.code = text.into(),
            ["at", "workers"] => spec.place = Place::Workers,
            ["replay", _] => spec.replay = true,
            ["reads", pairs] => {
                (spec.passing, spec.reads) = (true, pairs.split(',').map(parse_reading).collect());
            }
            ["on_error", "keep"] => spec.on_error = OnError::Keep,
            ["instead", line] => {
                let (from, tip) = line.split_once("..").expect("a line");
                spec.instead_of = Some(LineageRange { state: state(from), tip: state(tip) });
            }
            _ => panic!("what is {pair:?}?"),
        }
    }
    command
}

/// Parses a reading. `a=s1` gives s1 the alias `a`. `a!s1` does the same for code that does not
/// contain `a`.
fn parse_reading(text: &str) -> Reading {
    let (alias, id) = text.split_once(['=', '!']).expect("a reading");
    Reading { alias: alias.into(), state: state(id).into(), is_named: text.contains('=') }
}

fn parse_merge(words: &[&str]) -> Command {
    let [id, "into", into, "from", from, rest @ ..] = words else { panic!("merge ID into STATE from STATE") };
    let take = match rest.iter().find(|word| word.starts_with("take=")) {
        Some(names) => Wanted::Names(names[5..].split(',').map(str::to_owned).collect()),
        None => Wanted::All(Changed::Changed),
    };
    Command::Merge(MergeSpec {
        exec_id: exec(id),
        into: state(into).into(),
        from: state(from).into(),
        take,
        on_conflict: OnConflict::Refuse,
        resolve: BTreeMap::new(),
        new_state_name: None,
        dry_run: rest.contains(&"dry"),
    })
}

fn parse_draft(words: &[&str]) -> Command {
    let [id, on, kind, rest @ ..] = words else {
        panic!(
            "draft ID STATE KIND [above CHILD] [after ID | in place] [text TEXT] [base N] [by CLIENT:N] \
             [with RUN] [instead STATE]"
        )
    };
    let kind = match *kind {
        "md" => DraftKind::Markdown,
        "raw" => DraftKind::Raw,
        _ => DraftKind::Code,
    };
    let following = |word: &str| rest.iter().position(|w| *w == word).map(|at| rest[at + 1]);
    let source = following("text").map_or(format!("text of {id}"), str::to_owned);
    let before = following("above").map(state);
    let draft = Draft {
        id: DraftId::new(*id),
        on: state(on),
        before,
        instead_of: following("instead").map(state),
        kind,
        source,
        version: 0,
        received: Vec::new(),
        imported_cell: None,
        stale_run: following("with").map(exec),
    };
    let base = following("base").map(|n| n.parse().expect("a number"));
    let update = following("by").map(|by| {
        let (client, number) = by.split_once(':').expect("CLIENT:N");
        let number = number.parse().expect("a number");
        TextUpdate { client: client.into(), number, changes: Vec::new() }
    });
    Command::PutDraft {
        draft,
        after: following("after").map(DraftId::new),
        in_place: rest.contains(&"in"),
        base,
        update,
    }
}

/// Parses a report about a run at a worker.
fn parse_worker(words: &[&str]) -> WorkerReport {
    let text = |texts: &[&str]| texts.iter().map(|text| Output::stream(StreamName::Stdout, *text)).collect();
    let result = |status, outputs: &[&str], error, state| {
        WorkerReport::Ended(Box::new(WorkerResult {
            task: "t".into(),
            node: "n1".into(),
            status,
            error,
            outputs: text(outputs),
            metric: None,
            duration_ms: Some(2500.0),
            state,
            fetched_bytes: 7,
            pushed_bytes: 8,
        }))
    };
    let left = || WorkerState {
        checkpoint: checkpoint("there", &[]),
        exec_count: 2,
        warnings: Vec::new(),
        forks: true,
    };
    match words {
        ["begins"] => WorkerReport::Began { node: "n1".into() },
        ["prints", texts @ ..] => WorkerReport::Outputs(OutputChange { replaces: false, added: text(texts) }),
        ["replaces", texts @ ..] => {
            WorkerReport::Outputs(OutputChange { replaces: true, added: text(texts) })
        }
        ["ok", outputs @ ..] => result(RunStatus::Ok, outputs, None, Some(left())),
        ["raises", name] => result(RunStatus::Error, &[], Some(RunError::raised(name, "message")), None),
        ["keeps", name] => {
            result(RunStatus::Error, &[], Some(RunError::raised(name, "message")), Some(left()))
        }
        ["is", "lost"] => WorkerReport::Failed(RunError::of(Cause::WorkerFailed, "the workers died")),
        _ => panic!("what is {words:?}?"),
    }
}

/// Parses an update. `m=3` sets the value of the model `m`.
fn parse_widget(text: &str) -> WidgetMessage {
    let (model, value) = text.split_once('=').expect("an update");
    let message = json!({"method": "update", "model": model, "state": {"value": value}});
    serde_json::from_value(message).expect("a message")
}

/// The error of a cell that raised an exception of this name. `their:KeyboardInterrupt` is a class
/// of the user.
fn raised(name: &str) -> RunError {
    match (name, name.strip_prefix("their:")) {
        ("KeyboardInterrupt", _) => RunError::of(Cause::Interrupt, "message"),
        (_, theirs) => RunError::raised(theirs.unwrap_or(name), "message"),
    }
}

fn parse(line: &str, ticket: Ticket) -> Input {
    let words: Vec<&str> = line.split_whitespace().collect();
    let command = |command| Input::Command(ticket, command);
    let reported = |report| Input::Reported(proc(words[0]), report);
    match words.as_slice() {
        ["open"] => Input::Opened,
        ["worker", id, rest @ ..] => Input::Worker(exec(id), serial(id, &[]), parse_worker(rest)),
        ["run", rest @ ..] => command(parse_run(rest)),
        ["interrupt", id] => command(Command::Interrupt { exec_id: exec(id) }),
        ["keep", id] => command(Command::KeepPartial { exec_id: exec(id) }),
        ["answer", id, text] => command(Command::AnswerInput { exec_id: exec(id), text: (*text).into() }),
        ["widget", id, "at", at] => {
            command(Command::Widget { state: state(at), exec_id: exec("a"), message: parse_widget(id) })
        }
        [_, "widget", id] => reported(Report::Widget(parse_widget(id))),
        [_, "handled", number] => reported(Report::WidgetHandled {
            number: number.parse().expect("a number"),
            end: WidgetEnd::Ran(Hazards::only(Vec::new())),
        }),
        [_, "lacks", number] => reported(Report::WidgetHandled {
            number: number.parse().expect("a number"),
            end: WidgetEnd::Unknown,
        }),
        ["widgets", "due"] => Input::AlarmDue(Alarm::Widgets),
        [head, "quiet", number] => {
            Input::AlarmDue(Alarm::WidgetsQuiet(proc(head), number.parse().expect("a number")))
        }
        ["draft", rest @ ..] => command(parse_draft(rest)),
        ["undraft", id] => command(Command::DeleteDraft { draft: DraftId::new(*id) }),
        ["label", id, label] => {
            command(Command::Label { state: state(id).into(), label: Some((*label).into()) })
        }
        ["delete", id] => command(Command::DeleteState { state: state(id).into(), subtree: false }),
        ["delete", "branches", states, attempts @ ..] => command(Command::DeleteBranches {
            states: states.split(',').filter(|id| *id != "-").map(state).collect(),
            attempts: attempts.iter().map(|id| exec(id)).collect(),
        }),
        ["delete", "subtree", id] => command(Command::DeleteState { state: state(id).into(), subtree: true }),
        ["stand", at] => {
            command(Command::Stand { state: state(at), name: None, caret: None, cell: None, follows: None })
        }
        [who, "stands", at] => {
            let standing = Standing {
                scope: Scope::Run,
                identity: (*who).into(),
                state: state(at),
                name: None,
                caret: None,
                cell: None,
                follows: None,
                agent: None,
            };
            Input::Stand(ticket, visitor(who), standing)
        }
        [who, "leaves"] => Input::Left(visitor(who)),
        ["drop", id] => command(Command::DropAttempt { exec_id: exec(id) }),
        ["look", id] => command(Command::ListVariables { state: state(id).into() }),
        ["digest", id] => command(Command::Digest { state: state(id).into() }),
        ["merge", rest @ ..] => command(parse_merge(rest)),
        ["complete", id] => command(Command::Complete {
            state: state(id),
            code: "x.".into(),
            cursor: 2,
            above: String::new(),
        }),
        ["evaluate", id] => command(Command::Evaluate { state: state(id), expressions: vec!["x".into()] }),
        ["table", id] => {
            let view = serde_json::from_str(r#"{"expression": "df", "limit": 1}"#).expect("a view");
            command(Command::Table { state: state(id), view })
        }
        ["inspect", id] => {
            command(Command::Inspect { state: state(id), code: "x".into(), cursor: 1, above: String::new() })
        }
        ["check", id] => command(Command::Check { state: state(id), code: "x".into() }),
        ["restore", id] => command(Command::Restore { deleted: (*id).to_owned() }),
        ["empty", "trash"] => command(Command::EmptyTrash),
        ["reset"] => command(Command::Reset),
        ["pin", id] => command(Command::Pin { state: state(id).into(), pinned: true }),
        ["fork", id, "anyway"] => command(Command::ForkAnyway { state: state(id).into(), anyway: true }),
        ["replay", id] => command(Command::Replay { state: state(id).into() }),
        ["load", id] => command(Command::Load { state: StateRef::name(*id), replay: false }),
        ["load", id, "or", "replay"] => command(Command::Load { state: state(id).into(), replay: true }),
        ["trust"] => command(Command::Trust),
        ["checkpoint", id, "of", "values"] => command(Command::Checkpoint {
            state: state(id).into(),
            form: Form::Data,
            label: None,
            metadata: serde_json::Map::new(),
        }),
        ["checkpoint", id, rest @ ..] => command(Command::Checkpoint {
            state: state(id).into(),
            form: Form::Environment,
            label: rest.first().map(|label| (*label).to_owned()),
            metadata: serde_json::Map::new(),
        }),
        ["task", id, at] => command(Command::SaveTask {
            task_id: (*id).into(),
            state: Some(state(at)),
            values: serde_json::Map::new(),
            token_usage: serde_json::Map::new(),
            metadata: serde_json::Map::new(),
        }),
        ["kept", id, rest @ ..] => Input::Kept(state(id), Ok(Box::new(checkpoint(id, rest)))),
        ["adopt"] => Input::Adopt(
            ticket,
            Box::new(Adopted {
                code: "# %%\nx = 1\n".into(),
                outputs: vec![Output::stream(StreamName::Stdout, "made")],
                label: Some("mine".into()),
                checkpoint: checkpoint("elsewhere", &["foreign"]),
            }),
        ),
        ["unkept", id] => Input::Kept(state(id), Err("the disk is full".into())),
        ["trusted", ids @ ..] => Input::Trusted(Ok(ids.iter().map(|id| state(id)).collect())),
        ["trouble"] => Input::Trouble(Some(DiskStatus {
            what: "save".into(),
            why: "the disk is full".into(),
            how: "make room".into(),
        })),
        ["well"] => Input::Trouble(None),
        ["copy", phase] => Input::Offsite(OffsiteStatus {
            phase: if *phase == "held" { OffsitePhase::Held } else { OffsitePhase::Pushed },
            why: Some("ann on b has it open".into()),
            ..OffsiteStatus::default()
        }),
        ["take", "over"] => Input::Command(ticket, Command::TakeOver),
        ["taken", "over", number] => Input::TakenOver(Ticket(number.parse().unwrap()), Ok(())),
        ["closing"] => Input::Closing,
        ["python", version] => Input::ChangePython(ticket, Box::new(python(version)), true),
        ["python", version, "is", "there"] => Input::PythonChecked(Ok(Box::new(python(version)))),
        ["python", "is", "gone"] => Input::PythonChecked(Err("cannot use the Python: it is gone".into())),
        ["measured", pairs @ ..] => {
            let own = |p: &[&str]| p[1].parse().expect("a number");
            let pair = |p: &[&str]| (proc(p[0]), Footprint { own: own(p), shared: 0 });
            Input::Measured(pairs.chunks(2).map(pair).collect(), None)
        }
        ["alarm", "again", id] => Input::AlarmDue(Alarm::SaveAgain(state(id))),
        ["alarm", "answered", id, number] => {
            Input::AlarmDue(Alarm::AnswerTimeout(proc(id), number.parse().expect("a number")))
        }
        ["alarm", "unasked", id] => Input::AlarmDue(Alarm::Late(proc(id))),
        ["alarm", "compare"] => Input::AlarmDue(Alarm::Compare),
        ["alarm", "marked", id] => Input::AlarmDue(Alarm::Late(proc(id))),
        ["alarm", "save"] => Input::AlarmDue(Alarm::Save),
        ["alarm", "people"] => Input::AlarmDue(Alarm::Presence),
        ["alarm", "measure"] => Input::AlarmDue(Alarm::Measure),
        ["alarm", "sending", id] => Input::AlarmDue(Alarm::Late(proc(id))),
        ["alarm", "stalled", id] => Input::AlarmDue(Alarm::Late(proc(id))),
        ["alarm", "stopped", id, rest @ ..] => {
            Input::AlarmDue(Alarm::StopTimeout(exec(id), serial(id, rest)))
        }
        ["alarm", "measure", id, rest @ ..] => Input::AlarmDue(Alarm::MeasureRun(exec(id), serial(id, rest))),
        ["alarm", "watch", id, rest @ ..] => Input::AlarmDue(Alarm::Watch(exec(id), serial(id, rest))),
        ["alarm", "held"] => Input::AlarmDue(Alarm::HoldTimeout),
        ["alarm", "limit", id, rest @ ..] => Input::AlarmDue(Alarm::TimeLimit(exec(id), serial(id, rest))),
        ["alarm", "begun", head, id] => {
            Input::AlarmDue(Alarm::BeginTimeout(proc(head), exec(id), serial(id, &[])))
        }
        ["alarm", "ready", id] => Input::AlarmDue(Alarm::Late(proc(id))),
        ["alarm", "looked", id] => Input::AlarmDue(Alarm::Late(proc(id))),
        [_, "ready", "without", name] => {
            reported(Report::Ready { pid: 0, missing: vec![missing(name)], hazard: None })
        }
        [_, "ready", "with", "threads"] => {
            reported(Report::Ready { pid: 0, missing: Vec::new(), hazard: Some("native threads".into()) })
        }
        [_, "cannot", "load"] => reported(Report::LoadFailed { why: "a blob is damaged".into() }),
        [_, "cannot", "pickle"] => {
            reported(Report::SaveFailed { is_disk: false, why: "a value recurses".into() })
        }
        [_, "cannot", "save"] => reported(Report::SaveFailed { is_disk: true, why: "no space left".into() }),
        [_, "saving", percent] => reported(Report::Saving { percent: percent.parse().expect("a number") }),
        [_, "saved", manifest] => reported(Report::Saved(Contents {
            manifest: (*manifest).into(),
            entry_count: 1,
            namespace_bytes: 10,
            stored_bytes: 5,
            new_bytes: 5,
            includes_source: true,
            missing: Vec::new(),
            changed: Vec::new(),
            not_compared: None,
        })),
        [_, "ok", "hangs"] => reported(Report::Ended {
            how: How::Ok,
            report: CellReport {
                exec_count: 1,
                hazards: Hazards { warnings: vec!["polars".into()], forks: false, is_alone: true },
            },
            remains: Remains::Nothing,
        }),
        [_, "runs", "Python", version] => reported(Report::Python { version: (*version).into() }),
        [_, "ready"] => reported(Report::Ready { pid: 0, missing: Vec::new(), hazard: None }),
        [_, "failed"] => reported(Report::Failed { why: "no IPython".into() }),
        [_, "holds", anonymous, own] => reported(Report::MemoryUse(memory(anonymous, own))),
        [run, "used", ticks, rest @ ..] => {
            let seen = Seen {
                cpu_ticks: ticks.parse().expect("ticks"),
                waits_for_lock: !rest.contains(&"busy"),
                has_threads: rest.contains(&"threads"),
                libraries: rest
                    .iter()
                    .filter(|word| !["busy", "threads"].contains(word))
                    .map(|word| (*word).into())
                    .collect(),
            };
            Input::Observed(exec(run), serial(run, &[]), Some(seen))
        }
        [run, "measures", anonymous, own, below, rest @ ..] => {
            let memory = RunMemory {
                head: memory(anonymous, own),
                below: below.parse().expect("bytes"),
                is_shared: !rest.contains(&"alone"),
            };
            Input::RunMeasured(exec(run), serial(run, &[]), Some(memory))
        }
        [_, "began"] => reported(Report::Started),
        [_, "prints", text] => reported(Report::Output(Output::stream(StreamName::Stdout, *text))),
        [_, "shows", id] => reported(Report::Output(Output::DisplayData {
            data: bundle("first"),
            metadata: bundle(""),
            display_id: Some((*id).into()),
        })),
        [_, "updates", id] => {
            let (data, metadata) = (bundle("second"), bundle(""));
            reported(Report::Update { display_id: (*id).into(), data, metadata })
        }
        [_, "clears"] => reported(Report::Clear { wait: false }),
        [_, "asks"] => reported(Report::Ask(Prompt { number: 1, text: "name?".into(), password: false })),
        [_, "ok"] => {
            reported(Report::Ended { how: How::Ok, report: cell_report(1), remains: Remains::Nothing })
        }
        [_, "refuses"] => {
            reported(Report::Ended { how: How::Refused, report: cell_report(0), remains: Remains::Nothing })
        }
        [_, "raises", name, left @ ..] => reported(Report::Ended {
            how: How::Error(raised(name)),
            report: cell_report(1),
            remains: match left {
                ["having", "set"] => Remains::Set,
                ["at", "once"] => Remains::Unchanged,
                ["in", "a", "chroot"] => Remains::Unfit("no branch of it could be made (chroot)".into()),
                _ => Remains::Nothing,
            },
        }),
        [_, "finds", number] => reported(Report::Found {
            number: number.parse().expect("a number"),
            found: Introspected::Completions { from: 2, to: 2, items: Vec::new() },
        }),
        [_, "knows", number] => reported(Report::Found {
            number: number.parse().expect("a number"),
            found: Introspected::Object(None),
        }),
        [_, "refuses", number] => reported(Report::Found {
            number: number.parse().expect("a number"),
            found: Introspected::Table(Some(TableAnswer::Refused { why: "why".into(), how: "how".into() })),
        }),
        [_, "computes", number] => reported(Report::Found {
            number: number.parse().expect("a number"),
            found: Introspected::Values(Vec::new()),
        }),
        [_, "marks", family, marks @ ..] => reported(Report::Fingerprinted {
            fingerprints: Some(marks.iter().map(|mark| parse_mark(mark)).collect()),
            address_space: family.parse().expect("a number"),
        }),
        [_, "marks"] => reported(Report::Fingerprinted { fingerprints: None, address_space: 0 }),
        [_, "digests", names @ ..] => {
            let one = |name: &&str| {
                let (name, hash) = name.split_once('=').unwrap_or((name, "d"));
                (name.to_owned(), Some(hash.to_owned()))
            };
            let hashes = names.iter().map(one).collect();
            reported(Report::Digested(Some(Digests { hashes, ..Digests::default() })))
        }
        [_, "cannot", "digest"] => reported(Report::Digested(None)),
        [_, "tells"] => reported(Report::Variables(Vec::new())),
        [_, "cannot", "fork", child] => {
            reported(Report::ForkFailed { child: proc(child), why: "no more processes".into() })
        }
        [_, "shares", what] => reported(Report::Shared(vec![(*what).into()])),
        [_, "hangs", how @ ..] => Input::Examined(
            proc(words[0]),
            Hung {
                is_there: how.is_empty(),
                parent_made_one: (how == ["behind"]).then_some(Duration::ZERO),
                doing: "it waits for a lock",
                libraries: vec!["polars".into()],
            },
        ),
        [_, "gone"] => Input::Gone(proc(words[0]), Some(Exit::Signal(11))),
        [_, "stopped", ended] => Input::HeadStopped(proc(words[0]), ended.parse().expect("a number")),
        [_, "exits", code] => Input::Gone(proc(words[0]), Some(Exit::Code(code.parse().expect("a code")))),
        _ => panic!("what is {line:?}?"),
    }
}

/// The report of a cell whose state survives a fork.
fn cell_report(exec_count: u32) -> CellReport {
    CellReport { exec_count, hazards: Hazards::only(Vec::new()) }
}

fn memory(anonymous: &str, own: &str) -> MemoryUse {
    MemoryUse { anonymous: anonymous.parse().expect("bytes"), own: own.parse().expect("bytes") }
}

/// Parses a variable and its fingerprint. `x=7` has the fingerprint 7. `x@int:1` is an `int` at
/// address 1 without a fingerprint.
fn parse_mark(text: &str) -> (String, Fingerprint) {
    match text.split_once('=') {
        Some((name, content)) => (name.into(), Fingerprint(Some(content.into()), "int 0".into())),
        None => {
            let (name, at) = text.split_once('@').expect("a mark");
            (name.into(), Fingerprint(None, at.replace(':', " ")))
        }
    }
}

fn python(version: &str) -> ReadyPython {
    let mut numbers = version.split('.').map(|number| number.parse().expect("a number"));
    let mut next = || numbers.next().expect("three numbers");
    let version = Version { major: next(), minor: next(), micro: next() };
    ReadyPython { executable: "/bin/python3".into(), version, support: None }
}

fn missing(name: &str) -> Missing {
    Missing { name: name.into(), type_name: "generator".into(), reason: "a generator".into() }
}

/// A checkpoint of a state. In `rest`, `foreign` makes the checkpoint untrusted, and `by-3.11` sets
/// the Python that wrote it, and `values` makes it one of plain values. All other words are the names of variables that the checkpoint lacks.
fn checkpoint(id: &str, rest: &[&str]) -> Checkpoint {
    Checkpoint {
        checkpoint_id: format!("c-{id}"),
        notebook_id: String::new(),
        state_id: state(id),
        form: if rest.contains(&"values") { Form::Data } else { Form::Environment },
        created_at: 0.0,
        label: None,
        metadata: serde_json::Map::new(),
        namespace_size_bytes: 10,
        compressed_size_bytes: 5,
        new_bytes: 5,
        compression_ratio: 2.0,
        entry_count: 1,
        includes_source: true,
        parent_checkpoint: None,
        execution_count: 1,
        total_execution_time_ms: 0.0,
        missing: rest
            .iter()
            .filter(|word| !["foreign", "values"].contains(word) && !word.starts_with("by-"))
            .map(|name| missing(name))
            .collect(),
        changed: Vec::new(),
        not_compared: None,
        is_trusted: !rest.contains(&"foreign"),
        python: Some(rest.iter().find_map(|word| word.strip_prefix("by-")).unwrap_or("3.12").into()),
    }
}

fn bundle(text: &str) -> crate::notebook::MimeBundle {
    let items = [("text/plain".to_owned(), text.into())];
    items.into_iter().filter(|_| !text.is_empty()).collect()
}

fn effect_text(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Publish(event) => event_text(event)?,
        Effect::Answer(ticket, reply) => format!("answer {}: {}", ticket.0, reply_text(reply)),
        Effect::SpawnRoot(p) => format!("plant p{}", p.0),
        Effect::UsePython(python) => format!("use Python {}", python.version),
        Effect::Fork { from, child, role, load } => {
            let load =
                load.as_ref().map_or(String::new(), |l| format!(" from {} ({:?})", l.manifest, l.form));
            format!("p{} forks p{}, {}{load}", from.0, child.0, format!("{role:?}").to_lowercase())
        }
        Effect::Send { from, child, .. } => format!("p{} forks p{} to send", from.0, child.0),
        Effect::Run { head, exec_id, deliveries, .. } => {
            let one = |(delivery, sender): &(Delivery, Option<ProcId>)| {
                let sender = sender.map_or("nobody".into(), |p| format!("p{}", p.0));
                format!(" {} of {} from {sender}", delivery.alias, delivery.state)
            };
            let deliveries: Vec<_> = deliveries.iter().map(one).collect();
            let with = if deliveries.is_empty() { "" } else { " with" };
            format!("p{} runs {}{with}{}", head.0, exec_id, deliveries.join(","))
        }
        Effect::Question { process, number, .. } => format!("p{} is asked {number}", process.0),
        Effect::Widget { head, message, .. } => format!("p{} gets a message for {}", head.0, message.model()),
        Effect::Type { head, text, .. } => format!("p{} gets {text:?}", head.0),
        Effect::Interrupt(head) => format!("interrupt p{}", head.0),
        Effect::Stop(head) => format!("stop p{}", head.0),
        Effect::Continue(head) => format!("continue p{}", head.0),
        Effect::Examine(process) => format!("examine p{}", process.0),
        Effect::Kill(process, _) => format!("kill p{}", process.0),
        Effect::EndStarted(head) => format!("end what the cell of p{} has started", head.0),
        Effect::EndRun(head) => format!("end p{} and what its cell has started", head.0),
        Effect::EndCells => "end what cells have started".into(),
        Effect::Keep { state, checkpoint, .. } => {
            format!("keep checkpoint {} of {state}", checkpoint.checkpoint_id)
        }
        Effect::Trust => "trust all".into(),
        Effect::Dispatch(exec_id, _, dispatch) => {
            let parent = dispatch.task.parent.as_ref().map_or("the root", |parent| &parent.checkpoint_id);
            format!("send {exec_id} on {parent}")
        }
        Effect::Recall(exec_id) => format!("recall {exec_id}"),
        Effect::TakeOver(ticket) => format!("take over for {}", ticket.0),
        Effect::MeasureRun { exec_id, head, frozen, .. } => {
            let beside = frozen.map_or(String::new(), |p| format!(" beside p{}", p.0));
            format!("measure {exec_id}: p{}{beside}", head.0)
        }
        Effect::Observe { exec_id, head, .. } => format!("observe {exec_id}: p{}", head.0),
        Effect::Measure(processes) => format!("measure {}", processes.len()),
        Effect::Wake(after, Alarm::Presence) => format!("wake in {} ms: tell of people", after.as_millis()),
        Effect::Wake(
            _,
            Alarm::Late(_)
            | Alarm::BeginTimeout(..)
            | Alarm::Save
            | Alarm::SaveAgain(_)
            | Alarm::AnswerTimeout(..)
            | Alarm::Compare
            | Alarm::Watch(..)
            | Alarm::Widgets
            | Alarm::WidgetsQuiet(..)
            | Alarm::Retire(_)
            | Alarm::Measure,
        ) => return None,
        Effect::Wake(after, Alarm::HoldTimeout) => format!("wake in {} s: end what is held", after.as_secs()),
        Effect::Wake(after, Alarm::StopTimeout(run, _)) => {
            format!("wake in {} s: has {run} stopped?", after.as_secs())
        }
        Effect::Wake(after, Alarm::MeasureRun(run, _)) => {
            format!("wake in {} ms: measure {run}", after.as_millis())
        }
        Effect::Wake(after, Alarm::TimeLimit(run, _)) => {
            format!("wake in {} s: the limit of {run}", after.as_secs())
        }
    })
}

fn reply_text(reply: &Reply) -> String {
    match reply {
        Reply::Done => "done".into(),
        Reply::Ended(Ended { exec_id, status, state, state_name, error, .. }) => {
            let state = state.as_ref().map_or(String::new(), |s| format!(" {s}"));
            let name = state_name.as_ref().filter(|n| !state.ends_with(n.as_str()));
            let name = name.map_or(String::new(), |n| format!(" named {n}"));
            let error = error.as_ref().map_or(String::new(), |e| format!(" {}: {}", e.ename, e.evalue));
            format!("{exec_id} {status:?}{state}{name}{error}")
        }
        Reply::Interrupted { interrupted } => format!("interrupted {interrupted}"),
        Reply::MergePlanned { plan, refusal } => {
            let refusal = refusal.as_ref().map(|problem| format!(", refused: {}", problem.why));
            format!("plan {}{}", plan.take().code(&state("THEIRS")), refusal.unwrap_or_default())
        }
        Reply::Digested { digests } => format!("digests of {}", digests.hashes.len()),
        Reply::Variables { variables } => format!("{} variables", variables.len()),
        Reply::Checkpointed { checkpoint } => format!("checkpoint {}", checkpoint.checkpoint_id),
        Reply::TaskSaved { checkpoint } => format!("version {}", checkpoint.version),
        Reply::Trusted { count } => format!("{count} trusted"),
        Reply::Completions { items, .. } => format!("{} completions", items.len()),
        Reply::Inspected { object } => {
            format!("inspected {}", object.as_ref().map_or("nothing", |o| &o.name))
        }
        Reply::Checked { error } => format!("checked, {} error", error.as_ref().map_or("no", |_| "an")),
        Reply::Table { table } => format!("{} rows", table.count),
        Reply::ValuePart { part } => format!("{} entries", part.entries.len()),
        Reply::SweepStarted { id, rows } => format!("sweep {id} has {rows} rows"),
        Reply::Collapsed { kept, deleted, continued } => {
            format!("kept {kept}, deleted {}, continued {}", list(deleted), list(continued))
        }
        Reply::Parameters(found) => format!("{} parameters", found.parameters.len()),
        Reply::RowsDrawn(_) => "rows".into(),
        Reply::Evaluated { values } => format!("{} values", values.len()),
        Reply::Handled => "handled".into(),
        Reply::Standing { id } => format!("is {id}"),
        Reply::Refused(refused) => {
            format!("refused, {}: {refused}", serde_json::json!(refused.kind).as_str().unwrap_or_default())
        }
    }
}

fn event_text(event: &Event) -> Option<String> {
    match event {
        Event::Fact(fact) => fact_text(fact),
        Event::Live(live) => Some(live_text(live)),
    }
}

fn fact_text(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::WidgetsChanged { exec_id, messages } => {
            let models: Vec<&str> = messages.iter().map(WidgetMessage::model).collect();
            format!("{exec_id} changed widgets: {}", models.join(", "))
        }
        Fact::RunWarned { exec_id, warning } => format!("{exec_id} is warned: {warning}"),
        // The answer to the command and the picture of the graph show these facts already.
        Fact::RunAdded { .. } | Fact::RunEnded { .. } | Fact::StateAdded { .. } => return None,
        Fact::RunStarted { exec_id, .. } => format!("{exec_id} began"),
        Fact::OutputAdded { exec_id, output } => match output {
            Output::Stream { text, .. } => format!("{exec_id} printed {text:?}"),
            Output::Error(_) => return None,
            _ => format!("{exec_id} showed something"),
        },
        Fact::OutputsCleared { exec_id, .. } => format!("{exec_id} cleared"),
        Fact::DisplayUpdated { exec_id, display_id, .. } => format!("{exec_id} updated {display_id}"),
        Fact::StateChanged { state } => {
            let label = state.label.as_ref().map_or(String::new(), |l| format!(" label {l}"));
            format!("{} is in {:?}{label}", state.id, state.residency)
        }
        Fact::Removed { states, runs, deleted_at } => {
            let how = if deleted_at.is_some() { "removed" } else { "purged" };
            format!("{how} {} {}", list(states), list(runs))
        }
        Fact::Restored { states, runs } => {
            let ids: Vec<&StateId> = states.iter().map(|state| &state.id).collect();
            let runs: Vec<&ExecId> = runs.iter().map(|run| &run.exec_id).collect();
            format!("restored {} {}", list(&ids), list(&runs))
        }
        Fact::DraftsChanged { on, removed, put } => {
            let version = |d: &Draft| if d.version == 1 { String::new() } else { format!(".{}", d.version) };
            let placed = put.iter().map(|PlacedDraft { draft, after, .. }| {
                let after = after.as_ref().map_or(String::new(), |after| format!(" after {after}"));
                let above = draft.before.as_ref().map_or(String::new(), |child| format!(" above {child}"));
                let stale = draft.stale_run.as_ref().map_or(String::new(), |run| format!(" with {run}"));
                let instead =
                    draft.instead_of.as_ref().map_or(String::new(), |of| format!(" instead of {of}"));
                format!("{}{}{after}{above}{stale}{instead}", draft.id, version(draft))
            });
            let removed = removed.iter().map(|id| format!("no {id}"));
            format!("drafts on {on}: [{}]", removed.chain(placed).collect::<Vec<_>>().join(", "))
        }
        Fact::PythonChanged { python: Python { version, is_chosen, problem, .. } } => {
            let chosen = if *is_chosen { "chosen" } else { "default" };
            let problem = problem.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("python {chosen} {version}{problem}")
        }
        Fact::TaskSaved { checkpoint } => {
            format!("{} has version {}", checkpoint.task_id, checkpoint.version)
        }
        Fact::ChangesFound { state, changes } => {
            format!(
                "{state} changed {} {} {}",
                list(&changes.added),
                list(&changes.changed),
                list(&changes.removed)
            )
        }
        Fact::SweepAdded { sweep } => format!("sweep {} of {} rows", sweep.id, sweep.rows.len()),
        Fact::SweepRowsAdded { sweep, rows, .. } => format!("sweep {sweep} has {} more rows", rows.len()),
        Fact::SweepRowEnded { sweep, row, end } => {
            let state = end.state.as_ref().map_or(String::new(), |state| format!(" {state}"));
            let metric = end.metric.map_or(String::new(), |metric| format!(" metric {metric}"));
            format!("{sweep}.{row} {:?}{state}{metric}", end.status)
        }
        Fact::SweepEnded { sweep, status, note, .. } => {
            let note = note.as_ref().map_or(String::new(), |note| format!(": {note}"));
            format!("sweep {sweep} {status:?}{note}")
        }
        Fact::SweepRemoved { sweep } => format!("no sweep {sweep}"),
        Fact::Reset { .. } => "all was reset".into(),
    })
}

fn live_text(live: &Live) -> String {
    match live {
        Live::KeepableChanged { exec_id, keepable: true } => format!("{exec_id} can be kept"),
        Live::KeepableChanged { exec_id, keepable: false } => format!("{exec_id} can be kept no more"),
        Live::PromptChanged { exec_id, prompt } => match prompt {
            Some(prompt) => format!("{exec_id} asks {:?}", prompt.text),
            None => format!("{exec_id} asks no more"),
        },
        Live::SavingChanged { state, saving } => format!("{state} saving: {saving:?}"),
        Live::Replaying { state, done, total } => format!("replaying {state}: {done} of {total}"),
        Live::MemoryMeasured { state, memory_bytes, .. } => format!("{state} holds {memory_bytes}"),
        Live::StateSaved { state } => format!("{state} is saved"),
        Live::OffsiteChanged { offsite } => format!("copy {:?}", offsite.phase).to_lowercase(),
        Live::DiskStatusChanged { disk_status: trouble } => {
            format!("trouble: {}", trouble.as_ref().map_or("none", |t| &t.why))
        }
        Live::PresenceChanged { participants: people } => {
            let places: Vec<_> = people.iter().map(|p| format!("{}@{}", p.id, p.state)).collect();
            format!("people: {}", list(&places))
        }
    }
}

fn list(ids: &[impl std::fmt::Display]) -> String {
    format!("[{}]", ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
}

/// Draws the graph as a tree. Each state is followed by the id of its run. A run that left no state
/// has a cross.
pub(super) fn picture(notebook: &Notebook) -> String {
    let mut text = String::new();
    draw(notebook, &StateId::root(), "", "", &mut text);
    text
}

fn draw(notebook: &Notebook, id: &StateId, first: &str, rest: &str, text: &mut String) {
    let state = notebook.state(id).expect("a state");
    let name = if state.name == id.as_str() { String::new() } else { format!(" “{}”", state.name) };
    let partial = if state.partial { ", partial" } else { "" };
    let run = state.exec_id.as_ref().map_or(String::new(), |r| format!(" ({r}{partial})"));
    let living = match state.residency {
        Residency::Memory => String::new(),
        other => format!(" {other:?}"),
    };
    let drafts = |word: &str, drafts: Vec<Draft>| {
        let ids: Vec<_> = drafts.iter().map(|d| &d.id).collect();
        if ids.is_empty() { String::new() } else { format!(" {word} {}", list(&ids)) }
    };
    let above = state.parent.as_ref().map_or(Vec::new(), |parent| notebook.drafts_at(parent, Some(id)));
    let drafts = drafts("below", above) + &drafts("drafts", notebook.drafts_at(id, None));
    writeln!(text, "{first}{id}{name}{run}{living}{drafts}").expect("text");
    let on = Base::State(id.clone());
    let leaves = notebook.runs().filter(|r| r.on == on && r.state.is_none());
    let leaves: Vec<String> = leaves.map(|r| format!("× {} {:?}", r.exec_id, r.status)).collect();
    let children: Vec<&StateId> = notebook.children(id).map(|s| &s.id).collect();
    let count = children.len() + leaves.len();
    for (at, child) in children.iter().enumerate() {
        let (fork, line) = if at + 1 == count { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        draw(notebook, child, &format!("{rest}{fork}"), &format!("{rest}{line}"), text);
    }
    for (at, leaf) in leaves.iter().enumerate() {
        let fork = if children.len() + at + 1 == count { "└─ " } else { "├─ " };
        writeln!(text, "{rest}{fork}{leaf}").expect("text");
    }
}

//! Checks the names, ids and texts that clients send.
//!
//! A name is either stored exactly as the client sent it, or refused. A name is refused if it could
//! look like another name, because it has invisible characters or another Unicode form. A name is
//! also refused if it could change the meaning of a path, a header or a terminal's output.

use crate::notebook::{
    Command, Draft, RunSpec, SweepSpec, TableView, TextUpdate, ValuePartView, WidgetMessage,
};
use crate::problem::{Kind, Problem};
use icu_normalizer::ComposingNormalizerBorrowed;
use serde_json::{Map, Value};

/// Maximum length of a name, id or label, in characters. A UUID has 36.
const MAX_NAME_CHARS: usize = 128;

/// Maximum length of a visitor's name, in characters. The page has little room for it.
const MAX_PERSON_CHARS: usize = 40;

/// Maximum length of the source of one cell, in bytes.
const MAX_SOURCE_BYTES: usize = 1024 * 1024;

/// Maximum length of `TextUpdate::changes`, in bytes of JSON. The changes may contain the cell's
/// whole text, with quotes around each line.
const MAX_UPDATE_BYTES: usize = 2 * MAX_SOURCE_BYTES;

/// Maximum length of an answer to `input()`, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Maximum length of a caller's data in one field of a checkpoint or task, in bytes of JSON.
const MAX_DATA_BYTES: usize = 1024 * 1024;

/// Maximum depth of a caller's data. Restoring a task's checkpoint writes the data as Python
/// source, and Python's parser fails at 100 levels.
const MAX_DATA_DEPTH: usize = 64;

/// Maximum length of a path, in bytes. Linux refuses longer ones.
const MAX_PATH_BYTES: usize = 4095;

/// Maximum length of a file's name, in bytes.
const MAX_FILE_NAME_BYTES: usize = 255;

/// Maximum number of Markdown cells above the code of one state.
const MAX_PROSE_CELLS: usize = 1000;
/// Maximum number of expressions that one command evaluates.
const MAX_EXPRESSIONS: usize = 50;
/// Maximum number of rows that one command reads from a data frame.
const MAX_TABLE_ROWS: u32 = 5000;
/// Maximum number of conditions on the rows of a data frame.
const MAX_TABLE_FILTERS: usize = 200;
/// Maximum number of columns of one answer, as many as the kernel reads.
const MAX_TABLE_COLUMNS: usize = 200;
/// Maximum depth of an entry of a variable.
const MAX_VALUE_DEPTH: usize = 100;

/// Maximum timeout of a run, in seconds. The limit of one year prevents an overflow of timers.
const MAX_TIMEOUT_SECONDS: f64 = 365.0 * 24.0 * 3600.0;

/// A notebook's name is also the name of its directory, so it may contain only letters, digits,
/// spaces and `-_.`.
///
/// # Errors
/// A `Problem` that names the broken rule.
pub fn check_notebook_name(name: &str) -> Result<(), Problem> {
    let what = || format!("name a notebook {name:?}");
    check_text(name).map_err(|why| bad(what(), why, HOW_NAME))?;
    let plain = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
    if !name.chars().all(plain) {
        return Err(bad(what(), "it has characters other than letters, digits, spaces and `-_.`", HOW_NAME));
    }
    // The file system limits a directory's name in bytes, and a suffix is added to this name.
    if name.len() > 200 {
        return Err(bad(what(), "it is too long", HOW_NAME));
    }
    Ok(())
}

/// Checks the name of a new file or folder of the owner. Files that cells made may have other
/// names.
///
/// # Errors
/// A `Problem` that names the broken rule.
pub(crate) fn check_file_name(name: &str) -> Result<(), Problem> {
    // File systems have this limit.
    let long = (name.len() > MAX_FILE_NAME_BYTES).then_some("it is too long");
    let how = "use 1 to 255 bytes of visible characters, without `/`, not starting with a dot";
    let why = long.map_or_else(|| check_characters(name), Err);
    why.map_err(|why| bad(format!("name a file {name:?}"), why, how))
}

/// Checks the path of a Python that the owner typed.
///
/// # Errors
/// A `Problem` that names the broken rule.
pub(crate) fn check_python_path(path: &str) -> Result<(), Problem> {
    let refused = |why: &str| {
        let how = "give the full path of a Python or of the directory of its environment";
        Err(Problem::bad_request(format!("use the Python {path:?}"), why, how))
    };
    match path {
        "" => refused("the path is empty"),
        _ if !path.starts_with('/') => refused("the path does not begin with /"),
        _ if path.len() > MAX_PATH_BYTES => {
            let how = "give a shorter path";
            Err(Problem::new(Kind::TooLarge, "use a Python", "its path is too long", how))
        }
        _ if path.chars().any(char::is_control) => refused("the path has control characters"),
        _ => Ok(()),
    }
}

/// Pages send updates and custom messages only. The widget's process makes and closes its models.
fn check_widget_message(message: &WidgetMessage) -> Result<(), Problem> {
    match message {
        WidgetMessage::Update { echo, .. } => {
            echo.as_deref().map_or(Ok(()), |id| check_id("id of an update", id))
        }
        WidgetMessage::Custom { .. } => Ok(()),
        WidgetMessage::Open { .. } | WidgetMessage::Close { .. } => Err(bad(
            "send a message to a widget".into(),
            "only its process opens and closes a widget",
            "send the method `update` or `custom`",
        )),
    }
}

fn check_table(view: &TableView) -> Result<(), Problem> {
    let what = "show a table";
    if view.limit > MAX_TABLE_ROWS {
        return Err(too_large(what, format!("it asks for more than {MAX_TABLE_ROWS} rows")));
    }
    if view.filters.len() > MAX_TABLE_FILTERS {
        return Err(too_large(what, format!("it has more than {MAX_TABLE_FILTERS} conditions")));
    }
    if view.columns.as_ref().is_some_and(|columns| columns.len() > MAX_TABLE_COLUMNS) {
        return Err(too_large(what, format!("it asks for more than {MAX_TABLE_COLUMNS} columns")));
    }
    check_source(&view.expression)?;
    view.filters.iter().try_for_each(|filter| check_length(what, &filter.value, MAX_ANSWER_BYTES))
}

fn check_value_part(view: &ValuePartView) -> Result<(), Problem> {
    if view.path.len() > MAX_VALUE_DEPTH {
        let why = format!("it is more than {MAX_VALUE_DEPTH} levels deep");
        return Err(too_large("show a value", why));
    }
    check_source(&view.name)
}

/// Checks the texts of a sweep. `SweepSpec::plan` checks its rows.
fn check_sweep(spec: &SweepSpec) -> Result<(), Problem> {
    if let Some(id) = &spec.id {
        check_id("sweep id", id.as_str())?;
        // `S.1.2` is a run of the sweep `S` and of no other.
        if id.as_str().contains('.') {
            let how = "use letters, digits, `-` and `_`";
            return Err(Problem::bad_request("start a sweep", "its id contains a dot", how));
        }
    }
    check_source(&spec.code)?;
    spec.options.metric.as_deref().map_or(Ok(()), check_source)?;
    spec.options.rungs.as_ref().map_or(Ok(()), |rungs| check_source(&rungs.code))?;
    spec.options.label.as_deref().map_or(Ok(()), check_label)?;
    spec.options.timeout.map_or(Ok(()), check_timeout)?;
    spec.options.run_memory.map_or(Ok(()), check_run_memory)
}

/// Checks the names, ids and texts of a command.
pub(crate) fn check_command(command: &Command) -> Result<(), Problem> {
    match command {
        Command::Run(RunSpec { exec_id, code, new_state_name, draft, timeout, run_memory, .. }) => {
            check_id("exec_id", exec_id.as_str())?;
            draft.as_ref().map_or(Ok(()), |draft| check_id("draft id", draft.as_str()))?;
            check_source(code)?;
            new_state_name.as_deref().map_or(Ok(()), check_state_name)?;
            timeout.map_or(Ok(()), check_timeout)?;
            run_memory.map_or(Ok(()), check_run_memory)
        }
        Command::Merge(spec) => {
            check_id("exec_id", spec.exec_id.as_str())?;
            spec.new_state_name.as_deref().map_or(Ok(()), check_state_name)
        }
        Command::Complete { code, above, .. } | Command::Inspect { code, above, .. } => {
            check_source(code)?;
            check_source(above)
        }
        Command::Check { code, .. } | Command::FindParameters { code, .. } => check_source(code),
        Command::Sweep(spec) => check_sweep(spec),
        Command::Evaluate { expressions, .. } if expressions.len() > MAX_EXPRESSIONS => {
            Err(too_large("evaluate expressions", format!("there are more than {MAX_EXPRESSIONS} of them")))
        }
        Command::Evaluate { expressions, .. } => expressions.iter().try_for_each(|text| check_source(text)),
        Command::Table { view, .. } => check_table(view),
        Command::ValuePart { view, .. } => check_value_part(view),
        Command::Stand { name, caret, cell, follows, .. } => {
            name.as_deref().map_or(Ok(()), check_visitor_name)?;
            cell.as_deref().map_or(Ok(()), |cell| check_id("cell id", cell))?;
            follows.as_deref().map_or(Ok(()), |other| check_id("participant id", other))?;
            caret.as_ref().map_or(Ok(()), |caret| check_id("draft id", caret.draft.as_str()))
        }
        Command::AnswerInput { text, .. } => check_length("answer input()", text, MAX_ANSWER_BYTES),
        Command::Widget { exec_id, message, .. } => {
            check_id("exec_id", exec_id.as_str())?;
            check_id("model id", message.model())?;
            check_widget_message(message)
        }
        Command::PutDraft { draft: Draft { id, source, stale_run, .. }, update, .. } => {
            check_id("draft id", id.as_str())?;
            stale_run.as_ref().map_or(Ok(()), |run| check_id("stale_run", run.as_str()))?;
            check_source(source)?;
            update.as_ref().map_or(Ok(()), check_update)
        }
        Command::PutProse { prose, .. } if prose.len() > MAX_PROSE_CELLS => Err(too_large(
            "change the text above a cell",
            format!("it has more than {MAX_PROSE_CELLS} cells"),
        )),
        Command::PutProse { prose, .. } => prose.iter().try_for_each(|text| check_source(text)),
        Command::Label { label: Some(label), .. } | Command::Collapse { label: Some(label), .. } => {
            check_label(label)
        }
        Command::Checkpoint { label, metadata, .. } => {
            label.as_deref().map_or(Ok(()), check_label)?;
            check_data("metadata", metadata)
        }
        Command::SaveTask { task_id, values, token_usage, metadata, .. } => {
            check_id("task_id", task_id)?;
            check_data("values", values)?;
            check_data("token_usage", token_usage)?;
            check_data("metadata", metadata)
        }
        // These commands contain no new names or texts. The notebook answers an unknown name with
        // `NotFound`.
        Command::Interrupt { .. }
        | Command::KeepPartial { .. }
        | Command::DeleteDraft { .. }
        | Command::Label { label: None, .. }
        | Command::DeleteState { .. }
        | Command::DeleteBranches { .. }
        | Command::DropAttempt { .. }
        | Command::Restore { .. }
        | Command::StopSweep { .. }
        | Command::Collapse { label: None, .. }
        | Command::DeleteSweep { .. }
        | Command::EmptyTrash
        | Command::Reset
        | Command::Pin { .. }
        | Command::ForkAnyway { .. }
        | Command::Replay { .. }
        | Command::Load { .. }
        | Command::Trust
        | Command::TakeOver
        | Command::ListVariables { .. }
        | Command::Digest { .. } => Ok(()),
    }
}

/// Checks a label. A label is visible text on one line.
pub(crate) fn check_label(label: &str) -> Result<(), Problem> {
    let odd =
        label.trim().is_empty() || label.chars().count() > MAX_NAME_CHARS || label.chars().any(is_unseen);
    if odd {
        let how = "use 1 to 128 visible characters";
        return Err(bad(
            format!("use {label:?} as a label"),
            "it is empty, too long, or has invisible characters",
            how,
        ));
    }
    Ok(())
}

/// Checks a visitor's name: a short label.
fn check_visitor_name(name: &str) -> Result<(), Problem> {
    if name.chars().count() > MAX_PERSON_CHARS {
        let what = format!("use the visitor name {name:?}");
        return Err(bad(what, "it is too long", "use 1 to 40 visible characters"));
    }
    check_label(name)
}

const HOW_NAME: &str = "use 1 to 128 visible characters, without `/`, not starting with a dot";

fn check_state_name(name: &str) -> Result<(), Problem> {
    check_text(name).map_err(|why| bad(format!("name a state {name:?}"), why, HOW_NAME))
}

fn check_id(which: &str, id: &str) -> Result<(), Problem> {
    let odd = id.is_empty() || id.chars().count() > MAX_NAME_CHARS || id.chars().any(is_unseen);
    if odd {
        return Err(bad(
            format!("use {id:?} as {which}"),
            "an id has 1 to 128 visible characters",
            "use a UUID, for example",
        ));
    }
    Ok(())
}

/// Checks the depth and the length of a caller's data.
pub(crate) fn check_data(which: &str, data: &Map<String, Value>) -> Result<(), Problem> {
    let what = || format!("store {which}");
    if data.values().any(|value| !is_shallow(value, MAX_DATA_DEPTH - 1)) {
        return Err(bad(what(), "it is nested too deeply", "nest it at most 64 levels deep"));
    }
    let bytes = serde_json::to_vec(data).map_or(usize::MAX, |text| text.len());
    if bytes <= MAX_DATA_BYTES {
        return Ok(());
    }
    Err(too_large(&what(), format!("it has {bytes} bytes, more than {MAX_DATA_BYTES}")))
}

fn is_shallow(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| is_shallow(item, depth - 1)),
        Value::Object(entries) => depth > 0 && entries.values().all(|item| is_shallow(item, depth - 1)),
        _ => true,
    }
}

fn check_timeout(seconds: f64) -> Result<(), Problem> {
    if seconds > 0.0 && seconds <= MAX_TIMEOUT_SECONDS {
        return Ok(());
    }
    Err(bad(
        format!("stop a run after {seconds} seconds"),
        "a timeout is more than 0 seconds and at most a year",
        "use a number of seconds in that range",
    ))
}

fn check_run_memory(bytes: u64) -> Result<(), Problem> {
    if bytes > 0 {
        return Ok(());
    }
    Err(bad(
        "limit the memory of a run to 0 bytes".into(),
        "every cell needs some memory",
        "use a number of bytes above 0",
    ))
}

/// Checks an update of a draft's text. Each change must be a length, or a list of a length and
/// lines. So the updates that the server sends to other clients are flat and not much longer than a
/// cell.
fn check_update(update: &TextUpdate) -> Result<(), Problem> {
    check_id("client id", &update.client)?;
    let is_flat = |value: &Value| value.is_u64() || value.is_string();
    let is_section = |value: &Value| match value {
        Value::Array(items) => items.iter().all(is_flat),
        value => value.is_u64(),
    };
    if !update.changes.iter().all(is_section) {
        let why = "the update is not a list of lengths and replacements";
        return Err(bad(
            "change a draft".into(),
            why,
            "send a ChangeSet of CodeMirror as JSON, or no update",
        ));
    }
    let bytes = serde_json::to_vec(&update.changes).map_or(usize::MAX, |text| text.len());
    if bytes <= MAX_UPDATE_BYTES {
        return Ok(());
    }
    Err(too_large("change a draft", format!("the update has {bytes} bytes, more than {MAX_UPDATE_BYTES}")))
}

pub(crate) fn check_source(source: &str) -> Result<(), Problem> {
    check_length("accept the text of a cell", source, MAX_SOURCE_BYTES)
}

fn check_length(what: &str, text: &str, max: usize) -> Result<(), Problem> {
    if text.len() <= max {
        return Ok(());
    }
    Err(too_large(what, format!("it has {} bytes, more than {max}", text.len())))
}

/// Checks a name. The error is the reason, for `Problem::why`.
fn check_text(text: &str) -> Result<(), &'static str> {
    if text.chars().count() > MAX_NAME_CHARS {
        return Err("it is too long");
    }
    check_characters(text)
}

/// Checks the characters of a name of any length.
fn check_characters(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.chars().any(is_unseen) {
        return Err("it has invisible characters");
    }
    if text.starts_with('.') {
        return Err("it starts with a dot");
    }
    if text.contains(['/', '\\']) {
        return Err("it contains a slash");
    }
    if text.trim() != text {
        return Err("it starts or ends with a space");
    }
    if !ComposingNormalizerBorrowed::new_nfc().is_normalized(text) {
        return Err("it is not in Unicode's composed form (NFC)");
    }
    Ok(())
}

/// Whether a character is a control character, has no width, or changes the direction of the text.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn bad(what: String, why: &str, how: &str) -> Problem {
    Problem::new(Kind::BadRequest, what, why, how)
}

fn too_large(what: &str, why: String) -> Problem {
    Problem::new(Kind::TooLarge, what, why, "let the code read the data from a file")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_that_people_use_are_taken() {
        for good in [
            "a",
            "9b2c1e",
            "after load",
            "état-1",
            "日本",
            "x.y",
            "a:b",
            "<b>",
            "\"q\"",
            "%2e",
            "initial",
            "a..b",
        ] {
            assert_eq!(check_state_name(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn names_that_are_not_what_they_seem_are_refused() {
        let long = "x".repeat(129);
        for bad in [
            "",
            " ",
            " a",
            "a ",
            ".",
            "..",
            ".hidden",
            "a/b",
            "/",
            "a\\b",
            "a\0",
            "a\nb",
            "a\r\nX: y",
            "\u{1b}[31m",
            "a\u{7f}",
            "a\u{85}",
            "a\u{200b}b",
            "\u{202e}a",
            "\u{feff}a",
            "a\u{2066}b",
            "e\u{301}tat",
            "a\u{2028}",
            "\u{e0041}",
            &long,
        ] {
            assert!(check_state_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_notebooks_name_is_a_plain_directory_name() {
        for good in ["main", "my notebook", "été_2.1-b"] {
            assert_eq!(check_notebook_name(good), Ok(()), "{good}");
        }
        let long = "日".repeat(100);
        for bad in ["", "..", "a/b", "a:b", "a*", "a?b", "<a>", "a'b", &long] {
            assert!(check_notebook_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn data_is_neither_deep_nor_long() {
        let with = |value: Value| Map::from_iter([("k".to_owned(), value)]);
        let nested = |depth| (1..depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert_eq!(check_data("values", &with(nested(64))), Ok(()));
        assert_eq!(check_data("values", &with(nested(65))).map_err(|r| r.kind), Err(Kind::BadRequest));
        let long = |bytes| with(Value::String("x".repeat(bytes)));
        assert_eq!(check_data("values", &long(MAX_DATA_BYTES - 8)), Ok(()));
        assert_eq!(check_data("values", &long(MAX_DATA_BYTES - 7)).map_err(|r| r.kind), Err(Kind::TooLarge));
    }

    #[test]
    fn times_are_positive_and_finite() {
        assert_eq!(check_timeout(0.5), Ok(()));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(check_timeout(bad).is_err(), "{bad}");
        }
    }

    /// The kind of problem with a command, if any.
    fn kind_of(command: Value) -> Option<Kind> {
        let command = serde_json::from_value(command).expect("a command");
        check_command(&command).err().map(|problem| problem.kind)
    }

    #[test]
    fn an_update_of_a_draft_is_a_flat_change_set_of_limited_length() {
        let kind = |client: &str, changes: Value| {
            kind_of(json!({
                "do": "put_draft",
                "draft": {"id": "d", "on": "initial", "kind": "code", "source": "x"},
                "update": {"client": client, "number": 1, "changes": changes},
            }))
        };
        assert_eq!(kind("c", json!([])), None);
        assert_eq!(kind("c", json!([3, [0, "one", "", "two"], 5, [7]])), None);
        for bad in [json!([-1]), json!([1.5]), json!(["x"]), json!([null]), json!([{}]), json!([[0, ["x"]]])]
        {
            assert_eq!(kind("c", bad.clone()), Some(Kind::BadRequest), "{bad}");
        }
        for bad in ["", "a\nb", &"x".repeat(MAX_NAME_CHARS + 1)] {
            assert_eq!(kind(bad, json!([])), Some(Kind::BadRequest), "{bad}");
        }
        // `[[0,""]]` has 8 bytes.
        let long = |bytes: usize| json!([[0, "x".repeat(bytes - 8)]]);
        assert_eq!(kind("c", long(MAX_UPDATE_BYTES)), None);
        assert_eq!(kind("c", long(MAX_UPDATE_BYTES + 1)), Some(Kind::TooLarge));
    }

    #[test]
    fn a_caret_names_a_draft_and_a_person_has_a_short_name() {
        let kind = |name: &str, draft: &str| {
            let caret = json!({"draft": draft, "version": 1, "anchor": 0, "head": u32::MAX});
            kind_of(json!({"do": "stand", "state": "initial", "name": name, "caret": caret}))
        };
        assert_eq!(kind("Ada", "d"), None);
        assert_eq!(kind("Ada", ""), Some(Kind::BadRequest));
        assert_eq!(kind("Ada", "d\u{202e}"), Some(Kind::BadRequest));
        assert_eq!(kind(&"x".repeat(MAX_PERSON_CHARS), "d"), None);
        assert_eq!(kind(&"x".repeat(MAX_PERSON_CHARS + 1), "d"), Some(Kind::BadRequest));
        let caret = json!({"draft": "d", "version": 1, "anchor": -1, "head": 0});
        let command = json!({"do": "stand", "state": "initial", "caret": caret});
        assert!(serde_json::from_value::<Command>(command).is_err(), "before the text");
    }
}

//! `ratoon check`, `gc`, `trust`, `export` and `import`: commands for notebooks that no server has
//! open.

use crate::formats::{Document, Format};
use crate::http::check_notebook_name;
use crate::notebook::{Notebook, Residency, State, StateId};
use crate::options::{Options, Subcommand};
use crate::problem::{Kind, Problem};
use crate::store::{self, InstallKey};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs a subcommand. Exit code 0: success; 1: damage was found, or the subcommand failed.
pub fn run(command: &Subcommand, options: &Options) -> ExitCode {
    match perform(command, options) {
        Ok((lines, code)) => {
            let mut out = io::stdout().lock();
            // If stdout is closed, the exit code still shows the result.
            let _ = lines.iter().try_for_each(|line| writeln!(out, "{line}"));
            code
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "ratoon cannot {}: {}\n  {}", error.what, error.why, error.how);
            ExitCode::FAILURE
        }
    }
}

fn perform(command: &Subcommand, options: &Options) -> Result<(Vec<String>, ExitCode), Problem> {
    match command {
        Subcommand::Check { dir } => {
            let checked = store::check(dir)?;
            if checked.damage.is_empty() {
                return Ok((vec![format!("nothing is damaged: {}", checked.summary)], ExitCode::SUCCESS));
            }
            let found = format!("{} damaged: {}", checked.damage.len(), checked.summary);
            Ok((checked.damage.into_iter().chain([found]).collect(), ExitCode::FAILURE))
        }
        Subcommand::Gc { dir } => {
            let (files, bytes) = store::gc(dir)?;
            Ok((vec![format!("{files} files removed, {bytes} bytes freed")], ExitCode::SUCCESS))
        }
        Subcommand::Export { notebook, state, format, output } => {
            let lines = export(notebook, state.as_deref(), format, output.as_deref())?;
            Ok((lines, ExitCode::SUCCESS))
        }
        Subcommand::Import { file, name } => Ok((import(file, name.as_deref())?, ExitCode::SUCCESS)),
        Subcommand::Trust { dir, yes } => {
            let Some(config_dir) = &options.config_dir else {
                let why = "neither HOME nor XDG_CONFIG_HOME names a directory";
                return Err(Problem::new(Kind::Disk, "find the key of this install", why, "set HOME"));
            };
            trust(dir, &InstallKey::load_or_make(config_dir)?, *yes)
        }
    }
}

/// Maximum number of names that are printed of a list. Of the others only the number is printed.
const MAX_LISTED: usize = 12;

/// Shows what a notebook's untrusted checkpoints contain, asks the user, and signs them.
fn trust(dir: &Path, key: &InstallKey, yes: bool) -> Result<(Vec<String>, ExitCode), Problem> {
    let trusting = store::Trusting::inspect(dir, key)?;
    let count = trusting.untrusted.len();
    if count > 0 {
        let place = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let mut lines =
            vec![format!("{}: checkpoints that this install has not signed: {count}", place.display())];
        lines.extend(trusting.untrusted.iter().flat_map(in_lines));
        lines.push(
            "Once they are trusted, the code in them runs as you whenever one of their states is used."
                .into(),
        );
        let mut out = io::stdout().lock();
        // Ignores a closed stdout.
        let _ = lines.iter().try_for_each(|line| writeln!(out, "{line}"));
    }
    if count > 0 && !yes && !is_agreed()? {
        return Ok((vec!["nothing was trusted".into()], ExitCode::FAILURE));
    }
    let count = trusting.sign()?;
    Ok((vec![format!("newly trusted checkpoints: {count}")], ExitCode::SUCCESS))
}

/// Describes an untrusted checkpoint in lines of text. Its names come from another machine, so
/// `plain` makes them safe to print.
fn in_lines(one: &store::Untrusted) -> Vec<String> {
    let id = if one.name == one.id { String::new() } else { format!(" ({})", plain(&one.id)) };
    let signed = if one.is_signed { "signed by another install, or changed since" } else { "not signed" };
    let name = plain(&one.name);
    let holds = match &one.holds {
        Err(why) => {
            return vec![format!("  {name}{id}: {signed}; its content cannot be read: {}", plain(why))];
        }
        Ok(holds) => holds,
    };
    let mut lines = vec![format!("  {name}{id}: {} names, {} bytes, {signed}", holds.names, holds.bytes)];
    match &holds.modules {
        None => lines.push("    plain values only, no code".into()),
        Some(modules) => lines.push(format!("    runs code when it is loaded; imports {}", listed(modules))),
    }
    if !holds.definitions.is_empty() {
        lines.push(format!("    functions and classes of its cells: {}", listed(&holds.definitions)));
    }
    lines
}

fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_LISTED).map(|name| plain(name)).collect();
    match names.len() - shown.len() {
        _ if shown.is_empty() => "nothing".into(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Replaces control and bidirectional characters, which could steer the terminal. Cuts the text at
/// `MAX_CHARS` characters.
fn plain(text: &str) -> String {
    const MAX_CHARS: usize = 200;
    let is_shown = |c: char| {
        !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c) && !('\u{2066}'..='\u{2069}').contains(&c)
    };
    text.chars().take(MAX_CHARS).map(|c| if is_shown(c) { c } else { '\u{fffd}' }).collect()
}

fn is_agreed() -> Result<bool, Problem> {
    if !io::stdin().is_terminal() {
        let how = "read the list above, and add --yes if you know where the notebook comes from";
        return Err(Problem::new(
            Kind::BadRequest,
            "ask whether to trust them",
            "stdin is not a terminal",
            how,
        ));
    }
    let refused = |e: io::Error| Problem::new(Kind::BadRequest, "ask", e.to_string(), "add --yes");
    let mut out = io::stdout().lock();
    write!(out, "Trust them? [y/N] ").and_then(|()| out.flush()).map_err(refused)?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(refused)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Writes a lineage of a notebook to a file.
fn export(
    notebook: &Path,
    state: Option<&str>,
    word: &str,
    output: Option<&Path>,
) -> Result<Vec<String>, Problem> {
    let Some(format) = Format::from_word(word) else {
        let how = "give --as ipynb, py or html";
        return Err(Problem::new(
            Kind::BadRequest,
            "write a file",
            format!("there is no format {word:?}"),
            how,
        ));
    };
    let is_dir = notebook.extension().is_some_and(|end| end == "ratoon");
    let dir = if is_dir { notebook.to_owned() } else { with_end(notebook.as_os_str(), "ratoon") };
    let name = dir.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let read = store::read(&dir, &name).map_err(|error| elsewhere(error, &dir, &name, format))?;
    let Some(state) = wanted(&read, state) else {
        let what = format!("find state {:?}", state.unwrap_or_default());
        return Err(Problem::new(
            Kind::NotFound,
            what,
            "no state of the notebook has this name or id",
            "look at `ratoon check`, or leave --state out",
        ));
    };
    let text = Document::of(&read, &state).write(format);
    if output.is_some_and(|path| path.as_os_str() == "-") {
        // Ignores a pipe that the reader has closed.
        let _ = io::stdout().lock().write_all(text.as_bytes());
        return Ok(Vec::new());
    }
    let own = PathBuf::from(format!("{name}.{}", format.word()));
    let path = output.unwrap_or(&own);
    let failed = |error: io::Error| {
        let how = match error.kind() {
            io::ErrorKind::AlreadyExists => "name another file with -o",
            _ => "check its permissions",
        };
        Problem::new(Kind::Disk, format!("write {}", path.display()), error.to_string(), how)
    };
    // Replaces a file only if the user named it.
    let file = if output.is_some() { File::create(path) } else { File::create_new(path) };
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
    Ok(vec![path.display().to_string()])
}

/// Finds a state by name or id. Without one, finds the newest state.
fn wanted(notebook: &Notebook, state: Option<&str>) -> Option<StateId> {
    let newest = || notebook.states().rfind(|state| state.residency != Residency::Deleted);
    let found: Option<&State> = match state {
        None => newest(),
        Some(text) => notebook.find(text).or_else(|| (text == "newest").then(newest).flatten()),
    };
    found.map(|state| state.id.clone())
}

/// The error for a notebook that cannot be read. If a server has the notebook open, the remedy is
/// to export it from that server.
fn elsewhere(error: Problem, dir: &Path, name: &str, format: Format) -> Problem {
    let mut refused = error;
    if store::is_open(dir) {
        let name = crate::http::percent_encoded(name);
        refused.how = format!(
            "export it from that server: GET /api/notebooks/{name}/states/STATE/document?as={}, \
             or the menu of its page; or stop it first",
            format.word()
        );
    }
    refused
}

/// Creates a notebook from a file.
fn import(file: &Path, name: Option<&str>) -> Result<Vec<String>, Problem> {
    let what = || format!("import {}", file.display());
    let format = match file.extension().and_then(OsStr::to_str) {
        Some("ipynb" | "json") => Format::Ipynb,
        Some("py") => Format::Script,
        _ => {
            let how = "rename the file, or give another one";
            return Err(Problem::new(
                Kind::BadRequest,
                what(),
                "its name does not end in .ipynb or .py",
                how,
            ));
        }
    };
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = name.map_or(stem, |name| name.trim_end_matches(".ratoon").to_owned());
    check_notebook_name(&name).map_err(|refused| Problem {
        how: format!("{}; give it as the second argument", refused.how),
        ..refused
    })?;
    let unread =
        |e: io::Error| Problem::new(Kind::Disk, what(), e.to_string(), "check the spelling of its name");
    let bytes = fs::read(file).map_err(unread)?;
    let mut document =
        Document::read(&bytes, format).map_err(|error| Problem { what: what(), ..error.into() })?;
    let left_out = std::mem::take(&mut document.left_out);
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0;
    let mut new_id = || uuid::Uuid::new_v4().simple().to_string();
    let notebook = document.into_notebook(&name, now_ms, &mut new_id);
    let dir = with_end(OsStr::new(&name), "ratoon");
    store::create(&dir, &notebook)?;
    let cells = notebook.drafts().count();
    let left_out = left_out.iter().map(|what| format!("left out: {what}"));
    Ok(left_out.chain([format!("{}: {cells} cells; `ratoon -- {name}` opens it", dir.display())]).collect())
}

fn with_end(name: &OsStr, end: &str) -> PathBuf {
    let mut name = name.to_owned();
    name.push(".");
    name.push(end);
    name.into()
}

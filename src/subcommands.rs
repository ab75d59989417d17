//! `ratoon check`, `gc`, `trust`, `export`, `import`, `push` and `pull`: commands for notebooks
//! that no server has open.

use crate::clock::now_ms;
use crate::directory::Directory;
use crate::formats::{Document, Exported, Format};
use crate::http::check_notebook_name;
use crate::notebook::{Notebook, Residency, State, StateId};
use crate::options::{Options, Subcommand};
use crate::pictures;
use crate::problem::{Kind, Problem};
use crate::remote::RemoteStore;
use crate::store::offsite::{self, Begun, Claim, Closed, Pulled, Pushed, Pusher};
use crate::store::{self, Attachments, InstallKey, read_imported_file};
use crate::terminal_text;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

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
            let _ = writeln!(io::stderr(), "{}", error.for_terminal());
            ExitCode::FAILURE
        }
    }
}

fn perform(command: &Subcommand, options: &Options) -> Result<(Vec<String>, ExitCode), Problem> {
    match command {
        Subcommand::Check { notebook } => {
            let checked = store::check(&directory_of(notebook))?;
            if checked.damage.is_empty() {
                return Ok((vec![format!("nothing is damaged: {}", checked.summary)], ExitCode::SUCCESS));
            }
            let found = format!("{} damaged: {}", checked.damage.len(), checked.summary);
            Ok((checked.damage.into_iter().chain([found]).collect(), ExitCode::FAILURE))
        }
        Subcommand::Gc { notebook: Some(notebook), .. } => {
            let (files, bytes) = store::gc(&directory_of(notebook))?;
            Ok((vec![format!("{files} files removed, {bytes} bytes freed")], ExitCode::SUCCESS))
        }
        Subcommand::Gc { notebook: None, .. } => {
            let done = offsite::collect(&remote(options)?, &install_key(options)?)?;
            let line = format!(
                "{} blobs removed; {} are in use, and {} are younger than a week",
                done.removed, done.named, done.young
            );
            Ok((vec![line], ExitCode::SUCCESS))
        }
        Subcommand::Push { notebook, name, take_over, replace, .. } => {
            let claim = Claim { take_over: *take_over, replace: *replace };
            let lines = push(&directory_of(notebook), name.as_deref(), claim, options)?;
            Ok((lines, ExitCode::SUCCESS))
        }
        Subcommand::Pull { name, own_name, versions: true, .. } => {
            check_notebook_name(own_name.as_ref().unwrap_or(name))?;
            Ok((offsite::versions(&remote(options)?, name, &install_key(options)?)?, ExitCode::SUCCESS))
        }
        Subcommand::Pull { name, own_name, version, .. } => {
            let lines = pull(name, own_name.as_deref(), version.as_deref(), options)?;
            Ok((lines, ExitCode::SUCCESS))
        }
        Subcommand::Export { notebook, state, format, all_branches, output } => {
            let lines =
                export(notebook, state.as_deref(), format.as_deref(), *all_branches, output.as_deref())?;
            Ok((lines, ExitCode::SUCCESS))
        }
        // `main` runs it.
        Subcommand::Mcp(_) => Ok((Vec::new(), ExitCode::SUCCESS)),
        // The command of the Python package carries it out, and does not start this program.
        Subcommand::Kernelspec { .. } => {
            let why = "the kernel is part of the Python package, and this is the program alone";
            let how = "install the wheel, and use its command `ratoon`";
            Err(Problem::new(Kind::BadRequest, "install the Jupyter kernel", why, how))
        }
        Subcommand::Import { file, name } => Ok((import(file, name.as_deref())?, ExitCode::SUCCESS)),
        Subcommand::Trust { notebook, yes } => trust(&directory_of(notebook), &install_key(options)?, *yes),
    }
}

fn install_key(options: &Options) -> Result<InstallKey, Problem> {
    let Some(config_dir) = &options.config_dir else {
        let why = "neither HOME nor XDG_CONFIG_HOME names a directory";
        return Err(Problem::new(Kind::Disk, "find the key of this install", why, "set HOME"));
    };
    InstallKey::load_or_make(config_dir)
}

/// The store that the command or $RATOON_STORE names.
fn remote(options: &Options) -> Result<RemoteStore, Problem> {
    let Some(settings) = &options.store_settings else {
        let how = "add --store s3://BUCKET/PREFIX or --store file:///DIRECTORY, or set RATOON_STORE";
        return Err(Problem::new(Kind::BadRequest, "find the store", "no store is named", how));
    };
    RemoteStore::connect(settings)
}

/// The name of a notebook in this directory.
fn name_of(dir: &Path) -> String {
    // `.` has no name, its full path has one.
    let full = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    full.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Pushes a notebook to a store.
fn push(dir: &Path, name: Option<&str>, claim: Claim, options: &Options) -> Result<Vec<String>, Problem> {
    let (remote, key) = (remote(options)?, install_key(options)?);
    let name = name.map_or_else(|| name_of(dir), str::to_owned);
    check_notebook_name(&name)?;
    let closed = Closed::lock(dir)?;
    let mut pusher = match Pusher::begin(&remote, dir, &name, &key, claim)? {
        Begun::Ready(pusher) => pusher,
        Begun::Behind(problem) => return Err(problem),
        Begun::Held(holder) => {
            let why = format!("{} has it open since {}", holder.in_words(), holder.since_in_words());
            let how = "stop that server, or add --take-over: its later pushes are then refused";
            return Err(Problem::new(
                Kind::Conflict,
                format!("push {name} to the store {}", remote.url()),
                why,
                how,
            ));
        }
    };
    let pushed = pusher.push(&AtomicBool::new(false));
    pusher.release();
    drop(closed);
    match pushed? {
        Pushed::Unchanged => Ok(vec![format!("{name}: the store {} has everything already", remote.url())]),
        Pushed::Done(blobs, bytes) => {
            Ok(vec![format!("{name}: pushed to {}; {blobs} new blobs in {bytes} bytes", remote.url())])
        }
        Pushed::TakenBy(holder) => {
            let why = format!("{} has taken it over", holder.in_words());
            let how = "pull what was pushed there, or push again with --take-over";
            Err(Problem::new(Kind::Conflict, format!("push {name} to the store {}", remote.url()), why, how))
        }
    }
}

/// Pulls a notebook from a store into the current directory.
fn pull(
    name: &str,
    own_name: Option<&str>,
    version: Option<&str>,
    options: &Options,
) -> Result<Vec<String>, Problem> {
    let own_name = own_name.unwrap_or(name);
    check_notebook_name(name)?;
    check_notebook_name(own_name)?;
    let dir = with_end(OsStr::new(own_name), "ratoon");
    let pulled = offsite::pull(&remote(options)?, name, version, &dir, &install_key(options)?)?;
    let Pulled::Done { blobs, is_ours, is_update } = pulled else {
        return Ok(vec![format!("{}: it has the newest version already", dir.display())]);
    };
    let opens = format!("{}: {blobs} blobs fetched; `ratoon -- {own_name}` opens it", dir.display());
    let old = is_update.then(|| "the copy that was here is in the trash".to_owned());
    let foreign = (!is_ours).then(|| {
        format!(
            "another install pushed it, so its checkpoints are not trusted; see `ratoon trust {own_name}`"
        )
    });
    Ok([opens].into_iter().chain(old).chain(foreign).collect())
}

/// The directory of a notebook that the user named: by the directory, or by the notebook's name,
/// which is the directory without `.ratoon`. A directory with another name, such as a backup, is
/// used if no notebook has this name.
fn directory_of(notebook: &Path) -> PathBuf {
    let named = with_end(notebook.as_os_str(), "ratoon");
    let is_dir = notebook.extension().is_some_and(|end| end == "ratoon");
    if is_dir || notebook.is_dir() && !named.is_dir() { notebook.to_owned() } else { named }
}

/// Maximum number of names that are printed of a list. Of the others only the number is printed.
const MAX_LISTED: usize = 12;
/// How much of a name is printed.
const MAX_NAME_CHARS: usize = 200;

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

/// Makes a name from another machine safe to print.
fn plain(name: &str) -> String {
    terminal_text::plain(name, MAX_NAME_CHARS)
}

fn is_agreed() -> Result<bool, Problem> {
    if !io::stdin().is_terminal() {
        let how = "read the list above, and add --yes if you trust the source of the notebook";
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
    word: Option<&str>,
    all_branches: bool,
    output: Option<&Path>,
) -> Result<Vec<String>, Problem> {
    let word = word.unwrap_or(if all_branches { Format::Html } else { Format::Ipynb }.word());
    let Some(format) = Format::from_word(word) else {
        let how = "give --as ipynb, py or html";
        return Err(Problem::new(
            Kind::BadRequest,
            "write a file",
            format!("there is no format {word:?}"),
            how,
        ));
    };
    if all_branches && format != Format::Html {
        let why = format!("the format {word:?} has no branches");
        return Err(Problem::new(Kind::BadRequest, "write all branches to a file", why, "give --as html"));
    }
    let dir = directory_of(notebook);
    // `.` has no name, its full path has one.
    let full = std::path::absolute(&dir).unwrap_or_else(|_| dir.clone());
    let name = full.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let read = store::read(&dir, &name).map_err(|error| elsewhere(error, &dir, &name, format))?;
    let Some(state) = wanted(&read, state) else {
        let what = format!("find state {:?}", state.unwrap_or_default());
        return Err(Problem::new(
            Kind::NotFound,
            what,
            "no state of the notebook has this name or id",
            "leave --state out to export the newest state",
        ));
    };
    let mut exported = Exported::of(&read, &state, all_branches);
    let document = exported.document();
    document.file = read.imported_file().and_then(|file| read_imported_file(&dir.join("blobs"), file));
    let parent = full.parent().unwrap_or(Path::new("/")).to_owned();
    let attachments = Attachments::in_notebook(&dir);
    document.pictures = pictures::of_document(document, format, &attachments, &Directory::new(parent));
    let text = exported.write(format);
    if output.is_some_and(|path| path.as_os_str() == "-") {
        let mut stdout = io::stdout().lock();
        return match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            // The reader has closed the pipe: it has read what it wants.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let how = "make room, or export to another place with -o FILE";
                Err(Problem::new(Kind::Disk, "write to the standard output", error.to_string(), how))
            }
            _ => Ok(Vec::new()),
        };
    }
    let own = PathBuf::from(format!("{name}{}", exported.suffix(format)));
    let path = output.unwrap_or(&own);
    let failed = |error: io::Error| {
        let how = match error.kind() {
            io::ErrorKind::AlreadyExists => "give another file with -o",
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
            "export it from that server (GET /api/notebooks/{name}/states/STATE/document?as={}, \
             or the menu of its page), or stop the server first",
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
        how: format!("{}; give the name as the second argument", refused.how),
        ..refused
    })?;
    let unread =
        |e: io::Error| Problem::new(Kind::Disk, what(), e.to_string(), "check the spelling of its name");
    let bytes = fs::read(file).map_err(unread)?;
    let mut document = Document::read(&bytes, format).map_err(|error| Problem { what: what(), ..error })?;
    let left_out = std::mem::take(&mut document.left_out);
    let mut new_id = || uuid::Uuid::new_v4().simple().to_string();
    let (imported, attachments) = (document.file.take(), document.take_attachments());
    let notebook = document.into_notebook(&name, now_ms(), &mut new_id);
    let dir = with_end(OsStr::new(&name), "ratoon");
    store::create(&dir, &notebook, imported.as_deref(), &attachments)?;
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

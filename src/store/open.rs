//! Opens a notebook's directory: creates, examines, refuses or repairs it.

use super::key::InstallKey;
use super::load::{load, load_credentials};
use super::loaded::Loaded;
use super::lock::Lock;
use super::paths::{Paths, is_notebook, no_notebook, there};
use super::tables::{DatabaseHealth, Fault, META, NAMES, STATES, Tables};
use super::wal;
use super::write::Writer;
use crate::blobs::Blobs;
use crate::blobs::nofollow::{FileKind, open_file};
use crate::clock::now_ms;
use crate::notebook::{KeptCredentials, Notebook, ROOT_NAME};
use crate::problem::Problem;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// A locked notebook directory and its content.
#[derive(Debug)]
pub(super) struct Examined {
    pub(super) tables: Tables,
    pub(super) lock: Lock,
    pub(super) loaded: Loaded,
    /// Whether the last process that opened the notebook did not close it properly.
    pub(super) has_crashed: bool,
    /// Whether the database's indexes must be rebuilt.
    bad_indexes: bool,
}

/// Locks and reads an existing notebook. Changes nothing, except that it upgrades a database of an
/// older version.
pub(super) fn examine(paths: &Paths, key: Option<&InstallKey>, name: &str) -> Result<Examined, Problem> {
    if !paths.dir.is_dir() {
        return Err(paths.refused("there is no such directory", "check the spelling of its name"));
    }
    is_notebook(paths)?;
    let lock = Lock::take(&paths.dir)?;
    examine_locked(paths, key, name, lock)
}

/// Reads only the share links and browser sessions of an existing notebook. Changes nothing.
pub(super) fn read_credentials(paths: &Paths, key: &InstallKey) -> Result<KeptCredentials, Problem> {
    if !there(paths)? {
        return Ok(KeptCredentials::default());
    }
    // Fails if another server has the notebook open. In that case the links are of no use, because
    // this server could not open the notebook for visitors.
    let _lock = Lock::take(&paths.dir)?;
    let mut tables = open_tables(paths)?;
    let fault = |fault| paths.fault(fault);
    let (version, newest) = tables.version().map_err(fault)?;
    if version > newest {
        return Ok(KeptCredentials::default());
    }
    if version < newest {
        // This upgrade is rolled back below. Only opening the notebook makes a copy and upgrades
        // the database durably.
        tables.begin().and_then(|()| tables.bring_forward(version)).map_err(fault)?;
    }
    let credentials = load_credentials(&mut tables, key).map_err(fault);
    tables.roll_back();
    credentials
}

/// Opens the database. First looks for damage that SQLite itself would not report.
pub(super) fn open_tables(paths: &Paths) -> Result<Tables, Problem> {
    paths.vet()?;
    look_at_header(paths)?;
    if let Some(why) = wal::damage(&paths.log()).map_err(|e| paths.failed(e))? {
        return Err(paths.malformed(why));
    }
    Tables::open(&paths.database()).map_err(|fault| paths.fault(fault))
}

/// Copies a database of an older version, then upgrades it. Refuses a newer version.
pub(super) fn upgraded(paths: &Paths, tables: Tables) -> Result<Tables, Problem> {
    let fault = |fault| paths.fault(fault);
    let (version, newest) = tables.version().map_err(fault)?;
    if version > newest {
        let why = format!("its format has version {version}, and Ratoon reads versions up to {newest}");
        return Err(paths.refused(why, "install a newer Ratoon"));
    }
    if version == newest {
        return Ok(tables);
    }
    // The database must be closed while its file is copied: closing the file after the copy would
    // release SQLite's own locks on it.
    drop(tables);
    back_up(paths).map_err(|e| paths.failed(e))?;
    let mut tables = Tables::open(&paths.database()).map_err(fault)?;
    // The upgrade is rolled back unless the result has exactly our schema, because a foreign
    // trigger may have run.
    let upgrade = |tables: &mut Tables| {
        tables.bring_forward(version)?;
        match tables.health()? {
            DatabaseHealth::Malformed(why) => Err(Fault::malformed(why)),
            DatabaseHealth::Well | DatabaseHealth::Indexes => Ok(()),
        }
    };
    transaction(&mut tables, upgrade).map_err(fault)?;
    Ok(tables)
}

fn examine_locked(
    paths: &Paths,
    key: Option<&InstallKey>,
    name: &str,
    lock: Lock,
) -> Result<Examined, Problem> {
    let has_crashed = fs::metadata(paths.log()).is_ok_and(|metadata| metadata.len() > 0);
    let mut tables = upgraded(paths, open_tables(paths)?)?;
    let fault = |fault| paths.fault(fault);
    let bad_indexes = match tables.health().map_err(fault)? {
        DatabaseHealth::Well => false,
        DatabaseHealth::Indexes => true,
        DatabaseHealth::Malformed(why) => return Err(paths.malformed(&why)),
    };
    let mut loaded = load(&mut tables, &Blobs::at(&paths.blobs()), key, name).map_err(fault)?;
    if bad_indexes {
        loaded.damage.push("an index of the database was damaged; no row was lost".into());
    }
    Ok(Examined { lock, tables, loaded, has_crashed, bad_indexes })
}

/// Opens a notebook for writing. Sets damaged records aside.
pub(super) fn open(paths: &Paths, key: &InstallKey, name: &str) -> Result<Examined, Problem> {
    let failed = |error| paths.failed(error);
    if !paths.dir.is_dir() {
        return Err(paths.refused("it is not a directory", "move the file away, or choose another name"));
    }
    if !there(paths)? && !is_half_made(paths).map_err(failed)? {
        return Err(no_notebook(&paths.dir));
    }
    let lock = Lock::take(&paths.dir)?;
    if !there(paths)? {
        make(paths).map_err(|fault| paths.fault(fault))?;
    }
    let mut examined = examine_locked(paths, Some(key), name, lock)?;
    empty(&paths.temporary()).map_err(failed)?;
    if !examined.loaded.damage.is_empty() {
        // The database must be closed while its file is copied: closing the file after the copy
        // would release SQLite's own locks on it.
        drop(examined.tables);
        back_up(paths).map_err(failed)?;
        let tables = Tables::open(&paths.database()).map_err(|fault| paths.fault(fault))?;
        examined.tables = repair(paths, tables, &mut examined.loaded, examined.bad_indexes)
            .map_err(|fault| paths.fault(fault))?;
    }
    examined.tables.settle_on_close(true);
    Ok(examined)
}

/// Whether a directory contains an unfinished notebook of an earlier version, which was killed
/// while it created the notebook. Such a directory has a lock with a process id, and temporary
/// databases. This version writes a new notebook under a temporary name, then renames it.
fn is_half_made(paths: &Paths) -> io::Result<bool> {
    let is_pid = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let lock = paths.dir.join("lock");
    if paths.dir.is_symlink() || FileKind::at(&lock)? != FileKind::File {
        return Ok(false);
    }
    let mut text = String::new();
    if open_file(&lock)?.take(16).read_to_string(&mut text).is_err() || !is_pid(&text) {
        return Ok(false);
    }
    for entry in fs::read_dir(&paths.dir)? {
        let name = entry?.file_name();
        if !["lock", "tmp", "blobs"].iter().any(|ours| name == *ours) {
            return Ok(false);
        }
    }
    let mut drafts = fs::read_dir(paths.temporary()).into_iter().flatten();
    Ok(drafts
        .all(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("notebook.db"))))
}

/// Checks the file without SQLite, because SQLite would use an empty file as a new database.
fn look_at_header(paths: &Paths) -> Result<(), Problem> {
    let mut file = open_file(&paths.database()).map_err(|e| paths.failed(e))?;
    let length = file.metadata().map_err(|e| paths.failed(e))?.len();
    let mut header = [0; 100];
    if length < 512 || file.read_exact(&mut header).is_err() {
        return Err(paths.malformed("it is cut off"));
    }
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(paths.malformed("it is not an SQLite database"));
    }
    if header[68..72] != Tables::application_id() {
        let why = "its notebook.db is another program's database";
        return Err(paths.refused(why, "give the directory of a notebook, NAME.ratoon"));
    }
    let word = |at: usize| {
        u64::from(u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]))
    };
    let page = match u64::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65536,
        page => page,
    };
    // A crash during a checkpoint of the log can leave the database too short. In this case the log
    // contains the missing pages.
    let log = fs::metadata(paths.log()).map_or(0, |metadata| metadata.len());
    if log == 0 && length < word(28) * page {
        return Err(paths.malformed("it is cut off"));
    }
    Ok(())
}

/// Creates a notebook with only a root in an existing directory. Writes the database under a
/// temporary name, then renames it.
pub(super) fn make(paths: &Paths) -> Result<(), Fault> {
    empty(&paths.temporary())?;
    fs::create_dir_all(paths.blobs())?;
    let draft = paths.temporary().join("notebook.db");
    Tables::make(&draft)?;
    let mut tables = Tables::open(&draft)?;
    transaction(&mut tables, |tables| {
        let id = uuid::Uuid::new_v4().simple().to_string();
        tables.put(&META, &["notebook_id".into(), id.into()])?;
        tables.put(&META, &["commits".into(), 0.into()])?;
        for root in Notebook::new("", now_ms()).states() {
            tables.put(&STATES, &super::row_formats::state_row(root, 1.into())?)?;
        }
        tables.put(&NAMES, &[ROOT_NAME.into(), 1.into(), ROOT_NAME.into()])
    })?;
    tables.settle_on_close(true);
    tables.empty_log()?;
    drop(tables);
    File::open(&draft)?.sync_all()?;
    fs::rename(&draft, paths.database())?;
    File::open(&paths.dir)?.sync_all()?;
    if let Some(parent) = paths.dir.parent().filter(|p| !p.as_os_str().is_empty()) {
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}

pub(super) fn transaction(
    tables: &mut Tables,
    work: impl FnOnce(&mut Tables) -> Result<(), Fault>,
) -> Result<(), Fault> {
    tables.begin()?;
    let done = work(&mut *tables).and_then(|()| tables.commit());
    if done.is_err() {
        tables.roll_back();
    }
    done
}

fn empty(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(folder)
}

/// Copies the database and its log to `notebook.db.bad-NUMBER`. Writes each copy under a temporary
/// name, then renames it.
fn back_up(paths: &Paths) -> io::Result<()> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let free = |n: &u64| !paths.dir.join(format!("notebook.db.bad-{n}")).exists();
    let number = (seconds..).find(free).unwrap_or(seconds);
    fs::create_dir_all(paths.temporary())?;
    for end in ["-wal", ""] {
        let from = paths.dir.join(format!("notebook.db{end}"));
        if !from.exists() {
            continue;
        }
        let draft = paths.temporary().join(format!("bad{end}"));
        fs::copy(&from, &draft)?;
        File::open(&draft)?.sync_all()?;
        fs::rename(&draft, paths.dir.join(format!("notebook.db.bad-{number}{end}")))?;
    }
    File::open(&paths.dir)?.sync_all()
}

/// Removes the damaged rows. In the same transaction, writes all other rows, and placeholders for
/// lost states.
fn repair(paths: &Paths, tables: Tables, loaded: &mut Loaded, bad_indexes: bool) -> Result<Tables, Fault> {
    let mut writer = Writer::new(tables, Blobs::at(&paths.blobs()));
    let id = loaded.notebook_id.get_or_insert_with(|| uuid::Uuid::new_v4().simple().to_string()).clone();
    // `from_parts` drops contradictory records. The session calls the same function.
    let name = std::mem::take(&mut loaded.parts.name);
    let parts = std::mem::take(&mut loaded.parts);
    let created_at = parts.states.first().map_or(0.0, |root| root.created_at);
    loaded.parts = super::parts_of(&Notebook::from_parts(parts, created_at));
    loaded.parts.name = name;
    writer.tables.begin()?;
    let work = || {
        if bad_indexes {
            writer.tables.reindex()?;
        }
        for (table, row) in &loaded.bad {
            writer.tables.remove_at(table, *row)?;
        }
        writer.whole(&loaded.parts)?;
        writer.tables.put(&META, &["notebook_id".into(), id.into()])?;
        loaded.commits += 1;
        writer.count(loaded.commits)?;
        writer.settle()?;
        writer.tables.commit()
    };
    let done = work();
    if done.is_err() {
        writer.tables.roll_back();
    }
    done.map(|()| writer.tables)
}

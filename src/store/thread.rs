//! The thread that owns the database. It writes the queued jobs in transactions, and reports which
//! facts are on disk. After a failure, such as a full disk, it tries again every second.

use super::checkpoint_rows::{self, NewCheckpoint};
use super::chosen_python;
use super::key::Seal;
use super::lock::Lock;
use super::paths::Paths;
use super::store_event::StoreEvent;
use super::sweep_rows;
use super::tables::{BROWSER_SESSIONS, Fault, LINKS, META, SqlValue, Tables};
use super::write::Writer;
use crate::blobs::Blobs;
use crate::notebook::{Checkpoint, ChosenPython, DiskStatus, Fact, KeptCredentials, Parts, Python, StateId};
use serde::Serialize;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Interval between attempts to write again after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// How long a fact waits for further facts, so that a short cell takes one transaction instead of
/// three. A fact does not wait if a client waits for it.
const LINGER: Duration = Duration::from_millis(15);

/// After this many transactions, SQLite's log is checkpointed as soon as no job has come for
/// `IDLE`. The checkpoint takes some 20 ms. As a part of a commit, it would delay an answer.
const COMMITS_PER_LOG: i64 = 32;
const IDLE: Duration = Duration::from_millis(100);

/// Limits of a transaction, so that the answer to its first job does not wait for too many other
/// jobs.
const MAX_BATCH_BYTES: usize = 8 << 20;
const MAX_BATCH_JOBS: usize = 4096;

type OnDone<T> = Box<dyn FnOnce(Result<T, DiskStatus>) + Send>;

/// A job for the store's thread.
pub(super) enum Job {
    Fact {
        number: u64,
        fact: Box<Fact>,
        bytes: usize,
        /// Whether the next fact belongs in the same transaction. The next fact is queued directly
        /// after this one.
        has_next: bool,
    },
    Whole(u64, Box<Parts>),
    Keep(Box<NewCheckpoint>),
    Trust,
    Credentials(KeptCredentials, OnDone<()>),
    /// Copies the database to a path, after all earlier jobs.
    Copy(PathBuf, OnDone<()>),
    /// Ends the wait for further facts, because a client waits for the earlier jobs.
    Hurry,
    Close,
}

/// The result of a job, reported when its transaction is on disk.
enum Done {
    Nothing,
    Kept(StateId, Result<Box<Checkpoint>, String>),
    Trusted(Vec<StateId>),
}

/// Whether the disk can be written to.
enum Disk {
    Well(Box<Writer>),
    /// Writing works again. The session was notified, and will send the whole notebook.
    Usable(Box<Writer>),
    Failed {
        trouble: DiskStatus,
        retry_at: Instant,
    },
}

pub(super) struct StoreThread {
    pub(super) paths: Paths,
    pub(super) seal: Seal,
    pub(super) jobs: Receiver<Job>,
    pub(super) backlog: Arc<AtomicUsize>,
    pub(super) news: Box<dyn Fn(StoreEvent) + Send>,
    pub(super) lock: Lock,
    /// The number of the last transaction on disk.
    pub(super) commits: i64,
    /// The value of `commits` when SQLite's log was last checkpointed.
    moved: i64,
    /// The inode of the database, to detect that the database was moved or replaced.
    inode: u64,
}

impl StoreThread {
    pub(super) fn new(
        (paths, seal, lock): (Paths, Seal, Lock),
        jobs: Receiver<Job>,
        backlog: Arc<AtomicUsize>,
        news: Box<dyn Fn(StoreEvent) + Send>,
        commits: i64,
    ) -> Self {
        let inode = fs::metadata(paths.database()).map_or(0, |metadata| metadata.ino());
        Self { paths, seal, jobs, backlog, news, lock, commits, moved: commits, inode }
    }

    /// Runs jobs until the store is closed, or until its last handle is dropped.
    pub(super) fn run(mut self, tables: Tables, has_crashed: bool) {
        let writer = Writer::new(tables, Blobs::at(&self.paths.blobs()));
        // A process may have died after it renamed a blob, but before the rename was on disk. Later
        // writers would treat this blob as durable.
        let named = if has_crashed { self.settle_blobs() } else { Ok(()) };
        let mut disk = match named {
            Ok(()) => Disk::Well(Box::new(writer)),
            Err(fault) => self.fail(writer, Vec::new(), &fault),
        };
        loop {
            let first = match &disk {
                Disk::Failed { retry_at, .. } => {
                    self.jobs.recv_timeout(retry_at.saturating_duration_since(Instant::now()))
                }
                Disk::Well(writer) if self.commits - self.moved >= COMMITS_PER_LOG => {
                    let next = self.jobs.recv_timeout(IDLE);
                    if matches!(next, Err(RecvTimeoutError::Timeout)) {
                        // If this fails, the log stays whole. The next attempt follows after
                        // `COMMITS_PER_LOG` further commits.
                        let _ = writer.tables.shorten_log();
                        self.moved = self.commits;
                        continue;
                    }
                    next
                }
                _ => self.jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let batch = match first {
                Ok(job) => self.batch(job),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let is_last = matches!(batch.last(), Some(Job::Close));
            disk = self.step(disk, batch);
            if is_last {
                break;
            }
        }
        drop(disk);
        drop(self.lock);
    }

    fn batch(&self, first: Job) -> Vec<Job> {
        let mut bytes = first.bytes();
        let mut can_wait = first.can_wait();
        let mut has_next = first.has_next().unwrap_or_default();
        let mut batch = vec![first];
        let until = Instant::now() + LINGER;
        while (has_next || bytes < MAX_BATCH_BYTES && batch.len() < MAX_BATCH_JOBS)
            && !matches!(batch.last(), Some(Job::Close))
        {
            let next = match self.jobs.try_recv() {
                Ok(job) => Ok(job),
                Err(_) if has_next => self.jobs.recv().map_err(drop),
                Err(_) if can_wait => {
                    self.jobs.recv_timeout(until.saturating_duration_since(Instant::now())).map_err(drop)
                }
                Err(_) => Err(()),
            };
            let Ok(job) = next else { break };
            bytes += job.bytes();
            can_wait &= job.can_wait();
            has_next = job.has_next().unwrap_or(has_next);
            batch.push(job);
        }
        batch
    }

    fn step(&mut self, disk: Disk, batch: Vec<Job>) -> Disk {
        self.backlog.fetch_sub(batch.iter().map(Job::bytes).sum(), Ordering::Relaxed);
        match disk {
            Disk::Well(writer) => self.write(writer, batch, false),
            Disk::Usable(writer) => self.write(writer, batch, true),
            Disk::Failed { trouble, retry_at } => {
                for job in batch {
                    self.refuse(job, &trouble);
                }
                if Instant::now() < retry_at {
                    Disk::Failed { trouble, retry_at }
                } else {
                    self.retry(trouble)
                }
            }
        }
    }

    /// Writes the jobs in one transaction, and answers them. If `is_awaited`, an earlier failure
    /// caused facts to be dropped. Further facts are dropped until the session sends the whole
    /// notebook.
    fn write(&mut self, mut writer: Box<Writer>, batch: Vec<Job>, mut is_awaited: bool) -> Disk {
        let mut saved = None;
        let mut answers = Vec::with_capacity(batch.len());
        let mut failed = None;
        for job in &batch {
            if failed.is_some() {
                break;
            }
            match job {
                Job::Fact { .. } if is_awaited => {
                    answers.push(Done::Nothing);
                    continue;
                }
                Job::Fact { number, .. } => saved = Some(*number),
                Job::Whole(number, _) => {
                    is_awaited = false;
                    saved = Some(*number);
                }
                _ => {}
            }
            match self.perform(&mut writer, job) {
                Ok(done) => answers.push(done),
                Err(fault) => failed = Some(fault),
            }
        }
        let written = failed.map_or_else(|| self.commit(&mut writer), Err);
        if let Err(fault) = written {
            return self.fail(*writer, batch, &fault);
        }
        if let Some(up_to) = saved {
            (self.news)(StoreEvent::Saved { up_to });
        }
        for (job, done) in batch.into_iter().zip(answers) {
            match job {
                Job::Copy(path, answer) => {
                    let copied = writer.tables.copy_to(&path);
                    answer(copied.map_err(|fault| fault.trouble(&self.paths.dir)));
                }
                job => self.answer(job, done),
            }
        }
        if is_awaited { Disk::Usable(writer) } else { Disk::Well(writer) }
    }

    /// Performs a job. Begins a transaction if the job needs one and no transaction is open.
    fn perform(&mut self, writer: &mut Writer, job: &Job) -> Result<Done, Fault> {
        if matches!(job, Job::Copy(..) | Job::Hurry | Job::Close) {
            return Ok(Done::Nothing);
        }
        writer.begin()?;
        Ok(match job {
            Job::Fact { fact, .. } => {
                match &**fact {
                    Fact::PythonChanged { python } => {
                        let Python { path, version, is_chosen, .. } = python.clone();
                        let chosen = is_chosen.then_some(ChosenPython { path, version });
                        chosen_python::put(&writer.tables, chosen.as_ref(), &self.seal)?;
                    }
                    fact => {
                        writer.fact(fact)?;
                        sweep_rows::sign(&writer.tables, fact, &self.seal)?;
                    }
                }
                Done::Nothing
            }
            Job::Whole(_, parts) => {
                writer.whole(parts)?;
                chosen_python::put(&writer.tables, parts.python.as_ref(), &self.seal)?;
                sweep_rows::sign_all(&writer.tables, &parts.sweeps, &self.seal)?;
                Done::Nothing
            }
            Job::Keep(new) => Done::Kept(new.state.clone(), checkpoint_rows::keep(writer, &self.seal, new)?),
            Job::Trust => Done::Trusted(checkpoint_rows::trust(&mut writer.tables, &self.seal)?),
            Job::Credentials(credentials, _) => {
                put_credentials(&mut writer.tables, credentials, &self.seal)?;
                Done::Nothing
            }
            Job::Copy(..) | Job::Hurry | Job::Close => Done::Nothing,
        })
    }

    /// Commits the transaction. Rolls it back if no row has changed.
    fn commit(&mut self, writer: &mut Writer) -> Result<(), Fault> {
        if !writer.is_open() {
            return Ok(());
        }
        if !writer.has_changed() {
            writer.roll_back();
            return Ok(());
        }
        self.is_in_place()?;
        writer.settle()?;
        writer.count(self.commits + 1)?;
        writer.commit()?;
        self.commits += 1;
        Ok(())
    }

    /// Checks that the database was not moved or removed. SQLite would continue to write to a moved
    /// file.
    fn is_in_place(&self) -> Result<(), Fault> {
        let is_same = fs::metadata(self.paths.database()).is_ok_and(|metadata| metadata.ino() == self.inode);
        let how = "put the directory back where it was";
        if is_same { Ok(()) } else { Err(Fault::new("its files were moved or removed", how)) }
    }

    fn fail(&mut self, writer: Writer, batch: Vec<Job>, fault: &Fault) -> Disk {
        // This connection may have a wrong view of the log now. The next connection reads the log
        // again.
        writer.abandon();
        drop(writer);
        let trouble = fault.trouble(&self.paths.dir);
        (self.news)(StoreEvent::Failed { trouble: trouble.clone() });
        for job in batch {
            self.refuse(job, &trouble);
        }
        Disk::Failed { trouble, retry_at: Instant::now() + RETRY_INTERVAL }
    }

    /// Tries to write again after a failure, and reports success to the session.
    fn retry(&mut self, trouble: DiskStatus) -> Disk {
        match self.reopen() {
            Ok(writer) => {
                (self.news)(StoreEvent::Usable);
                Disk::Usable(Box::new(writer))
            }
            Err(_) => Disk::Failed { trouble, retry_at: Instant::now() + RETRY_INTERVAL },
        }
    }

    /// Opens a new connection, checks that the last reported transaction is on disk, and writes
    /// another transaction. After a failed fsync, pages in memory may look written, so the whole
    /// log is checkpointed into the database.
    fn reopen(&mut self) -> Result<Writer, Fault> {
        self.is_in_place()?;
        let tables = Tables::open(&self.paths.database())?;
        let stored = tables.get(&META, &["commits".into()])?.and_then(|row| row[1].int()).unwrap_or_default();
        if stored < self.commits {
            return Err(Fault::new(
                "the disk has lost data that it had confirmed as written",
                "check the disk, and keep a copy of your work",
            ));
        }
        let mut writer = Writer::new(tables, Blobs::at(&self.paths.blobs()));
        writer.begin()?;
        writer.count(stored + 1)?;
        writer.commit()?;
        self.commits = stored + 1;
        writer.tables.empty_log()?;
        fs::create_dir_all(self.paths.temporary())?;
        self.settle_blobs()?;
        writer.tables.settle_on_close(true);
        Ok(writer)
    }

    /// Makes the directory entries of all blobs durable.
    fn settle_blobs(&self) -> Result<(), Fault> {
        let blobs = self.paths.blobs();
        fs::create_dir_all(&blobs)?;
        for folder in fs::read_dir(&blobs)? {
            let folder = folder?;
            if folder.file_type()?.is_dir() {
                File::open(folder.path())?.sync_all()?;
            }
        }
        Ok(File::open(&blobs)?.sync_all()?)
    }

    fn answer(&self, job: Job, done: Done) {
        match (job, done) {
            (_, Done::Kept(state, checkpoint)) => (self.news)(StoreEvent::Kept { state, checkpoint }),
            (Job::Trust, Done::Trusted(states)) => (self.news)(StoreEvent::Trusted(Ok(states))),
            (Job::Credentials(_, answer), _) => answer(Ok(())),
            _ => {}
        }
    }

    fn refuse(&self, job: Job, trouble: &DiskStatus) {
        let kept = |state, why: &DiskStatus| StoreEvent::Kept { state, checkpoint: Err(why.why.clone()) };
        match job {
            Job::Keep(new) => (self.news)(kept(new.state, trouble)),
            Job::Trust => (self.news)(StoreEvent::Trusted(Err(trouble.clone()))),
            Job::Credentials(_, answer) | Job::Copy(_, answer) => answer(Err(trouble.clone())),
            Job::Fact { .. } | Job::Whole(..) | Job::Hurry | Job::Close => {}
        }
    }
}

impl Job {
    /// Whether this job may wait for further jobs, because no client waits for it.
    fn can_wait(&self) -> bool {
        matches!(self, Self::Fact { .. })
    }

    /// For a fact, whether the next fact belongs in the same transaction; `None` for other jobs.
    fn has_next(&self) -> Option<bool> {
        if let Self::Fact { has_next, .. } = self { Some(*has_next) } else { None }
    }

    /// Estimated number of bytes that the job holds in memory.
    pub(super) fn bytes(&self) -> usize {
        if let Self::Fact { bytes, .. } = self { *bytes } else { 0 }
    }
}

/// Replaces the stored share links and browser sessions.
pub(super) fn put_credentials(
    tables: &mut Tables,
    credentials: &KeptCredentials,
    seal: &Seal,
) -> Result<(), Fault> {
    let links = credentials.links.iter().map(|link| signed_row(&link.id, link, seal));
    tables.replace_all(&LINKS, links)?;
    let sessions = credentials.sessions.iter().map(|session| signed_row(&session.id, session, seal));
    tables.replace_all(&BROWSER_SESSIONS, sessions)
}

fn signed_row(id: &str, record: &impl Serialize, seal: &Seal) -> Result<Vec<SqlValue>, Fault> {
    let body = serde_json::to_string(record)?;
    let hmac = seal.credential(id, &body);
    Ok(vec![id.into(), SqlValue::Null, body.into(), hmac])
}

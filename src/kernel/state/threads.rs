//! Finds native threads of a process that its branches would not have.
//!
//! A fork copies one thread. A library whose worker threads are missing in a branch waits for them
//! forever, without an error. So a thread counts as lost unless Python knows it or it is proven to
//! start again after a fork. The list of proven threads is short on purpose: a thread of an unknown
//! library counts as lost.
//!
//! Most threads have no name of their own, but their stack shows which library started them:
//! `get_robust_list(2)` gives an address in glibc's `struct pthread`, which is at the top of the
//! stack. The thread's start function is stored there, and the outermost return addresses are right
//! below it.

#![allow(unsafe_code)]

use super::fork;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Threads that are proven to start again in branches: the thread's name, and the file of its start
/// function (see `is_file`). docs/branches.md names the tests.
const PROVEN: &[Proven] = &[
    // OpenBLAS ends its threads before each fork and starts them with the next large product.
    Proven { name: None, file: "libopenblas" },
    Proven { name: None, file: "libscipy_openblas" },
    // The dot excludes Arrow's other libraries: that of Flight contains gRPC.
    Proven { name: None, file: "libarrow." },
    Proven { name: None, file: "_duckdb." },
    // numba's own pool starts again when the process id has changed.
    Proven { name: None, file: "numba/np/ufunc/workqueue." },
    // The same holds for numexpr's pool (`init_threads` in its module.cpp). It starts when numexpr
    // is imported, and pandas imports it.
    Proven { name: None, file: "numexpr/interpreter." },
    // tokenizers computes without its pool after a fork (TOKENIZERS_PARALLELISM).
    Proven { name: None, file: "tokenizers/tokenizers." },
    // OpenMP of LLVM and Intel starts again in a child (KMP_INIT_AT_FORK).
    Proven { name: None, file: "libomp." },
    Proven { name: None, file: "libomp-" },
    Proven { name: None, file: "libiomp5" },
    // This thread only returns memory to the system.
    Proven { name: Some("jemalloc_bg_thd"), file: "" },
    // The import of polars starts this thread. It only removes temporary files, to which queries
    // write what does not fit in memory.
    Proven { name: Some("polars-ooc-clea"), file: "_polars_runtime" },
    Proven { name: Some("polars-ooc-clea"), file: "polars." },
    Proven { name: Some("ZMQbg/"), file: "libzmq." },
    Proven { name: Some("ZMQbg/"), file: "libzmq-" },
];
/// Libraries that start threads for other libraries.
const RUNTIMES: &[&str] = &[
    "libc.so",
    "libc-2.",
    "ld-linux",
    "ld-2.",
    "libstdc++",
    "libc++",
    "libgcc_s",
    "libpthread.so",
    "libpthread-2.",
    "libm.so",
    "libm-2.",
];

/// Bytes to read below the address in `struct pthread`: static thread-local storage, then the
/// outermost frames.
const BYTES_BELOW: u64 = 16 * 1024;
/// Bytes to read above it: the rest of `struct pthread`.
const BYTES_ABOVE: u64 = 4096;
/// Maximum number of checks whether a thread's start function is known, and the interval between
/// two checks in milliseconds. The function is unknown until the thread has run.
const MAX_CHECKS: u32 = 50;
const CHECK_INTERVAL_MS: u8 = 1;
/// Maximum number of times that the threads are listed. Normally a list soon contains no new
/// thread, but short-lived threads that start each other are never all in one list.
const MAX_LISTS: u32 = 20;
/// How a warning names such threads.
const SHORT_LIVED: &str = "short-lived threads that start each other";
/// Maximum number of names in a warning.
const MAX_NAMES: usize = 5;

/// The ids of this process' threads when `warning` last found all of them proven; empty if it never
/// has. The threads of a fork have other ids.
static PROVEN_BEFORE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

struct Proven {
    /// The beginning of the thread's name; `None` if it has no name.
    name: Option<&'static str>,
    file: &'static str,
}

/// A thread that Python did not start.
#[derive(Debug, PartialEq, Eq)]
struct NativeThread {
    /// None if it has inherited the name of the thread that started it.
    name: Option<String>,
    /// The file of its start function.
    file: Option<String>,
    /// Whether this file is the interpreter: `forks.py` reports these threads.
    is_of_python: bool,
}

/// A sentence about the threads of this process that its branches would not have. Usually this
/// process has one thread, and one system call shows that. `of_python` returns the ids of the
/// threads that Python knows.
pub(super) fn warning(of_python: impl FnOnce() -> Vec<i32>) -> Option<String> {
    if count() <= 1 || is_as_proven_before() {
        return None;
    }
    let can_pause_openmp = fork::pause_openmp();
    let mut known = of_python();
    known.push(std::process::id().cast_signed());
    let mut seen: HashSet<i32> = known.iter().copied().collect();
    let mut ended: HashSet<i32> = HashSet::new();
    let mut threads = Vec::new();
    for left in (0..MAX_LISTS).rev() {
        let listed = ids();
        // The system cuts a list short when a thread in it ends.
        let is_short = (listed.len() as u64) < count();
        let others: Vec<i32> = listed.into_iter().filter(|id| !seen.contains(id)).collect();
        if others.is_empty() && !is_short {
            break;
        }
        let (running, ended_now) = describe(&others, &known);
        seen.extend(running.iter().map(|(id, _)| *id));
        threads.extend(running.into_iter().map(|(_, thread)| thread));
        // A thread that has ended may still be listed. So it does not count as seen.
        if left == 0 && (is_short || ended_now.iter().any(|id| !ended.contains(id))) {
            threads.push(NativeThread {
                name: Some(SHORT_LIVED.to_owned()),
                file: None,
                is_of_python: false,
            });
        }
        ended.extend(ended_now);
    }
    let own = std::process::id().cast_signed();
    let is_settled = known.iter().all(|id| *id == own) && ended.is_empty();
    let warning = sentence(threads.into_iter().filter(|thread| !is_proven(thread, can_pause_openmp)));
    if warning.is_none() && is_settled {
        *lock() = seen.into_iter().collect();
    }
    warning
}

/// Whether this process has the same threads as when `warning` last found all of them proven. This
/// saves examining them again, which reads all of `/proc/self/maps`.
fn is_as_proven_before() -> bool {
    let proven = lock();
    !proven.is_empty()
        && ids().into_iter().collect::<BTreeSet<i32>>() == *proven
        && count() <= proven.len() as u64
}

fn lock() -> MutexGuard<'static, BTreeSet<i32>> {
    PROVEN_BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Describes these threads. Returns those that still run, and the ids of those that have ended.
fn describe(ids: &[i32], known: &[i32]) -> (Vec<(i32, NativeThread)>, Vec<i32>) {
    for _ in 0..MAX_CHECKS {
        if ids.iter().all(|id| robust_list(*id).is_some() || is_ending(*id)) {
            break;
        }
        // There is no event to wait for.
        let _ = nix::poll::poll(&mut [], CHECK_INTERVAL_MS);
    }
    let (mut gone, left): (Vec<i32>, Vec<i32>) = ids.iter().copied().partition(|id| is_ending(*id));
    if left.is_empty() {
        return (Vec::new(), gone);
    }
    let mut running = Vec::new();
    let maps = Maps::read();
    let python = python_file(&maps);
    let borrowed: Vec<String> = known.iter().filter_map(|id| name_of(*id)).collect();
    for id in left {
        let (name, file) = (name_of(id), start_file(id, &maps));
        match name {
            Some(name) if file.is_some() || !is_ending(id) => {
                let name = Some(name).filter(|name| !borrowed.contains(name));
                let is_of_python = file.is_some() && file.as_deref() == python;
                running.push((id, NativeThread { name, file, is_of_python }));
            }
            _ => gone.push(id),
        }
    }
    (running, gone)
}

fn is_proven(thread: &NativeThread, can_pause_openmp: bool) -> bool {
    let Some(file) = thread.file.as_deref() else { return false };
    if thread.is_of_python {
        return true;
    }
    let matches = |proven: &Proven| {
        let has_name = match (proven.name, thread.name.as_deref()) {
            (None, own) => own.is_none(),
            (Some(start), own) => own.is_some_and(|own| own.starts_with(start)),
        };
        has_name && is_file(file, proven.file)
    };
    // libgomp is proven if it can end its threads before a fork.
    can_pause_openmp && is_file(file, fork::LIBGOMP) || PROVEN.iter().any(matches)
}

/// Whether the name of a path's file begins with `start`. Folders in `start` must match the path's
/// last folders. A folder alone proves nothing: an environment may be called `openblas`.
fn is_file(path: &str, start: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match start.rsplit_once('/') {
        Some((in_folder, start)) => {
            name.starts_with(start)
                && folder.strip_suffix(in_folder).is_some_and(|above| above.ends_with('/'))
        }
        None => name.starts_with(start),
    }
}

fn sentence(threads: impl Iterator<Item = NativeThread>) -> Option<String> {
    let mut counts: BTreeMap<(bool, String), usize> = BTreeMap::new();
    for NativeThread { name, file, .. } in threads {
        let file = file.as_deref().map(|path| path.rsplit('/').next().unwrap_or(path));
        let known = match (name, file) {
            (Some(name), Some(file)) => (false, format!("{name} ({file})")),
            (Some(name), None) => (false, name),
            (None, Some(file)) => (true, format!("of {file}")),
            (None, None) => (true, "without a name".to_owned()),
        };
        *counts.entry(known).or_default() += 1;
    }
    if counts.is_empty() {
        return None;
    }
    let left_out = counts.len().saturating_sub(MAX_NAMES);
    let name = |((is_nameless, text), count): ((bool, String), usize)| match (is_nameless, count) {
        (true, 1) => format!("one {text}"),
        (true, count) => format!("{count} {text}"),
        (false, _) => text,
    };
    let names: Vec<String> = counts.into_iter().take(MAX_NAMES).map(name).collect();
    let more = if left_out == 0 { String::new() } else { format!(", and {left_out} more") };
    Some(format!(
        "native threads do not survive a fork, so branches come from the checkpoint: {}{more}",
        names.join(", ")
    ))
}

/// The number of threads of this process.
fn count() -> u64 {
    // Linux counts one link for each thread, and two more for `.` and the directory's name.
    let links = std::fs::metadata("/proc/self/task").map_or(0, |metadata| metadata.nlink());
    if links > 2 { links - 2 } else { ids().len() as u64 }
}

fn ids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The name of a thread of this process; none if the thread has ended.
fn name_of(id: i32) -> Option<String> {
    let name = std::fs::read(format!("/proc/self/task/{id}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end().to_owned())
}

/// Whether a thread is exiting (`PF_EXITING`, include/linux/sched.h): a joined thread may still be
/// listed.
fn is_ending(id: i32) -> bool {
    const EXITING: u32 = 0x4;
    let stat = std::fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap_or_default();
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let flags = rest.split_whitespace().nth(6).and_then(|flags| flags.parse::<u32>().ok());
    flags.is_none_or(|flags| flags & EXITING != 0)
}

/// The file of a thread's start function.
fn start_file(id: i32, maps: &Maps) -> Option<String> {
    let head = robust_list(id)?;
    let (start, end) = maps.around(head)?;
    let from = start.max(head.saturating_sub(BYTES_BELOW)).next_multiple_of(8);
    let to = end.min(head + BYTES_ABOVE);
    let mut stack = vec![0; usize::try_from(to.checked_sub(from)?).ok()?];
    // Reading through /proc turns memory that was unmapped meanwhile into an error, not a crash.
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut stack, from).ok()?;
    let words = stack.rchunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    let mut files = words.filter_map(|word| maps.code_at(word));
    files.find(|file| !is_runtime(file)).map(str::to_owned)
}

/// The file that contains the interpreter: libpython, or Python's executable.
fn python_file(maps: &Maps) -> Option<&str> {
    // SAFETY: asks for the address of a function by name.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PyOS_BeforeFork".as_ptr()) };
    maps.code_at(function as u64)
}

/// An address in a thread's `struct pthread`. None if the thread has not run yet.
pub(super) fn robust_list(id: i32) -> Option<u64> {
    let mut head: *mut libc::c_void = std::ptr::null_mut();
    let mut length: libc::size_t = 0;
    // SAFETY: Linux writes an address and a length into these two. The address is not dereferenced.
    let answer = unsafe { libc::syscall(libc::SYS_get_robust_list, id, &raw mut head, &raw mut length) };
    (answer == 0 && !head.is_null()).then_some(head as u64)
}

fn is_runtime(file: &str) -> bool {
    RUNTIMES.iter().any(|start| is_file(file, start))
}

/// The mappings of this process (proc_pid_maps(5)), by address.
struct Maps(Vec<Mapping>);

struct Mapping {
    start: u64,
    end: u64,
    /// The file, if the mapping is executable.
    code: Option<String>,
}

impl Maps {
    fn read() -> Self {
        let text = std::fs::read("/proc/self/maps").unwrap_or_default();
        Self(String::from_utf8_lossy(&text).lines().filter_map(mapping).collect())
    }

    fn at(&self, address: u64) -> Option<&Mapping> {
        let place = self.0.partition_point(|mapping| mapping.end <= address);
        self.0.get(place).filter(|mapping| mapping.start <= address)
    }

    fn around(&self, address: u64) -> Option<(u64, u64)> {
        self.at(address).map(|mapping| (mapping.start, mapping.end))
    }

    fn code_at(&self, address: u64) -> Option<&str> {
        self.at(address)?.code.as_deref()
    }
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let is_code = fields.next()?.as_bytes().get(2) == Some(&b'x');
    let path = fields.nth(3).unwrap_or_default().trim_start();
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        code: (is_code && path.starts_with('/')).then(|| path.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(name: Option<&str>, file: Option<&str>) -> NativeThread {
        NativeThread { name: name.map(str::to_owned), file: file.map(str::to_owned), is_of_python: false }
    }

    #[test]
    fn threads_that_are_not_proven_count() {
        let blas = Some("/x/numpy.libs/libscipy_openblas64_-32a4.so");
        for (name, file, is_fine) in [
            (None, blas, true),
            // OpenBLAS gives its threads no names, so this thread is not OpenBLAS's.
            (Some("server"), blas, false),
            (Some("jemalloc_bg_thd"), Some("/x/_polars_runtime.abi3.so"), true),
            (Some("polars-ooc-clea"), Some("/x/_polars_runtime.abi3.so"), true),
            (Some("polars-0"), Some("/x/_polars_runtime.abi3.so"), false),
            (Some("tf_XLAEigen"), Some("/x/jaxlib/libjax_common.so"), false),
            (None, Some("/x/numexpr/interpreter.cpython-311-x86_64-linux-gnu.so"), true),
            (None, Some("/x/bin/python3.11"), false),
            (None, Some("/x/libgomp.so.1.0.0"), true),
            (None, None, false),
            // Folder names prove nothing, nor do names that only contain a proven one.
            (None, Some("/x/envs-openblas/lib/libq.so"), false),
            (None, Some("/x/libgomp-1/libq.so"), false),
            (None, Some("/x/other/interpreter.so"), false),
            (None, Some("/x/mynumexpr/interpreter.so"), false),
            (None, Some("/x/libomptarget.so.18"), false),
            (None, Some("/x/pyarrow/libarrow_flight.so.2600"), false),
            (None, Some("/x/pyarrow/libarrow.so.2600"), true),
            (None, Some("/x/scs.libs/libopenblas-r0-11edc3fa.3.15.so"), true),
            (None, Some("/x/torch.libs/libgomp-e985bcbb.so.1.0.0"), true),
        ] {
            assert_eq!(is_proven(&thread(name, file), true), is_fine, "{name:?} {file:?}");
        }
        assert!(!is_proven(&thread(None, Some("/x/libgomp.so.1.0.0")), false));
        let of_python = NativeThread { is_of_python: true, ..thread(None, Some("/x/bin/python3.11")) };
        assert!(is_proven(&of_python, false));
    }

    #[test]
    fn a_warning_names_threads_by_name_and_file() {
        assert_eq!(sentence(std::iter::empty()), None);
        let all = [
            thread(Some("tf_XLAEigen"), Some("/x/libjax_common.so")),
            thread(None, Some("/x/libjax_common.so")),
            thread(None, Some("/x/libjax_common.so")),
            thread(Some("tf_XLAEigen"), Some("/x/libjax_common.so")),
            thread(None, None),
        ];
        let warning = sentence(all.into_iter()).unwrap_or_default();
        assert!(
            warning.ends_with(": tf_XLAEigen (libjax_common.so), 2 of libjax_common.so, one without a name"),
            "{warning}"
        );
        let many = (1..=7).map(|n| thread(Some(&format!("t{n}")), None));
        assert!(sentence(many).unwrap_or_default().ends_with("t5, and 2 more"));
    }

    #[test]
    fn a_thread_is_known_by_the_file_of_its_start_function() {
        let (send_id, received_id) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let waiting = std::thread::Builder::new().name("some-worker".into()).spawn(move || {
            // SAFETY: gettid only returns a number.
            let _ = send_id.send(unsafe { libc::gettid() });
            let _ = wait.recv();
        });
        let id = received_id.recv().unwrap_or_default();
        let own = std::env::current_exe().unwrap_or_default();
        assert_eq!(start_file(id, &Maps::read()).as_deref(), own.to_str());
        assert_eq!((name_of(id).as_deref(), is_ending(id)), (Some("some-worker"), false));
        assert!(count() >= 2 && ids().contains(&id));
        drop(go);
        assert!(waiting.is_ok_and(|thread| thread.join().is_ok()));
    }
}

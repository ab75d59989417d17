//! The only fork.
//!
//! It calls glibc's `fork()` between CPython's hooks. A raw system call would skip the
//! pthread_atfork handlers, and OpenBLAS would hang. Before the fork every loaded libgomp ends its
//! threads; otherwise the child hangs in its first parallel region (both measured). The child
//! continues the same thread, so `threading.local` and sqlite connections keep working.

#![allow(unsafe_code)]

use nix::errno::Errno;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// omp_pause_resource_t: release threads and everything else (OpenMP 5.0, section 3.2.43).
const OMP_PAUSE_HARD: c_int = 2;
/// The beginning of libgomp's file names.
pub(super) const LIBGOMP: &str = "libgomp";

static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Which side of the fork this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The new process. CPython's after-fork hooks are still to be run (`finish`).
    Child,
    /// The old process, with the child's process id.
    Parent(i32),
}

/// Where CPython's before-fork hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BeforeHooks {
    /// In the parent, as for any `os.fork()`.
    InParent,
    /// In the child. The parent is a frozen process, which runs no Python code around a fork, and
    /// the hooks may be user code. It makes no difference to them, because a frozen process has no
    /// other thread.
    InChild,
    /// Nowhere: they have run already, and the fork that made this process is not finished yet.
    Done,
}

/// Whether the fork in progress is ours, not user code's.
pub(super) fn is_ours() -> bool {
    IS_OURS.load(Ordering::Relaxed)
}

/// Forks. Must be called with the GIL held, on the thread that runs cells. `prepare` runs right
/// before CPython's before-fork hooks. The child must call `finish` before it runs Python code.
///
/// # Errors
/// The operating system's (EAGAIN: too many processes; ENOMEM).
pub(super) fn fork(_py: pyo3::Python<'_>, hooks: BeforeHooks, prepare: impl Fn()) -> Result<Side, Errno> {
    pause_openmp();
    IS_OURS.store(true, Ordering::Relaxed);
    let before = || {
        prepare();
        // SAFETY: the GIL is held by this thread.
        unsafe { pyo3::ffi::PyOS_BeforeFork() };
    };
    if hooks == BeforeHooks::InParent {
        before();
    }
    // SAFETY: the hooks are called in CPython's order around fork (see os_fork_impl). The child
    // continues this thread only, as after any os.fork().
    let pid = unsafe { libc::fork() };
    let errno = Errno::last();
    if pid == 0 {
        tie();
        if hooks == BeforeHooks::InChild {
            before();
        }
        return Ok(Side::Child);
    }
    if hooks == BeforeHooks::InParent {
        // SAFETY: as above.
        unsafe { pyo3::ffi::PyOS_AfterFork_Parent() };
    }
    IS_OURS.store(false, Ordering::Relaxed);
    if pid > 0 { Ok(Side::Parent(pid)) } else { Err(errno) }
}

/// Runs CPython's after-fork hooks in a child.
pub(super) fn finish(_py: pyo3::Python<'_>) {
    // A fork that this process made after its own fork has cleared the flag.
    IS_OURS.store(true, Ordering::Relaxed);
    // SAFETY: called once in a child, by the thread that forked it and that holds the GIL.
    unsafe { pyo3::ffi::PyOS_AfterFork_Child() };
    IS_OURS.store(false, Ordering::Relaxed);
}

/// Ties the child to the server before user code runs in it, so the child cannot outlive the
/// server.
fn tie() {
    if super::lifeline::tie_again().is_err() {
        super::process_exit::leave();
    }
}

/// Ends the thread pools of every loaded libgomp; the next parallel region starts them again.
/// Returns whether all pools ended.
pub(super) fn pause_openmp() -> bool {
    let mut all_paused = true;
    let mut loaded: Vec<CString> = Vec::new();
    // SAFETY: the callback only runs during the call and gets back the pointer that is given here.
    unsafe { libc::dl_iterate_phdr(Some(note_libgomp), (&raw mut loaded).cast()) };
    for path in loaded {
        // SAFETY: NOLOAD finds a library that is already loaded. The symbol has this signature
        // since OpenMP 5.0. Closing the handle drops only our own reference.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                continue;
            }
            let symbol = libc::dlsym(library, c"omp_pause_resource_all".as_ptr());
            if symbol.is_null() {
                all_paused = false;
            } else {
                let pause: extern "C" fn(c_int) -> c_int = std::mem::transmute(symbol);
                all_paused &= pause(OMP_PAUSE_HARD) == 0;
            }
            libc::dlclose(library);
        }
    }
    all_paused
}

unsafe extern "C" fn note_libgomp(info: *mut libc::dl_phdr_info, _size: usize, list: *mut c_void) -> c_int {
    // SAFETY: glibc passes a valid info with a C string (or null) for a name, and `list` is the
    // vector of pause_openmp.
    unsafe {
        let name = (*info).dlpi_name;
        if !name.is_null() {
            let name = CStr::from_ptr(name);
            let file = name.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            if file.starts_with(LIBGOMP.as_bytes()) {
                (*list.cast::<Vec<CString>>()).push(name.to_owned());
            }
        }
    }
    0
}

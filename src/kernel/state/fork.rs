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
#[derive(Debug)]
pub(super) enum Side<T> {
    /// The new process, with what `keep` returned.
    Child(T),
    /// The old process, with the child's process id.
    Parent(i32),
}

/// Whether the fork in progress is ours, not user code's.
pub(super) fn is_ours() -> bool {
    IS_OURS.load(Ordering::Relaxed)
}

/// Forks. Must be called with the GIL held, on the thread that runs cells. `keep` collects what
/// CPython's fork hooks change and the child restores.
///
/// A frozen process runs no Python code around a fork, neither `keep` nor hooks, which may be user
/// code (`os.register_at_fork`). The before-fork hooks run in the child instead. That makes no
/// difference, because a frozen process has no other thread.
///
/// # Errors
/// The operating system's (EAGAIN: too many processes; ENOMEM).
pub(super) fn fork<T>(
    _py: pyo3::Python<'_>,
    is_frozen: bool,
    keep: impl FnOnce() -> T,
) -> Result<Side<T>, Errno> {
    pause_openmp();
    IS_OURS.store(true, Ordering::Relaxed);
    let before = || {
        let kept = keep();
        // SAFETY: the GIL is held by this thread.
        unsafe { pyo3::ffi::PyOS_BeforeFork() };
        kept
    };
    let side = if is_frozen {
        // SAFETY: the child continues the only thread.
        match unsafe { libc::fork() } {
            0 => {
                tie();
                Ok(Side::Child(after(before())))
            }
            pid if pid > 0 => Ok(Side::Parent(pid)),
            _ => Err(Errno::last()),
        }
    } else {
        let kept = before();
        // SAFETY: the hooks are called in CPython's order around fork (see os_fork_impl). The child
        // continues this thread only, as after any os.fork().
        match unsafe { libc::fork() } {
            0 => {
                tie();
                Ok(Side::Child(after(kept)))
            }
            pid => {
                let errno = Errno::last();
                // SAFETY: as above.
                unsafe { pyo3::ffi::PyOS_AfterFork_Parent() };
                if pid > 0 { Ok(Side::Parent(pid)) } else { Err(errno) }
            }
        }
    };
    IS_OURS.store(false, Ordering::Relaxed);
    side
}

/// Ties the child to the server before user code runs in it, so the child cannot outlive the
/// server.
fn tie() {
    if super::lifeline::tie_again().is_err() {
        super::process_exit::leave();
    }
}

fn after<T>(kept: T) -> T {
    // SAFETY: called once in a child, by the thread that forked it and that holds the GIL.
    unsafe { pyo3::ffi::PyOS_AfterFork_Child() };
    kept
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

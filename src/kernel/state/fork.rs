//! The only fork.
//!
//! glibc's `fork()` between CPython's own hooks: a raw system call hangs OpenBLAS (its
//! pthread_atfork handlers would not run). Before it, every loaded libgomp is told to end its
//! threads, else the child hangs in its first parallel region (both measured). The child runs on
//! the same thread, so `threading.local` and sqlite connections live on.

#![allow(unsafe_code)]

use nix::errno::Errno;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// omp_pause_resource_t: give up threads and everything else (OpenMP 5.0, section 3.2.43).
const OMP_PAUSE_HARD: c_int = 2;
/// How the file names of libgomp begin.
pub(super) const LIBGOMP: &str = "libgomp";

static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Which side of the fork this is.
#[derive(Debug)]
pub(super) enum Side<T> {
    /// The new process, with what was to be kept.
    Child(T),
    /// The old one; the child's process id.
    Parent(i32),
}

/// Whether the fork that is going on is one of ours and not the user's.
pub(super) fn is_ours() -> bool {
    IS_OURS.load(Ordering::Relaxed)
}

/// Forks. Must be called with the GIL held, on the thread that runs cells. `keep` says what the
/// child is to have although CPython's hooks change it.
///
/// A process that is frozen runs nothing of Python in a fork, neither `keep` nor the hooks, which
/// may be the user's (`os.register_at_fork`): those that belong before it run in the child, where
/// nobody can tell the difference, as a frozen process has no other thread.
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
        // SAFETY: the child goes on with the only thread that there is.
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
        // SAFETY: the hooks are called in CPython's documented order around fork (see
        // os_fork_impl); the child goes on with this thread only, as after any os.fork().
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

/// Ties the child to the server before anything of the user's runs in it, so that it cannot be left
/// over whatever that does.
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

/// Ends the thread pools of every loaded libgomp; they come back with the next parallel region.
/// Whether each could be told to.
pub(super) fn pause_openmp() -> bool {
    let mut could = true;
    let mut loaded: Vec<CString> = Vec::new();
    // SAFETY: the callback only runs during the call and gets back the pointer that is given here.
    unsafe { libc::dl_iterate_phdr(Some(note_libgomp), (&raw mut loaded).cast()) };
    for path in loaded {
        // SAFETY: NOLOAD finds the library that is loaded already; the symbol has had this
        // signature since OpenMP 5.0. The handle is not closed, as that could unload nothing but
        // our own reference.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                continue;
            }
            let symbol = libc::dlsym(library, c"omp_pause_resource_all".as_ptr());
            if symbol.is_null() {
                could = false;
            } else {
                let pause: extern "C" fn(c_int) -> c_int = std::mem::transmute(symbol);
                could &= pause(OMP_PAUSE_HARD) == 0;
            }
            libc::dlclose(library);
        }
    }
    could
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

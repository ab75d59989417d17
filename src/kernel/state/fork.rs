//! The only fork.
//!
//! glibc's `fork()` between CPython's own hooks: a raw system call hangs OpenBLAS (its pthread_atfork handlers would not
//! run). Before it, every loaded libgomp is told to end its threads, else the child hangs in its first parallel region
//! (both measured). The child runs on the same thread, so `threading.local` and sqlite connections live on.

#![allow(unsafe_code)]

use nix::errno::Errno;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// omp_pause_resource_t: give up threads and everything else (OpenMP 5.0, section 3.2.43).
const OMP_PAUSE_HARD: c_int = 2;

static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Which side of the fork this is.
#[derive(Debug)]
pub(super) enum Side {
    /// The new process.
    Child,
    /// The old one; the child's process id.
    Parent(i32),
}

/// Whether the fork that is going on is one of ours and not the user's.
pub(super) fn is_ours() -> bool {
    IS_OURS.load(Ordering::Relaxed)
}

/// Forks. Must be called with the GIL held, on the thread that runs cells.
///
/// # Errors
/// The operating system's (EAGAIN: too many processes; ENOMEM).
pub(super) fn fork(_py: pyo3::Python<'_>) -> Result<Side, Errno> {
    pause_openmp();
    IS_OURS.store(true, Ordering::Relaxed);
    // SAFETY: the GIL is held by this thread, and the hooks are called in CPython's documented order around fork (see
    // os_fork_impl); the child goes on with this thread only, as after any os.fork().
    let side = unsafe {
        pyo3::ffi::PyOS_BeforeFork();
        match libc::fork() {
            0 => {
                pyo3::ffi::PyOS_AfterFork_Child();
                Ok(Side::Child)
            }
            pid => {
                let errno = Errno::last();
                pyo3::ffi::PyOS_AfterFork_Parent();
                if pid > 0 { Ok(Side::Parent(pid)) } else { Err(errno) }
            }
        }
    };
    IS_OURS.store(false, Ordering::Relaxed);
    side
}

/// Ends the thread pools of every loaded libgomp; they come back with the next parallel region.
fn pause_openmp() {
    let mut loaded: Vec<CString> = Vec::new();
    // SAFETY: the callback only runs during the call and gets back the pointer that is given here.
    unsafe { libc::dl_iterate_phdr(Some(note_libgomp), (&raw mut loaded).cast()) };
    for path in loaded {
        // SAFETY: NOLOAD finds the library that is loaded already; the symbol has had this signature since OpenMP 5.0.
        // The handle is not closed, as that could unload nothing but our own reference.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                continue;
            }
            let symbol = libc::dlsym(library, c"omp_pause_resource_all".as_ptr());
            if !symbol.is_null() {
                let pause: extern "C" fn(c_int) -> c_int = std::mem::transmute(symbol);
                pause(OMP_PAUSE_HARD);
            }
            libc::dlclose(library);
        }
    }
}

unsafe extern "C" fn note_libgomp(info: *mut libc::dl_phdr_info, _size: usize, list: *mut c_void) -> c_int {
    // SAFETY: glibc passes a valid info with a C string (or null) for a name, and `list` is the vector of pause_openmp.
    unsafe {
        let name = (*info).dlpi_name;
        if !name.is_null() {
            let name = CStr::from_ptr(name);
            if name.to_bytes().windows(7).any(|w| w == b"libgomp") {
                (*list.cast::<Vec<CString>>()).push(name.to_owned());
            }
        }
    }
    0
}

//! The sandbox of cells: where they may write, and whether they have a network.
//!
//! The restrictions are those of Linux itself: Landlock for files, a seccomp filter for sockets.
//! They are set between fork and exec of a notebook's first process, so no Python of the user runs
//! before them, and every fork and subprocess inherits them. Nothing can lift them. The server's
//! own processes have none.
//!
//! Both options also bar a cell from the memory and, since Linux 6.12, the signals of processes
//! outside the sandbox: otherwise it could make the server write or connect.

use crate::notebook::SandboxRules;
use crate::problem::Problem;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::write;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The first version of Landlock that also guards against truncating files: Linux 6.2.
const NEEDED: ABI = ABI::V3;
/// Devices that programs write to. None of them keeps anything.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/random"];
/// Directories of such devices, and of memory that processes share.
const DEVICE_DIRS: [&str; 2] = ["/dev/shm", "/dev/pts"];
/// System calls of the x32 ABI have this bit, and the same numbers as those of x86-64.
const X32_BIT: i64 = 0x4000_0000;
/// The OOM score of all processes of the sandbox: that of a running cell. They cannot write their
/// own later.
const BADNESS: &[u8] = b"900";

/// What the cells of a server may do.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// The directories below which cells may write; `None`: everywhere.
    write: Option<Vec<PathBuf>>,
    no_network: bool,
    /// The user's home, for the caches of libraries.
    home: Option<PathBuf>,
}

/// The restrictions of one notebook's processes, ready to be set in a child.
pub(super) struct Restrictions {
    ruleset: Option<RulesetCreated>,
    filter: Option<BpfProgram>,
}

/// A directory for temporary files. It is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct OwnTemporary(PathBuf);

impl Sandbox {
    /// Checks that Linux can set the restrictions. `None` if there are none.
    ///
    /// # Errors
    /// When Linux cannot, or a directory cannot be used.
    pub fn new(write: &[PathBuf], no_network: bool, home: Option<PathBuf>) -> Result<Option<Self>, Problem> {
        if write.is_empty() && !no_network {
            return Ok(None);
        }
        let dirs = write.iter().map(|dir| existing_dir(dir)).collect::<Result<Vec<_>, Problem>>()?;
        let sandbox = Self { write: (!write.is_empty()).then_some(dirs), no_network, home };
        let option = if write.is_empty() { "--no-network" } else { "--write" };
        let refused = |why: String| {
            let how = format!("use Linux 6.2 or later with Landlock and seccomp, or leave {option} out");
            Problem::bad_request(format!("restrict cells as {option} says"), why, how)
        };
        ruleset(sandbox.handled())
            .map_err(|_| refused("this Linux has no Landlock, or one that is too old".into()))?;
        if no_network {
            let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
            if !status.contains("\nSeccomp:") {
                return Err(refused("this Linux has no seccomp".into()));
            }
            network_filter().map_err(|why| refused(why.to_string()))?;
        }
        Ok(Some(sandbox))
    }

    /// The restrictions for display.
    pub fn rules(&self) -> SandboxRules {
        let text = |dir: &PathBuf| dir.to_string_lossy().into_owned();
        SandboxRules {
            write: self.write.as_ref().map(|dirs| dirs.iter().map(text).collect()),
            network: !self.no_network,
        }
    }

    /// Whether cells need a directory of their own for temporary files.
    pub(super) fn limits_writing(&self) -> bool {
        self.write.is_some()
    }

    /// Prepares the restrictions. Processes that save a state write to `blobs` and to `tmp` beside
    /// it.
    pub(super) fn prepare(&self, blobs: &Path, temporary: Option<&Path>) -> io::Result<Restrictions> {
        let mut created = ruleset(self.handled()).map_err(io::Error::other)?;
        if let Some(write) = &self.write {
            let all = AccessFs::from_write(NEEDED);
            let beside = blobs.with_file_name("tmp");
            let cache = self.home.as_ref().map(|home| home.join(".cache/matplotlib"));
            for dir in [Some(blobs), Some(&*beside), cache.as_deref()].into_iter().flatten() {
                // If this fails, writes to the directory fail later, as on a read-only disk.
                let _ = DirBuilder::new().recursive(true).mode(0o700).create(dir);
            }
            let own = [Some(blobs), Some(&*beside), cache.as_deref(), temporary];
            let dirs = write.iter().map(PathBuf::as_path).chain(own.into_iter().flatten());
            for dir in dirs.chain(DEVICE_DIRS.map(Path::new)) {
                created = allow(created, dir, all)?;
            }
            for device in DEVICES {
                created = allow(created, Path::new(device), AccessFs::WriteFile | AccessFs::Truncate)?;
            }
        }
        let filter = if self.no_network { Some(network_filter().map_err(io::Error::other)?) } else { None };
        Ok(Restrictions { ruleset: Some(created), filter })
    }

    fn handled(&self) -> BitFlags<AccessFs> {
        match self.write {
            Some(_) => AccessFs::from_write(NEEDED),
            // A domain has to handle something. No cell has a reason to make a block device.
            None => AccessFs::MakeBlock.into(),
        }
    }
}

impl Restrictions {
    /// Sets the OOM score and the restrictions of this process. Must be called only once: a second
    /// call would apply the filter again. Runs between fork and exec, so it only makes system
    /// calls.
    pub(super) fn set(&mut self) -> io::Result<()> {
        if let Ok(file) = open(c"/proc/self/oom_score_adj", OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())
        {
            // Refused in some containers: the system then only makes worse choices.
            let _ = write(&file, BADNESS);
        }
        let failed = || io::Error::from_raw_os_error(nix::libc::EPERM);
        if let Some(ruleset) = self.ruleset.take() {
            ruleset.restrict_self().map_err(|_| failed())?;
        }
        match &self.filter {
            Some(filter) => apply_filter(filter).map_err(|_| failed()),
            None => Ok(()),
        }
    }
}

impl OwnTemporary {
    /// Makes a directory that only this user can enter.
    pub(super) fn make() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("ratoon-cells-{}", uuid::Uuid::new_v4().simple()));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OwnTemporary {
    fn drop(&mut self) {
        // A process that is still ending may hold files in it. They go with the next cleaning of
        // the system's directory for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn existing_dir(dir: &Path) -> Result<PathBuf, Problem> {
    let refused = |why: String| {
        let what = format!("let cells write to {}", dir.display());
        Problem::bad_request(what, why, "give an existing directory with --write DIR")
    };
    let full = dir.canonicalize().map_err(|error| refused(error.to_string()))?;
    if full.is_dir() { Ok(full) } else { Err(refused("it is not a directory".into())) }
}

fn ruleset(handled: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(handled)?
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(ABI::V6))?
        .create()
}

/// Allows access to a path and all below it. A path that does not exist needs no rule.
fn allow(created: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> io::Result<RulesetCreated> {
    let Ok(opened) = PathFd::new(path) else { return Ok(created) };
    created.add_rule(PathBeneath::new(opened, access)).map_err(io::Error::other)
}

/// Refuses to make sockets of any kind, so also those of the machine's own services (Docker, D-Bus,
/// X11), which could reach the network for the cell. `socketpair` works. `io_uring` could make
/// sockets past the filter.
fn network_filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let calls = [nix::libc::SYS_socket, nix::libc::SYS_io_uring_setup];
    let rules: BTreeMap<i64, Vec<seccompiler::SeccompRule>> =
        calls.iter().flat_map(|call| [(*call, Vec::new()), (call | X32_BIT, Vec::new())]).collect();
    let refuse = SeccompAction::Errno(nix::libc::EACCES.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn without_options_there_is_no_sandbox_and_a_file_is_no_directory() {
        assert!(Sandbox::new(&[], false, None).unwrap().is_none());
        for bad in ["/nowhere", "/dev/null"] {
            let refused = Sandbox::new(&[bad.into()], false, None).unwrap_err();
            assert!(refused.how.contains("--write DIR"), "{refused}");
        }
    }

    #[test]
    fn a_directory_for_temporary_files_goes_with_its_notebook() {
        let own = OwnTemporary::make().unwrap();
        let path = own.path().to_owned();
        fs::write(path.join("x"), "").unwrap();
        drop(own);
        assert!(!path.exists());
    }
}

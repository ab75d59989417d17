//! Finds what the branches of a state share although each branch should have its own: sockets,
//! pipes, shared memory, and the offsets of files that cannot be opened again. What one branch does
//! with them affects the others.
//!
//! A frozen process does this when it is idle. The search changes nothing and touches little
//! memory.

use super::files::{self, OpenFile};
use super::{control, descriptors, lifeline, shared_number};
use nix::sys::socket::{SockaddrLike, SockaddrStorage, getpeername, getsockname};
use nix::sys::stat::SFlag;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;

/// How a warning names semaphores in shared memory, and the size of each of them: one page.
const LOCKS: &str = "locks between processes";
const LOCK_BYTES: u64 = 4096;
/// Maximum number of names in a warning.
const MAX_NAMES: usize = 5;
/// The longest path in a warning, in characters. The end of a longer path is kept.
const MAX_PATH_CHARACTERS: usize = 120;

/// Sentences about what this process' branches share with it. `own_sockets` returns sockets that
/// each branch replaces. `own_locks` returns how many inter-process locks libraries have made for
/// their own processes; no branch waits for these.
pub(super) fn warnings(
    open_files: &[OpenFile],
    own_sockets: impl FnOnce() -> Vec<RawFd>,
    own_locks: impl FnOnce() -> u64,
) -> Vec<String> {
    let Descriptors { mut sockets, pipes, others } = users_descriptors();
    if !sockets.is_empty() {
        let own = own_sockets();
        sockets.retain(|(number, _)| !own.contains(number));
    }
    let files = files::stay_shared(open_files)
        .into_iter()
        .map(|(number, why)| format!("{} ({})", link(number).unwrap_or_default(), why.desc().to_lowercase()));
    let locked = files::lose_their_lock(open_files).into_iter().filter_map(link).collect();
    let warnings = [
        ("branches share these sockets", sockets.into_iter().map(|(_, name)| name).collect()),
        ("branches share these pipes", named_by_descriptors(pipes)),
        ("branches share these descriptors", others),
        ("branches share this memory, and each sees what the others write to it", memory(own_locks)),
        ("branches share their position in these files, which cannot be opened again", files.collect()),
        ("branches do not hold the locks on these files", locked),
    ];
    warnings.into_iter().filter_map(|(what, names)| sentence(what, names)).collect()
}

fn sentence(what: &str, mut names: Vec<String>) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let left_out = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let more = if left_out == 0 { String::new() } else { format!(", and {left_out} more") };
    Some(format!("{what}: {}{more}", names.join(", ")))
}

#[derive(Default)]
struct Descriptors {
    sockets: Vec<(RawFd, String)>,
    /// By their names in `/proc`: both ends of a pipe have the same name.
    pipes: BTreeMap<String, Vec<RawFd>>,
    others: Vec<String>,
}

/// The user's descriptors that cannot be opened a second time.
fn users_descriptors() -> Descriptors {
    let mut list = Descriptors::default();
    let ours = [control::number(), lifeline::number()];
    for number in descriptors::list().into_iter().filter(|number| !ours.contains(&Some(*number))) {
        match kind(number) {
            Some(SFlag::S_IFSOCK) => list.sockets.push((number, socket(number))),
            Some(SFlag::S_IFIFO) => {
                list.pipes.entry(link(number).unwrap_or_default()).or_default().push(number)
            }
            // Anonymous inodes have no file type: timers, event counters, signals, watched files.
            Some(kind) if kind.is_empty() => {
                let name = link(number).unwrap_or_default();
                let name = name.trim_start_matches("anon_inode:").trim_matches(['[', ']']);
                // Each branch gets its own epoll instances.
                if name != "eventpoll" {
                    list.others.push(format!("{name} (descriptor {number})"));
                }
            }
            Some(SFlag::S_IFCHR) => {
                let name = link(number).unwrap_or_default();
                if ["/dev/pts/", "/dev/ptmx", "/dev/tty"].iter().any(|start| name.starts_with(start)) {
                    list.others.push(format!("{name} (descriptor {number})"));
                }
            }
            _ => {}
        }
    }
    list
}

fn kind(number: RawFd) -> Option<SFlag> {
    let metadata = std::fs::metadata(format!("/proc/self/fd/{number}")).ok()?;
    Some(SFlag::from_bits_truncate(metadata.mode()) & SFlag::S_IFMT)
}

/// A descriptor's name in `/proc`: a path, or something like `pipe:[123]`.
fn link(number: RawFd) -> Option<String> {
    let target = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
    Some(shortened(&target.to_string_lossy()))
}

fn shortened(path: &str) -> String {
    let count = path.chars().count();
    if count <= MAX_PATH_CHARACTERS {
        return path.to_owned();
    }
    let end: String = path.chars().skip(count - MAX_PATH_CHARACTERS).collect();
    format!("…{end}")
}

fn named_by_descriptors(pipes: BTreeMap<String, Vec<RawFd>>) -> Vec<String> {
    let name = |(link, numbers): (String, Vec<RawFd>)| {
        let word = if numbers.len() == 1 { "descriptor" } else { "descriptors" };
        let numbers: Vec<String> = numbers.iter().map(RawFd::to_string).collect();
        let path = if link.starts_with("pipe:") { String::new() } else { format!("{link}, ") };
        format!("{path}{word} {}", numbers.join(" and "))
    };
    pipes.into_iter().map(name).collect()
}

/// Names a socket by its peer, or by the address at which it listens.
fn socket(number: RawFd) -> String {
    let text = |address: &SockaddrStorage| {
        let is_named = address.as_unix_addr().is_none_or(|unix| unix.path().is_some() || unix.len() > 2);
        is_named.then(|| shortened(&address.to_string()))
    };
    let peer = getpeername::<SockaddrStorage>(number).ok().and_then(|peer| text(&peer));
    let own = || getsockname::<SockaddrStorage>(number).ok().and_then(|own| text(&own));
    match peer.map(|peer| format!("to {peer}")).or_else(|| own().map(|own| format!("at {own}"))) {
        Some(name) => format!("{name} (descriptor {number})"),
        None => format!("descriptor {number}"),
    }
}

/// Writable shared mappings, by name, with their sizes.
fn memory(own_locks: impl FnOnce() -> u64) -> Vec<String> {
    let Ok(maps) = std::fs::File::open("/proc/self/maps") else { return Vec::new() };
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    for line in BufReader::new(maps).split(b'\n').map_while(Result::ok) {
        // A path need not be UTF-8.
        if let Some((name, bytes)) = shared_mapping(&String::from_utf8_lossy(&line)) {
            *sizes.entry(name).or_default() += bytes;
        }
    }
    if sizes.get(LOCKS).is_some_and(|bytes| *bytes <= own_locks() * LOCK_BYTES) {
        sizes.remove(LOCKS);
    }
    sizes.into_iter().map(|(name, bytes)| format!("{name} ({bytes} bytes)")).collect()
}

/// The name and size of a writable shared mapping, from a line of `maps` (proc_pid_maps(5)).
fn shared_mapping(line: &str) -> Option<(String, u64)> {
    let mut fields = line.splitn(6, ' ');
    let (range, permissions) = (fields.next()?, fields.next()?.as_bytes());
    if permissions.get(1) != Some(&b'w') || permissions.get(3) != Some(&b's') {
        return None;
    }
    let path = fields.nth(3).unwrap_or_default().trim_start();
    let (from, to) = range.split_once('-')?;
    let bytes = u64::from_str_radix(to, 16).ok()?.saturating_sub(u64::from_str_radix(from, 16).ok()?);
    let name = match path {
        // The system's names for memory without a file.
        shared_number::NAME => return None,
        "" | "/dev/zero (deleted)" => "without a name".to_owned(),
        path if path.starts_with("/dev/shm/sem.") => LOCKS.to_owned(),
        path => shortened(path),
    };
    Some((name, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_writable_shared_mappings_count() {
        let shared = "7f0000000000-7f0000002000 rw-s 00000000 00:01 2057   /dev/zero (deleted)";
        assert_eq!(shared_mapping(shared), Some(("without a name".to_owned(), 8192)));
        let named = "7f0000000000-7f0000001000 rw-s 00000000 00:1a 7      /dev/shm/psm_1 2";
        assert_eq!(shared_mapping(named), Some(("/dev/shm/psm_1 2".to_owned(), 4096)));
        for private in [
            "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ",
            "7f0000000000-7f0000001000 r--s 00000000 fe:00 9   /usr/lib/locale/x",
            "nonsense",
        ] {
            assert_eq!(shared_mapping(private), None, "{private}");
        }
    }

    #[test]
    fn a_warning_has_few_names() {
        let names = (1..=7).map(|n| n.to_string()).collect();
        assert_eq!(sentence("these", names).as_deref(), Some("these: 1, 2, 3, 4, 5, and 2 more"));
        assert_eq!(sentence("these", Vec::new()), None);
    }
}

//! Child processes that the user's code started and that still run: they belong to one process, not to its branches.

use std::collections::HashSet;
use std::io::Read;

/// How many names a warning holds.
const MAX_NAMES: usize = 5;
/// Room for the pids of some ten thousand children, most of them states.
const LIST_BYTES: usize = 128 * 1024;

/// A sentence about the children of this process that are not among `ours`; none when there are none.
pub(super) fn warning(ours: &HashSet<i32>) -> Option<String> {
    let list = list()?;
    let theirs = list.split_whitespace().filter_map(|p| p.parse().ok()).filter(|p| !ours.contains(p));
    let mut names: Vec<String> = theirs.filter_map(running).collect();
    if names.is_empty() {
        return None;
    }
    names.truncate(MAX_NAMES);
    Some(format!("child processes belong to this line alone, and end with it: {}", names.join(", ")))
}

/// The pids of this process' children, in large pieces: each read costs the kernel a search.
fn list() -> Option<String> {
    let mut file = std::fs::File::open(format!("/proc/self/task/{}/children", std::process::id())).ok()?;
    let mut list = Vec::with_capacity(LIST_BYTES);
    file.read_to_end(&mut list).ok()?;
    String::from_utf8(list).ok()
}

/// The name of a process that has not ended.
fn running(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let is_zombie = rest.trim_start().starts_with('Z');
    // A fork has the name of this program, whose name nobody who writes Python has to know.
    let own = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    let name = if name == own.trim_end() { "python" } else { name };
    (!is_zombie).then(|| format!("{name} ({pid})"))
}

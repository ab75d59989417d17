//! Child processes that the user's code started and that still run: they belong to one process, not to its branches.

use std::collections::HashSet;

/// How many names a warning holds.
const MAX_NAMES: usize = 5;

/// A sentence about the children of this process that are not among `ours`; none when there are none.
pub(super) fn warning(ours: &HashSet<i32>) -> Option<String> {
    let pid = std::process::id();
    let list = std::fs::read_to_string(format!("/proc/self/task/{pid}/children")).ok()?;
    let theirs = list.split_whitespace().filter_map(|p| p.parse().ok()).filter(|p| !ours.contains(p));
    let mut names: Vec<String> = theirs.filter_map(running).collect();
    if names.is_empty() {
        return None;
    }
    names.truncate(MAX_NAMES);
    Some(format!("child processes belong to this line alone, and end with it: {}", names.join(", ")))
}

/// The name of a process that has not ended.
fn running(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let is_zombie = rest.trim_start().starts_with('Z');
    (!is_zombie).then(|| format!("{name} ({pid})"))
}

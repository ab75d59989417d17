//! JavaScript that plots need, out of the user's own Python packages: plotly, bokeh and vl-convert bring it along, and what
//! they bring is what fits the plots they make. Nothing is fetched from a network.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// What finds it, in the user's Python.
const FIND: &str = include_str!("python/javascript_library.py");

/// What can be asked for.
const NAMES: [&str; 7] =
    ["plotly", "bokeh", "bokeh-gl", "bokeh-widgets", "bokeh-tables", "bokeh-mathjax", "vega"];

/// More than any of them has, in bytes.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// The text of a library; none when there is no such library, or the user's environment does not have it. Starts a Python
/// process and waits for it, some 50 ms; a process that hangs ends itself.
pub fn find_library(python: &Path, name: &str) -> Option<String> {
    let name = NAMES.iter().find(|known| **known == name)?;
    let mut child = Command::new(python)
        .args(["-c", FIND, name])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut text = String::new();
    let read = child.stdout.take()?.take(MAX_BYTES).read_to_string(&mut text);
    // The server's reaper may have met its end first; what matters is what it said.
    let _ = child.wait();
    read.ok().filter(|_| !text.is_empty()).map(|_| text)
}

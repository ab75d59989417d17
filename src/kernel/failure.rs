//! Says why a program of the user's machine failed: a Python or an installer.

use super::protocol::{Exit, SOCKET_LOST};
use crate::terminal_text::{plain, without_sequences};
use nix::sys::signal::Signal;

/// Maximum number of characters that are shown of a program's message. A sentence of the dynamic
/// linker with two paths has some 300.
const MAX_CHARS: usize = 500;

/// The reason in one sentence, from how the program ended and what it printed.
pub(super) fn reason(exit: Option<Exit>, messages: &str) -> String {
    match (exit, telling_line(messages)) {
        (Some(Exit::Unreachable), _) => SOCKET_LOST.into(),
        (Some(Exit::Signal(number)), line) => {
            let name = Signal::try_from(number).map_or("an unknown signal", Signal::as_str);
            let line = line.map(|line| format!(": {line}")).unwrap_or_default();
            format!("it was killed by {name}{line}")
        }
        (_, Some(line)) => line,
        (Some(Exit::Code(code)), None) => format!("it exited with status {code} and no message"),
        (_, None) => "it printed no message".into(),
    }
}

/// The line that says why, made safe to show: the last exception, else the error of pyenv, else
/// "Fatal Python error", else the last line. None if there is no text.
fn telling_line(messages: &str) -> Option<String> {
    let lines: Vec<String> = lines(messages).collect();
    let is_exception = |line: &&String| {
        let name = line.split(':').next().unwrap_or_default();
        ["Error", "Exception", "Exit"].iter().any(|end| name.ends_with(end)) && !name.contains(' ')
    };
    let first_with = |start: &str| lines.iter().find(|line| line.starts_with(start));
    let line = lines.iter().rfind(is_exception);
    // Below its error, pyenv lists versions and gives hints.
    let line = line.or_else(|| first_with("pyenv: ")).or_else(|| first_with("Fatal Python error"));
    line.or(lines.last()).map(|line| shown(line))
}

/// The last line that begins with one of these marks, without the mark and made safe to show.
pub(super) fn marked(messages: &str, marks: &[&str]) -> Option<String> {
    let after = |line: String| marks.iter().find_map(|mark| line.strip_prefix(mark).map(shown));
    lines(messages).filter_map(after).last()
}

/// The lines that are not empty, without colours.
fn lines(messages: &str) -> impl Iterator<Item = String> {
    // `\r` ends a line too: programs overwrite a line to show their progress.
    let lines = messages.split(['\n', '\r']).map(|line| without_sequences(line).trim().to_owned());
    lines.filter(|line| !line.is_empty())
}

/// A text of another program in one line, made safe to show.
pub(super) fn shown(text: &str) -> String {
    plain(&text.replace('\t', " "), MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(messages: &str) -> String {
        reason(Some(Exit::Code(1)), messages)
    }

    #[test]
    fn the_line_that_says_why_is_found() {
        assert_eq!(
            of("Traceback\n  File\nModuleNotFoundError: No module\n\nhint\n"),
            "ModuleNotFoundError: No module"
        );
        assert_eq!(
            of("Fatal Python error: no encodings\n\nCurrent thread\n  <no frame>\n"),
            "Fatal Python error: no encodings"
        );
        assert_eq!(of("one\ntwo\n\n"), "two");
        // What pyenv prints for a version that is not installed.
        let pyenv = "pyenv: python3.12: command not found\n\nThe `python3.12' command exists in these Python \
                     versions:\n  3.12.1\n\nNote: See 'pyenv help global' for tips on allowing both\n      \
                     python2 and python3 to be found.\n";
        assert_eq!(of(pyenv), "pyenv: python3.12: command not found");
    }

    #[test]
    fn the_last_marked_line_is_found() {
        let pip = "ERROR: one\n\u{1b}[31mERROR: two\u{7}\u{1b}[0m\nhint\n";
        assert_eq!(marked(pip, &["error: ", "ERROR: "]).as_deref(), Some("two\u{fffd}"));
        assert_eq!(marked(pip, &["error: "]), None);
    }

    #[test]
    fn how_a_program_ended_is_named() {
        let reason = |exit, messages| reason(Some(exit), messages);
        assert_eq!(reason(Exit::Signal(11), ""), "it was killed by SIGSEGV");
        assert_eq!(
            reason(Exit::Signal(6), "Fatal Python error: x\n"),
            "it was killed by SIGABRT: Fatal Python error: x"
        );
        assert_eq!(reason(Exit::Code(3), " \n"), "it exited with status 3 and no message");
        assert_eq!(reason(Exit::Code(3), "broken"), "broken");
        assert_eq!(super::reason(None, ""), "it printed no message");
    }

    #[test]
    fn messages_are_cleaned_and_cut() {
        assert_eq!(
            of("\u{1b}[1;35mImportError\u{1b}[0m: \u{1b}[35mno\tx\u{1b}[0m\nhint"),
            "ImportError: no x"
        );
        assert_eq!(of("10 %\r90 %\rit broke\u{7}\n\u{1b}[0m\n"), "it broke\u{fffd}");
        let long = of(&format!("ValueError: {}", "é".repeat(1 << 20)));
        assert_eq!((long.chars().count(), long.ends_with("é…")), (MAX_CHARS + 1, true));
    }
}

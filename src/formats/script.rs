//! Python programs whose cells are divided by `# %%` (the "percent format" of editors and of
//! Jupytext).
//!
//! Markdown and IPython's magics are written as comments. If a comment in the user's code looks
//! like such a comment, it gets another `# `. Reading removes exactly the `# ` that writing added.

use super::document::{Cell, Document, RAISES, malformed};
use super::markdown;
use crate::notebook::DraftKind;
use crate::problem::Problem;

/// Writes a document as a program.
pub(super) fn write(document: &Document) -> String {
    let cells = document.cells.iter().map(|cell| match cell.kind {
        DraftKind::Code if cell.is_partial => format!("# %% tags=[\"{RAISES}\"]\n{}", code(&cell.source)),
        DraftKind::Code => format!("# %%\n{}", code(&cell.source)),
        DraftKind::Markdown => format!("# %% [markdown]\n{}", comment(&cell.source)),
    });
    let mut text = cells.map(|cell| cell.trim_end_matches('\n').to_owned()).collect::<Vec<_>>().join("\n\n");
    text.push('\n');
    text
}

fn comment(text: &str) -> String {
    let line = |line: &str| match line {
        "" => "#".to_owned(),
        // Without the second space, this line would be read as the beginning of a cell.
        line if is_marker(&format!("# {line}")) => format!("#  {line}"),
        line => format!("# {line}"),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn code(source: &str) -> String {
    if is_cell_magic(source) {
        return comment_all(source);
    }
    let mut quotes = Quotes::default();
    let mut written = Vec::new();
    for line in source.split('\n') {
        let is_ipython = || is_magic(bare(line)) || is_help(line);
        let is_odd = is_marker(bare(line)) || !quotes.is_inside() && is_ipython();
        written.push(if is_odd { format!("# {line}") } else { line.to_owned() });
        quotes.pass(line);
    }
    written.join("\n")
}

/// Whether a cell begins with `%%name`. The text of such a cell is not Python.
fn is_cell_magic(source: &str) -> bool {
    let first = source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    first.strip_prefix("%%").is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '!'))
}

fn comment_all(source: &str) -> String {
    let line = |line: &str| if line.is_empty() { "#".to_owned() } else { format!("# {line}") };
    source.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Removes each `# ` at the beginning of a line. Stops at a cell marker (`# %%`).
fn bare(mut line: &str) -> &str {
    while let Some(rest) = line.strip_prefix("# ") {
        if is_marker(line) {
            break;
        }
        line = rest;
    }
    line
}

/// Whether a line is a magic or a shell command of IPython. Requests for help are not included (see
/// `is_help`): an imported comment that ends in a question mark must stay a comment.
fn is_magic(line: &str) -> bool {
    let line = line.trim_start();
    let begins = |text: &str| {
        let letter = |c: char| c.is_alphabetic() || c == '_';
        match text.strip_prefix('%') {
            Some(rest) => rest.trim_start_matches('%').starts_with(letter),
            None => text.strip_prefix('!').is_some_and(|rest| {
                rest.trim_start_matches('!').starts_with(|c: char| letter(c) || "./~$\\{".contains(c))
            }),
        }
    };
    let assigned = || {
        let (names, value) = line.split_once('=')?;
        let is_name = |name: &str| {
            let name = name.trim();
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.[]'\"".contains(c))
        };
        Some(names.split(',').all(is_name) && begins(value.trim_start()))
    };
    begins(line) || assigned() == Some(true)
}

/// Whether a line asks IPython for help (`name?`). Such a line is exported as a comment and stays a
/// comment when it is imported.
fn is_help(line: &str) -> bool {
    let line = line.trim();
    let name = line.trim_matches('?');
    line.len() > name.len()
        && !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || "_.*".contains(c))
}

/// Whether a line is the marker `# %%` or `#%%`, which begins a cell.
fn is_marker(line: &str) -> bool {
    let rest = line.strip_prefix('#').map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
    rest.and_then(|rest| rest.strip_prefix("%%"))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r']))
}

/// Reads a program. A program without markers becomes one cell.
pub(super) fn read(bytes: &[u8]) -> Result<Document, Problem> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        malformed(format!("line {line} is not UTF-8"), "save it as UTF-8")
    })?;
    if let Some(at) = text.find('\0') {
        let line = text[..at].matches('\n').count() + 1;
        return Err(malformed(
            format!("line {line} contains a NUL byte, so this is not a text file"),
            "choose a .py file",
        ));
    }
    let text = text.replace("\r\n", "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.drain(..header(&lines));
    let mut document = Document::default();
    let mut marker = None;
    let mut body = Vec::new();
    for line in lines {
        if is_marker(line) {
            document.cells.extend(cell(marker, &body));
            (marker, body) = (Some(line), Vec::new());
        } else {
            body.push(line);
        }
    }
    document.cells.extend(cell(marker, &body));
    Ok(document)
}

/// The number of lines in Jupytext's header, which is skipped; 0 if there is no header.
fn header(lines: &[&str]) -> usize {
    if lines.first() != Some(&"# ---") {
        return 0;
    }
    let end = lines.iter().skip(1).take_while(|line| line.starts_with('#')).position(|line| *line == "# ---");
    end.map_or(0, |end| end + 2)
}

/// Makes a cell from a marker and the lines below it. Returns `None` for blank lines without a
/// marker.
fn cell(marker: Option<&str>, body: &[&str]) -> Option<Cell> {
    let blank = |line: &&&str| line.trim().is_empty();
    let end = body.len() - body.iter().rev().take_while(blank).count();
    let body = &body[..end];
    let about = marker.and_then(|line| line.split_once("%%")).map_or("", |(_, about)| about.trim());
    let is = |kind: &str| about.split_whitespace().any(|word| word == kind);
    if is("[markdown]") || is("[md]") {
        return Some(Cell::new(DraftKind::Markdown, uncommented(body)));
    }
    if is("[raw]") {
        return Some(Cell::new(DraftKind::Markdown, markdown::fenced(&uncommented(body))));
    }
    let body = &body[body.iter().take_while(blank).count().min(body.len())..];
    if body.is_empty() && marker.is_none() {
        return None;
    }
    let title = about.split('[').next().unwrap_or_default().trim();
    let title = if title.is_empty() || title.contains('=') { String::new() } else { format!("# {title}\n") };
    Some(Cell::new(DraftKind::Code, title + &uncoded(body)))
}

/// The text of a markdown cell, whose lines are comments or one triple-quoted string.
fn uncommented(body: &[&str]) -> String {
    let whole = body.join("\n");
    for quotes in ["\"\"\"", "'''"] {
        let inside = whole.trim().strip_prefix(quotes).and_then(|rest| rest.strip_suffix(quotes));
        if let Some(inside) = inside.filter(|inside| !inside.contains(quotes)) {
            return inside.trim_matches('\n').to_owned();
        }
    }
    let line =
        |line: &&str| line.strip_prefix("# ").or_else(|| line.strip_prefix('#')).unwrap_or(line).to_owned();
    body.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn uncoded<'a>(body: &[&'a str]) -> String {
    let uncommented = |line: &'a str| line.strip_prefix("# ").or_else(|| (line == "#").then_some(""));
    let all: Option<Vec<&str>> = body.iter().copied().map(uncommented).collect();
    if let Some(all) = all.map(|lines| lines.join("\n")).filter(|text| is_cell_magic(text)) {
        return all;
    }
    let mut quotes = Quotes::default();
    let mut read = Vec::new();
    for line in body {
        let rest = bare(line);
        let is_odd = rest != *line && (is_marker(rest) || !quotes.is_inside() && is_magic(rest));
        let own = if is_odd { &line[2..] } else { line };
        quotes.pass(own);
        read.push(own);
    }
    read.join("\n")
}

/// Tracks, line by line, whether a program is inside a triple-quoted string, in which no line is a
/// magic. Approximates Python's syntax.
#[derive(Default)]
struct Quotes {
    open: Option<&'static str>,
}

impl Quotes {
    fn is_inside(&self) -> bool {
        self.open.is_some()
    }

    fn pass(&mut self, line: &str) {
        let mut rest = line;
        let mut quote: Option<char> = None;
        while let Some(c) = rest.chars().next() {
            let step = c.len_utf8();
            if let Some(own) = self.open {
                match rest.strip_prefix(own) {
                    Some(after) => (self.open, rest) = (None, after),
                    None => rest = escaped(rest, step),
                }
            } else if let Some(own) = quote {
                if c == own {
                    quote = None;
                }
                rest = escaped(rest, step);
            } else if let Some(own) = ["\"\"\"", "'''"].into_iter().find(|own| rest.starts_with(own)) {
                (self.open, rest) = (Some(own), &rest[3..]);
            } else if c == '#' {
                return;
            } else {
                if c == '"' || c == '\'' {
                    quote = Some(c);
                }
                rest = &rest[step..];
            }
        }
    }
}

/// The text without its first character (`step` bytes), or without an escape of two characters.
fn escaped(text: &str, step: usize) -> &str {
    if !text.starts_with('\\') {
        return &text[step..];
    }
    let next = text[1..].chars().next().map_or(0, char::len_utf8);
    &text[1 + next..]
}

//! Python programs whose cells are divided by `# %%` (the "percent format" of editors and of
//! Jupytext).
//!
//! Markdown and raw cells are written as comments. Magics are written as the calls that IPython
//! makes of them (`ipython`), so the program runs under IPython. `%%time` and `%%capture` become
//! comments, because the cells below them are Python. So do magics whose call is not certain. If a
//! comment in the user's code looks like such a comment, it gets another `# `. Reading removes
//! exactly the `# ` that writing added.

use super::document::{Cell, Document, RAISES, malformed};
use super::ipython::{self, has_python_body, is_cell_magic, is_ipython, is_magic};
use crate::notebook::DraftKind;
use crate::problem::Problem;

/// Writes a document as a program.
pub(super) fn write(document: &Document) -> String {
    let cells = document.cells.iter().map(|cell| match cell.kind {
        DraftKind::Code if cell.is_partial => format!("# %% tags=[\"{RAISES}\"]\n{}", code(&cell.source)),
        DraftKind::Code => format!("# %%\n{}", code(&cell.source)),
        DraftKind::Markdown => format!("# %% [markdown]\n{}", comment(&cell.source)),
        DraftKind::Raw => format!("# %% [raw]\n{}", comment(&cell.source)),
    });
    let mut text = cells.map(|cell| cell.trim_end_matches('\n').to_owned()).collect::<Vec<_>>().join("\n\n");
    text.push('\n');
    text
}

fn comment(text: &str) -> String {
    let line = |line: &str| match line {
        "" => "#".to_owned(),
        line if is_marker_in_text(line) => format!("#  {line}"),
        line => format!("# {line}"),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a line of Markdown needs a second blank. Otherwise it would be read as the beginning of
/// a cell, or as a line that got such a blank.
fn is_marker_in_text(line: &str) -> bool {
    is_marker(&format!("# {}", line.trim_start_matches(' ')))
}

fn code(source: &str) -> String {
    // `read` does the same with the whole file.
    let source = source.replace("\r\n", "\n");
    let source = source.trim_end_matches('\n');
    if is_cell_magic(source) && !has_python_body(source) {
        return ipython::cell_written(source);
    }
    let lines: Vec<&str> = source.split('\n').collect();
    let mut syntax = Syntax::default();
    let mut written = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if syntax.is_at_statement() && is_ipython(line) {
            let count = ipython::count_of_lines(&lines[at..]);
            written.push(ipython::written(&lines[at..at + count].join("\n")));
            at += count;
            continue;
        }
        let is_odd = is_marker(bare(line)) || syntax.is_at_statement() && is_magic(bare(line));
        written.push(if is_odd {
            format!("# {line}")
        } else if syntax.is_at_statement() {
            ipython::as_typed(line)
        } else {
            line.to_owned()
        });
        syntax.pass(line);
        at += 1;
    }
    written.join("\n")
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
        return Some(Cell::new(DraftKind::Raw, uncommented(body)));
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
    let line = |line: &&str| {
        let text = line.strip_prefix("# ").or_else(|| line.strip_prefix('#')).unwrap_or(line);
        text.strip_prefix(' ').filter(|rest| is_marker_in_text(rest)).unwrap_or(text).to_owned()
    };
    body.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn uncoded(body: &[&str]) -> String {
    if let Some(cell) = commented_cell(body) {
        return cell;
    }
    let mut syntax = Syntax::default();
    let mut read = Vec::new();
    for line in body {
        let is_at_statement = syntax.is_at_statement();
        let written = ipython::read(line, body.len() == 1).filter(|_| is_at_statement);
        let own = written.unwrap_or_else(|| {
            let rest = bare(line);
            let is_odd = rest != *line && (is_marker(rest) || is_at_statement && is_magic(rest));
            if is_odd { line[2..].to_owned() } else { (*line).to_owned() }
        });
        if !(is_at_statement && is_ipython(&own)) {
            syntax.pass(&own);
        }
        read.push(own);
    }
    read.join("\n")
}

/// The text of a cell magic's cell of which each line is a comment, as other programs write it.
fn commented_cell(body: &[&str]) -> Option<String> {
    let uncommented = |line: &&str| match *line {
        "#" => Some(String::new()),
        line => line.strip_prefix("# ").map(str::to_owned),
    };
    let text = body.iter().map(uncommented).collect::<Option<Vec<_>>>()?.join("\n");
    (text.starts_with("%%") && is_cell_magic(&text) && !has_python_body(&text)).then_some(text)
}

/// Tracks, line by line, whether a statement begins. Within a string, brackets or a continued line,
/// no line is a magic. Approximates Python's syntax.
#[derive(Default)]
struct Syntax {
    /// The quotes of the string that is open.
    string: Option<&'static str>,
    /// The number of open brackets.
    depth: usize,
    /// Whether a backslash ended the last line.
    is_continued: bool,
}

impl Syntax {
    fn is_at_statement(&self) -> bool {
        self.string.is_none() && self.depth == 0 && !self.is_continued
    }

    /// Passes a line of Python.
    fn pass(&mut self, line: &str) {
        self.is_continued = false;
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let step = c.len_utf8();
            if rest == "\\" {
                self.is_continued = true;
                return;
            }
            if let Some(own) = self.string {
                match rest.strip_prefix(own) {
                    Some(after) => (self.string, rest) = (None, after),
                    None => rest = escaped(rest, step),
                }
                continue;
            }
            self.string = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|own| rest.starts_with(own));
            match c {
                '#' => return,
                '(' | '[' | '{' => self.depth += 1,
                ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            rest = &rest[self.string.map_or(step, str::len)..];
        }
        // A string in single quotes ends with its line.
        self.string = self.string.filter(|quotes| quotes.len() > 1);
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

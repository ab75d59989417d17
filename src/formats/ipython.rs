//! IPython's syntax in Python programs: magics, shell commands and requests for help.
//!
//! A program has the call that IPython makes of such a text, as `jupyter nbconvert --to script`
//! writes it: `!ls` is `get_ipython().system('ls')`. Several texts can have the same call. `read`
//! returns the usual one of them; a comment behind the call has any other text, as a string
//! literal. A line of the user's Python that is such a call has itself as its comment. So `read`
//! inverts `written`, `cell_written` and `as_typed`.

const SHELL: &str = "get_ipython()";
/// What is between a line and the literal of its text.
const BEFORE_TEXT: &str = "  # ";
/// The cell magics that run Python in the notebook's own namespace, so that their cells are Python.
const PYTHON_MAGICS: [&str; 2] = ["time", "capture"];

/// Whether a cell begins with `%%name`. The text of such a cell need not be Python.
pub(super) fn is_cell_magic(source: &str) -> bool {
    let first = source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    first.strip_prefix("%%").is_some_and(|rest| {
        let behind = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        // `%%name?` asks for help.
        rest.starts_with(|c: char| c.is_alphabetic() || "_!".contains(c)) && !behind.starts_with('?')
    })
}

/// Whether Python follows the cell magics at the top of a cell.
pub(super) fn has_python_body(source: &str) -> bool {
    let is_of_python = |line: &str| {
        let name = line.strip_prefix("%%").and_then(|rest| rest.split_whitespace().next());
        is_cell_magic(line) && name.is_some_and(|name| PYTHON_MAGICS.contains(&name))
    };
    let mut lines = source.lines().filter(|line| !line.trim().is_empty()).peekable();
    lines.peek().is_some_and(|first| is_of_python(first))
        && lines.find(|line| !is_of_python(line)).is_none_or(|line| !is_cell_magic(line))
}

/// Whether a line is surely a magic or a shell command of IPython, even if it was in a comment.
/// Accepts less than `is_ipython`: a comment `# ! note` or `# why?` must stay one.
pub(super) fn is_magic(line: &str) -> bool {
    let line = line.trim_start();
    let begins = |text: &str| {
        let letter = |c: char| c.is_alphabetic() || c == '_';
        match text.strip_prefix('%') {
            Some(rest) => rest.starts_with("%!") || rest.trim_start_matches('%').starts_with(letter),
            None => text.strip_prefix('!').is_some_and(|rest| {
                rest.trim_start_matches('!').starts_with(|c: char| letter(c) || "./~$\\{".contains(c))
            }),
        }
    };
    begins(line) || assigned(line).is_some_and(|(_, value)| begins(value))
}

/// Splits `name = value`. The first part ends where the value begins.
fn assigned(line: &str) -> Option<(&str, &str)> {
    let (names, value) = line.split_once('=')?;
    let is_name = |name: &str| {
        let name = name.trim();
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.[]'\"".contains(c))
    };
    let value = value.trim_start();
    names.split(',').all(is_name).then(|| line.split_at(line.len() - value.len()))
}

/// Whether a line, at which a statement begins, is a magic, a shell command or a request for help.
pub(super) fn is_ipython(line: &str) -> bool {
    let line = line.trim();
    let value = assigned(line).map_or(line, |(_, value)| value);
    is_magic(line) || line.starts_with('!') || value.starts_with('!') || help(line).is_some()
}

/// The number of lines that belong to the first one: a backslash at the end of a command continues
/// it.
pub(super) fn count_of_lines(lines: &[&str]) -> usize {
    let is_continued = |line: &&&str| line.ends_with('\\');
    let is_command = lines.first().is_some_and(|line| !line.starts_with("%%"));
    let continued = lines.iter().take_while(is_continued).count();
    if is_command { lines.len().min(continued + 1) } else { 1 }
}

/// Writes a magic, a shell command or a request for help as one line of Python. The line is a
/// comment if the text has no call: if it is not certain how IPython reads it.
pub(super) fn written(text: &str) -> String {
    match line_call(text) {
        None if is_magic(text) && !text.contains(is_line_end) => format!("# {text}"),
        call => with_text(call, text),
    }
}

/// Writes the cell of a cell magic as one line of Python.
pub(super) fn cell_written(source: &str) -> String {
    with_text(cell_call(source), source)
}

/// Writes a line of Python so that `read` returns it.
pub(super) fn as_typed(line: &str) -> String {
    if read(line, true).is_some() { noted(line, line) } else { line.to_owned() }
}

/// The text that was written as a line. `None` for any other Python. Only a line that `is_alone` in
/// its cell can be the call of a cell magic.
pub(super) fn read(line: &str, is_alone: bool) -> Option<String> {
    let text = text_of_note(line).or_else(|| text_of_call(line))?;
    let is_cell = || cell_call(&text).is_some() && !line.starts_with(BEFORE_TEXT);
    (is_alone || !is_cell()).then_some(text)
}

/// The call of a text, and the text if the call does not lead back to it.
fn with_text(call: Option<String>, text: &str) -> String {
    match call {
        Some(call) if text_of_call(&call).as_deref() == Some(text) => call,
        call => noted(&call.unwrap_or_default(), text),
    }
}

fn noted(head: &str, text: &str) -> String {
    format!("{head}{BEFORE_TEXT}{}", quoted(text))
}

/// The text in the comment behind a line, if the line was written from it.
fn text_of_note(line: &str) -> Option<String> {
    let of_note = |(at, _): (usize, &str)| {
        let (head, note) = line.split_at(at);
        let (text, rest) = unquoted(&note[BEFORE_TEXT.len()..])?;
        let is_typed = || head == text && read(head, true).is_some();
        let is_own = || match head {
            "" => is_text(&text) && line_call(&text).is_none(),
            head => is_text(&text) && call(&text).as_deref() == Some(head),
        };
        (rest.is_empty() && (is_typed() || is_own())).then_some(text)
    };
    line.match_indices(BEFORE_TEXT).find_map(of_note)
}

/// Whether a text is one that `written` or `cell_written` takes.
fn is_text(text: &str) -> bool {
    let lines: Vec<&str> = text.split('\n').collect();
    is_cell_magic(text) || is_ipython(lines[0]) && count_of_lines(&lines) == lines.len()
}

/// The text of a call, in the form that is usual in notebooks.
fn text_of_call(line: &str) -> Option<String> {
    let at = line.find(SHELL)?;
    let (head, rest) = (&line[..at], line[at + SHELL.len()..].strip_prefix('.')?);
    let (method, rest) = rest.split_once('(')?;
    let (values, rest) = arguments(rest)?;
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let is_assigned = !head.trim().is_empty();
    let magic = |name: &str, value: &str| {
        let blank = if value.is_empty() { "" } else { " " };
        format!("{head}%{name}{blank}{value}")
    };
    let texts = match (method, values.as_slice()) {
        ("system", [command]) => vec![format!("{head}!{command}")],
        ("getoutput", [command]) if is_assigned => vec![format!("{head}!{command}")],
        ("getoutput", [command]) => vec![format!("{head}!!{command}")],
        ("run_line_magic", [name, value]) => {
            let mark = if *name == "pinfo2" { "??" } else { "?" };
            vec![format!("{head}{value}{mark}"), magic(name, value)]
        }
        ("run_cell_magic", [name, value, body]) => {
            let body = body.strip_suffix('\n').map(|body| format!("\n{body}")).unwrap_or_default();
            vec![format!("{}{body}", magic(&format!("%{name}"), value))]
        }
        _ => return None,
    };
    let is_own = |text: &String| is_text(text) && call(text).as_deref() == Some(line);
    texts.into_iter().find(|text| rest.is_empty() && is_own(text))
}

/// Reads string literals up to the end of a call.
fn arguments(mut rest: &str) -> Option<(Vec<String>, &str)> {
    let mut values = Vec::new();
    loop {
        let (value, behind) = unquoted(rest)?;
        values.push(value);
        match behind.strip_prefix(", ") {
            Some(next) => rest = next,
            None => return Some((values, behind.strip_prefix(')')?)),
        }
    }
}

/// The call that IPython makes of a text. `None` if that is not certain.
fn call(text: &str) -> Option<String> {
    cell_call(text).or_else(|| line_call(text))
}

/// The call of a statement: a line, or several that backslashes join.
fn line_call(text: &str) -> Option<String> {
    if text.contains(|c| c != '\n' && is_line_end(c)) {
        return None;
    }
    let inside = text.trim_start_matches([' ', '\t']);
    let indent = &text[..text.len() - inside.len()];
    if let Some((method, target)) = help(inside.trim()) {
        return Some(format!("{indent}{SHELL}.run_line_magic('{method}', {})", quoted(target)));
    }
    let (names, value) = assigned(inside).filter(|_| !inside.starts_with(['%', '!'])).unwrap_or(("", inside));
    let value = joined(value)?;
    // IPython takes the name before a `?` at the end of a command as a request for help.
    if value.ends_with('?') {
        return None;
    }
    let head = format!("{indent}{names}{SHELL}");
    if let Some(command) = value.strip_prefix('!') {
        let whole = command.strip_prefix('!').filter(|_| names.is_empty());
        let method = if names.is_empty() && whole.is_none() { "system" } else { "getoutput" };
        return Some(format!("{head}.{method}({})", quoted(whole.unwrap_or(command))));
    }
    let magic = value.strip_prefix('%').filter(|magic| !magic.starts_with('%'))?;
    let (name, value) = magic.split_once(' ').unwrap_or((magic, ""));
    Some(format!("{head}.run_line_magic({}, {})", quoted(name), quoted(value)))
}

/// The call of a cell magic's cell.
fn cell_call(source: &str) -> Option<String> {
    if !is_cell_magic(source) || has_python_body(source) || source.contains(|c| c != '\n' && is_line_end(c)) {
        return None;
    }
    let source = source.trim_end_matches('\n');
    let above = source.split_inclusive('\n').take_while(|line| line.trim().is_empty());
    let (magic, body) = match source[above.map(str::len).sum()..].split_once('\n') {
        Some((magic, body)) => (magic, format!("{body}\n")),
        None => (source.trim_start(), String::new()),
    };
    let magic = magic.trim_start_matches('%').trim_end();
    let (name, value) = magic.split_once(' ').unwrap_or((magic, ""));
    Some(format!("{SHELL}.run_cell_magic({}, {}, {})", quoted(name), quoted(value), quoted(&body)))
}

/// Joins the lines of a command, as IPython does. `None` if the last line ends with a backslash.
fn joined(text: &str) -> Option<String> {
    let mut parts: Vec<&str> = text.split('\n').collect();
    let last = parts.pop()?.trim_end();
    let mut parts: Vec<&str> = parts.into_iter().filter_map(|part| part.strip_suffix('\\')).collect();
    parts.push(last);
    (!last.ends_with('\\')).then(|| parts.join(" "))
}

/// The magic that shows help, and its target, for `name?` and `?name`.
fn help(line: &str) -> Option<(&'static str, &str)> {
    let target = line.trim_matches('?');
    let marks = line.len() - target.len();
    let is_on_one_side = line.starts_with('?') != line.ends_with('?');
    let is_letter = |c: char| c.is_alphanumeric() || "_*".contains(c);
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(is_letter) && !part.starts_with(char::is_numeric);
    let is_name = match target.strip_prefix("%%") {
        // Other texts are cell magics.
        Some(name) => is_part(name) && !name.contains('*'),
        None => target.strip_prefix('%').unwrap_or(target).split('.').all(is_part),
    };
    if !is_on_one_side || marks > 2 || !is_name {
        return None;
    }
    let method = if marks == 2 {
        "pinfo2"
    } else if target.contains('*') {
        "psearch"
    } else {
        "pinfo"
    };
    Some((method, target))
}

/// Whether Python's `str.splitlines` ends a line at a character.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A text as a string literal, as Python's `repr` writes it.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut written = String::from(quote);
    for c in text.chars() {
        match c {
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            '\\' => written.push_str("\\\\"),
            c if c == quote => written.extend(['\\', c]),
            c if c != ' ' && (c.is_control() || c.is_whitespace() || is_invisible(c)) => {
                written.push_str(&match u32::from(c) {
                    code @ ..0x100 => format!("\\x{code:02x}"),
                    code @ ..0x10000 => format!("\\u{code:04x}"),
                    code => format!("\\U{code:08x}"),
                });
            }
            c => written.push(c),
        }
    }
    written.push(quote);
    written
}

/// Whether a character is only a hint for the layout of others.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Reads the string literal at the beginning of a text. Returns its value and the text behind it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    let mut value = String::new();
    let mut rest = &text[1..];
    loop {
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        match c {
            c if c == quote => return Some((value, rest)),
            '\\' => {
                let (own, behind) = unescaped(rest)?;
                value.push(own);
                rest = behind;
            }
            c => value.push(c),
        }
    }
}

/// Reads the escape behind a backslash.
fn unescaped(text: &str) -> Option<(char, &str)> {
    let kind = text.chars().next()?;
    let digits = match kind {
        'n' => return Some(('\n', &text[1..])),
        'r' => return Some(('\r', &text[1..])),
        't' => return Some(('\t', &text[1..])),
        '\\' | '\'' | '"' => return Some((kind, &text[1..])),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let code = text.get(1..=digits)?;
    let code = code.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(code, 16).ok())??;
    Some((char::from_u32(code)?, &text[1 + digits..]))
}

//! Finds LaTeX formulas in a text, by the rules of the page (`web/text/formulas.js`), and renders
//! them as MathML, which browsers show without a script or a font of ours.

use super::text::escaped;
use math_core::{LatexToMathML, MathCoreConfig, MathDisplay};
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// Maximum length of a formula, in bytes. Longer ones stay text. A formula of a page has some
/// hundreds. It bounds the recursion of the parser, which nests once for each command.
const MAX_FORMULA_BYTES: usize = 4_000;
/// The greatest nesting of braces, environments and `\left` in a formula, as on the page.
const MAX_BRACES: usize = 50;
/// The greatest nesting of elements in a rendered formula. Browsers lay out nested elements
/// recursively, and HTML parsers flatten elements that are nested 512 deep. A continued fraction of
/// 50 levels has some 150.
const MAX_DEPTH: usize = 200;
/// Maximum length of all rendered formulas of a document, in bytes. Some short commands make long
/// MathML. Later formulas stay text.
const MAX_RENDERED_BYTES: usize = 8 * 1024 * 1024;
/// The stack for rendering. The most deeply nested formula of `MAX_FORMULA_BYTES` (`\hat\hat…`)
/// needs less than a quarter of it in a debug build. Linux provides only the pages that are used.
const STACK_BYTES: usize = 256 * 1024 * 1024;

/// Opening delimiter, closing delimiter, whether the formula is a display formula. The variants
/// with a double backslash are common in Jupyter's Markdown.
const PAIRS: [(&str, &str, bool); 5] = [
    ("$$", "$$", true),
    ("\\\\[", "\\\\]", true),
    ("\\\\(", "\\\\)", false),
    ("\\[", "\\]", true),
    ("\\(", "\\)", false),
];

/// The elements of MathML that a formula may contain.
const ELEMENTS: [&str; 29] = [
    "math",
    "semantics",
    "annotation",
    "mrow",
    "mi",
    "mn",
    "mo",
    "ms",
    "mtext",
    "mspace",
    "mfrac",
    "msqrt",
    "mroot",
    "msub",
    "msup",
    "msubsup",
    "munder",
    "mover",
    "munderover",
    "mmultiscripts",
    "mprescripts",
    "mtable",
    "mtr",
    "mtd",
    "mpadded",
    "mphantom",
    "mstyle",
    "menclose",
    "merror",
];

/// A formula in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Formula<'a> {
    /// The position of the formula in the text, including the delimiters.
    pub(super) range: Range<usize>,
    /// The LaTeX between the delimiters.
    pub(super) tex: &'a str,
    /// Whether it has a line of its own.
    pub(super) is_display: bool,
}

/// Finds the formulas of a text, in order. A formula does not begin inside one of the ranges of
/// code, which are in order.
pub(super) fn find<'a>(text: &'a str, code: &[Range<usize>]) -> Vec<Formula<'a>> {
    let mut search = Search { text, next: HashMap::new(), ends: None };
    let mut found = Vec::new();
    let mut code = code.iter().peekable();
    let mut at = 0;
    while let Some(next) = text[at..].find(['$', '\\']).map(|offset| at + offset) {
        at = next;
        while code.next_if(|range| range.end <= at).is_some() {}
        if let Some(range) = code.peek().filter(|range| range.start <= at) {
            at = range.end;
            continue;
        }
        match search.formula_at(at) {
            Some(formula) => {
                at = formula.range.end;
                found.push(formula);
            }
            // A backslash escapes the next character, so `\$` begins no formula.
            None if text[at..].starts_with("\\$") => at += 2,
            None => at += 1,
        }
    }
    found
}

/// Finds closing delimiters. Each part of the text is searched only once for each delimiter.
struct Search<'a> {
    text: &'a str,
    /// For each delimiter: where the last search began, and what it found.
    next: HashMap<&'static str, (usize, Option<usize>)>,
    /// The offsets of `\end{NAME}`, by name.
    ends: Option<HashMap<&'a str, Vec<usize>>>,
}

impl<'a> Search<'a> {
    fn formula_at(&mut self, at: usize) -> Option<Formula<'a>> {
        let rest = &self.text[at..];
        let pair = PAIRS.iter().find(|(open, ..)| rest.starts_with(open));
        let (inner, end, is_display) = match pair {
            Some((open, close, is_display)) => {
                let from = at + open.len();
                let to = self.next(close, from).filter(|to| *to > from)?;
                (from..to, to + close.len(), *is_display)
            }
            None if rest.starts_with("\\begin{") => {
                let end = self.environment_end(at)?;
                (at..end, end, true)
            }
            None if rest.starts_with('$') => {
                let to = self.dollar(at + 1)?;
                (at + 1..to, to + 1, false)
            }
            None => return None,
        };
        let is_too_long = end - at > MAX_FORMULA_BYTES;
        if is_too_long || (has_blank_line(&self.text[at..end]) && !(is_display && self.is_block(at, end))) {
            return None;
        }
        Some(Formula { range: at..end, tex: self.text[inner].trim(), is_display })
    }

    fn next(&mut self, what: &'static str, from: usize) -> Option<usize> {
        match self.next.get(what) {
            Some((began, at)) if *began <= from && at.is_none_or(|at| at >= from) => *at,
            _ => {
                let at = self.text[from..].find(what).map(|offset| from + offset);
                self.next.insert(what, (from, at));
                at
            }
        }
    }

    /// The end of the environment that begins at an offset.
    fn environment_end(&mut self, at: usize) -> Option<usize> {
        const BEGIN: &str = "\\begin{";
        const END: &str = "\\end{";
        let text = self.text;
        let name_of = |at: usize| {
            let name = &text[at..at + text[at..].find('}')?];
            let letters = name.strip_suffix('*').unwrap_or(name);
            let is_name = (1..=40).contains(&letters.len());
            (is_name && letters.bytes().all(|b| b.is_ascii_alphabetic())).then_some(name)
        };
        let name = name_of(at + BEGIN.len())?;
        let ends = self.ends.get_or_insert_with(|| {
            let mut ends: HashMap<&str, Vec<usize>> = HashMap::new();
            for (at, _) in text.match_indices(END) {
                if let Some(name) = name_of(at + END.len()) {
                    ends.entry(name).or_default().push(at);
                }
            }
            ends
        });
        let ends = ends.get(name)?;
        let end = *ends.get(ends.partition_point(|end| *end < at))?;
        Some(end + END.len() + name.len() + 1)
    }

    /// The offset of the dollar that closes `$x$`. In `$5 and $6` there is none: no space is just
    /// inside the dollars, and no digit after them.
    fn dollar(&mut self, from: usize) -> Option<usize> {
        let (text, bytes) = (self.text, self.text.as_bytes());
        if bytes.get(from).is_none_or(|b| b.is_ascii_whitespace() || *b == b'$') {
            return None;
        }
        let last = self.next.get("$").filter(|(began, at)| *began <= from && at.is_some_and(|at| at >= from));
        let to = match last {
            Some((_, at)) => (*at)?,
            None => {
                let mut at = from;
                while at < bytes.len() && bytes[at] != b'$' && !bytes[at..].starts_with(b"\n\n") {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let at = at.min(bytes.len());
                self.next.insert("$", (from, Some(at)));
                at
            }
        };
        let is_closed = bytes.get(to) == Some(&b'$');
        let is_like_price =
            text[..to].ends_with(char::is_whitespace) || bytes.get(to + 1).is_some_and(u8::is_ascii_digit);
        (is_closed && !is_like_price).then_some(to)
    }

    /// Whether a range of the text has its lines for itself.
    fn is_block(&self, from: usize, to: usize) -> bool {
        let before = self.text[..from].rsplit('\n').next().unwrap_or_default();
        let after = self.text[to..].split('\n').next().unwrap_or_default();
        before.trim().is_empty() && after.trim().is_empty()
    }
}

fn has_blank_line(text: &str) -> bool {
    text.split('\n').skip(1).any(|line| line.trim().is_empty())
}

/// Renders formulas. It keeps the numbers of equations over a document.
pub(super) struct Typesetter {
    library: Option<LatexToMathML>,
    /// How many bytes may still be rendered.
    left: Cell<usize>,
}

impl Typesetter {
    fn new() -> Self {
        let config = MathCoreConfig {
            // The rest of a formula is shown around an unknown command, as on the page.
            ignore_unknown_commands: true,
            annotation: true,
            ..MathCoreConfig::default()
        };
        Self { library: LatexToMathML::new(config).ok(), left: Cell::new(MAX_RENDERED_BYTES) }
    }

    /// The HTML of a formula: MathML, or its source if it cannot be rendered.
    pub(super) fn html(&self, text: &str, formula: &Formula<'_>) -> String {
        match self.mathml(formula) {
            Some(math) if formula.is_display => format!("<span class=\"formula\">{math}</span>"),
            Some(math) => math,
            None => format!("<code class=\"tex\">{}</code>", escaped(&text[formula.range.clone()])),
        }
    }

    fn mathml(&self, formula: &Formula<'_>) -> Option<String> {
        if !is_shallow(formula.tex) {
            return None;
        }
        let display = if formula.is_display { MathDisplay::Block } else { MathDisplay::Inline };
        // A formula in which the library finds a bug of its own must not cost the document.
        let converted = catch_unwind(AssertUnwindSafe(|| {
            self.library.as_ref()?.convert_with_local_state(formula.tex, display).ok()
        }));
        let mathml = converted.ok()??.mathml;
        let left = self.left.get().checked_sub(mathml.len())?;
        self.left.set(left);
        is_harmless(&mathml).then_some(mathml)
    }

    /// Renders a text with formulas, for example that of `text/latex`, to HTML.
    pub(super) fn text(&self, text: &str) -> String {
        let mut written = String::new();
        let mut at = 0;
        for formula in find(text, &[]) {
            written.push_str(&escaped(&text[at..formula.range.start]));
            written.push_str(&self.html(text, &formula));
            at = formula.range.end;
        }
        written.push_str(&escaped(&text[at..]));
        written
    }
}

/// Calls a function with a typesetter, on a thread whose stack is deep enough for every formula. If
/// the system allows no such thread, formulas are shown as their source.
pub(super) fn with_typesetter(write: impl Fn(&Typesetter) -> String + Sync) -> String {
    let written = thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("formulas".into())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || write(&Typesetter::new()));
        thread.ok().and_then(|thread| thread.join().ok())
    });
    written.unwrap_or_else(|| write(&Typesetter { library: None, left: Cell::new(0) }))
}

/// Whether braces, environments and `\left` are not nested too deep.
fn is_shallow(tex: &str) -> bool {
    let mut depth = 0_usize;
    let mut rest = tex;
    while let Some(at) = rest.find(['\\', '{', '}']) {
        let (here, word) = (&rest[at..], &rest[at + 1..]);
        let is_word = |name: &str| {
            let after = word.strip_prefix(name);
            after.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphabetic()))
        };
        if here.starts_with('{') || (here.starts_with('\\') && (is_word("begin") || is_word("left"))) {
            depth += 1;
        } else if here.starts_with('}') || is_word("end") || is_word("right") {
            depth = depth.saturating_sub(1);
        }
        if depth > MAX_BRACES {
            return false;
        }
        // An escaped brace opens nothing.
        let length =
            if here.starts_with('\\') { 1 + word.chars().next().map_or(0, char::len_utf8) } else { 1 };
        rest = &here[length..];
    }
    true
}

/// Whether a rendered formula consists of known elements that do nothing, and is not nested too
/// deep. The library escapes the text in them.
fn is_harmless(mathml: &str) -> bool {
    let mut depth = 0_usize;
    for piece in mathml.split('<').skip(1) {
        let Some((tag, _)) = piece.split_once('>') else { return false };
        let (is_end, is_empty) = (tag.starts_with('/'), tag.ends_with('/'));
        let mut words = tag.trim_matches('/').split_ascii_whitespace();
        if !words.next().is_some_and(|name| ELEMENTS.contains(&name)) {
            return false;
        }
        if words.any(|word| word.starts_with("on") || word.contains("href") || word.contains("src")) {
            return false;
        }
        match (is_end, is_empty) {
            (true, _) => depth = depth.saturating_sub(1),
            (false, false) => depth += 1,
            (false, true) => {}
        }
        if depth > MAX_DEPTH {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, bool)> {
        find(text, &[]).iter().map(|one| (one.tex, one.is_display)).collect()
    }

    fn rendered(text: &str) -> String {
        with_typesetter(|typesetter| typesetter.text(text))
    }

    #[test]
    fn formulas_are_found_as_on_the_page() {
        assert_eq!(
            found("a $x_1$, $$y$$ \\(z\\) \\[u\\] \\\\(v\\\\) and \\\\[w\\\\]"),
            [("x_1", false), ("y", true), ("z", false), ("u", true), ("v", false), ("w", true)]
        );
        assert_eq!(found("\\begin{align*}a&=b\\end{align*} x"), [("\\begin{align*}a&=b\\end{align*}", true)]);
        for text in ["$5 and $6", "a \\$5$ b", "$ x$", "$x $", "$x$1", "$$$$", "\\begin{a", "$x\n\ny$", "a$"]
        {
            assert_eq!(found(text), [], "{text}");
        }
        // Only a formula with lines of its own may contain an empty line.
        assert_eq!(found("$$\nx\n\ny\n$$"), [("x\n\ny", true)]);
        assert_eq!(found("a $$x\n\ny$$"), []);
        assert_eq!(find("`$x$` $y$", std::slice::from_ref(&(0..5))).len(), 1);
    }

    #[test]
    fn formulas_become_mathml_and_their_text_is_escaped() {
        let page = rendered("Let $a_1 < b$ & <i>:\n$$\\frac{1}{2}$$");
        assert!(page.starts_with("Let <math>") && page.contains("&amp; &lt;i&gt;:"), "{page}");
        assert!(page.contains("<span class=\"formula\"><math display=\"block\">"), "{page}");
        assert!(page.contains("<mfrac>") && page.contains("<msub>"), "{page}");
        let evil = "<img src=x onerror=alert(1)>";
        for text in [
            format!("$\\text{{{evil}}}$"),
            format!("${evil}$"),
            format!("$\\color{{red\" onclick=\"{evil}}}x$"),
            format!("$\\href{{javascript:alert(1)}}{{x}} \\unknown{{{evil}}}$"),
            format!("$\\begin{{array}}{{\"{evil}}}a\\end{{array}}$"),
            format!("$$x\\tag{{{evil}}}\\label{{\"{evil}}}$$"),
        ] {
            let page = rendered(&text);
            assert!(
                !page.contains("<img") && !page.contains(" href=\"") && !page.contains(" onclick=\""),
                "{page}"
            );
        }
        // The rest of a formula is shown around an unknown command.
        assert!(rendered("$\\foo + \\alpha$").contains("<mi>α</mi>"));
        // What cannot be rendered is shown as source.
        assert_eq!(rendered("$\\frac{1$"), "<code class=\"tex\">$\\frac{1$</code>");
    }

    /// Otherwise the stack would overflow, which ends the server.
    #[test]
    fn the_most_deeply_nested_formulas_are_shown_as_source() {
        for unit in [
            "\\hat",
            "\\sqrt",
            "\\frac1",
            "{",
            "\\left(",
            "x^",
            "x_{",
            "\\displaystyle ",
            "\\not",
            "\\color{red}",
            "\\text{",
            "\\sqrt[",
            "\\begin{matrix}",
            "\\overset a",
            "\\bf ",
            "\\^",
            "'",
            "^{",
            "\\u",
        ] {
            let tex = unit.repeat((MAX_FORMULA_BYTES - 8) / unit.len());
            let page = rendered(&format!("${tex}$"));
            let depth = page.matches("<m").count();
            assert!(page.starts_with("<code") || is_harmless(&page), "{unit}: {depth}");
        }
    }

    #[test]
    fn formulas_that_become_too_long_are_shown_as_source() {
        let one = format!("$$x{}$$\n\n", "'".repeat(3_900));
        let html = with_typesetter(|typesetter| typesetter.text(&one.repeat(300)));
        assert!(html.contains("<math") && html.contains("<code class=\"tex\">"));
        assert!(html.len() < MAX_RENDERED_BYTES + 10 * one.len() * 300, "{}", html.len());
    }

    #[test]
    fn a_long_text_without_formulas_takes_little_time() {
        for unit in ["$ ", "$a", "\\(", "\\begin{a}", "$$ ", "\\[ \\("] {
            let text = unit.repeat(100_000);
            let began = std::time::Instant::now();
            find(&text, &[]);
            assert!(began.elapsed().as_secs() < 5, "{unit}");
        }
    }
}

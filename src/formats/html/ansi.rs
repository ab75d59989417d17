//! Renders terminal output as HTML, with its colours. A `\r` removes the text before it on the same
//! line.

use crate::formats::text::escaped;
use crate::terminal_text::sequence;

/// The style of the following text.
#[derive(Clone, Default, PartialEq)]
struct TextStyle {
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    strike: bool,
    inverse: bool,
    front: Option<String>,
    back: Option<String>,
}

/// Renders a text to HTML, in parts: each part begins with the style in which the last one ended.
#[derive(Default)]
pub(super) struct Renderer {
    look: TextStyle,
}

impl Renderer {
    /// Renders a part. The text has no `\r` (see `last_words`).
    pub(super) fn render(&mut self, text: &str) -> String {
        let (mut written, mut plain) = (String::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find('\u{1b}') {
            plain.push_str(&rest[..at]);
            let (codes, after) = sequence(&rest[at + 1..]);
            rest = after;
            let Some(codes) = codes else { continue };
            let mut changed = self.look.clone();
            changed.take(&codes);
            if changed != self.look {
                flush(&mut written, &self.look, &mut plain);
                self.look = changed;
            }
        }
        plain.push_str(rest);
        flush(&mut written, &self.look, &mut plain);
        written
    }
}

/// Keeps the part of each line after its last `\r`. For a progress bar, this is its final state.
pub(super) fn last_words(text: &str) -> String {
    if !text.contains('\r') {
        return text.to_owned();
    }
    let last = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or_default().to_owned()
    };
    text.split('\n').map(last).collect::<Vec<_>>().join("\n")
}

fn flush(written: &mut String, look: &TextStyle, plain: &mut String) {
    let text: String = plain.drain(..).filter(|c| !c.is_control() || "\n\t".contains(*c)).collect();
    if *look == TextStyle::default() || text.is_empty() {
        written.push_str(&escaped(&text));
        return;
    }
    let mut style = String::new();
    let mut add = |is_on: bool, css: &str| style.push_str(if is_on { css } else { "" });
    add(look.bold, "font-weight:600;");
    add(look.dim, "opacity:.7;");
    add(look.italic, "font-style:italic;");
    add(look.underline, "text-decoration:underline;");
    add(look.strike, "text-decoration:line-through;");
    style.push_str(&colours(look));
    written.push_str(&format!("<span style=\"{style}\">{}</span>", escaped(&text)));
}

/// The colours of a style, readable in both themes, by the rules of the page
/// (`web/outputs/styled-text.js`): the palette is for text, so a background is toned down, and text
/// on it is mixed with much ink.
fn colours(look: &TextStyle) -> String {
    let (front, back) = (look.front.as_deref(), look.back.as_deref());
    if look.inverse {
        let (front, back) = (front.unwrap_or("var(--ink)"), back.unwrap_or("var(--paper)"));
        return format!("color:{back};background:{front};");
    }
    let is_named = |colour: &str| colour.starts_with("var(");
    let front = front.map(|colour| match back {
        Some(back) if is_named(back) => format!("color:color-mix(in oklab,{colour} 25%,var(--ink));"),
        _ if is_named(colour) => format!("color:{colour};"),
        _ => format!("color:color-mix(in oklab,{colour} 55%,var(--ink));"),
    });
    let back = back.map(|colour| format!("background:color-mix(in srgb,{colour} 25%,transparent);"));
    front.unwrap_or_default() + &back.unwrap_or_default()
}

impl TextStyle {
    fn take(&mut self, codes: &[u32]) {
        let mut codes = codes.iter().copied();
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.inverse = true,
                9 => self.strike = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.inverse = false,
                29 => self.strike = false,
                30..=37 => self.front = Some(named(code - 30)),
                90..=97 => self.front = Some(named(code - 82)),
                40..=47 => self.back = Some(named(code - 40)),
                100..=107 => self.back = Some(named(code - 92)),
                38 => self.front = wide(&mut codes),
                48 => self.back = wide(&mut codes),
                39 => self.front = None,
                49 => self.back = None,
                _ => {}
            }
        }
    }
}

/// The CSS colour for one of the sixteen named colours.
fn named(index: u32) -> String {
    format!("var(--ansi-{index})")
}

/// Reads the colour that follows code 38 (foreground) or 48 (background).
fn wide(codes: &mut impl Iterator<Item = u32>) -> Option<String> {
    let rgb = |r: u32, g: u32, b: u32| Some(format!("rgb({} {} {})", r.min(255), g.min(255), b.min(255)));
    match codes.next()? {
        2 => rgb(codes.next()?, codes.next()?, codes.next()?),
        5 => match codes.next()? {
            index @ 0..=15 => Some(named(index)),
            index @ 16..=231 => {
                let level = |n: u32| if n == 0 { 0 } else { 55 + 40 * n };
                let cube = index - 16;
                rgb(level(cube / 36), level(cube / 6 % 6), level(cube % 6))
            }
            index => {
                let grey = 8 + 10 * index.saturating_sub(232);
                rgb(grey, grey, grey)
            }
        },
        _ => None,
    }
}

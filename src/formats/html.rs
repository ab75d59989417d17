//! Writes a document as a self-contained HTML page for reading, printing and sending. The page
//! fetches nothing. HTML of outputs is put into frames without an origin; this module writes all
//! other HTML.

use super::document::{Cell, Document};
use super::formulas::{Typesetter, with_typesetter};
use super::markdown::{self, Pictures};
use super::text::{escaped, text_in};
use crate::notebook::{DraftKind, MimeBundle, Output, StreamName};
use std::fmt::Write;

mod ansi;
mod highlight;

/// The content security policy of the page and its frames. The page's policy also applies to
/// `srcdoc` frames, so it allows scripts. The page itself contains no HTML of outputs, so scripts
/// of outputs run only in frames.
const RULES: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' data: blob:; \
    style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; worker-src blob:; \
    connect-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'none'; object-src 'none'";

pub(super) const STYLE: &str = include_str!("html/page.css");
const FRAME_STYLE: &str = "html{color-scheme:light dark}body{margin:0;\
    font:13px/1.5 system-ui,sans-serif;overflow-x:auto}\
    table{border-collapse:collapse;border:none}td,th{border:none;padding:.3em .7em;text-align:right}\
    thead{border-bottom:1px solid}svg,img{max-width:100%;height:auto}\
    @media print{html{color-scheme:light}}";

/// The script of a frame: sends the height of the frame's content to the page.
const TELL: &str = "addEventListener('load',()=>{const t=()=>parent.postMessage({ratoonHeight:\
    Math.ceil(document.documentElement.getBoundingClientRect().height)},'*');\
    new ResizeObserver(t).observe(document.documentElement);t()})";

/// The script of the page: sets the height of each frame to the height that the frame sent.
pub(super) const HEAR: &str = "addEventListener('message',({source,data})=>{const h=data?.ratoonHeight;\
    if(typeof h!=='number'||!(h>=0))return;for(const f of document.querySelectorAll('iframe'))\
    if(f.contentWindow===source)f.style.height=Math.min(4000,h)+'px'})";

/// Texts with more lines are cut, as on the page (`web/outputs/stream.js`). The first and the last
/// lines stay.
const MAX_LINES: usize = 200;

/// What the page says above outputs of an earlier version (`web/shell/words.js`).
const STALE: &str = "Stale: from the earlier version";

/// Writes the page of a document.
pub(super) fn write(document: &Document) -> String {
    with_typesetter(|typesetter| page(document, typesetter))
}

fn page(document: &Document, typesetter: &Typesetter) -> String {
    let title = escaped(&document.name);
    let mut page = begin(&title, STYLE);
    let _ = writeln!(page, "<body>\n<main>\n<h1 class=\"name\">{title}</h1>");
    for cell in &document.cells {
        write_cell(&mut page, cell, &document.pictures, typesetter);
    }
    let _ = write!(page, "</main>\n<script>{HEAR}</script>\n</body>\n</html>\n");
    page
}

/// The page up to its body. `title` is escaped.
pub(super) fn begin(title: &str, style: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{RULES}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"Ratoon\">\n\
         <title>{title}</title>\n<style>{style}</style>\n</head>\n"
    )
}

pub(super) fn write_cell(page: &mut String, cell: &Cell, pictures: &Pictures, typesetter: &Typesetter) {
    if cell.kind == DraftKind::Markdown {
        let text = markdown::to_html(&cell.source, pictures, typesetter);
        let _ = write!(page, "<section class=\"text\">\n{text}</section>\n");
        return;
    }
    if cell.source.trim().is_empty() && cell.outputs.is_empty() {
        return;
    }
    if cell.kind == DraftKind::Raw {
        // Browsers remove a line end at the beginning.
        let text = escaped(&cell.source);
        let _ = write!(page, "<section>\n<pre class=\"raw\" tabindex=\"0\">\n{text}</pre>\n</section>\n");
        return;
    }
    let count = cell.exec_count.map(|n| n.to_string()).unwrap_or_default();
    let _ = write!(
        page,
        "<section class=\"cell\">\n<span class=\"count\" aria-hidden=\"true\">{count}</span>\n\
         <pre class=\"code\" tabindex=\"0\"><code>{}</code></pre>\n",
        highlight::to_html(&cell.source)
    );
    if !cell.outputs.is_empty() {
        page.push_str("<div class=\"outputs\">\n");
        if cell.is_stale {
            let _ = writeln!(page, "<p class=\"stale\">{STALE}</p>");
        }
        cell.outputs.iter().for_each(|output| write_output(page, output, typesetter));
        page.push_str("</div>\n");
    }
    page.push_str("</section>\n");
}

fn write_output(page: &mut String, output: &Output, typesetter: &Typesetter) {
    match output {
        Output::Stream { name, text } => {
            let class = if *name == StreamName::Stderr { "stream stderr" } else { "stream" };
            write_text(page, class, text);
        }
        Output::DisplayData { data, metadata, .. } | Output::ExecuteResult { data, metadata, .. } => {
            write_bundle(page, data, metadata, typesetter);
        }
        Output::Error(error) => {
            let text = if error.traceback.is_empty() {
                [error.ename.as_str(), error.evalue.as_str()].join(": ")
            } else {
                error.traceback.join("\n")
            };
            write_text(page, "failure", &text);
        }
    }
}

/// Writes a printed text. The middle of a long one is in an element that a click opens.
fn write_text(page: &mut String, class: &str, text: &str) {
    let text = ansi::last_words(text);
    let mut renderer = ansi::Renderer::default();
    let mut write_part = |page: &mut String, text: &str| {
        let html = renderer.render(text);
        // Browsers remove a line end at the beginning.
        let begin = if html.starts_with('\n') { "\n" } else { "" };
        let _ = writeln!(page, "<pre class=\"{class}\" tabindex=\"0\">{begin}{html}</pre>");
    };
    let lines: Vec<&str> = text.trim_end().split('\n').collect();
    if lines.len() <= MAX_LINES {
        return write_part(page, &text);
    }
    let (first, rest) = lines.split_at(MAX_LINES / 2);
    let (rest, last) = rest.split_at(rest.len() - MAX_LINES / 2);
    page.push_str("<div class=\"long\">\n");
    write_part(page, &first.join("\n"));
    let _ = writeln!(page, "<details><summary>{}</summary>", more_lines(rest.len()));
    write_part(page, &rest.join("\n"));
    page.push_str("</details>\n");
    write_part(page, &last.join("\n"));
    page.push_str("</div>\n");
}

fn more_lines(count: usize) -> String {
    let digits = count.to_string();
    let grouped = digits.char_indices().flat_map(|(at, digit)| {
        let is_group = at > 0 && (digits.len() - at).is_multiple_of(3);
        is_group.then_some(',').into_iter().chain([digit])
    });
    let grouped: String = grouped.collect();
    if count == 1 { "One more line".to_owned() } else { format!("{grouped} more lines") }
}

/// Writes the richest representation that the page can show without a network.
fn write_bundle(page: &mut String, data: &MimeBundle, metadata: &MimeBundle, typesetter: &Typesetter) {
    let plain = text_in(data, "text/plain");
    if let Some(html) = text_in(data, "text/html") {
        return write_frame(page, &html);
    }
    if let Some(text) = text_in(data, "text/markdown") {
        let text = markdown::to_html(&text, &Pictures::new(), typesetter);
        let _ = write!(page, "<div class=\"text\">\n{text}</div>\n");
        return;
    }
    if let Some(text) = text_in(data, "text/latex") {
        let _ = writeln!(page, "<div class=\"latex\">{}</div>", typesetter.text(&text));
        return;
    }
    if let Some(svg) = text_in(data, "image/svg+xml") {
        return write_frame(page, &svg);
    }
    let picture = ["image/png", "image/jpeg", "image/gif", "image/webp"]
        .iter()
        .find_map(|mime| Some((*mime, text_in(data, mime)?.split_whitespace().collect::<String>())));
    if let Some((mime, base64)) = picture {
        let alt = escaped(plain.as_deref().unwrap_or("Image output"));
        let size = |key: &str| {
            let own = metadata.get(mime).and_then(|own| own.get(key)).or_else(|| metadata.get(key));
            let number = own.and_then(serde_json::Value::as_f64).filter(|n| *n > 0.0 && *n < 1e5);
            number.map(|n| format!(" {key}=\"{}\"", n.round())).unwrap_or_default()
        };
        let (width, height) = (size("width"), size("height"));
        let src = format!("data:{mime};base64,{}", escaped(&base64));
        let _ = writeln!(page, "<img src=\"{src}\" alt=\"{alt}\"{width}{height}>");
    } else {
        let first = || data.iter().next().map(|(_, value)| super::text_of(value));
        write_text(page, "value", &plain.or_else(first).unwrap_or_default());
    }
}

/// Writes HTML of an output into a frame of its own. A frame with a table begins with an estimated
/// height, so that the page moves little when the frame's content reports its real height.
fn write_frame(page: &mut String, html: &str) {
    let content = format!(
        "<!doctype html><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{RULES}\">\
         <style>{FRAME_STYLE}</style><script>{TELL}</script>{html}"
    );
    let _ = writeln!(
        page,
        "<iframe sandbox=\"allow-scripts\" referrerpolicy=\"no-referrer\" title=\"Output\"{} \
         srcdoc=\"{}\"></iframe>",
        estimated_height(html).map(|px| format!(" style=\"height:{px}px\"")).unwrap_or_default(),
        escaped(&content)
    );
}

/// The height of a table of pandas or polars in px. `None` for other content.
fn estimated_height(html: &str) -> Option<usize> {
    const ROW: usize = 32;
    const MOST: usize = 4000;
    let is_other = ["<script", "<img", "<svg", "<iframe"].iter().any(|tag| html.contains(tag));
    let rows = html.matches("<tr").count() + html.matches("<p").count();
    (html.contains("class=\"dataframe\"") && !is_other && rows > 0).then(|| MOST.min(rows * ROW))
}

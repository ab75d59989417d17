//! Writes a document as a self-contained page for reading, printing and sending. It fetches
//! nothing. HTML of outputs goes into frames without an origin; all other HTML is written here.

use super::{Cell, Document, markdown, text_in};
use crate::notebook::{DraftKind, MimeBundle, Output, StreamName};
use std::fmt::Write;

mod ansi;
mod highlight;

/// The content security policy of the page and its frames. The page's policy also applies to
/// `srcdoc` frames, so it allows scripts. Scripts of outputs cannot run in the page itself because
/// no HTML of an output is in it.
const RULES: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' data: blob:; \
    style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; worker-src blob:; \
    connect-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'none'; object-src 'none'";

const STYLE: &str = include_str!("html/page.css");
const FRAME_STYLE: &str = "html{color-scheme:light dark}body{margin:0;\
    font:13px/1.5 system-ui,sans-serif;overflow-x:auto}\
    table{border-collapse:collapse;border:none}td,th{border:none;padding:.3em .7em;text-align:right}\
    thead{border-bottom:1px solid}svg,img{max-width:100%;height:auto}";

/// In a frame: sends the height of its content to the page.
const TELL: &str = "addEventListener('load',()=>{const t=()=>parent.postMessage({ratoonHeight:\
    Math.ceil(document.documentElement.getBoundingClientRect().height)},'*');\
    new ResizeObserver(t).observe(document.documentElement);t()})";

/// In the page: sets the height of a frame to the height that the frame sent.
const HEAR: &str = "addEventListener('message',({source,data})=>{const h=data?.ratoonHeight;\
    if(typeof h!=='number'||!(h>=0))return;for(const f of document.querySelectorAll('iframe'))\
    if(f.contentWindow===source)f.style.height=Math.min(4000,h)+'px'})";

/// The page of a document.
pub(super) fn write(document: &Document) -> String {
    let title = escaped(&document.name);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{RULES}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"Ratoon\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1 class=\"name\">{title}</h1>\n"
    );
    for cell in &document.cells {
        write_cell(&mut page, cell);
    }
    let _ = write!(page, "</main>\n<script>{HEAR}</script>\n</body>\n</html>\n");
    page
}

fn write_cell(page: &mut String, cell: &Cell) {
    if cell.kind == DraftKind::Markdown {
        let _ = write!(page, "<section class=\"text\">\n{}</section>\n", markdown::to_html(&cell.source));
        return;
    }
    if cell.source.trim().is_empty() && cell.outputs.is_empty() {
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
        cell.outputs.iter().for_each(|output| write_output(page, output));
        page.push_str("</div>\n");
    }
    page.push_str("</section>\n");
}

fn write_output(page: &mut String, output: &Output) {
    match output {
        Output::Stream { name, text } => {
            let class = if *name == StreamName::Stderr { "stream stderr" } else { "stream" };
            write_text(page, class, text);
        }
        Output::DisplayData { data, metadata, .. } | Output::ExecuteResult { data, metadata, .. } => {
            write_bundle(page, data, metadata);
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

fn write_text(page: &mut String, class: &str, text: &str) {
    let _ = writeln!(page, "<pre class=\"{class}\" tabindex=\"0\">{}</pre>", ansi::to_html(text));
}

/// Writes the richest representation that the page can show without a network.
fn write_bundle(page: &mut String, data: &MimeBundle, metadata: &MimeBundle) {
    let plain = text_in(data, "text/plain");
    if let Some(html) = text_in(data, "text/html").or_else(|| text_in(data, "image/svg+xml")) {
        return write_frame(page, &html);
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
    } else if let Some(text) = text_in(data, "text/markdown") {
        let _ = write!(page, "<div class=\"text\">\n{}</div>\n", markdown::to_html(&text));
    } else {
        let first = || data.iter().next().map(|(_, value)| super::text_of(value));
        let latex = text_in(data, "text/latex");
        write_text(page, "value", &latex.or(plain).or_else(first).unwrap_or_default());
    }
}

/// Writes HTML of an output in its own frame.
fn write_frame(page: &mut String, html: &str) {
    let content = format!(
        "<!doctype html><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{RULES}\">\
         <style>{FRAME_STYLE}</style><script>{TELL}</script>{html}"
    );
    let _ = writeln!(
        page,
        "<iframe sandbox=\"allow-scripts\" referrerpolicy=\"no-referrer\" title=\"Output\" \
         srcdoc=\"{}\"></iframe>",
        escaped(&content)
    );
}

/// Escapes a text for HTML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Browsers do not show NUL, and some stop reading there.
            '\0' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

//! Inlines the attached pictures of Markdown, and renders Markdown to HTML. HTML inside Markdown is
//! shown as text.

use super::formulas::{self, Formula, Typesetter};
use super::text::{escaped, text_of};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Mime types of pictures that Ratoon's page shows.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The scheme of the addresses of attached pictures.
const SCHEME: &str = "attachment:";
/// The text before the name of an attached picture in markdown.
const MARK: &str = "](attachment:";
/// How many `)` are tried as the end of a picture's name.
const MAX_CLOSINGS: usize = 8;
/// Maximum length of the name of a picture, in bytes.
const MAX_NAME_BYTES: usize = 512;

/// Replaces references to attached pictures by data URLs of the pictures. Calls `fits` with the
/// length of each URL in bytes; if `fits` returns false, the reference stays. Reads the text once
/// and each picture once, so that many references to a large picture cost little time.
pub(super) fn with_pictures(
    text: &str,
    attachments: &Map<String, Value>,
    mut fits: impl FnMut(usize) -> bool,
) -> String {
    let mut addresses: HashMap<&str, Option<Rc<str>>> = HashMap::new();
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let name = at + MARK.len();
        let found = named(&rest[name..], attachments).and_then(|(length, name, bundle)| {
            let address = addresses.entry(name).or_insert_with(|| address(bundle).map(Rc::from));
            address.clone().map(|picture| (length, picture))
        });
        if let Some((length, picture)) = found.filter(|(_, picture)| fits(picture.len())) {
            written.push_str(&rest[..at]);
            written.push_str(&format!("]({picture})"));
            rest = &rest[name + length + 1..];
        } else {
            written.push_str(&rest[..name]);
            rest = &rest[name..];
        }
    }
    written.push_str(rest);
    written
}

/// Replaces data URLs of attached pictures by references to them: the reverse of `with_pictures`.
pub(super) fn with_attachments(text: &str, attachments: &Map<String, Value>) -> String {
    let named = |(name, bundle): (&String, &Value)| {
        Some((address(bundle.as_object()?)?, format!("{MARK}{})", name.replace(' ', "%20"))))
    };
    let references: HashMap<String, String> = attachments.iter().filter_map(named).collect();
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("](data:") {
        let url = &rest[at + 2..];
        let end = url.find(')').unwrap_or(url.len());
        written.push_str(&rest[..at]);
        match references.get(&url[..end]) {
            Some(reference) if end < url.len() => {
                written.push_str(reference);
                rest = &url[end + 1..];
            }
            _ => {
                written.push_str("](");
                rest = url;
            }
        }
    }
    written.push_str(rest);
    written
}

/// How many different references to attachments are in a text.
pub(super) fn references(text: &str) -> usize {
    let rests = text.match_indices(MARK).map(|(at, _)| &text[at + MARK.len()..]);
    let names = rests.map(|rest| {
        let begin = &rest[..rest.floor_char_boundary(MAX_NAME_BYTES)];
        begin.split(')').next().unwrap_or_default()
    });
    names.collect::<HashSet<_>>().len()
}

/// The names of the attachments to which a text refers.
pub(super) fn attachment_names(text: &str, attachments: &Map<String, Value>) -> HashSet<String> {
    let references = text.match_indices(MARK).map(|(at, _)| &text[at + MARK.len()..]);
    references.filter_map(|rest| named(rest, attachments)).map(|(_, name, _)| name.to_owned()).collect()
}

/// Finds the attachment whose name, followed by `)`, is at the beginning of a text. Returns the
/// length of the name in the text, the name, and the attachment.
fn named<'a>(
    text: &str,
    attachments: &'a Map<String, Value>,
) -> Option<(usize, &'a str, &'a Map<String, Value>)> {
    let text = &text[..text.floor_char_boundary(MAX_NAME_BYTES)];
    let line = text.lines().next().unwrap_or_default();
    line.match_indices(')').take(MAX_CLOSINGS).find_map(|(end, _)| {
        let name = &line[..end];
        let entry =
            attachments.get_key_value(name).or_else(|| attachments.get_key_value(&name.replace("%20", " ")));
        let (name, bundle) = entry?;
        Some((end, name.as_str(), bundle.as_object()?))
    })
}

fn address(bundle: &Map<String, Value>) -> Option<String> {
    picture(bundle).map(|picture| picture.address())
}

fn picture(bundle: &Map<String, Value>) -> Option<Picture> {
    let (mime, data) = PICTURES.iter().find_map(|mime| Some((*mime, bundle.get(*mime)?)))?;
    let base64: String = text_of(data).split_whitespace().collect();
    let is_base64 = base64.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    is_base64.then_some(Picture { mime, base64 })
}

/// The pictures of a cell to which a text refers, and that can be attachments of a notebook: their
/// names are those of files.
pub(super) fn attachable(text: &str, attachments: &Map<String, Value>) -> Vec<(String, Picture)> {
    let is_file = |name: &str| {
        let suffix = name.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase());
        let is_picture = suffix.is_some_and(|own| ["png", "jpg", "jpeg", "gif", "webp"].contains(&&*own));
        is_picture
            && !name.starts_with('.')
            && !name.contains(['/', '\\'])
            && !name.chars().any(char::is_control)
    };
    let names = attachment_names(text, attachments).into_iter().filter(|name| is_file(name));
    let found = |name: String| Some((name.clone(), picture(attachments.get(&name)?.as_object()?)?));
    names.filter_map(found).collect()
}

const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// The addresses of all pictures in a text, as the text has them, also those in HTML.
pub fn picture_addresses(text: &str) -> Vec<String> {
    // Most texts have no pictures, and parsing takes longer than this.
    if !text.contains("![") && !text.contains('<') {
        return Vec::new();
    }
    let addresses = |event| match event {
        Event::Start(Tag::Image { dest_url, .. }) => vec![dest_url.into_string()],
        Event::Html(text) | Event::InlineHtml(text) => sources(&text),
        _ => Vec::new(),
    };
    Parser::new_ext(text, OPTIONS).flat_map(addresses).collect()
}

/// The values of all attributes `src` in a piece of HTML.
fn sources(html: &str) -> Vec<String> {
    let lower = html.to_ascii_lowercase();
    let value = |(at, word): (usize, &str)| {
        let rest = html[at + word.len()..].trim_start().strip_prefix('=')?.trim_start();
        let quote = rest.chars().next().filter(|c| "\"'".contains(*c));
        let end = |c: char| quote.map_or(c.is_whitespace() || c == '>', |quote| c == quote);
        let rest = &rest[quote.map_or(0, char::len_utf8)..];
        Some(rest[..rest.find(end).unwrap_or(rest.len())].to_owned())
    };
    lower.match_indices("src").filter_map(value).collect()
}

/// The path of a picture's address below the directory in which cells run; `None` if the address
/// leads elsewhere. The page has the same rules (`outputs/local-images.js`).
pub fn local_path(address: &str) -> Option<String> {
    let path = address.split(['?', '#']).next()?;
    let first = path.split('/').next()?;
    if path.is_empty() || path.starts_with('/') || path.contains('\\') || first.contains(':') {
        return None;
    }
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
    let mut parts = Vec::new();
    for part in decoded.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// A picture that a document shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The media type.
    pub mime: &'static str,
    /// The content as base64.
    pub base64: String,
}

impl Picture {
    /// The picture as a data URL.
    fn address(&self) -> String {
        format!("data:{};base64,{}", self.mime, self.base64)
    }

    /// The content; `None` if it is not base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.base64).ok()
    }
}

/// The pictures of a document, by their addresses in its texts.
pub type Pictures = HashMap<String, Picture>;

/// The name of an attachment in a picture's address.
pub fn attachment_name(address: &str) -> Option<&str> {
    address.strip_prefix(SCHEME)
}

/// The pictures that a text shows and that are attached to the notebook, as nbformat has them.
pub(super) fn attachments_of(text: &str, pictures: &Pictures) -> Map<String, Value> {
    let attached = |address: String| {
        let (name, picture) = (attachment_name(&address)?, pictures.get(&address)?);
        Some((name.to_owned(), json!({picture.mime: picture.base64})))
    };
    picture_addresses(text).into_iter().filter_map(attached).collect()
}

/// Private-use characters around the number of a formula, in the text that is parsed as Markdown.
/// They are removed from the user's text.
const MARKS: [char; 2] = ['\u{e000}', '\u{e001}'];

/// A text of Markdown whose formulas are replaced by marks, because Markdown would read their `_`,
/// `*`, `|` and backslashes.
struct Marked<'a> {
    text: &'a str,
    formulas: Vec<Formula<'a>>,
}

impl<'a> Marked<'a> {
    fn new(text: &'a str) -> Self {
        let code: Vec<_> = Parser::new_ext(text, OPTIONS)
            .into_offset_iter()
            .filter(|(event, _)| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))))
            .map(|(_, range)| range)
            .collect();
        Self { text, formulas: formulas::find(text, &code) }
    }

    /// The text with marks instead of formulas.
    fn markdown(&self) -> String {
        let mut written = String::with_capacity(self.text.len());
        let mut at = 0;
        for (number, formula) in self.formulas.iter().enumerate() {
            written.push_str(&self.text[at..formula.range.start]);
            written.push_str(&format!("{}{number}{}", MARKS[0], MARKS[1]));
            at = formula.range.end;
        }
        written + &self.text[at..]
    }

    /// Replaces the marks in a part of the text. `None` if it has none.
    fn replaced(
        &self,
        part: &str,
        plain: impl Fn(&str) -> String,
        formula: impl Fn(&Formula<'_>) -> String,
    ) -> Option<String> {
        part.contains(MARKS[0]).then(|| {
            let pieces = part.split(MARKS).enumerate().map(|(i, piece)| {
                let found = piece.parse::<usize>().ok().filter(|_| i % 2 == 1);
                found.and_then(|number| self.formulas.get(number)).map_or_else(|| plain(piece), &formula)
            });
            pieces.collect()
        })
    }

    /// A part of the text with the source of its formulas.
    fn source<'b>(&self, part: CowStr<'b>) -> CowStr<'b> {
        let source = self.replaced(&part, str::to_owned, |one| self.text[one.range.clone()].to_owned());
        source.map_or(part, CowStr::from)
    }
}

/// Renders a text to HTML that fetches and runs nothing. Shows `pictures`, and those in data URLs.
pub(super) fn to_html(text: &str, pictures: &Pictures, typesetter: &Typesetter) -> String {
    let text = text.replace(MARKS, "");
    let marked = Marked::new(&text);
    let markdown = marked.markdown();
    // The alternative text of a picture and a block of code show the source of formulas.
    let (mut left_out, mut in_source) = (0_usize, 0_usize);
    let tame = Parser::new_ext(&markdown, OPTIONS).filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) | Event::Text(text) if in_source == 0 => {
            let formula = |one: &Formula<'_>| typesetter.html(marked.text, one);
            Some(match marked.replaced(&text, escaped, formula) {
                Some(html) => Event::InlineHtml(html.into()),
                None => Event::Text(text),
            })
        }
        Event::Html(text) | Event::InlineHtml(text) | Event::Text(text) => {
            Some(Event::Text(marked.source(text)))
        }
        Event::Code(text) => Some(Event::Code(marked.source(text))),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Image { dest_url, title, id, link_type }) => {
            in_source += 1;
            // Pictures that are not here are replaced by their alternative text.
            let dest_url = marked.source(dest_url);
            let given = pictures.get(&*dest_url).map(Picture::address);
            let is_here = given.is_some()
                || PICTURES.iter().any(|mime| dest_url.starts_with(&format!("data:{mime};base64,")));
            let dest_url = given.map_or(dest_url, CowStr::from);
            if !is_here || left_out > 0 {
                left_out += 1;
                return None;
            }
            Some(Event::Start(Tag::Image { dest_url, title: marked.source(title), id, link_type }))
        }
        Event::End(TagEnd::Image) => {
            in_source = in_source.saturating_sub(1);
            let is_shown = left_out == 0;
            left_out = left_out.saturating_sub(1);
            is_shown.then_some(Event::End(TagEnd::Image))
        }
        Event::Start(Tag::CodeBlock(kind)) => {
            in_source += 1;
            Some(Event::Start(Tag::CodeBlock(kind)))
        }
        Event::End(TagEnd::CodeBlock) => {
            in_source = in_source.saturating_sub(1);
            Some(Event::End(TagEnd::CodeBlock))
        }
        Event::Start(Tag::Link { dest_url, title, id, link_type }) => {
            let dest_url = marked.source(dest_url);
            let dest_url = if goes_somewhere(&dest_url, link_type) { dest_url } else { CowStr::from("#") };
            Some(Event::Start(Tag::Link { dest_url, title: marked.source(title), id, link_type }))
        }
        other => Some(other),
    });
    let mut written = String::new();
    html::push_html(&mut written, tame);
    written
}

/// Whether a link is an http(s) URL, a mail address or an anchor. All other links become `#`.
fn goes_somewhere(to: &str, link_type: LinkType) -> bool {
    let to = to.to_ascii_lowercase();
    link_type == LinkType::Email
        || ["http://", "https://", "mailto:", "#"].iter().any(|begin| to.starts_with(begin))
}

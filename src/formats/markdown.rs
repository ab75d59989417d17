//! Markdown: attached pictures, and rendering to HTML. HTML inside markdown is shown as text.

use super::text_of;
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::rc::Rc;

/// Mime types of pictures that our page shows.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Plain text as markdown that shows it unchanged.
pub(super) fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}\n{text}\n{fence}")
}

/// Precedes the name of an attached picture in markdown.
const MARK: &str = "](attachment:";
/// Maximum number of `)` in the name of a picture.
const MAX_CLOSINGS: usize = 8;
/// Maximum length of the name of a picture, in bytes.
const MAX_NAME_BYTES: usize = 512;

/// Puts attached pictures into a text while `fits` accepts their bytes. Scans the text once,
/// however many pictures there are, and each picture once, however often it is named.
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

/// The attachment whose name begins a text and ends before a `)`, and the name's length in the
/// text.
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
    let (mime, data) = PICTURES.iter().find_map(|mime| Some((mime, bundle.get(*mime)?)))?;
    let data: String = text_of(data).split_whitespace().collect();
    let is_base64 = data.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    is_base64.then(|| format!("data:{mime};base64,{data}"))
}

/// Renders a text to HTML that fetches and runs nothing.
pub(super) fn to_html(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut left_out = 0_usize;
    let tame = Parser::new_ext(text, options).filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Image { dest_url, title, id, link_type }) => {
            // Pictures from elsewhere are not fetched: their alternative text replaces them.
            let is_here = PICTURES.iter().any(|mime| dest_url.starts_with(&format!("data:{mime};base64,")));
            if !is_here || left_out > 0 {
                left_out += 1;
                return None;
            }
            Some(Event::Start(Tag::Image { dest_url, title, id, link_type }))
        }
        Event::End(TagEnd::Image) if left_out > 0 => {
            left_out -= 1;
            None
        }
        Event::Start(Tag::Link { dest_url, title, id, link_type }) => {
            let dest_url = if goes_somewhere(&dest_url, link_type) { dest_url } else { CowStr::from("#") };
            Some(Event::Start(Tag::Link { dest_url, title, id, link_type }))
        }
        other => Some(other),
    });
    let mut written = String::new();
    html::push_html(&mut written, tame);
    written
}

/// Whether a link has a harmless scheme.
fn goes_somewhere(to: &str, link_type: LinkType) -> bool {
    let to = to.to_ascii_lowercase();
    link_type == LinkType::Email
        || ["http://", "https://", "mailto:", "#"].iter().any(|begin| to.starts_with(begin))
}

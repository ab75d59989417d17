//! Markdown: attached pictures, and rendering to HTML. HTML inside markdown is shown as text.

use super::text_of;
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::rc::Rc;

/// Mime types of pictures that Ratoon's page shows.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Plain text as a fenced block of markdown, which shows the text unchanged.
pub(super) fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}\n{text}\n{fence}")
}

/// The text before the name of an attached picture in markdown.
const MARK: &str = "](attachment:";
/// Maximum number of `)` that are tried as the end of a picture's name.
const MAX_CLOSINGS: usize = 8;
/// Maximum length of the name of a picture, in bytes.
const MAX_NAME_BYTES: usize = 512;

/// Replaces references to attached pictures by the pictures, as data URLs. `fits` is called with
/// the length of each URL in bytes; if it returns false, the reference stays. Reads the text once
/// and each picture once, however many references there are.
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

/// Finds the attachment whose name a text begins with, followed by `)`. Returns the length of the
/// name in the text, the name, and the attachment.
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
            // Only pictures in data URLs are shown. Others become their alternative text.
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

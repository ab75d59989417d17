//! Finds the pictures that texts show: attachments of the notebook, and files in the directory in
//! which cells run.

use crate::directory::{Directory, FilePath};
use crate::formats::{Document, Format, Picture, Pictures, attachment_name, local_path};
use crate::store::Attachments;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};

/// Maximum length of a picture that is shown, in bytes.
pub(crate) const MAX_PICTURE_BYTES: u64 = 16 * 1024 * 1024;

/// Maximum length of all pictures of an exported document, in bytes. They are in memory while the
/// document is written.
const MAX_TOTAL_BYTES: usize = 64 * 1024 * 1024;

/// Media types of the pictures that browsers show, by the suffix of their files.
const MEDIA_TYPES: [(&str, &str); 9] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("svg", "image/svg+xml"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("ico", "image/x-icon"),
];

/// The suffix of a picture's name in lower case, and its media type; `None` if the file is none.
pub(crate) fn media_type(name: &str) -> Option<(&'static str, &'static str)> {
    let suffix = name.rsplit_once('.')?.1.to_ascii_lowercase();
    MEDIA_TYPES.iter().find(|(own, _)| *own == suffix).copied()
}

/// Reads a picture; `None` if it is too long.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn read(file: File) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(MAX_PICTURE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_PICTURE_BYTES).then_some(bytes))
}

/// The pictures that a document in this format contains: an `.ipynb` has the attachments, a page
/// also files of the directory.
pub(crate) fn of_document(
    document: &Document,
    format: Format,
    attachments: &Attachments,
    directory: &Directory,
) -> Pictures {
    let directory = match format {
        Format::Script => return Pictures::new(),
        Format::Ipynb => None,
        Format::Html => Some(directory),
    };
    load(&document.picture_addresses(), attachments, directory)
}

/// The pictures with these addresses, as far as they exist and fit. Without `directory` only
/// attachments.
fn load(addresses: &BTreeSet<String>, attachments: &Attachments, directory: Option<&Directory>) -> Pictures {
    let mut room = MAX_TOTAL_BYTES;
    let mut pictures = Pictures::new();
    for address in addresses {
        let found = match attachment_name(address) {
            Some(name) => attachments.get(name).ok().flatten().map(|bytes| (name.to_owned(), bytes)),
            None => directory.and_then(|directory| in_directory(directory, address)),
        };
        let Some((name, bytes)) = found.filter(|(_, bytes)| bytes.len() <= room) else { continue };
        let Some((_, mime)) = media_type(&name) else { continue };
        room -= bytes.len();
        pictures.insert(address.clone(), Picture { mime, base64: STANDARD.encode(bytes) });
    }
    pictures
}

fn in_directory(directory: &Directory, address: &str) -> Option<(String, Vec<u8>)> {
    let path = FilePath::parse(&local_path(address)?).ok()?;
    media_type(path.name())?;
    let bytes = read(directory.open(&path).ok()?).ok()??;
    Some((path.name().to_owned(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_have_a_media_type() {
        assert_eq!(media_type("a.b.PNG"), Some(("png", "image/png")));
        for other in ["png", "a.html", "a.svgz", "a.png.html", "a.", ""] {
            assert_eq!(media_type(other), None, "{other}");
        }
    }
}

//! The pictures that the text cells of a notebook show: attachments, which users paste into a text,
//! and files in the directory in which cells run.

use super::state_files::file_name;
use crate::directory::FilePath;
use crate::formats::{local_path, picture_addresses};
use crate::http::app_state::AppState;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::held_body::sent_with;
use crate::http::request::{Caller, PathParams, each_chunk, query_value};
use crate::notebook::{DraftKind, Notebook};
use crate::pictures::{MAX_PICTURE_BYTES, media_type, read};
use crate::problem::{Kind, Problem};
use crate::session::Scope;
use actix_web::body::SizedStream;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;
use std::io;
use utoipa::ToSchema;

/// An attachment's name begins with the name of the uploaded file. Maximum length of that part, in
/// characters.
const MAX_STEM_CHARS: usize = 40;

/// An attachment of a notebook.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Attached {
    /// A text shows the picture with `![…](attachment:NAME)`.
    name: String,
}

/// Attaches a picture to a notebook, so that its text cells can show it.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/attachments", tag = "notebooks",
    params(
        ("name" = String, Path),
        ("file" = String, Query, description = "The name of the picture's file, with its suffix"),
    ),
    request_body(content = String, content_type = "application/octet-stream", description = "The picture"),
    responses(
        (status = 201, description = "The picture is attached", body = Attached),
        (status = 400, description = "The file is not a picture", body = ErrorBody),
        (status = 404, description = "No such notebook", body = ErrorBody),
        (status = 413, description = "The picture is too long, or there are too many", body = ErrorBody),
        (status = 507, description = "The disk is full", body = ErrorBody),
    )
)]
pub(crate) async fn attach(
    request: HttpRequest,
    body: web::Payload,
    app: web::Data<AppState>,
    path: PathParams,
) -> HttpResult {
    let file = query_value(&request, "file").unwrap_or_default();
    let Some((suffix, _)) = media_type(&file) else {
        let why = format!("{file:?} is not the name of a picture");
        return Err(Problem::bad_request("attach a picture", why, "attach a PNG, JPEG, GIF, SVG or WebP"));
    };
    let session = AppState::notebook(&app, path.get(0)).await?;
    let _permit = app.file_permit()?;
    let mut bytes = Vec::new();
    each_chunk(&request, body.into_inner(), async |chunk| {
        bytes.extend_from_slice(&chunk);
        Ok(())
    })
    .await?;
    if bytes.is_empty() {
        return Err(Problem::bad_request("attach a picture", "it is empty", "attach another picture"));
    }
    let attachments = session.files().attachments.clone();
    let name = app.threads.run(move || attachments.add(&stem(&file), suffix, &bytes)).await??;
    Ok(HttpResponse::Created().json(Attached { name }))
}

/// The part of a file's name before its suffix, with letters and digits only, so that it needs no
/// escapes in Markdown.
fn stem(file: &str) -> String {
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let plain: String = stem.chars().take(MAX_STEM_CHARS).map(plain).collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "image".to_owned() } else { plain.to_owned() }
}

/// Sends an attached picture.
#[utoipa::path(
    get, path = "/api/notebooks/{name}/attachments/{attachment}", tag = "notebooks",
    params(("name" = String, Path), ("attachment" = String, Path)),
    responses(
        (status = 200, description = "The picture", content_type = "image/png"),
        (status = 404, description = "No such notebook or attachment", body = ErrorBody),
    )
)]
pub(crate) async fn attachment(app: web::Data<AppState>, caller: Caller, path: PathParams) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let (attachments, name) = (session.files().attachments.clone(), path.get(1).to_owned());
    let whole = app.whole_for(caller.access()?, 1).await?;
    let found = app.threads.run(move || attachments.get(&name)).await?;
    let bytes = found.map_err(|error| unreadable(&error))?;
    picture(path.get(1), bytes, whole)
}

/// Sends a picture of the directory in which cells run. With a `view` link only pictures that a
/// text cell of the notebook shows.
#[utoipa::path(
    get, path = "/api/notebooks/{name}/pictures/{path}", tag = "notebooks",
    params(("name" = String, Path), ("path" = String, Path)),
    responses(
        (status = 200, description = "The picture", content_type = "image/png"),
        (status = 400, description = "Not a plain path, or a link", body = ErrorBody),
        (status = 403, description = "No text cell of the notebook shows the picture", body = ErrorBody),
        (status = 404, description = "No such notebook or picture", body = ErrorBody),
    )
)]
pub(crate) async fn local(app: web::Data<AppState>, caller: Caller, path: PathParams) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let file = FilePath::parse(path.get(1))?;
    let name = file.name().to_owned();
    if media_type(&name).is_none() {
        return picture(&name, None, ());
    }
    let access = caller.access()?;
    // A `run` link may read every file, through cells.
    if access.scope < Scope::Run {
        let (wanted, suffix) = (file.to_string(), name.rsplit_once('.').map_or("", |(_, s)| s).to_owned());
        let texts = session.read(move |notebook| texts_with(notebook, &suffix)).await?;
        let shows = move |text: &String| {
            picture_addresses(text).iter().any(|address| local_path(address).as_deref() == Some(&*wanted))
        };
        // Parsing many texts takes longer than other requests should wait for the notebook.
        if !app.threads.run(move || texts.iter().any(shows)).await? {
            let why = "no text cell of the notebook shows this picture";
            return Err(Problem::new(Kind::Forbidden, "show a picture", why, "ask the owner for it"));
        }
    }
    let whole = app.whole_for(access, 1).await?;
    let directory = app.directory.clone();
    let opened = app.threads.run(move || directory.open(&file).map(read)).await??;
    picture(&name, opened.map_err(|error| unreadable(&error))?, whole)
}

/// The text cells of a notebook that contain a suffix, as one that shows a file with the suffix
/// does.
fn texts_with(notebook: &Notebook, suffix: &str) -> Vec<String> {
    let prose = notebook.states().flat_map(|state| &state.prose);
    let drafts = notebook.drafts().filter(|draft| draft.kind == DraftKind::Markdown);
    let texts = prose.chain(drafts.map(|draft| &draft.source));
    texts.filter(|text| text.contains(suffix)).cloned().collect()
}

/// The answer with a picture. The whole picture is in memory until it has been sent. Then `permit`
/// is dropped.
fn picture<T: 'static>(name: &str, bytes: Option<Vec<u8>>, permit: T) -> HttpResult {
    let what = || format!("show the picture {name:?}");
    let Some(bytes) = bytes else {
        let why = format!("there is no such picture, or it is longer than {MAX_PICTURE_BYTES} bytes");
        return Err(Problem::not_found(what(), why));
    };
    let Some((_, media_type)) = media_type(name) else {
        return Err(Problem::not_found(what(), "it is not a picture"));
    };
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, media_type))
        .insert_header((CONTENT_DISPOSITION, file_name(name, "")))
        .body(SizedStream::new(bytes.len() as u64, sent_with(bytes.into(), permit))))
}

fn unreadable(error: &io::Error) -> Problem {
    Problem::new(Kind::Disk, "read a picture", error.to_string(), "check the permissions of the file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_attachment_needs_no_escapes() {
        for (file, name) in [
            ("image.png", "image"),
            ("Screenshot (1) é.png", "Screenshot--1"),
            ("../../x.png", "x"),
            (".png", "image"),
            ("a](b.png", "a--b"),
        ] {
            assert_eq!(stem(file), name);
        }
        assert_eq!(stem(&"x".repeat(300)).len(), MAX_STEM_CHARS);
    }
}

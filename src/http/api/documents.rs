//! Exports a lineage as a file for other programs, and imports such a file as a new notebook.

use super::state_files::file_name;
use crate::clock::now_ms;
use crate::formats::{Document, Exported, Format};
use crate::http::app_state::{AppState, MAX_WHOLES, detached};
use crate::http::authorize::find_state;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::held_body::sent_with;
use crate::http::limits;
use crate::http::request::{Caller, PathParams, each_chunk, query_value};
use crate::notebook::Notebook;
use crate::pictures;
use crate::problem::Problem;
use crate::store::read_imported_file;

use actix_web::body::SizedStream;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The answer to `POST /api/notebooks/import`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Imported {
    /// The name of the new notebook.
    name: String,
    /// Descriptions, as sentences, of the file's content that was not imported.
    left_out: Vec<String>,
}

/// Sends the lineage of a state, with its drafts, as a file: an `.ipynb` with outputs, a `.py`, or
/// an HTML page. With `branches=all`, sends one HTML page with all branches of the notebook, which
/// shows this lineage at first.
#[utoipa::path(
    get, path = "/api/notebooks/{name}/states/{id}/document", tag = "notebooks",
    params(
        ("name" = String, Path), ("id" = String, Path, description = "Name or id"),
        ("as" = Option<String>, Query, description = "`ipynb` (default), `py` or `html`"),
        ("branches" = Option<String>, Query, description = "`all`, only as `html`"),
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/x-ipynb+json"),
        (status = 400, description = "There is no such format, or not with all branches", body = ErrorBody),
        (status = 404, description = "No such notebook or state", body = ErrorBody),
        (status = 503, description = "Too many uploads and downloads", body = ErrorBody),
    )
)]
pub(crate) async fn document(
    request: HttpRequest,
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
) -> HttpResult {
    let word = query_value(&request, "as").unwrap_or_else(|| Format::Ipynb.word().to_owned());
    let Some(format) = Format::from_word(&word) else {
        let how = "use `ipynb`, `py` or `html`";
        return Err(Problem::bad_request("write a file", format!("there is no format {word:?}"), how));
    };
    let all_branches = match query_value(&request, "branches").as_deref() {
        None => false,
        Some("all") if format == Format::Html => true,
        Some("all") => {
            let why = format!("the format {word:?} has no branches");
            return Err(Problem::bad_request("write all branches to a file", why, "add `as=html`"));
        }
        Some(other) => {
            let why = format!("there is no choice {other:?}");
            return Err(Problem::bad_request(
                "choose the branches",
                why,
                "use `branches=all`, or leave it out",
            ));
        }
    };
    let session = AppState::notebook(&app, path.get(0)).await?;
    let state = find_state(&session, path.get(1)).await?.id;
    // The whole text is in memory until it has been sent. So a client with a share link takes all
    // permits, and only one document is sent to such clients at a time.
    let whole = app.whole_for(caller.access()?, MAX_WHOLES).await?;
    let permit = app.file_permit()?;
    let read = move |notebook: &Notebook| {
        let file = notebook.imported_file().filter(|_| format == Format::Ipynb).cloned();
        (Exported::of(notebook, &state, all_branches), file)
    };
    let (mut exported, imported) = session.read(read).await?;
    let blobs = session.files().blobs.clone();
    let (attachments, directory) = (session.files().attachments.clone(), app.directory.clone());
    let write = move || {
        let document = exported.document();
        document.pictures = pictures::of_document(document, format, &attachments, &directory);
        document.file = imported.and_then(|file| read_imported_file(&blobs, &file));
        (exported.write(format), exported.suffix(format))
    };
    let (text, suffix) = app.threads.run(write).await?;
    drop(permit);
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, format.media_type()))
        .insert_header((CONTENT_DISPOSITION, file_name(session.name(), &suffix)))
        .body(SizedStream::new(text.len() as u64, sent_with(text.into(), whole))))
}

/// Imports a file as a new notebook. Each cell of the file becomes a draft on the root, with the
/// cell's outputs below the draft. No cell runs.
#[utoipa::path(
    post, path = "/api/notebooks/import", tag = "notebooks",
    params(("name" = String, Query, description = "Name of the new notebook")),
    request_body(
        content = String, content_type = "application/json",
        description = "The `.ipynb`; or, as `text/x-python`, a program whose cells begin with `# %%`"
    ),
    responses(
        (status = 201, description = "The notebook was made", body = Imported),
        (status = 400, description = "The file cannot be read, or the name cannot be used", body = ErrorBody),
        (status = 409, description = "There is a notebook of this name", body = ErrorBody),
        (status = 413, description = "The file is too long", body = ErrorBody),
    )
)]
pub(crate) async fn import(request: HttpRequest, body: web::Payload, app: web::Data<AppState>) -> HttpResult {
    let Some(name) = query_value(&request, "name") else {
        let how = "add `?name=` with the name of the new notebook";
        return Err(Problem::bad_request("import a notebook", "it has no name", how));
    };
    limits::check_notebook_name(&name)?;
    app.check_free(&name)?;
    let permit = app.file_permit()?;
    let is_script = request.headers().get(CONTENT_TYPE).is_some_and(|t| t.as_bytes().starts_with(b"text/"));
    let format = if is_script { Format::Script } else { Format::Ipynb };
    let mut bytes = Vec::new();
    each_chunk(&request, body.into_inner(), async |chunk| {
        bytes.extend_from_slice(&chunk);
        Ok(())
    })
    .await?;
    // The file is parsed before any lock is taken, because parsing may take long. When the client
    // disconnects, `waiting` is dropped, and the parsing stops.
    let waiting = Arc::new(());
    let still_waiting = Arc::downgrade(&waiting);
    let read = app.threads.run(move || {
        let read = Document::read_while(&bytes, format, &|| still_waiting.strong_count() > 0);
        // The permit is returned only when the thread has finished parsing.
        (read, permit)
    });
    let (document, permit) = read.await?;
    let document = document?;
    let imported = detached(create_imported_notebook(app, name, document)).await?;
    drop((permit, waiting));
    Ok(HttpResponse::Created().json(imported))
}

async fn create_imported_notebook(
    app: web::Data<AppState>,
    name: String,
    mut document: Document,
) -> Result<Imported, Problem> {
    let left_out = std::mem::take(&mut document.left_out);
    let own = name.clone();
    let made = app.threads.run(move || {
        let mut new_id = || uuid::Uuid::new_v4().simple().to_string();
        let (file, attachments) = (document.file.take(), document.take_attachments());
        (document.into_notebook(&own, now_ms(), &mut new_id), file, attachments)
    });
    let (notebook, file, attachments) = made.await?;
    let _lock = app.changes.lock().await;
    let sessions = app.sessions.clone();
    app.threads.run(move || sessions.create(&notebook, file.as_deref(), &attachments)).await??;
    Ok(Imported { name, left_out })
}

//! The files in the directory in which cells run: lists, downloads, uploads, renames and deletes
//! them. The owner may, and so may guests who run cells, because their cells can do the same. Where
//! a sandbox keeps cells from writing, guests only read. A `view` link shows no files.

use super::state_files::{PIECE_BYTES, file_name};
use crate::directory::{Deleted, Directory, Entry, EntryKind, FilePath, NOTEBOOK_SUFFIX, NewFile};
use crate::http::app_state::AppState;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::limits;
use crate::http::request::{Caller, Json, NoBody, PathParams, each_chunk, query_value};
use crate::pictures::media_type;
use crate::problem::{Kind, Problem};
use crate::session::Scope;
use actix_web::body::SizedStream;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use utoipa::ToSchema;

/// A folder of the directory.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Folder {
    /// The full path of the directory in which cells run, in which relative paths begin.
    directory: String,
    /// Sorted by name, without hidden files.
    entries: Vec<Entry>,
    /// Number of entries that are not listed: there are too many, or their names cannot be shown.
    more: u64,
    /// Whether the caller may change files.
    may_write: bool,
}

/// A path below the directory.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Located {
    path: String,
}

/// The body of a rename.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPath {
    /// The new path below the directory.
    to: String,
}

/// The answer to a deletion.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Discarded {
    /// The id with which the file can be restored.
    id: String,
}

/// The answer to `GET /api/deleted-files`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeletedFiles {
    /// Newest first.
    deleted: Vec<Deleted>,
}

/// Lists the directory in which cells run. A guest's list has no notebooks that the link does not
/// open.
#[utoipa::path(get, path = "/api/folders", tag = "files", responses((status = 200, body = Folder)))]
pub(crate) async fn root(app: web::Data<AppState>, caller: Caller) -> HttpResult {
    list_folder(&app, &caller, FilePath::root()).await
}

/// Lists a folder below the directory in which cells run. Hidden files are not listed.
#[utoipa::path(
    get, path = "/api/folders/{path}", tag = "files", params(("path" = String, Path)),
    responses(
        (status = 200, body = Folder),
        (status = 400, description = "Not a plain path, a link, or a notebook", body = ErrorBody),
        (status = 404, description = "No such folder", body = ErrorBody),
    )
)]
pub(crate) async fn folder(app: web::Data<AppState>, caller: Caller, path: PathParams) -> HttpResult {
    list_folder(&app, &caller, FilePath::parse(path.get(0))?).await
}

async fn list_folder(app: &web::Data<AppState>, caller: &Caller, path: FilePath) -> HttpResult {
    let access = caller.access()?;
    let may_write = check_may_write(app, caller).await.is_ok();
    let is_root = path.components().is_empty();
    let mut listing = on_disk(app, move |directory| directory.list(&path)).await?;
    if access.scope < Scope::Owner {
        // A server opens only the notebooks of the directory itself.
        let opens = |name: &str| name.strip_suffix(NOTEBOOK_SUFFIX).is_some_and(|name| access.opens(name));
        listing.entries.retain(|one| one.kind != EntryKind::Notebook || is_root && opens(&one.name));
    }
    let directory = app.directory.root().display().to_string();
    Ok(HttpResponse::Ok().json(Folder { directory, entries: listing.entries, more: listing.more, may_write }))
}

/// Checks that a caller may change files. The sandbox restricts cells and not this server, so a
/// guest may only if cells may.
async fn check_may_write(app: &AppState, caller: &Caller) -> Result<(), Problem> {
    let limits = app.sandbox.as_ref().and_then(|rules| rules.write.clone());
    let Some(dirs) = limits.filter(|_| caller.access.as_ref().is_none_or(|own| own.scope < Scope::Owner))
    else {
        return Ok(());
    };
    on_disk(app, move |directory| {
        let root = directory.root().canonicalize().unwrap_or_default();
        if dirs.iter().any(|dir| root.starts_with(dir)) {
            return Ok(());
        }
        let why = "the server was started with `--write`, and cells may not write in this directory";
        Err(Problem::new(Kind::Forbidden, "change the files", why, "ask the owner"))
    })
    .await
}

/// Makes a folder.
#[utoipa::path(
    post, path = "/api/folders/{path}", tag = "files", params(("path" = String, Path)),
    responses(
        (status = 201, description = "The folder was made", body = Located),
        (status = 400, description = "The name cannot be used", body = ErrorBody),
        (status = 404, description = "The folder around it does not exist", body = ErrorBody),
        (status = 409, description = "The name is taken", body = ErrorBody),
        (status = 507, description = "The disk is full", body = ErrorBody),
    )
)]
pub(crate) async fn make_folder(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    _: NoBody,
) -> HttpResult {
    check_may_write(&app, &caller).await?;
    let path = new_path(path.get(0))?;
    let located = Located { path: path.to_string() };
    on_disk(&app, move |directory| directory.make_folder(&path)).await?;
    Ok(HttpResponse::Created().json(located))
}

/// Downloads a file. Pictures have their media type; all other files are
/// `application/octet-stream`, so that a browser saves them.
#[utoipa::path(
    get, path = "/api/files/{path}", tag = "files", params(("path" = String, Path)),
    responses(
        (status = 200, description = "The file", content_type = "application/octet-stream"),
        (status = 400, description = "Not a plain path, not a file, or a link", body = ErrorBody),
        (status = 404, description = "No such file", body = ErrorBody),
    )
)]
pub(crate) async fn download(app: web::Data<AppState>, path: PathParams) -> HttpResult {
    let path = FilePath::parse(path.get(0))?;
    let media_type = media_type(path.name()).map_or("application/octet-stream", |(_, media_type)| media_type);
    let name = file_name(path.name(), "");
    let (file, bytes) = on_disk(&app, move |directory| {
        let file = directory.open(&path)?;
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        Ok((file, bytes))
    })
    .await?;
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, media_type))
        .insert_header((CONTENT_DISPOSITION, name))
        .body(SizedStream::new(bytes, pieces(app, file, bytes))))
}

/// Reads a file piece by piece, each when the one before it was sent. So a slow client occupies no
/// thread.
fn pieces(app: web::Data<AppState>, file: File, bytes: u64) -> impl Stream<Item = io::Result<Bytes>> {
    stream::try_unfold((app, file, bytes), async |(app, mut file, left)| {
        let length = usize::try_from(left).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
        if length == 0 {
            return Ok(None);
        }
        let read = move || {
            let mut piece = vec![0; length];
            let count = file.read(&mut piece)?;
            piece.truncate(count);
            Ok::<_, io::Error>((Bytes::from(piece), file))
        };
        let (piece, file) = app.threads.run(read).await.map_err(io::Error::other)??;
        if piece.is_empty() {
            // Another program has made the file shorter.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let left = left - piece.len() as u64;
        Ok(Some((piece, (app, file, left))))
    })
}

/// Uploads a file. The file gets its name when all of it is on disk. A file that it replaces goes
/// into the trash.
#[utoipa::path(
    put, path = "/api/files/{path}", tag = "files",
    params(
        ("path" = String, Path),
        ("replace" = Option<bool>, Query, description = "Whether a file of this name may be replaced"),
    ),
    request_body(content = String, content_type = "application/octet-stream", description = "The file"),
    responses(
        (status = 200, description = "The file replaced another one", body = Located),
        (status = 201, description = "The file was made", body = Located),
        (status = 400, description = "The name cannot be used", body = ErrorBody),
        (status = 404, description = "The folder does not exist", body = ErrorBody),
        (status = 409, description = "The name is taken", body = ErrorBody),
        (status = 413, description = "The file is too long", body = ErrorBody),
        (status = 503, description = "Too many uploads and downloads", body = ErrorBody),
        (status = 507, description = "The disk is full; nothing was changed", body = ErrorBody),
    )
)]
pub(crate) async fn upload(
    request: HttpRequest,
    body: web::Payload,
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
) -> HttpResult {
    check_may_write(&app, &caller).await?;
    let path = new_path(path.get(0))?;
    let replaces = query_value(&request, "replace").is_some_and(|value| value == "true");
    let _permit = app.file_permit()?;
    let located = Located { path: path.to_string() };
    let file = on_disk(&app, move |directory| directory.create(&path, replaces)).await?;
    let file = receive(&request, body, &app, file).await?;
    let replaced = app.threads.run(move || file.finish(replaces)).await??;
    let mut response = if replaced { HttpResponse::Ok() } else { HttpResponse::Created() };
    Ok(response.json(located))
}

/// Writes a body to a file, in pieces.
async fn receive(
    request: &HttpRequest,
    body: web::Payload,
    app: &AppState,
    file: NewFile,
) -> Result<NewFile, Problem> {
    let mut file = Some(file);
    let mut piece = BytesMut::new();
    let mut write = async |bytes: Bytes| {
        let Some(mut own) = file.take() else { return Ok(()) };
        file = Some(app.threads.run(move || own.write(&bytes).map(|()| own)).await??);
        Ok::<(), Problem>(())
    };
    each_chunk(request, body.into_inner(), async |chunk| {
        piece.extend_from_slice(&chunk);
        if piece.len() >= PIECE_BYTES {
            write(std::mem::take(&mut piece).freeze()).await?;
        }
        Ok(())
    })
    .await?;
    write(piece.freeze()).await?;
    file.ok_or_else(|| Problem::internal("a part of the server failed"))
}

/// Renames or moves a file or a folder. Never replaces another one.
#[utoipa::path(
    post, path = "/api/files/{path}", tag = "files", params(("path" = String, Path)), request_body = NewPath,
    responses(
        (status = 200, description = "The file has the new path", body = Located),
        (status = 400, description = "The name cannot be used", body = ErrorBody),
        (status = 404, description = "No such file or folder", body = ErrorBody),
        (status = 409, description = "The name is taken, or is on another disk", body = ErrorBody),
    )
)]
pub(crate) async fn rename(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(body): Json<NewPath>,
) -> HttpResult {
    check_may_write(&app, &caller).await?;
    let (from, to) = (FilePath::parse(path.get(0))?, new_path(&body.to)?);
    on_disk(&app, move |directory| directory.rename(&from, &to)).await?;
    Ok(HttpResponse::Ok().json(Located { path: body.to }))
}

/// Moves a file or a folder into the trash.
#[utoipa::path(
    delete, path = "/api/files/{path}", tag = "files", params(("path" = String, Path)),
    responses(
        (status = 200, description = "The file is in the trash", body = Discarded),
        (status = 400, description = "Not a plain path, or a notebook", body = ErrorBody),
        (status = 404, description = "No such file or folder", body = ErrorBody),
        (status = 409, description = "The file is on another disk than the trash", body = ErrorBody),
    )
)]
pub(crate) async fn remove(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    _: NoBody,
) -> HttpResult {
    check_may_write(&app, &caller).await?;
    let path = FilePath::parse(path.get(0))?;
    let id = on_disk(&app, move |directory| directory.discard(&path)).await?;
    Ok(HttpResponse::Ok().json(Discarded { id }))
}

/// Lists the deleted files.
#[utoipa::path(get, path = "/api/deleted-files", tag = "files", responses((status = 200, body = DeletedFiles)))]
pub(crate) async fn deleted(app: web::Data<AppState>) -> HttpResult {
    let deleted = on_disk(&app, |directory| Ok(directory.deleted())).await?;
    Ok(HttpResponse::Ok().json(DeletedFiles { deleted }))
}

/// Restores a deleted file at its old path, or with a similar name if the old one is taken.
#[utoipa::path(
    post, path = "/api/deleted-files/{id}/restore", tag = "files", params(("id" = String, Path)),
    responses(
        (status = 200, description = "The file has this path", body = Located),
        (status = 404, description = "No such deleted file", body = ErrorBody),
    )
)]
pub(crate) async fn restore(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    _: NoBody,
) -> HttpResult {
    check_may_write(&app, &caller).await?;
    let id = path.get(0).to_owned();
    let path = on_disk(&app, move |directory| directory.restore(&id)).await?;
    Ok(HttpResponse::Ok().json(Located { path }))
}

/// Deletes a deleted file permanently.
#[utoipa::path(
    delete, path = "/api/deleted-files/{id}", tag = "files", params(("id" = String, Path)),
    responses(
        (status = 204, description = "The file was deleted"),
        (status = 404, description = "No such deleted file", body = ErrorBody),
    )
)]
pub(crate) async fn purge(app: web::Data<AppState>, path: PathParams, _: NoBody) -> HttpResult {
    let id = path.get(0).to_owned();
    on_disk(&app, move |directory| directory.purge(&id)).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// A path whose last component is a new name.
fn new_path(text: &str) -> Result<FilePath, Problem> {
    let path = FilePath::parse(text)?;
    limits::check_file_name(path.name())?;
    Ok(path)
}

/// Works on the directory, to the end also if the client disconnects.
async fn on_disk<T: Send + 'static>(
    app: &AppState,
    work: impl FnOnce(&Directory) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let directory = app.directory.clone();
    app.threads.run(move || work(&directory)).await?
}

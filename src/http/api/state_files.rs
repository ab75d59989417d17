//! Exports a state as a file, and imports a state from such a file.

use crate::blocking_pool::BlockingPool;
use crate::http::app_state::{AppState, detached};
use crate::http::authorize::{find_state, unexpected};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::limits;
use crate::http::percent::percent_encoded;
use crate::http::request::{PathParams, each_chunk, query_value};
use crate::notebook::{Form, Reply};
use crate::problem::{Kind, Problem};
use crate::session::{Adopted, Session};
use actix_web::body::SizedStream;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::stream;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// File extension of exported states.
const SUFFIX: &str = ".ratoon-state";

/// Size of the pieces in which a file is sent and written, in bytes.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// Maximum number of pieces of one download that wait for the network.
const PIECES: usize = 4;

/// Maximum total length of the code of an imported lineage, in bytes.
const MAX_CODE_BYTES: usize = 16 << 20;

/// Sends a state's checkpoint as one file. If `environ` is true, the file also contains the
/// environment variables that the state's code changed.
#[utoipa::path(
    get, path = "/api/notebooks/{name}/states/{id}/export", tag = "notebooks",
    params(
        ("name" = String, Path), ("id" = String, Path, description = "Name or id"),
        ("form" = Option<String>, Query, description = "`environment` (default) or `data`"),
        ("environ" = Option<bool>, Query),
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/x-ratoon-state"),
        (status = 400, description = "The state's checkpoint does not have this form", body = ErrorBody),
        (status = 404, description = "No such state, or the state has no checkpoint", body = ErrorBody),
        (status = 410, description = "The state's checkpoint is damaged", body = ErrorBody),
    )
)]
pub(crate) async fn export(request: HttpRequest, app: web::Data<AppState>, path: PathParams) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let state = find_state(&session, path.get(1)).await?;
    let query = |key| query_value(&request, key);
    let form = match query("form").as_deref() {
        None | Some("environment") => Form::Environment,
        Some("data") => Form::Data,
        Some(_) => {
            let (why, how) = ("there is no such form", "use `environment` or `data`");
            return Err(Problem::bad_request("export a state", why, how));
        }
    };
    let permit = app.file_permit()?;
    let environ = query("environ").is_some_and(|v| v == "true");
    let export = session.export(&state.id, form, environ).await?;
    let bytes = export.bytes;
    let (sender, mut pieces) = mpsc::channel(PIECES);
    // The write ends when the whole file is sent. A client that disconnects also ends the write,
    // because it closes the channel.
    app.threads.spawn(move || {
        let failure = sender.clone();
        if let Err(error) = export.write(&mut BufWriter::with_capacity(PIECE_BYTES, PieceSender(sender))) {
            let _ = failure.blocking_send(Err(error));
        }
        drop(permit);
    });
    let name = file_name(state.label.as_deref().unwrap_or(&state.name), SUFFIX);
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/x-ratoon-state"))
        .insert_header((CONTENT_DISPOSITION, name))
        .body(SizedStream::new(bytes, stream::poll_fn(move |cx| pieces.poll_recv(cx)))))
}

/// Imports a state from a file. The answer has the shape of the reply to a run. The state's
/// checkpoint is not trusted. Until the user trusts the notebook, only the checkpoint's plain
/// values are loaded.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/import", tag = "notebooks", params(("name" = String, Path)),
    request_body(content = String, content_type = "application/x-ratoon-state", description = "The file"),
    responses(
        (status = 200, description = "The notebook has the new state", body = Reply),
        (
            status = 400,
            description = "The file is cut off, altered, or not a state; nothing is kept",
            body = ErrorBody,
        ),
        (status = 404, description = "No such notebook", body = ErrorBody),
        (status = 413, description = "The file is too long", body = ErrorBody),
        (status = 507, description = "The state could not be written to the disk", body = ErrorBody),
    )
)]
pub(crate) async fn import(
    request: HttpRequest,
    body: web::Payload,
    app: web::Data<AppState>,
    path: PathParams,
) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let permit = app.file_permit()?;
    let mut upload = Upload::begin(app.threads.clone(), session.temporary()).await?;
    let mut piece = BytesMut::new();
    each_chunk(&request, body.into_inner(), async |chunk| {
        piece.extend_from_slice(&chunk);
        if piece.len() >= PIECE_BYTES {
            upload.write(std::mem::take(&mut piece).freeze()).await?;
        }
        Ok(())
    })
    .await?;
    upload.write(piece.freeze()).await?;
    match detached(add_imported_state(session, upload, permit)).await? {
        reply @ Reply::Ended(_) => Ok(HttpResponse::Ok().json(reply)),
        other => Err(unexpected(other)),
    }
}

async fn add_imported_state(
    session: Session,
    upload: Upload,
    permit: OwnedSemaphorePermit,
) -> Result<Reply, Problem> {
    let arrived = session.read_state(upload.path.clone()).await?;
    drop((upload, permit));
    if arrived.code.len() > MAX_CODE_BYTES {
        let why = format!("its code has more than {MAX_CODE_BYTES} bytes");
        return Err(Problem::new(Kind::TooLarge, "import a state", why, "import a state with less code"));
    }
    // Drops a label or metadata that exceeds a limit of this server.
    let label = arrived.label.filter(|label| limits::check_label(label).is_ok());
    let mut checkpoint = arrived.checkpoint;
    checkpoint.label = checkpoint.label.filter(|label| limits::check_label(label).is_ok());
    if limits::check_data("metadata", &checkpoint.metadata).is_err() {
        checkpoint.metadata.clear();
    }
    Ok(session.adopt(Adopted { code: arrived.code, outputs: arrived.outputs, label, checkpoint }).await)
}

/// Writes a download to the connection's channel, in pieces.
struct PieceSender(mpsc::Sender<io::Result<Bytes>>);

impl Write for PieceSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A temporary file for an upload. Dropping this value deletes the file.
struct Upload {
    threads: BlockingPool,
    path: PathBuf,
    file: Option<File>,
}

impl Upload {
    async fn begin(threads: BlockingPool, path: PathBuf) -> Result<Self, Problem> {
        let own = path.clone();
        let open = move || OpenOptions::new().write(true).create_new(true).mode(0o600).open(own);
        let file = Some(on_disk(&threads, open).await?);
        Ok(Self { threads, path, file })
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), Problem> {
        if let Some(mut file) = self.file.take() {
            let write = move || file.write_all(&bytes).map(|()| file);
            self.file = Some(on_disk(&self.threads, write).await?);
        }
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // If the file cannot be deleted, the next start of the server deletes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn on_disk<T: Send + 'static>(
    threads: &BlockingPool,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    threads.run(work).await?.map_err(|e| {
        Problem::new(Kind::Disk, "import a file", e.to_string(), "make room on the disk and try again")
    })
}

/// Returns the value of the header `Content-Disposition`, which contains the file's name twice. Old
/// programs read the first form, which is ASCII. Newer programs read the second form, which is
/// exact.
pub(super) fn file_name(label: &str, suffix: &str) -> String {
    let plain: String = label
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || " -_.".contains(c) { c } else { '_' })
        .collect();
    let exact = percent_encoded(label);
    let plain = plain.trim_start_matches('.');
    format!("attachment; filename=\"{plain}{suffix}\"; filename*=UTF-8''{exact}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_the_download_and_nothing_else() {
        assert_eq!(
            file_name("my state 1", SUFFIX),
            "attachment; filename=\"my state 1.ratoon-state\"; filename*=UTF-8''my%20state%201.ratoon-state"
        );
        assert_eq!(
            file_name("../é\"\r\nX: y", SUFFIX),
            "attachment; filename=\"_____X_ y.ratoon-state\"; \
             filename*=UTF-8''..%2F%C3%A9%22%0D%0AX%3A%20y.ratoon-state"
        );
    }
}

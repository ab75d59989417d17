//! Share links and browser sessions on disk, so that both outlive the server.

use super::app_state::AppState;
use super::auth::HeldLink;
use crate::notebook::{KeptCredentials, KeptLink};
use crate::problem::Problem;
use crate::session::Session;
use actix_web::web;
use std::time::Duration;

/// How often the time is kept: by so much a clock that is set back can prolong a link, and a file
/// is written.
const TIME_EVERY: Duration = Duration::from_secs(60);

/// Keeps a notebook's links on disk; with the start notebook's, the browser sessions, but for those
/// of a link that goes.
pub(super) async fn keep(
    app: &AppState,
    session: &Session,
    links: Vec<KeptLink>,
    without: Option<&str>,
) -> Result<(), Problem> {
    let sessions = if session.name() == app.start.name() {
        app.keys.kept_sessions(session.name(), without, app.keys.now())
    } else {
        Vec::new()
    };
    session.keep_credentials(KeptCredentials { links, sessions }).await?;
    note_time(app).await;
    Ok(())
}

/// Keeps the time, so that what has ended by now is not good again when the clock is set back.
async fn note_time(app: &AppState) {
    let (latest, now) = (app.sessions.latest_time().clone(), app.keys.now().wall_ms);
    // Where it cannot be written, links end by the clock of the machine.
    let _ = app.threads.run(move || latest.note(now)).await;
}

/// Keeps the time again and again, while there is a link that ends: when one ends, and every
/// minute.
pub(super) async fn keep_time(app: web::Data<AppState>) {
    loop {
        let next = app.keys.next_end(app.keys.now());
        tokio::time::sleep(next.map_or(TIME_EVERY, |end| end.min(TIME_EVERY))).await;
        if next.is_some() {
            note_time(&app).await;
        }
    }
}

/// Keeps the browser sessions as they are now.
pub(super) async fn keep_sessions(app: web::Data<AppState>) -> Result<(), Problem> {
    let _one = app.changes.lock().await;
    let held = app.keys.held(app.start.name(), app.keys.now());
    keep(&app, &app.start, held.iter().map(HeldLink::to_kept).collect(), None).await
}

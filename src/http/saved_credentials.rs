//! Stores share links, browser sessions and the latest time seen, so that they survive a restart of
//! the server.

use super::app_state::AppState;
use super::auth::HeldLink;
use crate::notebook::{KeptCredentials, KeptLink};
use crate::problem::Problem;
use crate::session::Session;
use actix_web::web;
use std::time::Duration;

/// How often the latest time seen is stored. If the clock is set back during a restart, a link
/// stays valid too long by at most this interval.
const STORE_TIME_INTERVAL: Duration = Duration::from_secs(60);

/// Stores a notebook's links. For the start notebook, also stores all browser sessions, except
/// those that began with the link `without`, which is being revoked.
pub(super) async fn store(
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
    store_time(app).await;
    Ok(())
}

/// Stores the current time, so that expired links stay expired if the clock is set back.
async fn store_time(app: &AppState) {
    let (latest, now) = (app.sessions.latest_time().clone(), app.keys.now().wall_ms);
    // If the time cannot be written, the expiry of links after a restart depends on the machine's
    // clock.
    let _ = app.threads.run(move || latest.note(now)).await;
}

/// Stores the current time every `STORE_TIME_INTERVAL`, and when a link expires. Stores nothing
/// while no link has an expiry.
pub(super) async fn store_time_regularly(app: web::Data<AppState>) {
    loop {
        let next = app.keys.next_end(app.keys.now());
        tokio::time::sleep(next.map_or(STORE_TIME_INTERVAL, |end| end.min(STORE_TIME_INTERVAL))).await;
        if next.is_some() {
            store_time(&app).await;
        }
    }
}

/// Stores the current browser sessions.
pub(super) async fn store_sessions(app: web::Data<AppState>) -> Result<(), Problem> {
    let _lock = app.changes.lock().await;
    let held = app.keys.held(app.start.name(), app.keys.now());
    store(&app, &app.start, held.iter().map(HeldLink::to_kept).collect(), None).await
}

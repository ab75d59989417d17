//! The valid credentials of the server: the owner's token, share links and browser sessions.
//!
//! All credentials are in memory, as hashes, behind one lock that is never held across an await.
//! `saved_credentials` writes the credentials to disk. `guard` decides which requests pass.

use super::access::{Access, Now};
use super::browser_session::{BrowserSession, SESSION_LASTS};
use super::secret::{SecretHash, new_secret};
use super::share_link::{HeldLink, Link, NewLink, SIGN_INS};
use super::throttle::Bucket;
use crate::notebook::{KeptLink, KeptSession};
use crate::session::Scope;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Maximum number of browser sessions of one credential, so that the holder of a link cannot fill
/// the memory. A further session replaces the one that was not used for the longest time.
const MAX_SESSIONS_EACH: usize = 64;

/// How long a session of a link must be unused before another may replace it. The holder of a link
/// must not be able to sign others out.
const UNUSED: Duration = Duration::from_secs(24 * 3600);

/// Maximum number of share links. The server compares the token of a request with the token of
/// every link.
const MAX_LINKS: usize = 256;

/// Length of a link's id, which is unique but no secret.
const ID_LETTERS: usize = 12;

/// All credentials of this server.
#[derive(Debug)]
pub(crate) struct Keys {
    owner: SecretHash,
    /// A text that is stored with each of the owner's browser sessions. A start drops sessions with
    /// another text. If the user chose the token, the text contains the token's hash, so a start
    /// with another token drops the sessions.
    owner_marker: String,
    /// The latest wall-clock time seen before this start, in milliseconds since the Unix epoch.
    /// `started` is the time of this start.
    latest_ms: u64,
    started: Instant,
    kept: Mutex<Credentials>,
    /// A counter of revocations. When it changes, open sockets check their access again.
    revocations: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Credentials {
    links: Vec<HeldLink>,
    /// The browser sessions, in the order in which they began.
    sessions: Vec<BrowserSession>,
}

/// Why a browser session did not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInError {
    /// The link's sessions are all in use.
    #[error("{MAX_SESSIONS_EACH} browsers are signed in by this link, the maximum")]
    TooMany,
    /// The link was used for too many sign-ins just now.
    #[error("there were too many sign-ins by this link just now")]
    TooFast,
    /// The operating system provided no random numbers.
    #[error("the operating system provides no random numbers")]
    NoSecret(#[from] getrandom::Error),
}

/// Why a link was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// There are `MAX_LINKS` links already.
    #[error("there are already {MAX_LINKS} share links, the maximum")]
    TooMany,
    /// The operating system provided no random numbers.
    #[error("the operating system provides no random numbers")]
    NoSecret(#[from] getrandom::Error),
}

impl Keys {
    /// Creates credentials that consist of the owner's token only.
    ///
    /// `was_made` says whether Ratoon generated the token, as it does at each start without
    /// `--token`. `latest_ms` is the latest time seen before this start, in milliseconds. Links
    /// that had expired by then stay expired.
    pub(crate) fn new(owner_token: &str, was_made: bool, latest_ms: u64) -> Self {
        let (revocations, _) = watch::channel(0);
        let owner = SecretHash::of(owner_token);
        let owner_marker = if was_made { "owner".into() } else { format!("owner {owner}") };
        let started = Instant::now();
        Self { owner, owner_marker, latest_ms, started, kept: Mutex::default(), revocations }
    }

    /// The current time, never earlier than the latest time seen.
    pub(crate) fn now(&self) -> Now {
        Now::read().not_before(self.latest_ms, self.started)
    }

    /// The time until the next link expires; `None` if no valid link has an expiry.
    pub(crate) fn next_end(&self, now: Now) -> Option<Duration> {
        let ends = |link: &HeldLink| link.ends.filter(|end| now.at < *end);
        self.lock().links.iter().filter_map(ends).min().map(|end| end.saturating_duration_since(now.at))
    }

    /// The access that a token gives: the owner's, or a link's. `None` for an invalid token.
    pub(crate) fn by_token(&self, token: &str, now: Now) -> Option<Access> {
        let token = SecretHash::of(token);
        if token.is(&self.owner) {
            return Some(Access { scope: Scope::Owner, notebook: None, link: None, session: None });
        }
        let kept = self.lock();
        let link = kept.links.iter().find(|link| link.is_opened_by(&token, now.at))?;
        Some(link.access(None))
    }

    /// The access that a browser session gives; `None` if no valid session has this id.
    pub(crate) fn by_session(&self, id: &str, now: Now) -> Option<Access> {
        let id = SecretHash::of(id);
        let mut kept = self.lock();
        let session = kept.sessions.iter_mut().find(|s| s.id.is(&id) && now.at < s.ends)?;
        session.used = now.at;
        let Some(link) = session.link.clone() else {
            return Some(Access { scope: Scope::Owner, notebook: None, link: None, session: Some(id) });
        };
        let link = kept.links.iter().find(|l| l.shown.id == link && !l.has_ended(now.at))?;
        Some(link.access(Some(id)))
    }

    /// Records `now` as the last use of this access's share link.
    pub(crate) fn note_used(&self, access: &Access, now: Now) {
        let mut kept = self.lock();
        if let Some(link) = kept.links.iter_mut().find(|l| Some(&l.shown.id) == access.link.as_ref()) {
            link.shown.last_used = Some(now.wall_ms);
        }
    }

    /// Begins a browser session with the rights of `access`. Returns the session's id, which goes
    /// into the cookie.
    ///
    /// # Errors
    /// When the link has too many sessions or sign-ins, or the system's random number generator
    /// fails.
    pub(crate) fn begin_session(&self, access: &Access, now: Now) -> Result<String, SignInError> {
        let id = new_secret()?;
        let mut kept = self.lock();
        kept.sessions.retain(|s| now.at < s.ends);
        let same = || kept.sessions.iter().enumerate().filter(|(_, s)| s.link == access.link);
        let least_used = same().map(|(at, s)| (at, s.used)).min_by_key(|(_, used)| *used);
        let replaced = least_used.filter(|_| same().count() >= MAX_SESSIONS_EACH);
        if let Some(link) = &access.link {
            if replaced.is_some_and(|(_, used)| now.at.saturating_duration_since(used) < UNUSED) {
                return Err(SignInError::TooMany);
            }
            let link = kept.links.iter_mut().find(|l| &l.shown.id == link);
            if !link.is_some_and(|link| link.sign_ins.admits(now.at)) {
                return Err(SignInError::TooFast);
            }
        }
        if let Some((at, _)) = replaced {
            kept.sessions.remove(at);
        }
        let (link, ends) = (access.link.clone(), now.at + SESSION_LASTS);
        kept.sessions.push(BrowserSession { id: SecretHash::of(&id), link, ends, used: now.at });
        Ok(id)
    }

    /// Returns the browser sessions to store, so that open tabs stay signed in after a restart of
    /// the server. Leaves out sessions that began with the link `without_link`.
    pub(crate) fn kept_sessions(
        &self,
        notebook: &str,
        without_link: Option<&str>,
        now: Now,
    ) -> Vec<KeptSession> {
        let kept = self.lock();
        let good = kept.sessions.iter().filter(|s| now.at < s.ends);
        let good = good.filter(|s| without_link.is_none() || s.link.as_deref() != without_link);
        let to_kept = |session: &BrowserSession| KeptSession {
            id: format!("{}{}", KeptSession::ID_PREFIX, session.id),
            notebook: notebook.to_owned(),
            cookie_sha256: session.id.to_string(),
            began_with: match &session.link {
                Some(link) => format!("link {link}"),
                None => self.owner_marker.clone(),
            },
            expires_at: now.after(session.ends.saturating_duration_since(now.at)).wall_ms as f64,
        };
        good.map(to_kept).collect()
    }

    /// Ends the browser session of `access`, if `access` has one.
    pub(crate) fn end_session(&self, access: &Access) {
        if let Some(id) = access.session {
            self.lock().sessions.retain(|s| !s.id.is(&id));
            self.revocations.send_modify(|n| *n += 1);
        }
    }

    /// Makes a share link and its token. The link contains only the token's hash, and is not valid
    /// before `add_link`.
    ///
    /// # Errors
    /// When there are too many links, or no random numbers.
    pub(crate) fn make_link(&self, new: NewLink, now: Now) -> Result<(HeldLink, String), LinkError> {
        if self.links(now).len() >= MAX_LINKS {
            return Err(LinkError::TooMany);
        }
        let (id, token) = (new_secret()?, new_secret()?);
        let end = new.lasts.map(|lasts| now.after(lasts));
        let shown = Link {
            // Random, because a stored link that is loaded later must not have the same id.
            id: format!("link-{}", &id[..ID_LETTERS]),
            scope: new.scope,
            notebook: new.notebook,
            label: new.label,
            created_at: now.wall_ms,
            expires_at: end.map(|e| e.wall_ms),
            last_used: None,
        };
        let sign_ins = Bucket::new(SIGN_INS, now.at);
        Ok((HeldLink { shown, token: SecretHash::of(&token), ends: end.map(|e| e.at), sign_ins }, token))
    }

    /// Adds a link. From now on the link is valid.
    pub(crate) fn add_link(&self, link: HeldLink, now: Now) {
        let mut kept = self.lock();
        kept.links.retain(|l| !l.has_ended(now.at));
        kept.links.push(link);
    }

    /// Adds the browser sessions that are stored with the start notebook. Skips a session that
    /// names another notebook: such a record is a copy, and signing out deletes only the original.
    pub(crate) fn load_sessions(&self, start: &str, stored: &[KeptSession], now: Now) {
        let own = stored.iter().filter(|session| session.notebook == start);
        self.lock().sessions.extend(own.filter_map(|session| self.session_from(session, now)));
    }

    /// Adds the links that are stored with a notebook, except links that are already in memory.
    pub(crate) fn load_links(&self, notebook: &str, stored: &[KeptLink], now: Now) {
        let mut kept = self.lock();
        for link in stored.iter().filter_map(|link| HeldLink::from_kept(notebook, link, now)) {
            let is_known = |l: &HeldLink| l.token.is(&link.token) || l.shown.id == link.shown.id;
            if kept.links.len() < MAX_LINKS && !kept.links.iter().any(is_known) {
                kept.links.push(link);
            }
        }
    }

    fn session_from(&self, kept: &KeptSession, now: Now) -> Option<BrowserSession> {
        let link = kept.began_with.strip_prefix("link ").map(str::to_owned);
        if link.is_none() && kept.began_with != self.owner_marker {
            return None;
        }
        let left = Duration::from_millis((kept.expires_at as u64).saturating_sub(now.wall_ms));
        let id = SecretHash::from_hex(&kept.cookie_sha256)?;
        Some(BrowserSession { id, link, ends: now.at + left.min(SESSION_LASTS), used: now.at })
    }

    /// The valid links of a notebook, with the hashes of their tokens.
    pub(crate) fn held(&self, notebook: &str, now: Now) -> Vec<HeldLink> {
        let is_its = |l: &&HeldLink| l.shown.notebook == notebook && !l.has_ended(now.at);
        self.lock().links.iter().filter(is_its).cloned().collect()
    }

    /// The notebook that a link opens; `None` if the link does not exist or has expired.
    pub(crate) fn notebook_of(&self, link: &str, now: Now) -> Option<String> {
        let links = self.links(now);
        links.into_iter().find(|l| l.id == link).map(|l| l.notebook)
    }

    /// The valid links, in creation order.
    pub(crate) fn links(&self, now: Now) -> Vec<Link> {
        self.lock().links.iter().filter(|l| !l.has_ended(now.at)).map(|l| l.shown.clone()).collect()
    }

    /// Revokes a link and all sessions that began with it. Returns whether the link existed.
    pub(crate) fn revoke_link(&self, link: &str) -> bool {
        let mut kept = self.lock();
        let before = kept.links.len();
        kept.links.retain(|l| l.shown.id != link);
        kept.sessions.retain(|s| s.link.as_deref() != Some(link));
        let found = kept.links.len() < before;
        drop(kept);
        self.revocations.send_modify(|n| *n += 1);
        found
    }

    /// Changes the notebook's name in the links of a renamed notebook.
    pub(crate) fn rebind(&self, from: &str, to: &str) {
        for link in self.lock().links.iter_mut().filter(|link| link.shown.notebook == from) {
            to.clone_into(&mut link.shown.notebook);
        }
        // Open sockets still have access to the old name, and must check their access again.
        self.revocations.send_modify(|n| *n += 1);
    }

    /// Revokes the links of a deleted notebook.
    pub(crate) fn revoke_links_of(&self, notebook: &str) {
        let mut kept = self.lock();
        let revoked: Vec<String> =
            kept.links.iter().filter(|l| l.shown.notebook == notebook).map(|l| l.shown.id.clone()).collect();
        kept.links.retain(|link| link.shown.notebook != notebook);
        kept.sessions.retain(|session| session.link.as_ref().is_none_or(|link| !revoked.contains(link)));
        drop(kept);
        self.revocations.send_modify(|n| *n += 1);
    }

    /// Waits until `access` is no longer valid, because its session or link was revoked or has
    /// expired.
    pub(crate) async fn wait_until_invalid(&self, access: &Access) {
        let mut revocations = self.revocations.subscribe();
        loop {
            revocations.mark_unchanged();
            let Some(end) = self.end_of(access, Instant::now()) else { return };
            let ended = async {
                match end {
                    Some(end) => tokio::time::sleep_until(end.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = ended => (),
                // The sender lives in `self`, so the channel cannot close while we wait.
                _ = revocations.changed() => (),
            }
        }
    }

    /// Returns the time when `access` expires: `Some(None)` if it never expires, and `None` if it
    /// has expired or was revoked.
    fn end_of(&self, access: &Access, now: Instant) -> Option<Option<Instant>> {
        let kept = self.lock();
        let session = match access.session {
            Some(id) => Some(kept.sessions.iter().find(|s| s.id.is(&id))?.ends),
            None => None,
        };
        let link = match &access.link {
            Some(id) => kept.links.iter().find(|l| &l.shown.id == id)?.ends,
            None => None,
        };
        let end = [session, link].into_iter().flatten().min();
        (end.is_none_or(|end| now < end)).then_some(end)
    }

    fn lock(&self) -> MutexGuard<'_, Credentials> {
        // Every change is a single statement on a vector, so a panic leaves no half-done change.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn links_on_disk(keys: &Keys, now: Now) -> Vec<KeptLink> {
        keys.held("main", now).iter().map(HeldLink::to_kept).collect()
    }

    fn view_link(lasts: Option<Duration>) -> NewLink {
        NewLink { scope: Scope::View, notebook: "main".into(), label: None, lasts }
    }

    fn add(keys: &Keys, lasts: Option<Duration>, now: Now) -> (Link, String) {
        let (link, token) = keys.make_link(view_link(lasts), now).unwrap();
        let shown = link.shown().clone();
        keys.add_link(link, now);
        (shown, token)
    }

    #[test]
    fn only_the_exact_token_is_the_owner() {
        let (keys, now) = (Keys::new("test123", false, 0), Now::read());
        assert_eq!(keys.by_token("test123", now).unwrap().scope, Scope::Owner);
        for wrong in ["", "test12", "test1234", "TEST123", " test123", "test123\0"] {
            assert!(keys.by_token(wrong, now).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_link_gives_its_scope_on_its_notebook_until_it_ends() {
        let (keys, now) = (Keys::new("owner", false, 0), Now::read());
        let (link, token) = add(&keys, Some(Duration::from_secs(60)), now);
        let access = keys.by_token(&token, now).unwrap();
        assert_eq!((access.scope, access.opens("main"), access.opens("other")), (Scope::View, true, false));
        let id = keys.begin_session(&access, now).unwrap();
        assert!(keys.by_session(&id, now.after(Duration::from_secs(59))).is_some());
        let late = now.after(Duration::from_secs(60));
        assert!(keys.by_token(&token, late).is_none());
        assert!(keys.by_session(&id, late).is_none());
        assert_eq!(link.expires_at, Some(now.wall_ms + 60_000));
        assert!(keys.links(late).is_empty());
    }

    #[test]
    fn a_clock_that_is_set_back_between_two_starts_does_not_make_an_ended_link_good() {
        let (keys, now) = (Keys::new("owner", false, 0), Now::read());
        let (_, token) = add(&keys, Some(Duration::from_secs(60)), now);
        let kept = links_on_disk(&keys, now);
        let set_back = Now { wall_ms: now.wall_ms - 3_600_000, ..now };
        for (seconds_seen, is_good) in [(0, true), (59, true), (60, false), (7200, false)] {
            let latest = now.wall_ms + seconds_seen * 1000;
            let then = set_back.not_before(latest, now.at);
            assert_eq!(then.wall_ms, latest);
            let again = Keys::new("again", false, latest);
            again.load_links("main", &kept, then);
            assert_eq!(again.by_token(&token, then).is_some(), is_good, "{seconds_seen}");
            assert!(again.now().wall_ms >= latest);
        }
        // The time continues from the latest time seen. If the clock shows a later time, that time
        // is used.
        assert_eq!(
            set_back.after(Duration::from_secs(9)).not_before(now.wall_ms, now.at).wall_ms,
            now.wall_ms + 9000
        );
        assert_eq!(now.not_before(now.wall_ms - 1, now.at).wall_ms, now.wall_ms);
    }

    #[test]
    fn setting_the_wall_clock_neither_ends_nor_prolongs_a_link() {
        let (keys, now) = (Keys::new("owner", false, 0), Now::read());
        let (_, token) = add(&keys, Some(Duration::from_secs(60)), now);
        let tomorrow = Now { wall_ms: now.wall_ms + 86_400_000, ..now };
        let yesterday = Now { wall_ms: now.wall_ms - 86_400_000, ..now.after(Duration::from_secs(61)) };
        assert!(keys.by_token(&token, tomorrow).is_some());
        assert!(keys.by_token(&token, yesterday).is_none());
    }

    #[test]
    fn taking_a_link_back_ends_its_sessions_and_no_others() {
        let (keys, now) = (Keys::new("owner", false, 0), Now::read());
        let (link, token) = add(&keys, None, now);
        let of_link = keys.begin_session(&keys.by_token(&token, now).unwrap(), now).unwrap();
        let of_owner = keys.begin_session(&keys.by_token("owner", now).unwrap(), now).unwrap();
        assert!(keys.revoke_link(&link.id));
        assert!(!keys.revoke_link(&link.id));
        assert!(keys.by_token(&token, now).is_none());
        assert!(keys.by_session(&of_link, now).is_none());
        assert!(keys.by_session(&of_owner, now).is_some());
    }

    #[test]
    fn a_kept_link_is_good_again_until_its_end() {
        let (keys, now) = (Keys::new("owner", false, 0), Now::read());
        let (link, token) = add(&keys, Some(Duration::from_secs(60)), now);
        let (_, endless) = add(&keys, None, now);
        let kept = links_on_disk(&keys, now);
        assert!(keys.held("other", now).is_empty());
        assert!(kept.iter().all(|k| !k.token_sha256.contains(&token)));

        let again = Keys::new("another", false, 0);
        let later = now.after(Duration::from_secs(20));
        again.load_links("main", &kept, later);
        // A copy of the notebook contains the same links. The links do not open the copy.
        again.load_links("copy", &kept, later);
        assert!(again.held("copy", later).is_empty());
        assert_eq!(again.links(later)[0], Link { last_used: None, ..link });
        let access = again.by_token(&token, later).unwrap();
        assert_eq!((access.scope, access.opens("main"), access.opens("copy")), (Scope::View, true, false));
        let end = now.after(Duration::from_secs(60));
        assert!(again.by_token(&token, end).is_none());
        assert!(again.by_token(&endless, end).is_some());

        let late = Keys::new("late", false, 0);
        late.load_links("main", &kept, end);
        assert_eq!(late.links(end).len(), 1);
        let odd = |change: fn(&mut KeptLink)| {
            let mut one = kept[1].clone();
            change(&mut one);
            let keys = Keys::new("odd", false, 0);
            keys.load_links("main", &[one], now);
            keys.links(now).len()
        };
        assert_eq!(odd(|_| ()), 1);
        assert_eq!(odd(|l| l.scope = "owner".into()), 0);
        assert_eq!(odd(|l| l.scope = "".into()), 0);
        assert_eq!(odd(|l| l.token_sha256.push('0')), 0);
        assert_eq!(odd(|l| l.expires_at = Some(f64::NAN)), 0);
    }

    #[test]
    fn the_holder_of_a_link_signs_nobody_out_and_is_slowed() {
        let (keys, now) = (Keys::new("owner", false, 0), Now::read());
        let (link, token) = keys.make_link(view_link(None), now).unwrap();
        keys.add_link(link, now);
        let guest = keys.by_token(&token, now).unwrap();
        let first = keys.begin_session(&guest, now).unwrap();
        let begun = |now| (0..1000).filter(|_| keys.begin_session(&guest, now).is_ok()).count();
        assert_eq!(begun(now), 19);
        assert!(matches!(keys.begin_session(&guest, now), Err(SignInError::TooFast)));
        let hours = |count: u64| now.after(Duration::from_secs(3600 * count));
        assert_eq!((begun(hours(1)), begun(hours(2)), begun(hours(3))), (20, 20, 4));
        assert!(matches!(keys.begin_session(&guest, hours(4)), Err(SignInError::TooMany)));
        assert!(keys.by_session(&first, hours(4)).is_some(), "it is used");
        // A day later, the 19 others of the first hour are unused. Another link has its own room.
        assert_eq!(begun(hours(24)), 19);
        assert!(keys.by_session(&first, hours(24)).is_some());
        assert!(keys.begin_session(&keys.by_token("owner", now).unwrap(), now).is_ok());
    }

    #[test]
    fn sessions_end_after_a_week_and_the_least_used_makes_way() {
        let (keys, now) = (Keys::new("owner", false, 0), Now::read());
        let owner = keys.by_token("owner", now).unwrap();
        let used = keys.begin_session(&owner, now).unwrap();
        let unused = keys.begin_session(&owner, now).unwrap();
        assert!(keys.by_session(&used, now.after(SESSION_LASTS - Duration::from_secs(1))).is_some());
        assert!(keys.by_session(&used, now.after(SESSION_LASTS)).is_none());
        for _ in 0..MAX_SESSIONS_EACH - 1 {
            keys.begin_session(&owner, now).unwrap();
        }
        assert!(keys.by_session(&used, now).is_some());
        assert!(keys.by_session(&unused, now).is_none());
    }

    #[test]
    fn signing_out_ends_one_session() {
        let (keys, now) = (Keys::new("owner", false, 0), Now::read());
        let owner = keys.by_token("owner", now).unwrap();
        let (one, two) = (keys.begin_session(&owner, now).unwrap(), keys.begin_session(&owner, now).unwrap());
        keys.end_session(&keys.by_session(&one, now).unwrap());
        assert!(keys.by_session(&one, now).is_none());
        assert!(keys.by_session(&two, now).is_some());
    }
}

//! Lists the variables of a state or computes their digests, in short-lived forks of the state's
//! frozen process.
//!
//! Digests are kept, because states are immutable and clients ask for the same digests repeatedly.

use super::core::{Core, FollowUp};
use super::duty::{Duty, Listing, ListingKind};
use super::effect::{Alarm, Ticket};
use super::processes::{Origin, Process};
use crate::kernel::ProcId;
use crate::notebook::{Digests, Reply, StateId, Variable};
use crate::problem::{Kind, Problem};
use std::collections::VecDeque;
use std::time::Duration;

/// Maximum number of listings at the same time. Each takes a process, and clients with view links
/// may ask too.
const MAX_LISTINGS: usize = 8;
/// How long listing variables may take.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long computing the digests of a state may take. The process stops before that time, and
/// reports the digests that it has computed.
const DIGEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of states whose digests are kept, and of variable names in all of them.
const MAX_KEPT: usize = 64;
const MAX_KEPT_NAMES: usize = 20_000;

impl ListingKind {
    fn timeout(self) -> Duration {
        match self {
            Self::Variables => LIST_TIMEOUT,
            Self::Digests => DIGEST_TIMEOUT,
        }
    }
}

/// The digests that were computed lately.
#[derive(Debug, Default)]
pub(super) struct Listings {
    /// The newest digests are last.
    kept: VecDeque<(StateId, Digests)>,
}

impl Listings {
    /// Handles a request for a state's digests. Returns the answer unless the client has to wait.
    pub(super) fn digest(&mut self, core: &mut Core, ticket: Ticket, state: &StateId) -> Option<Reply> {
        let known = self.kept.iter().find(|(known, _)| known == state);
        match known {
            Some((_, digests)) if core.runnable(state).is_ok() => {
                Some(Reply::Digested { digests: digests.clone() })
            }
            _ => self.list(core, ticket, state, ListingKind::Digests),
        }
    }

    /// The digests of a state, for another part of the machine. If they are not known yet, they
    /// arrive later as `FollowUp::Digested`.
    pub(super) fn digests_of(&self, core: &mut Core, state: &StateId) -> Result<Option<Digests>, Problem> {
        if let Some((_, digests)) = self.kept.iter().find(|(known, _)| known == state) {
            return Ok(Some(digests.clone()));
        }
        begin(core, None, state, ListingKind::Digests).map(|()| None)
    }

    /// Handles a request for a list of variables or digests. Returns the answer unless the client
    /// has to wait.
    pub(super) fn list(
        &self,
        core: &mut Core,
        ticket: Ticket,
        state: &StateId,
        kind: ListingKind,
    ) -> Option<Reply> {
        begin(core, Some(ticket), state, kind).err().map(Reply::Refused)
    }

    /// Answers the requests that wait for a list, with the variables that a process reports.
    pub(super) fn listed(&mut self, core: &mut Core, process: ProcId, variables: Vec<Variable>) {
        if let Some((_, listing)) = take(core, process) {
            core.answer_all(listing.tickets, &Reply::Variables { variables });
        }
    }

    /// Keeps the digests that a process reports, and answers the requests that wait for them.
    pub(super) fn digested(&mut self, core: &mut Core, process: ProcId, digests: Option<Digests>) {
        let Some((state, listing)) = take(core, process) else { return };
        let Some(digests) = digests else {
            let what = format!("digest the variables of state {state}");
            let how = "print the values that you need in a cell";
            let refused = Problem::new(Kind::Kernel, what, "reading the variables failed", how);
            return refuse(core, state, listing, refused);
        };
        self.keep(state.clone(), digests.clone());
        core.follow_up(FollowUp::Digested(state, Ok(digests.clone())));
        core.answer_all(listing.tickets, &Reply::Digested { digests });
    }

    /// Forgets a state's digests, because the state was deleted or was restored without some
    /// variables.
    pub(super) fn forget(&mut self, state: &StateId) {
        self.kept.retain(|(known, _)| known != state);
    }

    /// Forgets all digests.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }

    fn keep(&mut self, state: StateId, digests: Digests) {
        self.forget(&state);
        self.kept.push_back((state, digests));
        let mut names: usize = self.kept.iter().map(|(_, digests)| digests.hashes.len()).sum();
        while self.kept.len() > MAX_KEPT || names > MAX_KEPT_NAMES && self.kept.len() > 1 {
            names -= self.kept.pop_front().map_or(0, |(_, digests)| digests.hashes.len());
        }
    }
}

/// Begins a listing of a state, or joins one that has begun.
fn begin(core: &mut Core, ticket: Option<Ticket>, state: &StateId, kind: ListingKind) -> Result<(), Problem> {
    core.runnable(state)?;
    let same = |duty: &Duty| matches!(duty, Duty::Listing(listing) if listing.kind == kind);
    if let Some(process) = core.processes.of(state, same).first()
        && let Some(Process { duty: Duty::Listing(listing), .. }) = core.processes.get_mut(*process)
    {
        listing.tickets.extend(ticket);
        return Ok(());
    }
    let busy =
        |why| Problem::new(Kind::Busy, format!("list the variables of state {state}"), why, "try again");
    if core.processes.all_of(|duty| matches!(duty, Duty::Listing(_))).len() >= MAX_LISTINGS {
        return Err(busy("too many states are being listed"));
    }
    let frozen = core.source_of(state).ok_or_else(|| busy("its process is being restored"))?;
    core.uses.note(state);
    let listing = Listing { tickets: ticket.into_iter().collect(), kind, has_waited: false };
    core.spawn(Origin::fork(frozen, state), Duty::Listing(listing), kind.timeout());
    Ok(())
}

/// Refuses all requests that wait for a listing.
fn refuse(core: &mut Core, state: StateId, listing: Listing, refused: Problem) {
    if listing.kind == ListingKind::Digests {
        core.follow_up(FollowUp::Digested(state, Err(refused.clone())));
    }
    core.answer_all(listing.tickets, &Reply::Refused(refused));
}

fn take(core: &mut Core, process: ProcId) -> Option<(StateId, Listing)> {
    if !matches!(core.processes.get(process)?.duty, Duty::Listing(_)) {
        return None;
    }
    match core.processes.remove(process)? {
        Process { at, duty: Duty::Listing(listing), .. } => Some((at, listing)),
        _ => None,
    }
}

/// Kills a listing process that is late. The time limit does not include the time for loading the
/// state.
pub(super) fn timed_out(core: &mut Core, process: ProcId) {
    let is_waiting = core.processes.waits_for_a_load(process);
    let Some(Process { duty: Duty::Listing(listing), .. }) = core.processes.get_mut(process) else { return };
    let timeout = listing.kind.timeout();
    if std::mem::replace(&mut listing.has_waited, is_waiting) || is_waiting {
        return core.wake(timeout, Alarm::Late(process));
    }
    core.kill(process, super::Killed::Late);
    let why = format!("it took longer than {} s", timeout.as_secs());
    let how = "the machine is busy, or the repr of a variable is slow; try again, or print values in a cell";
    failed(core, process, Kind::Timeout, &why, how);
}

/// Refuses the requests of a listing whose process has died or could not be created.
pub(super) fn failed(core: &mut Core, process: ProcId, kind: Kind, why: &str, how: &str) {
    if let Some((state, listing)) = take(core, process) {
        let what = format!("list the variables of state {state}");
        refuse(core, state, listing, Problem::new(kind, what, why, how));
    }
}

/// Ends all listings of a state.
pub(super) fn end_at(core: &mut Core, state: &StateId, refused: &Problem) {
    for process in core.processes.of(state, |duty| matches!(duty, Duty::Listing(_))) {
        core.kill(process, super::Killed::NotNeeded);
        if let Some((state, listing)) = take(core, process) {
            refuse(core, state, listing, refused.clone());
        }
    }
}

/// Ends all listings.
pub(super) fn end_all(core: &mut Core, kind: Kind, why: &str) {
    for process in core.processes.all_of(|duty| matches!(duty, Duty::Listing(_))) {
        core.kill(process, super::Killed::NotNeeded);
        failed(core, process, kind, why, "reload the notebook");
    }
}

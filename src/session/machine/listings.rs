//! Lists and digests the variables of a state, by throw-away forks of its frozen process.
//!
//! Digests are kept: states are immutable, and clients ask for digests repeatedly.

use super::core::Core;
use super::processes::{Duty, Origin, Process};
use super::{Alarm, Ticket, not_found};
use crate::kernel::{ProcId, Role};
use crate::notebook::{Digests, Reply, StateId, Variable};
use crate::problem::{Kind, Problem};
use std::collections::VecDeque;
use std::time::Duration;

/// Limit of listings at the same time. Each takes a process, and clients with view links may ask,
/// too.
const MAX_LISTINGS: usize = 8;
/// How long listing variables may take.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long digesting all values of a state may take. The process stops by itself before that and
/// reports the digests that it has.
const DIGEST_TIMEOUT: Duration = Duration::from_secs(60);
/// For how many states digests are kept, and for how many names in all.
const MAX_KEPT: usize = 64;
const MAX_KEPT_NAMES: usize = 20_000;

/// What a process lists, and for which requests.
#[derive(Debug)]
pub(super) struct Listing {
    tickets: Vec<Ticket>,
    kind: ListingKind,
    /// Whether a deadline passed while the state was being loaded.
    has_waited: bool,
}

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListingKind {
    Variables,
    Digests,
}

impl ListingKind {
    fn timeout(self) -> Duration {
        match self {
            Self::Variables => LIST_TIMEOUT,
            Self::Digests => DIGEST_TIMEOUT,
        }
    }
}

impl Listing {
    /// The role of its process.
    pub(super) fn role(&self) -> Role {
        match self.kind {
            ListingKind::Variables => Role::ListVariables,
            ListingKind::Digests => Role::Digest,
        }
    }
}

/// The digests that are known.
#[derive(Debug, Default)]
pub(super) struct Listings {
    /// The newest last.
    kept: VecDeque<(StateId, Digests)>,
}

impl Listings {
    /// A client asks for a state's digests. Returns the answer unless the client has to wait.
    pub(super) fn digest(&mut self, core: &mut Core, ticket: Ticket, state: &StateId) -> Option<Reply> {
        let known = self.kept.iter().find(|(known, _)| known == state);
        match known {
            Some((_, digests)) if core.runnable(state).is_ok() => {
                Some(Reply::Digested { digests: digests.clone() })
            }
            _ => self.list(core, ticket, state, ListingKind::Digests),
        }
    }

    /// A client asks for a list of variables or digests. Returns the answer unless the client has
    /// to wait.
    pub(super) fn list(
        &mut self,
        core: &mut Core,
        ticket: Ticket,
        state: &StateId,
        kind: ListingKind,
    ) -> Option<Reply> {
        if let Err(refused) = core.runnable(state) {
            return Some(Reply::Refused(refused));
        }
        let same = |duty: &Duty| matches!(duty, Duty::Listing(listing) if listing.kind == kind);
        if let Some(process) = core.processes.of(state, same).first()
            && let Some(Process { duty: Duty::Listing(listing), .. }) = core.processes.get_mut(*process)
        {
            listing.tickets.push(ticket);
            return None;
        }
        let busy = |why| {
            let what = format!("list the variables of state {state}");
            Some(Reply::Refused(Problem::new(Kind::Busy, what, why, "try again")))
        };
        if core.processes.all_of(|duty| matches!(duty, Duty::Listing(_))).len() >= MAX_LISTINGS {
            return busy("too many states are being listed");
        }
        let Some(frozen) = core.source_of(state) else { return busy("its process is being made again") };
        core.uses.note(state);
        let duty = Duty::Listing(Listing { tickets: vec![ticket], kind, has_waited: false });
        core.spawn(Origin::fork(frozen, state), duty, kind.timeout());
        None
    }

    /// Answers the requests for a list with the variables that a process reports.
    pub(super) fn listed(&mut self, core: &mut Core, process: ProcId, variables: Vec<Variable>) {
        if let Some((_, listing)) = take(core, process) {
            core.answer_all(listing.tickets, &Reply::Variables { variables });
        }
    }

    /// Keeps the digests that a process reports, and answers the requests for them.
    pub(super) fn digested(&mut self, core: &mut Core, process: ProcId, digests: Option<Digests>) {
        let Some((state, listing)) = take(core, process) else { return };
        let Some(digests) = digests else {
            let what = format!("digest the variables of state {state}");
            let how = "print what you need in a cell";
            let refused = Problem::new(Kind::Kernel, what, "reading them failed", how);
            return core.answer_all(listing.tickets, &Reply::Refused(refused));
        };
        self.keep(state, digests.clone());
        core.answer_all(listing.tickets, &Reply::Digested { digests });
    }

    /// Forgets a state's digests, because the state is gone or was restored without some variables.
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

fn take(core: &mut Core, process: ProcId) -> Option<(StateId, Listing)> {
    if !matches!(core.processes.get(process)?.duty, Duty::Listing(_)) {
        return None;
    }
    match core.processes.remove(process)? {
        Process { at, duty: Duty::Listing(listing), .. } => Some((at, listing)),
        _ => None,
    }
}

/// Kills a process that lists variables and is late. The time in which its state is loaded does not
/// count.
pub(super) fn is_late(core: &mut Core, process: ProcId) {
    let is_waiting = core.processes.waits_for_a_load(process);
    let Some(Process { duty: Duty::Listing(listing), .. }) = core.processes.get_mut(process) else { return };
    let timeout = listing.kind.timeout();
    if std::mem::replace(&mut listing.has_waited, is_waiting) || is_waiting {
        return core.wake(timeout, Alarm::Late(process));
    }
    core.effects.push(super::Effect::Kill(process));
    let why = format!("it took longer than {} s", timeout.as_secs());
    let how =
        "the machine is busy, or some variable is slow to show; try again, or print what you need in a cell";
    failed(core, process, Kind::Timeout, &why, how);
}

/// Refuses the requests of a listing whose process has died or could not be made.
pub(super) fn failed(core: &mut Core, process: ProcId, kind: Kind, why: &str, how: &str) {
    if let Some((state, listing)) = take(core, process) {
        let what = format!("list the variables of state {state}");
        core.answer_all(listing.tickets, &Reply::Refused(Problem::new(kind, what, why, how)));
    }
}

/// Ends all listings of a state.
pub(super) fn end_at(core: &mut Core, state: &StateId, refused: &Problem) {
    for process in core.processes.of(state, |duty| matches!(duty, Duty::Listing(_))) {
        core.effects.push(super::Effect::Kill(process));
        if let Some((_, listing)) = take(core, process) {
            core.answer_all(listing.tickets, &Reply::Refused(refused.clone()));
        }
    }
}

/// Ends all listings, because the notebook is reset.
pub(super) fn end_all(core: &mut Core) {
    for process in core.processes.all_of(|duty| matches!(duty, Duty::Listing(_))) {
        core.effects.push(super::Effect::Kill(process));
        if let Some((state, listing)) = take(core, process) {
            core.answer_all(listing.tickets, &Reply::Refused(not_found("state", state)));
        }
    }
}

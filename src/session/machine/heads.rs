//! Which heads there are, where they stand and what they do.

use crate::kernel::ProcId;
use crate::notebook::{ExecId, StateId};
use std::collections::BTreeMap;

/// How many heads may stand idle: the places where somebody is likely to go on. Each costs a process.
const MAX_IDLE_HEADS: usize = 4;
/// How many cells may run at once in one notebook; more wait.
const MAX_BUSY_HEADS: usize = 128;

/// A live process that stands at a state.
#[derive(Debug)]
pub(super) struct Head {
    /// The state it stands at, or ran from.
    pub(super) at: StateId,
    /// What it does.
    pub(super) doing: Doing,
    /// The process that it is forked from.
    pub(super) from: ProcId,
    /// Whether it has said that it is there.
    pub(super) is_ready: bool,
    /// Whether it was killed: what it still says comes too late.
    pub(super) is_killed: bool,
    /// Why its state could not be frozen, when the system has refused it.
    pub(super) refusal: Option<String>,
    /// Whether its state has something that lives only here: threads, child processes.
    pub(super) is_needed: bool,
    /// Whether it was forked from a state's process, and so has no threads but its own.
    pub(super) is_forked: bool,
    rested: u64,
}

/// What a head does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It waits for the next cell.
    Rest,
    /// It was told to run this, and has not begun.
    Begin(ExecId),
    /// It runs this.
    Run(ExecId),
    /// It runs the cells again that lead to this state.
    Replay(StateId),
}

impl Doing {
    /// The run it is busy with.
    pub(super) fn run(&self) -> Option<&ExecId> {
        match self {
            Self::Rest | Self::Replay(_) => None,
            Self::Begin(run) | Self::Run(run) => Some(run),
        }
    }
}

/// All heads of a notebook.
#[derive(Debug, Default)]
pub(super) struct Heads {
    all: BTreeMap<ProcId, Head>,
    rests: u64,
}

impl Heads {
    pub(super) fn add(&mut self, id: ProcId, from: ProcId, at: StateId, doing: Doing) {
        let head = Head {
            at,
            doing,
            from,
            is_ready: false,
            is_killed: false,
            refusal: None,
            is_needed: false,
            is_forked: false,
            rested: 0,
        };
        self.all.insert(id, head);
    }

    pub(super) fn get(&self, id: ProcId) -> Option<&Head> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: ProcId) -> Option<&mut Head> {
        self.all.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: ProcId) -> Option<Head> {
        self.all.remove(&id)
    }

    /// Takes a head back that was removed.
    pub(super) fn put_back(&mut self, id: ProcId, head: Head) {
        self.all.insert(id, head);
    }

    /// A head that waits at a state.
    pub(super) fn resting_at(&self, state: &StateId) -> Option<ProcId> {
        self.all.iter().find(|(_, h)| h.doing == Doing::Rest && &h.at == state).map(|(id, _)| *id)
    }

    /// Whether some head is there and has not left a state yet: it waits, or has not begun to run on.
    pub(super) fn hold(&self, state: &StateId) -> bool {
        let stands = |h: &Head| h.is_ready && !matches!(h.doing, Doing::Run(_) | Doing::Replay(_));
        self.all.values().any(|h| &h.at == state && stands(h))
    }

    /// The head that is busy with a run.
    pub(super) fn of_run(&self, run: &ExecId) -> Option<ProcId> {
        self.all.iter().find(|(_, h)| h.doing.run() == Some(run)).map(|(id, _)| *id)
    }

    /// Whether another cell may begin.
    pub(super) fn has_room(&self) -> bool {
        self.busy() < MAX_BUSY_HEADS
    }

    /// How many heads do something.
    pub(super) fn busy(&self) -> usize {
        self.all.values().filter(|h| h.doing != Doing::Rest).count()
    }

    /// Notes that a head rests at a state.
    pub(super) fn rest(&mut self, id: ProcId, at: StateId) {
        self.rests += 1;
        if let Some(head) = self.all.get_mut(&id) {
            (head.at, head.doing, head.rested) = (at, Doing::Rest, self.rests);
        }
    }

    /// The heads that have rested longest and are too many. One whose state is not frozen yet stays: it would be lost.
    pub(super) fn too_many(&self, is_frozen: impl Fn(&StateId) -> bool) -> Vec<ProcId> {
        let resting = self.all.iter().filter(|(_, h)| h.doing == Doing::Rest && !h.is_needed);
        let mut resting: Vec<_> = resting.map(|(id, h)| (h.rested, *id, &h.at)).collect();
        resting.sort_unstable();
        let count = resting.len().saturating_sub(MAX_IDLE_HEADS);
        resting.into_iter().take(count).filter(|(_, _, at)| is_frozen(at)).map(|(_, id, _)| id).collect()
    }

    /// Whether some head stands at a state or is being forked from it.
    pub(super) fn stand_at(&self, state: &StateId) -> bool {
        self.all.values().any(|h| &h.at == state && (!h.is_ready || !matches!(h.doing, Doing::Run(_))))
    }

    /// The heads at a state that are not ready yet.
    pub(super) fn coming_to(&self, state: &StateId) -> Vec<ProcId> {
        self.all.iter().filter(|(_, h)| &h.at == state && !h.is_ready).map(|(id, _)| *id).collect()
    }

    /// Notes why a state could not be frozen, with the heads that hold it.
    pub(super) fn note_refusal(&mut self, state: &StateId, why: &str) {
        for head in self.all.values_mut().filter(|h| &h.at == state && h.is_ready) {
            head.refusal = Some(why.to_owned());
        }
    }

    /// Why a state could not be frozen, as was noted with a head that holds it.
    pub(super) fn refusal_at(&self, state: &StateId) -> Option<&str> {
        self.all.values().filter(|h| &h.at == state).find_map(|h| h.refusal.as_deref())
    }

    /// The state that a head's replay is to bring back.
    pub(super) fn replaying(&self, id: ProcId) -> Option<StateId> {
        match &self.all.get(&id)?.doing {
            Doing::Replay(target) => Some(target.clone()),
            _ => None,
        }
    }

    /// Notes that a head stands at another state.
    pub(super) fn move_to(&mut self, id: ProcId, at: &StateId) {
        if let Some(head) = self.all.get_mut(&id) {
            head.at.clone_from(at);
        }
    }

    /// Takes all heads away.
    pub(super) fn take_all(&mut self) -> Vec<ProcId> {
        std::mem::take(&mut self.all).into_keys().collect()
    }
}

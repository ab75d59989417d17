//! Digests of a state's variables: told by a throw-away fork of its frozen process, like a look, and kept, as a state is
//! immutable and its clients ask again and again.

use super::{Machine, Ticket};
use crate::kernel::{ProcId, Role};
use crate::notebook::{Digests, Reply, StateId};
use crate::problem::{Kind, Problem};
use std::collections::{BTreeSet, VecDeque};

/// Of how many states digests are kept, and how many names they may have together.
const MAX_KEPT: usize = 64;
const MAX_KEPT_NAMES: usize = 20_000;

/// What is known, and which looks are to find out more.
#[derive(Debug, Default)]
pub(super) struct Digesters {
    /// Those of the looks that are for digests.
    looks: BTreeSet<ProcId>,
    /// The newest last.
    kept: VecDeque<(StateId, Digests)>,
}

impl Digesters {
    /// Whether a look is for digests.
    pub(super) fn has(&self, look: ProcId) -> bool {
        self.looks.contains(&look)
    }

    pub(super) fn add(&mut self, look: ProcId) {
        self.looks.insert(look);
    }

    /// Forgets what a state was: it is gone, or came back without some of its variables.
    pub(super) fn forget(&mut self, state: &StateId) {
        self.kept.retain(|(known, _)| known != state);
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
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

impl Machine {
    /// Digests of a state are asked for. Answers at once what is known, or that it cannot be known.
    pub(super) fn digest(&mut self, ticket: Ticket, state: &StateId) -> Option<Reply> {
        let known = self.digesters.kept.iter().find(|(known, _)| known == state);
        match known {
            Some((_, digests)) if self.runnable(state).is_ok() => {
                Some(Reply::Digested { digests: digests.clone() })
            }
            _ => self.list_variables(ticket, state, Role::Digest),
        }
    }

    /// A look has brought digests.
    pub(super) fn digested(&mut self, process: ProcId, digests: Option<Digests>) {
        self.digesters.looks.remove(&process);
        let Some((tickets, state)) = self.looks.remove(&process) else { return };
        let Some(digests) = digests else {
            let (what, how) =
                (format!("read the variables of state {state}"), "print what you need in a cell");
            let why = "what reads them has failed";
            return self.answer_all(tickets, &Reply::Refused(Problem::new(Kind::Kernel, what, why, how)));
        };
        self.digesters.keep(state, digests.clone());
        self.answer_all(tickets, &Reply::Digested { digests });
    }
}

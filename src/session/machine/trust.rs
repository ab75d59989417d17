//! Trust in the notebook's checkpoints: the store signs them with this install's key, and from then
//! on they are loaded whole.

use super::core::Core;
use super::saving::Saver;
use super::{Effect, Ticket};
use crate::notebook::{DiskStatus, Reply, Residency, Saving, StateId};

/// The requests to trust that wait for the store.
#[derive(Debug, Default)]
pub(super) struct Trust {
    tickets: Vec<Ticket>,
}

impl Trust {
    /// Asks the store to sign all checkpoints.
    pub(super) fn ask(&mut self, core: &mut Core, ticket: Ticket) {
        self.tickets.push(ticket);
        core.effects.push(Effect::Trust);
    }

    /// Notes which checkpoints the store has signed, or that it could not, and answers the
    /// requests.
    pub(super) fn done(&mut self, core: &mut Core, saver: &Saver, states: Result<Vec<StateId>, DiskStatus>) {
        let tickets = std::mem::take(&mut self.tickets);
        let states = match states {
            Ok(states) => states,
            Err(trouble) => return core.answer_all(tickets, &Reply::Refused(trouble.into())),
        };
        for id in &states {
            let Some(state) = core.notebook.state_mut(id) else { continue };
            if let Some(checkpoint) = &mut state.checkpoint {
                checkpoint.is_trusted = true;
            }
            // Loading the state's plain values failed. Loading the whole checkpoint has not been
            // tried.
            let is_untried = state.residency == Residency::Replay && state.checkpoint.is_some();
            if is_untried {
                (state.residency, state.saving) = (Residency::Disk, Saving::Idle);
            }
            // Only the state's plain values were loaded.
            let is_partial = state.restored_from.is_some() && state.residency == Residency::Memory;
            core.publish_state(id);
            if is_untried {
                core.due.forget_broken(id);
            }
            core.note_evictable(id);
            if is_partial && !core.processes.needs(id) && !saver.is_at(id) {
                core.evict(id);
            }
        }
        core.answer_all(tickets, &Reply::Trusted { count: states.len() });
    }
}

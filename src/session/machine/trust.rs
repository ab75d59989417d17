//! Trust in the notebook's checkpoints. The store signs the checkpoints with this install's key.
//! After that, their pickled objects are loaded too.

use super::core::Core;
use super::effect::{Effect, Ticket};
use super::saving::Saver;
use crate::notebook::{DiskStatus, Reply, Residency, Saving, StateId};

/// The trust requests that wait for the store.
#[derive(Debug, Default)]
pub(super) struct Trust {
    tickets: Vec<Ticket>,
}

impl Trust {
    /// Asks the store to sign all checkpoints.
    pub(super) fn ask(&mut self, core: &mut Core, ticket: Ticket) {
        self.tickets.push(ticket);
        core.emit(Effect::Trust);
    }

    /// Handles the store's report that it has signed checkpoints or has failed to, and answers the
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
            // Only the plain values of the checkpoint were tried, and loading them failed. The
            // complete checkpoint has not been tried yet.
            let is_untried = state.residency == Residency::Replay && state.checkpoint.is_some();
            if is_untried {
                (state.residency, state.saving) = (Residency::Disk, Saving::Idle);
            }
            // The process holds only the plain values of the checkpoint. It is ended so that the
            // complete checkpoint is loaded at the next use.
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

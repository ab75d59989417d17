//! The parts of the machine. Each has its own data and its own file, and gets `&mut Core`.

use super::adoption::Adoption;
use super::budget::{Budget, Memory};
use super::changes::Comparer;
use super::core::Core;
use super::due::Due;
use super::held::HeldHeads;
use super::introspect::Introspection;
use super::listings::Listings;
use super::loads::Loads;
use super::merges::Merges;
use super::presence::Presence;
use super::replay::Replays;
use super::runs::Runs;
use super::saving::Saver;
use super::sweeps::Sweeps;
use super::trust::Trust;
use super::widgets::Widgets;
use super::workers::Workers;
use crate::notebook::Notebook;

/// All parts of the machine.
pub(super) struct Parts {
    /// What all parts share.
    pub(super) core: Core,
    pub(super) runs: Runs,
    pub(super) loads: Loads,
    pub(super) replays: Replays,
    pub(super) held: HeldHeads,
    pub(super) saver: Saver,
    pub(super) memory: Memory,
    pub(super) listings: Listings,
    pub(super) merges: Merges,
    pub(super) sweeps: Sweeps,
    pub(super) introspection: Introspection,
    pub(super) comparer: Comparer,
    pub(super) presence: Presence,
    pub(super) trust: Trust,
    pub(super) adoption: Adoption,
    pub(super) widgets: Widgets,
    pub(super) workers: Workers,
}

impl Parts {
    /// The parts for a notebook that was opened. `new_id` makes ids. If `saves` is true,
    /// checkpoints are written automatically.
    pub(super) fn new(
        mut notebook: Notebook,
        new_id: Box<dyn FnMut() -> String + Send>,
        budget: Budget,
        saves: bool,
    ) -> Self {
        notebook.set_saves_by_itself(saves);
        let mut core = Core::new(notebook, new_id, Due::new(saves), budget.run);
        core.has_workers = budget.workers;
        Self {
            core,
            runs: Runs::default(),
            loads: Loads::default(),
            replays: Replays::default(),
            held: HeldHeads::default(),
            saver: Saver::default(),
            memory: Memory::new(budget),
            listings: Listings::default(),
            merges: Merges::default(),
            sweeps: Sweeps::new(budget.cores),
            introspection: Introspection::default(),
            comparer: Comparer::default(),
            presence: Presence::default(),
            trust: Trust::default(),
            adoption: Adoption::default(),
            widgets: Widgets::default(),
            workers: Workers::default(),
        }
    }

    /// Whether cells run or wait. If so, the notebook must not be restarted.
    pub(super) fn is_busy(&self) -> bool {
        !self.core.open.is_empty() || !self.replays.is_empty()
    }

    /// Begins to write the next checkpoint if one is due and no cell is about to run.
    pub(super) fn save_next(&mut self) {
        let is_short = self.memory.is_over_budget(&self.core, &self.held);
        self.saver.save_next(&mut self.core, is_short);
    }

    /// Ends processes until the memory budget is met, or until no other process can be ended. Heads
    /// of failed cells are ended first, then the least recently used frozen processes.
    pub(super) fn evict_to_budget(&mut self) {
        if self.memory.is_short(&self.core, &self.held) {
            self.held.end_all(&mut self.core);
        }
        self.memory.evict_to_budget(&mut self.core, &self.held, &self.saver);
    }
}

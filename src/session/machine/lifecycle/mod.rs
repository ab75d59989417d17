//! What concerns several parts of the machine, as functions of all parts (`Parts`). They decide
//! nothing that one part can decide.
//!
//! From below: `refreeze` and `removal`; `begin` (how a run gets its head); `settle` (what parts
//! ask of each other); `deletion`; `sweeping` (the rows of sweeps); `ended` (what happens when a
//! cell has ended); `failures` and `hangs` (of processes); `process_events` (processes that are
//! ready, late or gone); `python` (another Python); `opening` (and closing).

pub(super) mod begin;
pub(super) mod deletion;
pub(super) mod ended;
pub(super) mod failures;
pub(super) mod hangs;
pub(super) mod opening;
pub(super) mod process_events;
pub(super) mod python;
pub(super) mod refreeze;
pub(super) mod removal;
pub(super) mod settle;
pub(super) mod sweeping;

//! Freezes a state again after the code of its widgets has run at it.
//!
//! The head of the state has the new variables. Everything that was made from the old frozen
//! process is out of date: the checkpoint, digests, fingerprints, and the forks that answer
//! questions.

use crate::kernel::{Hazards, ProcId, WidgetEnd};
use crate::notebook::{Residency, StateId};
use crate::problem::{Kind, Problem};
use crate::session::machine::duty::Doing;
use crate::session::machine::effect::Alarm;
use crate::session::machine::introspect;
use crate::session::machine::listings;
use crate::session::machine::parts::Parts;
use std::time::Duration;

/// How often it is checked whether a replaced frozen process still has to fork something.
const RETIRE_AFTER: Duration = Duration::from_secs(1);

/// Handles a head's report that the code of a widget has run.
pub(in crate::session::machine) fn widget_handled(
    parts: &mut Parts,
    head: ProcId,
    number: u64,
    end: WidgetEnd,
) {
    parts.widgets.handled(&mut parts.core, head, number, &end);
    match end {
        WidgetEnd::Ran(Hazards { warnings, forks, is_alone }) => {
            let at = parts.core.processes.at(head).cloned();
            if let Some(head) = parts.core.processes.head_mut(head) {
                head.is_needed = is_alone;
            }
            if let Some(state) = at.as_ref().and_then(|at| parts.core.notebook.state_mut(at)) {
                (state.warnings, state.forks) = (warnings, forks);
            }
        }
        WidgetEnd::Unknown => {}
        WidgetEnd::Unfit { .. } => parts.core.discard(head),
    }
}

/// Freezes the state of a head again, if its widgets were quiet since this message.
pub(in crate::session::machine) fn widgets_are_quiet(parts: &mut Parts, head: ProcId, number: u64) {
    if parts.widgets.is_quiet_since(head, number) {
        refreeze(parts, head);
    }
}

/// Freezes a state again before it is used, unless the code of its widgets still runs.
pub(in crate::session::machine) fn refreeze_at(parts: &mut Parts, state: &StateId) {
    if let Some(head) =
        parts.widgets.ahead_at(&parts.core, state).filter(|head| !parts.widgets.is_handling(*head))
    {
        refreeze(parts, head);
    }
}

/// Freezes all such states again, because all processes are about to end.
pub(in crate::session::machine) fn refreeze_all(parts: &mut Parts) {
    for head in parts.widgets.quiet_heads() {
        refreeze(parts, head);
    }
}

fn refreeze(parts: &mut Parts, head: ProcId) {
    let has_run = parts.widgets.note_frozen(head);
    let core = &mut parts.core;
    let Some(at) = core.processes.at(head).cloned() else { return };
    if !core.processes.head(head).is_some_and(|h| matches!(h.doing, Doing::Handle(_))) {
        return;
    }
    core.processes.rest(head, at.clone());
    if !has_run || core.notebook.state(&at).is_none_or(|s| s.residency == Residency::Deleted) {
        return;
    }
    parts.saver.variables_changed(core, &at);
    parts.listings.forget(&at);
    parts.comparer.forget(core, std::slice::from_ref(&at));
    let why = "a widget has changed the variables";
    let busy = Problem::new(Kind::Busy, format!("list the variables of state {at}"), why, "try again");
    listings::end_at(core, &at, &busy);
    introspect::end_answers(core, &at, Kind::Busy, why);
    if let Some(state) = core.notebook.state_mut(&at) {
        (state.checkpoint, state.restored_from, state.changes) = (None, None, None);
        state.move_to(Residency::Freezing, core.now_ms);
    }
    if let Some(old) = core.processes.set_aside(&at) {
        retire(parts, old);
    }
    let core = &mut parts.core;
    core.publish_state(&at);
    core.note_may_be_due(&at);
    core.ensure_frozen(head, &at);
}

/// Ends a replaced frozen process when all processes that it has to fork are ready.
pub(in crate::session::machine) fn retire(parts: &mut Parts, old: ProcId) {
    if parts.core.processes.get(old).is_none() {
        return;
    }
    if parts.core.processes.has_unready_forks(old) {
        parts.core.wake(RETIRE_AFTER, Alarm::Retire(old));
    } else {
        parts.core.end(old);
    }
}

//! Passes to the clients what a running cell prints, shows and asks.

use super::Effect;
use super::core::Core;
use crate::kernel::ProcId;
use crate::notebook::{ExecId, Fact, Live, MimeBundle, Output, Prompt, Reply, Updated};
use crate::problem::{Kind, Problem};

/// Adds what a head printed or showed to its run's outputs.
pub(super) fn output(core: &mut Core, head: ProcId, output: Output) {
    let Some(exec_id) = core.processes.run_of(head) else { return };
    if let Some(output) = core.notebook.run_mut(&exec_id).and_then(|run| run.outputs.push(output)) {
        core.publish(Fact::OutputAdded { exec_id, output });
    }
}

/// Updates a display of a head's run. An update of an earlier state's display becomes a new output:
/// states are immutable.
pub(super) fn update(
    core: &mut Core,
    head: ProcId,
    display_id: String,
    data: MimeBundle,
    metadata: MimeBundle,
) {
    let Some(exec_id) = core.processes.run_of(head) else { return };
    let Some(run) = core.notebook.run_mut(&exec_id) else { return };
    match run.outputs.update_display(&display_id, &data, &metadata) {
        Updated::Yes => core.publish(Fact::DisplayUpdated { exec_id, display_id, data, metadata }),
        Updated::NoRoom => {}
        Updated::NotThere => {
            output(core, head, Output::DisplayData { data, metadata, display_id: Some(display_id) });
        }
    }
}

/// A cell called `clear_output`.
pub(super) fn clear(core: &mut Core, head: ProcId, wait: bool) {
    let Some(exec_id) = core.processes.run_of(head) else { return };
    if let Some(run) = core.notebook.run_mut(&exec_id) {
        run.outputs.clear(wait);
        core.publish(Fact::OutputsCleared { exec_id, wait });
    }
}

/// A head asks the user for input, or has got it (no prompt).
pub(super) fn prompt(core: &mut Core, head: ProcId, prompt: Option<Prompt>) {
    let Some(exec_id) = core.processes.run_of(head) else { return };
    if let Some(run) = core.notebook.run_mut(&exec_id) {
        run.prompt.clone_from(&prompt);
        core.publish(Live::PromptChanged { exec_id, prompt });
    }
}

/// Passes what the user typed to the head that asked for it.
pub(super) fn type_answer(core: &mut Core, exec_id: &ExecId, text: String) -> Reply {
    let asked = core.notebook.run(exec_id).and_then(|r| r.prompt.as_ref());
    match core.processes.of_run(exec_id).zip(asked.map(|p| p.number)) {
        Some((head, number)) => {
            core.effects.push(Effect::Type { head, number, text });
            prompt(core, head, None);
            Reply::Done
        }
        None => Reply::Refused(Problem::new(
            Kind::Conflict,
            format!("answer run {exec_id}"),
            "it does not ask anything",
            "nothing needs to be done",
        )),
    }
}

//! Passes the output and the prompts of a running cell to the clients.

use super::core::Core;
use super::effect::Effect;
use crate::kernel::ProcId;
use crate::notebook::{ExecId, Fact, Live, MimeBundle, Output, Prompt, Reply, Updated};
use crate::problem::{Kind, Problem};

/// Adds what a head printed or showed to its run's outputs.
pub(super) fn output(core: &mut Core, head: ProcId, output: Output) {
    let Some(exec_id) = core.processes.shown_by(head) else { return };
    if let Some(output) = core.notebook.run_mut(&exec_id).and_then(|run| run.outputs.push(output)) {
        core.publish(Fact::OutputAdded { exec_id, output });
    }
}

/// Updates a display of a head's run. If the display belongs to an earlier state, the update
/// becomes a new output, because states are immutable.
pub(super) fn update(
    core: &mut Core,
    head: ProcId,
    display_id: String,
    data: MimeBundle,
    metadata: MimeBundle,
) {
    let Some(exec_id) = core.processes.shown_by(head) else { return };
    let Some(run) = core.notebook.run_mut(&exec_id) else { return };
    match run.outputs.update_display(&display_id, &data, &metadata) {
        Updated::Yes => core.publish(Fact::DisplayUpdated { exec_id, display_id, data, metadata }),
        Updated::NoRoom => {}
        Updated::NotThere => {
            output(core, head, Output::DisplayData { data, metadata, display_id: Some(display_id) });
        }
    }
}

/// Handles a call of `clear_output`. The code of a widget clears only `Output` widgets: it would
/// otherwise clear the widget itself.
pub(super) fn clear(core: &mut Core, head: ProcId, wait: bool) {
    let Some(exec_id) = core.processes.run_of(head) else { return };
    if let Some(run) = core.notebook.run_mut(&exec_id) {
        run.outputs.clear(wait);
        core.publish(Fact::OutputsCleared { exec_id, wait });
    }
}

/// Handles a prompt of a head, or the end of the prompt (`None`).
pub(super) fn prompt(core: &mut Core, head: ProcId, prompt: Option<Prompt>) {
    let Some(exec_id) = core.processes.run_of(head) else { return };
    if let Some(run) = core.notebook.run_mut(&exec_id) {
        run.prompt.clone_from(&prompt);
        core.publish(Live::PromptChanged { exec_id, prompt });
    }
}

/// Sends the text that the user typed to the head that asked for input.
pub(super) fn type_answer(core: &mut Core, exec_id: &ExecId, text: String) -> Reply {
    let asked = core.notebook.run(exec_id).and_then(|r| r.prompt.as_ref());
    match core.processes.of_run(exec_id).zip(asked.map(|p| p.number)) {
        Some((head, number)) => {
            core.emit(Effect::Type { head, number, text });
            prompt(core, head, None);
            Reply::Done
        }
        None => Reply::Refused(Problem::new(
            Kind::Conflict,
            format!("answer run {exec_id}"),
            "the run is not waiting for input",
            "no answer is needed",
        )),
    }
}

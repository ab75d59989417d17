//! What a running cell prints, shows and asks, on its way to everybody.

use super::{Effect, Machine};
use crate::kernel::ProcId;
use crate::notebook::{ExecId, Fact, Live, MimeBundle, Output, Prompt, Reply, Updated};
use crate::problem::{Kind, Problem};

impl Machine {
    /// A head printed or showed something.
    pub(super) fn output(&mut self, head: ProcId, output: Output) {
        let Some(exec_id) = self.run_of(head) else { return };
        if let Some(output) = self.notebook.run_mut(&exec_id).and_then(|run| run.outputs.push(output)) {
            self.publish(Fact::OutputAdded { exec_id, output });
        }
    }

    /// A display shows something else. One that this run has not shown is shown now: what earlier states showed stays.
    pub(super) fn update(
        &mut self,
        head: ProcId,
        display_id: String,
        data: MimeBundle,
        metadata: MimeBundle,
    ) {
        let Some(exec_id) = self.run_of(head) else { return };
        let Some(run) = self.notebook.run_mut(&exec_id) else { return };
        match run.outputs.update_display(&display_id, &data, &metadata) {
            Updated::Yes => self.publish(Fact::DisplayUpdated { exec_id, display_id, data, metadata }),
            Updated::NoRoom => {}
            Updated::NotThere => {
                self.output(head, Output::DisplayData { data, metadata, display_id: Some(display_id) });
            }
        }
    }

    /// `clear_output`.
    pub(super) fn clear(&mut self, head: ProcId, wait: bool) {
        let Some(exec_id) = self.run_of(head) else { return };
        if let Some(run) = self.notebook.run_mut(&exec_id) {
            run.outputs.clear(wait);
            self.publish(Fact::OutputsCleared { exec_id, wait });
        }
    }

    /// A head asks its user something, or has been answered.
    pub(super) fn prompt(&mut self, head: ProcId, prompt: Option<Prompt>) {
        let Some(exec_id) = self.run_of(head) else { return };
        if let Some(run) = self.notebook.run_mut(&exec_id) {
            run.prompt.clone_from(&prompt);
            self.publish(Live::PromptChanged { exec_id, prompt });
        }
    }

    /// The user typed an answer.
    pub(super) fn type_answer(&mut self, exec_id: &ExecId, text: String) -> Reply {
        let prompt = self.notebook.run(exec_id).and_then(|r| r.prompt.as_ref());
        match self.heads.of_run(exec_id).zip(prompt.map(|p| p.number)) {
            Some((head, number)) => {
                self.effects.push(Effect::Type { head, number, text });
                self.prompt(head, None);
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
}

//! Drafts: made, changed, run into states, and moved along a line.

use super::{Machine, not_found};
use crate::notebook::{Draft, DraftId, DraftKind, Event, ExecId, Line, Living, Refused, Reply, Run, StateId};
use std::collections::HashSet;

/// Limits of the drafts of a notebook, in number and in bytes of text: each snapshot sends all of them.
const MAX_DRAFTS: usize = 10_000;
const MAX_DRAFT_BYTES: usize = 4 * 1024 * 1024;

impl Machine {
    /// Makes or changes a draft. With a `base` only when that is the version that it has; 0 is that of one that is new.
    pub(super) fn put_draft(
        &mut self,
        mut draft: Draft,
        after: Option<&DraftId>,
        in_place: bool,
        base: Option<u64>,
    ) -> Reply {
        let known = self.notebook.draft(&draft.id).cloned();
        if let Err(refused) = self.check_base(&draft.id, known.as_ref(), base) {
            return Reply::Refused(refused);
        }
        if let Some(known) = known.as_ref().filter(|_| in_place) {
            // A run may have moved it on meanwhile.
            draft.on.clone_from(&known.on);
        }
        let on = draft.on.clone();
        if !self.notebook.state(&on).is_some_and(|s| s.living != Living::Deleted) {
            return Reply::Refused(not_found("state", on));
        }
        draft.version = match &known {
            Some(known) if (known.kind, &known.source) == (draft.kind, &draft.source) => known.version,
            Some(known) => known.version + 1,
            None => 1,
        };
        let is_new = known.is_none();
        let id = draft.id.clone();
        let others =
            self.notebook.drafts().filter(|d| d.id != draft.id).map(|d| d.source.len()).sum::<usize>();
        if others + draft.source.len() > MAX_DRAFT_BYTES {
            let why = format!("the drafts of a notebook may hold {MAX_DRAFT_BYTES} bytes in all");
            return Reply::Refused(Refused::new(
                "too_large",
                format!("keep draft {}", draft.id),
                why,
                "delete some",
            ));
        }
        if in_place && self.notebook.change_draft(&draft) {
            self.publish_put_drafts(on, [id]);
            return Reply::Done;
        }
        if is_new && self.notebook.drafts().count() >= MAX_DRAFTS {
            let why = format!("the notebook holds {MAX_DRAFTS} drafts already");
            return Reply::Refused(Refused::new(
                "busy",
                format!("add draft {}", draft.id),
                why,
                "delete some",
            ));
        }
        self.notebook.place_draft(draft, after);
        self.publish_put_drafts(on, [id]);
        Reply::Done
    }

    /// Whether a text grew from the version of its draft that is there.
    fn check_base(&self, id: &DraftId, known: Option<&Draft>, base: Option<u64>) -> Result<(), Refused> {
        let what = format!("change draft {id}");
        match (known, base) {
            (Some(known), Some(base)) if known.version != base => {
                let why = format!("it has version {}, and the text grew from {base}", known.version);
                Err(Refused::new("conflict", what, why, "lay the two texts together and send the result"))
            }
            (None, Some(base)) if base > 0 => Err(not_found("draft", id)),
            // Sent again after a broken line it would stand beside what it became.
            (None, _) if self.has_become_a_state(id) => Err(not_found("draft", id)),
            _ => Ok(()),
        }
    }

    fn has_become_a_state(&self, id: &DraftId) -> bool {
        let is_its = |run: &&Run| run.draft.as_ref() == Some(id);
        self.notebook.runs().rev().find(is_its).is_some_and(|run| run.state.is_some())
    }

    /// Throws a draft away.
    pub(super) fn delete_draft(&mut self, id: &DraftId) -> Reply {
        match self.notebook.remove_draft(id) {
            Some(draft) => {
                self.publish_removed_drafts(draft.on, vec![draft.id]);
                self.sweep_imported();
                Reply::Done
            }
            None => Reply::Refused(not_found("draft", id)),
        }
    }

    /// A draft became a state: the markdown right before it is the state's prose now, and what came after it waits behind
    /// the new state.
    pub(super) fn move_drafts(&mut self, exec_id: &ExecId, parent: &StateId, state: &StateId) {
        let Some(id) = self.notebook.run(exec_id).and_then(|r| r.draft.clone()) else { return };
        let Some(on) = self.notebook.draft(&id).map(|d| d.on.clone()) else { return };
        let drafts = self.notebook.drafts_on(&on);
        self.notebook.remove_draft(&id);
        let mut removed = vec![id.clone()];
        if on == *parent
            && let Some(at) = drafts.iter().position(|d| d.id == id)
        {
            let prose = drafts[..at].iter().rev().take_while(|d| d.kind == DraftKind::Markdown).count();
            let texts = drafts[at - prose..at].iter().map(|d| d.source.clone()).collect();
            for draft in &drafts[at - prose..at] {
                self.notebook.remove_draft(&draft.id);
                removed.push(draft.id.clone());
            }
            let moved = &drafts[at + 1..];
            for draft in moved {
                self.notebook.remove_draft(&draft.id);
                self.notebook.append_draft(Draft { on: state.clone(), ..draft.clone() });
            }
            if prose > 0 {
                self.change_state(state, |s| s.prose = texts);
            }
            self.publish_put_drafts(state.clone(), moved.iter().map(|d| d.id.clone()));
        }
        self.publish_removed_drafts(on, removed);
        self.sweep_imported();
    }

    /// A state's cell was run again in another version, or a cell was inserted behind it: what came after it becomes drafts
    /// behind the new state. The prose of another version stands before the new one too.
    pub(super) fn replay_as_drafts(&mut self, line: &Line, state: &StateId) {
        let path: Vec<StateId> = self.notebook.lineage(&line.tip).iter().map(|s| s.id.clone()).collect();
        let Some(at) = path.iter().position(|id| *id == line.state) else { return };
        let is_inserted = self.notebook.state(state).is_some_and(|s| s.parent.as_ref() == Some(&line.state));
        let mut texts = Vec::new();
        for id in &path[at..] {
            let is_first = *id == line.state;
            if !is_first && let Some(old) = self.notebook.state(id) {
                texts.extend(old.prose.iter().map(|p| (DraftKind::Markdown, p.clone())));
                let code =
                    old.exec_id.as_ref().and_then(|run| self.notebook.run(run)).map(|r| r.code.clone());
                texts.extend(code.map(|c| (DraftKind::Code, c)));
            }
            // Behind an inserted cell the drafts of its state have moved on already.
            if is_first && is_inserted {
                continue;
            }
            let is_tip = *id == line.tip;
            let drafts = self.notebook.drafts_on(id).into_iter();
            // In the midst of the line the page shows those alone that are not empty.
            let drafts = drafts.filter(|d| is_tip || !d.source.trim().is_empty());
            texts.extend(drafts.map(|d| (d.kind, d.source)));
        }
        let prose = self.notebook.state(&line.state).map(|s| s.prose.clone());
        if let Some(prose) = prose.filter(|prose| !is_inserted && !prose.is_empty()) {
            self.change_state(state, |s| s.prose = prose);
        }
        if texts.is_empty() {
            return;
        }
        let room = MAX_DRAFTS.saturating_sub(self.notebook.drafts().count());
        let mut put = Vec::new();
        for (kind, source) in texts.into_iter().take(room) {
            let id = DraftId::new((self.new_id)());
            put.push(id.clone());
            self.notebook.append_draft(Draft { id, on: state.clone(), kind, source, version: 1 });
        }
        self.publish_put_drafts(state.clone(), put);
    }

    /// Says that these drafts hang on a state now, as they are.
    fn publish_put_drafts(&mut self, on: StateId, drafts: impl IntoIterator<Item = DraftId>) {
        let chosen: HashSet<DraftId> = drafts.into_iter().collect();
        if chosen.is_empty() {
            return;
        }
        let put = self.notebook.placed_drafts(&on, &chosen);
        self.publish(Event::DraftsChanged { on, removed: Vec::new(), put });
    }

    fn publish_removed_drafts(&mut self, on: StateId, removed: Vec<DraftId>) {
        self.publish(Event::DraftsChanged { on, removed, put: Vec::new() });
    }
}

//! Makes and changes drafts, turns them into states when they run, and moves them along a lineage.

use super::core::Core;
use super::imported::sweep_imported;
use super::not_found;
use crate::notebook::{
    Draft, DraftId, DraftKind, ExecId, Fact, LineageRange, ReceivedUpdate, Reply, Residency, Run, StateId,
    TextUpdate,
};
use crate::problem::{Kind, Problem};
use std::collections::HashSet;

/// Limits of the drafts of a notebook, in number and in bytes of text: each snapshot sends all of
/// them.
const MAX_DRAFTS: usize = 10_000;
const MAX_DRAFT_BYTES: usize = 4 * 1024 * 1024;

/// For how many clients of a draft the number of the last update is kept. Fewer clients than that
/// edit one draft at the same time.
const MAX_RECEIVED: usize = 16;

/// Makes or changes a draft. With a `base`, only if the draft has that version; 0 means a new
/// draft.
pub(super) fn put_draft(
    core: &mut Core,
    mut draft: Draft,
    after: Option<&DraftId>,
    in_place: bool,
    base: Option<u64>,
    update: Option<TextUpdate>,
) -> Reply {
    let known = core.notebook.draft(&draft.id).cloned();
    let arrived = update.as_ref().zip(known.as_ref()).map_or(0, |(update, known)| arrived(known, update));
    let number = update.as_ref().map_or(0, |update| update.number);
    if number > 0 && number <= arrived {
        // The client sent the update again, because the answer was lost.
        return Reply::Done;
    }
    let missing = (known.is_some() && number > arrived + 1).then_some(arrived + 1);
    if let Err(refused) = check_base(core, &draft.id, known.as_ref(), base, missing) {
        return Reply::Refused(refused);
    }
    if let Some(known) = known.as_ref().filter(|_| in_place) {
        // A run may have moved the draft meanwhile.
        draft.on.clone_from(&known.on);
        draft.before.clone_from(&known.before);
    }
    draft.before = core.notebook.child_below(&draft).cloned();
    let on = draft.on.clone();
    if !core.notebook.state(&on).is_some_and(|s| s.residency != Residency::Deleted) {
        return Reply::Refused(not_found("state", on));
    }
    draft.version = match &known {
        Some(known) if (known.kind, &known.source) == (draft.kind, &draft.source) => known.version,
        Some(known) => known.version + 1,
        None => 1,
    };
    draft.received = received(known.as_ref(), update.as_ref());
    let is_new = known.is_none();
    let id = draft.id.clone();
    let others = core.notebook.drafts().filter(|d| d.id != draft.id).map(|d| d.source.len()).sum::<usize>();
    if others + draft.source.len() > MAX_DRAFT_BYTES {
        let why = format!("the drafts of a notebook may hold {MAX_DRAFT_BYTES} bytes in all");
        return Reply::Refused(Problem::new(
            Kind::TooLarge,
            format!("keep draft {}", draft.id),
            why,
            "delete some",
        ));
    }
    if in_place && core.notebook.change_draft(&draft) {
        publish_changed_draft(core, on, id, update);
        return Reply::Done;
    }
    if is_new && core.notebook.drafts().count() >= MAX_DRAFTS {
        let why = format!("the notebook holds {MAX_DRAFTS} drafts already");
        return Reply::Refused(Problem::new(
            Kind::Busy,
            format!("add draft {}", draft.id),
            why,
            "delete some",
        ));
    }
    core.notebook.place_draft(draft, after);
    publish_changed_draft(core, on, id, update);
    Reply::Done
}

/// The number of the last update of a draft that arrived from the client of `update`; 0 if none
/// did.
fn arrived(known: &Draft, update: &TextUpdate) -> u64 {
    known.received.iter().find(|last| last.client == update.client).map_or(0, |last| last.number)
}

/// The last update of each client, with the new one.
fn received(known: Option<&Draft>, update: Option<&TextUpdate>) -> Vec<ReceivedUpdate> {
    let mut last = known.map_or(Vec::new(), |known| known.received.clone());
    if let Some(TextUpdate { client, number: number @ 1.., .. }) = update {
        last.retain(|other| other.client != *client);
        last.push(ReceivedUpdate { client: client.clone(), number: *number });
        last.drain(..last.len().saturating_sub(MAX_RECEIVED));
    }
    last
}

/// Checks that a text grew from the draft's current version, and that no update of its client is
/// missing before it.
fn check_base(
    core: &Core,
    id: &DraftId,
    known: Option<&Draft>,
    base: Option<u64>,
    missing: Option<u64>,
) -> Result<(), Problem> {
    let conflict = |why, how| Problem::new(Kind::Conflict, format!("change draft {id}"), why, how);
    match (known, base, missing) {
        (Some(known), Some(base), _) if known.version != base => Err(conflict(
            format!("it has version {}, and the text grew from version {base}", known.version),
            "merge the two texts and send the result",
        )),
        (Some(_), Some(_), Some(number)) => {
            let why = format!("update {number} of the same client has not arrived");
            Err(conflict(why, "send that update first"))
        }
        (None, Some(base), _) if base > 0 => Err(not_found("draft", id)),
        // A client sent the draft again after a lost connection. It would appear beside the state
        // that it became.
        (None, ..) if has_become_a_state(core, id) => Err(not_found("draft", id)),
        _ => Ok(()),
    }
}

fn has_become_a_state(core: &Core, id: &DraftId) -> bool {
    let is_its = |run: &&Run| run.draft.as_ref() == Some(id);
    core.notebook.runs().filter(is_its).any(|run| run.state.is_some())
}

/// Deletes a draft.
pub(super) fn delete_draft(core: &mut Core, id: &DraftId) -> Reply {
    match core.notebook.remove_draft(id) {
        Some(draft) => {
            publish_removed_drafts(core, draft.on, vec![draft.id]);
            sweep_imported(core);
            Reply::Done
        }
        None => Reply::Refused(not_found("draft", id)),
    }
}

/// A draft became a state. The Markdown drafts right before it become the state's prose, earlier
/// drafts stay above the state's cell, and later drafts move behind the new state.
pub(super) fn move_drafts(core: &mut Core, exec_id: &ExecId, parent: &StateId, state: &StateId) {
    let Some(id) = core.notebook.run(exec_id).and_then(|r| r.draft.clone()) else { return };
    let Some(draft) = core.notebook.draft(&id).cloned() else { return };
    let drafts = core.notebook.drafts_at(&draft.on, core.notebook.child_below(&draft));
    let on = draft.on;
    core.notebook.remove_draft(&id);
    let mut removed = vec![id.clone()];
    if on == *parent
        && let Some(at) = drafts.iter().position(|d| d.id == id)
    {
        let prose = drafts[..at].iter().rev().take_while(|d| d.kind == DraftKind::Markdown).count();
        let texts = drafts[at - prose..at].iter().map(|d| d.source.clone()).collect();
        for draft in &drafts[at - prose..at] {
            core.notebook.remove_draft(&draft.id);
            removed.push(draft.id.clone());
        }
        let above = &drafts[..at - prose];
        for draft in above {
            core.notebook.change_draft(&Draft { before: Some(state.clone()), ..draft.clone() });
        }
        let moved = &drafts[at + 1..];
        for draft in moved {
            core.notebook.remove_draft(&draft.id);
            core.notebook.append_draft(Draft { on: state.clone(), before: None, ..draft.clone() });
        }
        if prose > 0 {
            core.change_state(state, |s| s.prose = texts);
        }
        publish_put_drafts(core, parent.clone(), above.iter().map(|d| d.id.clone()));
        publish_put_drafts(core, state.clone(), moved.iter().map(|d| d.id.clone()));
    }
    publish_removed_drafts(core, on, removed);
    sweep_imported(core);
}

/// A new version of a state's cell ran, or a cell was inserted behind it. The later cells become
/// drafts behind the new state. A new version also gets copies of the prose and of the drafts above
/// the cell.
pub(super) fn replay_as_drafts(core: &mut Core, range: &LineageRange, state: &StateId) {
    let path: Vec<StateId> = core.notebook.lineage(&range.tip).iter().map(|s| s.id.clone()).collect();
    let Some(at) = path.iter().position(|id| *id == range.state) else { return };
    let Some(parent) = core.notebook.state(state).and_then(|s| s.parent.clone()) else { return };
    let places = core.notebook.drafts_by_place();
    let texts_at = |on, before| {
        let drafts: &[&Draft] = places.get(&(on, before)).map_or(&[], Vec::as_slice);
        drafts.iter().map(|d| (d.kind, d.source.clone()))
    };
    // The page hides empty drafts.
    let texts_between =
        |above, below| texts_at(above, Some(below)).filter(|(_, text)| !text.trim().is_empty());
    let above: Vec<_> =
        path[..at].last().into_iter().flat_map(|before| texts_between(before, &range.state)).collect();
    let mut texts = Vec::new();
    for step in path[at..].windows(2) {
        texts.extend(texts_between(&step[0], &step[1]));
        let Some(old) = core.notebook.state(&step[1]) else { continue };
        texts.extend(old.prose.iter().map(|p| (DraftKind::Markdown, p.clone())));
        let run = old.exec_id.as_ref().and_then(|run| core.notebook.run(run));
        texts.extend(run.map(|r| (DraftKind::Code, r.code.clone())));
    }
    texts.extend(texts_at(&range.tip, None));
    if parent != range.state {
        add_drafts(core, &parent, Some(state), above);
        let prose = core.notebook.state(&range.state).map(|s| s.prose.clone());
        if let Some(prose) = prose.filter(|prose| !prose.is_empty()) {
            core.change_state(state, |s| s.prose = prose);
        }
    }
    add_drafts(core, state, None, texts);
}

/// Makes drafts of texts, behind those at the same place, as many as the limit allows.
fn add_drafts(core: &mut Core, on: &StateId, before: Option<&StateId>, texts: Vec<(DraftKind, String)>) {
    let room = MAX_DRAFTS.saturating_sub(core.notebook.drafts().count());
    let mut put = Vec::new();
    for (kind, source) in texts.into_iter().take(room) {
        let id = DraftId::new(core.new_id());
        put.push(id.clone());
        let (on, before) = (on.clone(), before.cloned());
        core.notebook.append_draft(Draft { id, on, before, kind, source, version: 1, received: Vec::new() });
    }
    publish_put_drafts(core, on.clone(), put);
}

/// Publishes a draft that a client changed, with the update of its text.
fn publish_changed_draft(core: &mut Core, on: StateId, id: DraftId, update: Option<TextUpdate>) {
    let mut put = core.notebook.placed_drafts(&on, &HashSet::from([id]));
    if let Some(placed) = put.first_mut() {
        placed.update = update;
    }
    core.publish(Fact::DraftsChanged { on, removed: Vec::new(), put });
}

/// Publishes drafts of a state that were added or changed.
fn publish_put_drafts(core: &mut Core, on: StateId, drafts: impl IntoIterator<Item = DraftId>) {
    let chosen: HashSet<DraftId> = drafts.into_iter().collect();
    if chosen.is_empty() {
        return;
    }
    let put = core.notebook.placed_drafts(&on, &chosen);
    core.publish(Fact::DraftsChanged { on, removed: Vec::new(), put });
}

fn publish_removed_drafts(core: &mut Core, on: StateId, removed: Vec<DraftId>) {
    core.publish(Fact::DraftsChanged { on, removed, put: Vec::new() });
}

//! Creates, changes and deletes drafts, turns a draft into a state when its run succeeds, and moves
//! drafts along a lineage.

use super::core::{Core, not_found};
use super::imported::{imported_runs, remove_imported};
use crate::notebook::{
    Base, Draft, DraftId, DraftKind, ExecId, Fact, LineageRange, ReceivedUpdate, Reply, Residency, Run,
    State, StateId, TextUpdate,
};
use crate::problem::{Kind, Problem};
use std::collections::HashSet;

/// Limits for all drafts of a notebook: their number, and the bytes of their texts. Each snapshot
/// contains all drafts.
const MAX_DRAFTS: usize = 10_000;
const MAX_DRAFT_BYTES: usize = 4 * 1024 * 1024;

/// Maximum number of clients whose last update is stored with a draft. Normally, fewer clients edit
/// one draft at the same time.
const MAX_RECEIVED: usize = 16;

/// Creates or changes a draft. If `base` is given, the draft must have that version; 0 means a new
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
        // The client repeated the update because the reply was lost.
        return Reply::Done;
    }
    let missing = (known.is_some() && number > arrived + 1).then_some(arrived + 1);
    if let Err(refused) = check_base(core, &draft.id, known.as_ref(), base, missing) {
        return Reply::Refused(refused);
    }
    if let Some(known) = known.as_ref().filter(|_| in_place) {
        // A run may have moved the draft since the client last saw it.
        draft.on.clone_from(&known.on);
        draft.before.clone_from(&known.before);
    }
    if let Some(known) = &known {
        draft.imported_cell = known.imported_cell;
        draft.instead_of.clone_from(&known.instead_of);
    } else if let Some((on, before)) = after.and_then(|after| moved_on(core, after, &draft.on)) {
        (draft.on, draft.before) = (on, before);
    }
    if let Some(edited) = draft.instead_of.clone() {
        let parent = core.notebook.state(&edited).and_then(|state| state.parent.clone());
        match (&known, parent) {
            (Some(known), _) => draft.on.clone_from(&known.on),
            (None, Some(parent)) => draft.on = parent,
            // The cell is gone: the text becomes a cell of its own.
            (None, None) => draft.instead_of = None,
        }
        draft.before = None;
        draft.kind = DraftKind::Code;
    }
    let stale = known.as_ref().map_or(draft.stale_run.as_ref(), |known| known.stale_run.as_ref());
    let is_stale =
        stale == draft.stale_run.as_ref() && stale.is_some_and(|run| core.notebook.run(run).is_some());
    draft.stale_run = draft.stale_run.filter(|_| is_stale);
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
            format!("save draft {}", draft.id),
            why,
            "delete some drafts",
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
            "delete some drafts",
        ));
    }
    core.notebook.place_draft(draft, after);
    publish_changed_draft(core, on, id, update);
    Reply::Done
}

/// The place of what follows the draft `after` of the state `on`, if that draft has moved to
/// another state, or has become one or the edit of one, since the client last saw it. Several runs
/// may have ended since.
fn moved_on(core: &Core, after: &DraftId, on: &StateId) -> Option<(StateId, Option<StateId>)> {
    if let Some(moved) = core.notebook.draft(after) {
        if let Some(edited) = &moved.instead_of {
            return Some((edited.clone(), None));
        }
        return (moved.on != *on).then(|| (moved.on.clone(), moved.before.clone()));
    }
    let run = core.notebook.runs().rev().find(|run| run.draft.as_ref() == Some(after))?;
    let state = core.notebook.state(run.state.as_ref()?)?;
    let is_below = core.notebook.ancestry(&state.id).skip(1).any(|above| above.id == *on);
    is_below.then(|| (state.id.clone(), None))
}

/// The number of the last update of a draft from the client that sent `update`; 0 if there is none.
fn arrived(known: &Draft, update: &TextUpdate) -> u64 {
    known.received.iter().find(|last| last.client == update.client).map_or(0, |last| last.number)
}

/// The last update of each client, including the new update.
fn received(known: Option<&Draft>, update: Option<&TextUpdate>) -> Vec<ReceivedUpdate> {
    let mut last = known.map_or(Vec::new(), |known| known.received.clone());
    if let Some(TextUpdate { client, number: number @ 1.., .. }) = update {
        last.retain(|other| other.client != *client);
        last.push(ReceivedUpdate { client: client.clone(), number: *number });
        last.drain(..last.len().saturating_sub(MAX_RECEIVED));
    }
    last
}

/// Checks that a change is based on the draft's current version, and that all earlier updates of
/// the same client have arrived.
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
            format!("it has version {}, and the change is based on version {base}", known.version),
            "merge the two texts and send the result",
        )),
        (Some(_), Some(_), Some(number)) => {
            let why = format!("update {number} of this client has not arrived");
            Err(conflict(why, "send that update first"))
        }
        (None, Some(base), _) if base > 0 => Err(not_found("draft", id)),
        // After a lost connection, a client may send a draft that has become a state. The draft
        // must not be created again beside that state.
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
            Reply::Done
        }
        None => Reply::Refused(not_found("draft", id)),
    }
}

/// Moves the drafts around a draft that became a state. What was typed into the draft since the
/// run of its version `requested` becomes an edit of the state's cell. The Markdown drafts
/// directly before it become the state's prose. Earlier drafts stay above the state's cell, and
/// later drafts move below the new state. Drafts that run on the parent are branches of their own,
/// and stay.
///
/// Only the newest run of a draft takes the draft with it. Other runs of the draft are variants of
/// the cell: their states get copies of the prose and of the later drafts.
pub(super) fn move_drafts(
    core: &mut Core,
    exec_id: &ExecId,
    requested: Option<u64>,
    parent: &StateId,
    state: &StateId,
) {
    let Some(run) = core.notebook.run(exec_id) else { return };
    let (Some(id), code) = (run.draft.clone(), run.code.clone()) else { return };
    let newest = core.notebook.runs().rev().find(|run| run.draft.as_ref() == Some(&id));
    let is_newest = newest.is_some_and(|run| run.exec_id == *exec_id);
    let Some(draft) = core.notebook.draft(&id).filter(|draft| draft.instead_of.is_none()).cloned() else {
        return;
    };
    let drafts = core.notebook.drafts_at(&draft.on, core.notebook.child_below(&draft));
    if !is_newest {
        return copy_drafts(core, &drafts, &draft, parent, state);
    }
    let on = draft.on.clone();
    core.notebook.remove_draft(&id);
    let mut removed = Vec::new();
    if draft.source == code || requested == Some(draft.version) {
        removed.push(id.clone());
    } else {
        let instead_of = Some(state.clone());
        let edit = Draft { on: parent.clone(), before: None, instead_of, stale_run: None, ..draft };
        core.notebook.place_draft(edit, None);
        publish_put_drafts(core, parent.clone(), [id.clone()]);
    }
    if on == *parent
        && let Some(at) = drafts.iter().position(|d| d.id == id)
    {
        let prose = drafts[..at].iter().rev().take_while(|d| d.kind == DraftKind::Markdown).count();
        let texts = drafts[at - prose..at].iter().map(|d| d.source.clone()).collect();
        for draft in &drafts[at - prose..at] {
            core.notebook.remove_draft(&draft.id);
            removed.push(draft.id.clone());
        }
        let is_moved = |draft: &&Draft| !runs_on(core, draft, parent);
        let above: Vec<Draft> = drafts[..at - prose].iter().filter(is_moved).cloned().collect();
        let moved: Vec<Draft> = drafts[at + 1..].iter().filter(is_moved).cloned().collect();
        for draft in &above {
            core.notebook.change_draft(&Draft { before: Some(state.clone()), ..draft.clone() });
        }
        for draft in &moved {
            core.notebook.remove_draft(&draft.id);
            core.notebook.append_draft(Draft { on: state.clone(), before: None, ..draft.clone() });
        }
        if prose > 0 {
            core.change_state(state, |s| s.prose = texts);
        }
        publish_put_drafts(core, parent.clone(), above.iter().map(|d| d.id.clone()));
        publish_put_drafts(core, state.clone(), moved.iter().map(|d| d.id.clone()));
    }
    publish_removed_drafts(core, on, removed.clone());
    remove_imported(core, |draft| removed.contains(draft));
}

/// Copies the texts around a draft to the state of a variant: the Markdown drafts directly before
/// it as prose, the raw cells and texts above those and the later drafts as drafts.
fn copy_drafts(core: &mut Core, drafts: &[Draft], draft: &Draft, parent: &StateId, state: &StateId) {
    let Some(at) = drafts.iter().position(|d| d.id == draft.id) else { return };
    if draft.on != *parent {
        return;
    }
    let texts = drafts[..at].iter().rev().take_while(|d| d.kind != DraftKind::Code).count();
    let prose = drafts[..at].iter().rev().take_while(|d| d.kind == DraftKind::Markdown).count();
    let above = drafts[at - texts..at - prose].iter().map(NewDraft::like).collect();
    let prose: Vec<String> = drafts[at - prose..at].iter().map(|d| d.source.clone()).collect();
    let is_meant = |d: &&Draft| !(is_blank(d) || runs_on(core, d, parent));
    let later = drafts[at + 1..].iter().filter(is_meant).map(NewDraft::like).collect();
    if !prose.is_empty() {
        core.change_state(state, |s| s.prose = prose);
    }
    add_drafts(core, parent, Some(state), above);
    add_drafts(core, state, None, later);
}

/// The lineage from which a variant copies its prose and later drafts if another version of its
/// cell has already taken their draft.
pub(super) fn version_with_draft(core: &Core, exec_id: &ExecId, parent: &StateId) -> Option<LineageRange> {
    let id = core.notebook.run(exec_id)?.draft.as_ref()?;
    if core.notebook.draft(id).is_some_and(|draft| draft.instead_of.is_none()) {
        return None;
    }
    let runs_draft = |run: &ExecId| core.notebook.run(run).is_some_and(|run| run.draft.as_ref() == Some(id));
    let is_version =
        |other: &&State| other.exec_id.as_ref().is_some_and(|run| run != exec_id && runs_draft(run));
    let version = core.notebook.children(parent).find(is_version)?.id.clone();
    Some(LineageRange { state: version.clone(), tip: version })
}

/// Removes the edit of a cell after its code has run as a new version of the cell.
pub(super) fn remove_edit(core: &mut Core, exec_id: &ExecId, edited: &StateId) {
    let Some(code) = core.notebook.run(exec_id).map(|run| &run.code) else { return };
    let edit = core.notebook.edit_of(edited).filter(|edit| edit.source == *code);
    if let Some(id) = edit.map(|edit| edit.id.clone()) {
        delete_draft(core, &id);
    }
}

/// Removes the edits of states that are gone for good.
pub(super) fn remove_edits_of(core: &mut Core, gone: &[StateId]) {
    let edits = core.notebook.edits();
    let ids = gone.iter().filter_map(|state| edits.get(state)).map(|edit| edit.id.clone());
    for id in ids.collect::<Vec<_>>() {
        delete_draft(core, &id);
    }
}

/// Whether a draft is empty and thus hidden by the page. Empty cells of an imported file stay: an
/// export writes them again.
fn is_blank(draft: &Draft) -> bool {
    draft.source.trim().is_empty() && draft.imported_cell.is_none()
}

/// Whether an open run of a draft runs on this state.
fn runs_on(core: &Core, draft: &Draft, state: &StateId) -> bool {
    let mut open = core.open.iter().filter_map(|id| core.notebook.run(id));
    open.any(|run| run.draft.as_ref() == Some(&draft.id) && matches!(&run.on, Base::State(on) if on == state))
}

/// Turns later cells into drafts below a new state, after a new version of a cell ran or a cell was
/// inserted. A new version also gets copies of the old version's prose and of the drafts above its
/// cell. Edits of the later cells become the texts of their drafts.
pub(super) fn replay_as_drafts(core: &mut Core, range: &LineageRange, state: &StateId) {
    let path: Vec<StateId> = core.notebook.lineage(&range.tip).iter().map(|s| s.id.clone()).collect();
    let Some(at) = path.iter().position(|id| *id == range.state) else { return };
    let Some(parent) = core.notebook.state(state).and_then(|s| s.parent.clone()) else { return };
    let (places, edits) = (core.notebook.drafts_by_place(), core.notebook.edits());
    let texts_at = |on, before| {
        let drafts: &[&Draft] = places.get(&(on, before)).map_or(&[], Vec::as_slice);
        drafts.iter().copied()
    };
    let texts_between =
        |above, below| texts_at(above, Some(below)).filter(|d| !is_blank(d)).map(NewDraft::like);
    let above: Vec<_> =
        path[..at].last().into_iter().flat_map(|before| texts_between(before, &range.state)).collect();
    let mut texts = Vec::new();
    for step in path[at..].windows(2) {
        texts.extend(texts_between(&step[0], &step[1]));
        let Some(old) = core.notebook.state(&step[1]) else { continue };
        texts.extend(old.prose.iter().map(|text| NewDraft::text(text)));
        let run = old.exec_id.as_ref().and_then(|run| core.notebook.run(run));
        texts.extend(run.map(|run| NewDraft::cell_of(run, edits.get(&old.id).copied())));
    }
    texts.extend(texts_at(&range.tip, None).map(NewDraft::like));
    if parent != range.state {
        add_drafts(core, &parent, Some(state), above);
        let prose = core.notebook.state(&range.state).map(|s| s.prose.clone());
        if let Some(prose) = prose.filter(|prose| !prose.is_empty()) {
            core.change_state(state, |s| s.prose = prose);
        }
    }
    add_drafts(core, state, None, texts);
}

/// The content of a draft that the machine makes from another cell.
struct NewDraft {
    kind: DraftKind,
    source: String,
    imported_cell: Option<u32>,
    stale_run: Option<ExecId>,
    /// The draft that it copies. The new draft gets a copy of the imported run of that draft.
    copied: Option<DraftId>,
}

impl NewDraft {
    fn like(draft: &Draft) -> Self {
        let Draft { kind, source, imported_cell, stale_run, .. } = draft.clone();
        Self { kind, source, imported_cell, stale_run, copied: imported_cell.map(|_| draft.id.clone()) }
    }

    fn text(prose: &str) -> Self {
        Self {
            kind: DraftKind::Markdown,
            source: prose.to_owned(),
            imported_cell: None,
            stale_run: None,
            copied: None,
        }
    }

    fn cell_of(run: &Run, edit: Option<&Draft>) -> Self {
        Self {
            kind: DraftKind::Code,
            source: edit.map_or(&run.code, |edit| &edit.source).clone(),
            imported_cell: run.imported_cell,
            stale_run: Some(run.exec_id.clone()),
            copied: None,
        }
    }
}

/// Adds texts as drafts after the existing drafts at the same place. Texts beyond `MAX_DRAFTS` are
/// dropped.
fn add_drafts(core: &mut Core, on: &StateId, before: Option<&StateId>, texts: Vec<NewDraft>) {
    let room = MAX_DRAFTS.saturating_sub(core.notebook.drafts().count());
    let mut put = Vec::new();
    let copied = texts.iter().filter_map(|draft| draft.copied.clone()).collect();
    let mut runs = imported_runs(core, &copied);
    for NewDraft { kind, source, imported_cell, stale_run, copied } in texts.into_iter().take(room) {
        let id = DraftId::new(core.new_id());
        if let Some(run) = copied.and_then(|copied| runs.remove(&copied)) {
            let exec_id = ExecId::new(format!("imported-{}", core.new_id()));
            let run = Run { exec_id, draft: Some(id.clone()), ..run };
            core.add_run(run);
        }
        put.push(id.clone());
        let (on, before) = (on.clone(), before.cloned());
        core.notebook.append_draft(Draft {
            id,
            on,
            before,
            instead_of: None,
            kind,
            source,
            version: 1,
            received: Vec::new(),
            imported_cell,
            stale_run,
        });
    }
    publish_put_drafts(core, on.clone(), put);
}

/// Publishes a draft that a client changed, together with the client's update.
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
    if removed.is_empty() {
        return;
    }
    core.publish(Fact::DraftsChanged { on, removed, put: Vec::new() });
}

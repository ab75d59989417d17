// @ts-check
// Keeps typing whose draft became a state or was deleted. Pure.

import { newId } from '../text/format.js';

/**
 * A run has left a state: typing into its draft during the run becomes an edit of the state's cell.
 * @param {import('./page.js').Page} page
 * @param {import('../shell/protocol.js').State} state
 */
export function keepTypingDuringRun(page, state) {
    const run = page.model.runOf(state);
    if (!run?.draft) return;
    const text = page.drafts.get(run.draft)?.source;
    page.drafts.forget(run.draft);
    if (text !== undefined && text !== run.code) page.edits.set(state.id, { text, run: null });
}

/**
 * Typing into a draft that cannot be restored becomes an edit of its state's cell, or a new draft.
 * @param {import('./page.js').Page} page
 * @param {import('../shell/protocol.js').Draft} draft
 */
export function keepOrphanedDraft(page, { id, kind, source }) {
    const run = page.model.runs.get(page.model.runOfDraft.get(id) ?? '');
    if (!source.trim() || source === run?.code) return;
    if (run?.state && page.model.states.has(run.state)) {
        page.edits.set(run.state, { text: source, run: null });
        page.saveTabState();
    } else {
        page.drafts.add({ id: newId(), on: page.here, kind, source }, page.drafts.lastOn(page.here));
    }
}

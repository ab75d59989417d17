// @ts-check
// Keeps typing whose draft has become a state, or whose state was deleted. Pure.

import { newId } from '../text/format.js';

/**
 * Typing into a draft that cannot be restored becomes an edit of its state's cell, or a new draft.
 * @param {import('./page.js').Page} page
 * @param {import('../shell/protocol.js').Draft} draft
 */
export function keepOrphanedDraft(page, { id, kind, source }) {
    const state = page.model.stateMadeFrom(id);
    const run = state && page.model.runOf(state);
    if (!source.trim() || source === run?.code) return;
    if (state) page.edit(state, source);
    else {
        page.drafts.add({ id: newId(), on: page.here, kind, source }, page.drafts.lastOn(page.here));
    }
}

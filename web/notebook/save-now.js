// @ts-check
// "Save now": everything is saved continuously; on request, the page sends unsent typing and asks
// for a checkpoint of the current state.

import { isInMemory } from '../checkpoints/residency.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';

/** @param {import('./page.js').Page} page */
export function saveNow(page) {
    page.save();
    const state = page.model.states.get(page.here);
    if (page.mayRun && state && state.parent !== null && isInMemory(state)) page.checkpoints.save(state.id);
    else page.notify(WORDS.saved, false);
}

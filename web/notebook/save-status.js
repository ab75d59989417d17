// @ts-check
// Whether all changes are on disk, as far as this tab knows. Pure.
//
// The server answers a change after it is on disk, and reports each state that is on disk.

import { isInMemory } from '../checkpoints/residency.js';
import { SAVE_WORDS as WORDS } from './save-words.js';

/**
 * @typedef {{state: 'saved' | 'saving' | 'failing' | 'unpushed' | 'held', text: string,
 *   hint: string, until?: number}} SaveStatus
 *   `until`: when the text or the hint is no longer true although nothing has happened;
 *   `unpushed`: the store off the machine does not answer;
 *   `held`: another server writes the notebook, so it is read-only here
 */

/** How long a state may have no checkpoint before the header says so, in milliseconds. */
const LONG_MS = 15_000;
/** How often the header says anew how long, in milliseconds. */
const AGAIN_MS = 10_000;

/**
 * @param {import('./page.js').Page} page
 * @param {number} now milliseconds since the Unix epoch
 * @returns {SaveStatus | null} null if other parts of the page say why nothing is saved now, or if
 *   this browser may not change anything
 */
export function saveStatus(page, now) {
    const { model, drafts, prose, host } = page;
    const { offsite } = model;
    if (!page.isLoaded || page.connection !== 'open' || page.ownScope === 'view') return null;
    if (offsite?.phase === 'held')
        return {
            state: 'held',
            text: WORDS.held,
            hint: WORDS.heldLong(offsite),
        };
    if (model.trouble)
        return { state: 'failing', text: WORDS.failing, hint: WORDS.failingHint(model.trouble.why) };
    if (drafts.isSaving || prose.isBehind || host.isSaving?.() || model.unsaved.size > 0)
        return { state: 'saving', text: WORDS.saving, hint: WORDS.savingHint };
    const waiting = [...model.states.values()].filter(
        (state) => state.parent !== null && isInMemory(state) && state.checkpoint === null,
    );
    const since = Math.min(...waiting.map((state) => state.in_memory_since ?? now));
    const hint = WORDS.savedHint(waiting.length, now - since);
    const until = waiting.length ? (now - since < LONG_MS ? since + LONG_MS : now + AGAIN_MS) : undefined;
    if (now - since >= LONG_MS) return { state: 'saved', text: WORDS.inMemory(waiting.length), hint, until };
    if (offsite?.phase === 'waiting')
        return {
            state: 'unpushed',
            text: WORDS.unpushed(timeOf(offsite.at)),
            hint: `${hint} ${WORDS.unpushedHint(offsite.why ?? '', offsite.how ?? '')}`,
            until,
        };
    if (offsite?.phase === 'pushing')
        return { state: 'saved', text: WORDS.pushing, hint: `${hint} ${WORDS.pushingHint}`, until };
    if (offsite?.phase === 'pushed')
        return {
            state: 'saved',
            text: WORDS.pushed(timeOf(offsite.at)),
            hint: `${hint} ${WORDS.pushedHint}`,
            until,
        };
    return { state: 'saved', text: WORDS.saved, hint, until };
}

/** A time as the user's clock shows it. @param {number | null} ms */
function timeOf(ms) {
    return new Date(ms ?? 0).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}

// @ts-check
// Texts about what is on disk, and about memory.

import { duration } from '../text/format.js';

export const SAVE_WORDS = Object.freeze({
    saved: 'All changes saved',
    savedHint: (/** @type {number} */ states, /** @type {number} */ ms) =>
        'Cells, drafts and outputs are on disk.' +
        (states
            ? ` The variables of ${states === 1 ? 'one state are' : `${states} states are`} only in memory` +
              (ms > 1000 ? `, for ${duration(ms)}.` : '.')
            : ''),
    inMemory: (/** @type {number} */ states) =>
        `Saved · ${states === 1 ? 'one state' : `${states} states`} only in memory`,
    saving: 'Saving…',
    savingHint: 'The last changes are not on disk yet.',
    pushing: 'Saved · pushing…',
    pushingHint: 'The last changes are being copied to the store.',
    pushed: (/** @type {string} */ time) => `Saved · pushed ${time}`,
    pushedHint: 'The copy in the store has everything that was on disk then.',
    unpushed: (/** @type {string} */ time) => `Saved here · not pushed since ${time}`,
    unpushedHint: (/** @type {string} */ why, /** @type {string} */ how) =>
        `The copy in the store has to wait, and nothing is lost: ${why}. Remedy: ${how}.`,
    held: 'Read-only',
    heldLong: (/** @type {{why: string | null, how: string | null}} */ { why, how }) =>
        `This notebook is read-only here: ${why}. To change it, ${how}.`,
    takeOver: 'Take over',
    takeOverHint: 'Make this copy editable. The other copy becomes read-only.',
    failing: 'Not saved',
    failingHint: (/** @type {string} */ why) => `Changes stay in memory until the disk works again: ${why}`,
});

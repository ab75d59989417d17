// @ts-check
// The texts of the find bar.

import { counted } from '../text/format.js';

export const FIND_WORDS = Object.freeze({
    findLabel: 'Find',
    replaceLabel: 'Replace with',
    showReplace: 'Toggle replace',
    caseHint: 'Match case (Alt-C)',
    wordHint: 'Match whole word (Alt-W)',
    regexHint: 'Use regular expression (Alt-R)',
    matchOf: (/** @type {number} */ k, /** @type {number} */ n) =>
        k ? `${k} of ${n}` : counted(n, 'match', 'matches'),
    noMatch: 'No matches',
    inCells: (/** @type {number} */ n) => `${n} in cells`,
    outputsStay: 'Replace does not change outputs.',
    wrongPattern: 'Invalid regular expression',
    replaceOne: 'Replace',
    replaceAll: 'Replace all',
    close: 'Close',
});

// @ts-check
// The texts of the find bar.

const numbers = new Intl.NumberFormat('en');

/** @param {number} n @param {boolean} isCut whether there are more */
const count = (n, isCut) => `${numbers.format(n)}${isCut ? '+' : ''}`;

export const FIND_WORDS = Object.freeze({
    findLabel: 'Find',
    replaceLabel: 'Replace with',
    showReplace: 'Toggle replace',
    caseHint: 'Match case (Alt-C)',
    wordHint: 'Match whole word (Alt-W)',
    regexHint: 'Use regular expression (Alt-R)',
    matchOf: (/** @type {number} */ k, /** @type {number} */ n, /** @type {boolean} */ isCut) => {
        if (k) return `${numbers.format(k)} of ${count(n, isCut)}`;
        return `${count(n, isCut)} ${n === 1 ? 'match' : 'matches'}`;
    },
    noMatch: 'No matches',
    searching: 'Searching…',
    inCells: (/** @type {number} */ n, /** @type {boolean} */ isCut) => `${count(n, isCut)} in cells`,
    outputsStay: 'Replace does not change outputs.',
    wrongPattern: 'Invalid regular expression',
    slow: 'Takes too long',
    slowWhy:
        'This regular expression takes too long, so the search was stopped. ' +
        'Avoid a repeat inside a repeat: a+ instead of (a+)+.',
    missing: 'Not searched',
    missingWhy:
        'Regular expressions need the server, which does not answer. ' +
        'Search without a regular expression, or try again later.',
    replaceOne: 'Replace',
    replaceAll: 'Replace all',
    close: 'Close',
});

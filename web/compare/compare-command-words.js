// @ts-check
// The texts about comparing that the page shows outside of the comparison, and the letters of the
// compared states.

/** The letters that name the compared states. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
/** The most states that can be compared: each has a letter. */
export const MOST_STATES = LETTERS.length;
/** @param {number} at the number of a compared state */
export const letterOf = (at) => LETTERS[at] ?? '?';

export const COMPARE_COMMAND_WORDS = Object.freeze({
    name: 'Comparison',
    loading: 'Loading…',
    compareWith: 'Compare with…',
    addWith: 'Add to the comparison',
    tooMany: (/** @type {number} */ n) => `At most ${n} states can be compared. Choose fewer.`,
    command: 'Compare the state of this cell with another…',
    commandWords: 'diff versions difference',
    swapCommand: 'Swap the compared states',
    closeCommand: 'Close the comparison',
    compareVersions: 'Compare',
    compareBesideHint: 'Compare this branch with those beside it',
    gone: 'A compared state was deleted.',
});

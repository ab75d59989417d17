// @ts-check
// What the graph says.

/** @param {number} n */
const cells = (n) => (n === 1 ? 'one cell' : `${n} cells`);

export const GRAPH_WORDS = Object.freeze({
    hint: 'Arrow keys walk, Enter stands on a state, Space tells more, / searches.',
    folded: cells,
    foldedLong: (/** @type {number} */ n) => `${cells(n)} folded away, Enter shows them`,
    showAll: 'Show every state',
    showLess: 'Fold plain lines',
    resize: 'Width of the graph',
    // Search
    search: 'Search code, variables, labels',
    searchHint: 'Words, or var:df, label:best, failed, running',
    found: (/** @type {number} */ at, /** @type {number} */ of) => `${at} of ${of}`,
    foundNone: 'None',
    foundSaid: (/** @type {number} */ n) =>
        n === 0 ? 'Nothing was found.' : n === 1 ? 'One state was found.' : `${n} states were found.`,
    next: 'Next, older',
    previous: 'Previous, newer',
    changes: (/** @type {string} */ name) => `changes ${name}`,
    // A node
    grew: (/** @type {number} */ child, /** @type {number} */ parent) =>
        parent
            ? `Cell ${child} grew from cell ${parent}, beside others.`
            : `Cell ${child} grew from the start, beside others.`,
    waiting: (/** @type {number} */ n) => (n === 1 ? 'one draft' : `${n} drafts`),
    going: 'being deleted',
    compared: 'compared',
    warned: 'does not survive a branch whole',
    standsHere: (/** @type {string} */ names) => `here: ${names}`,
    // The card
    about: (/** @type {string} */ name) => `About ${name}`,
    cell: (/** @type {number} */ n) => `Cell ${n}`,
    attempt: 'Attempt',
    moreLines: (/** @type {number} */ n) => (n === 1 ? 'and one more line' : `and ${n} more lines`),
    noCode: 'The empty notebook that everything grows from.',
    added: 'new',
    changed: 'changed',
    removed: 'gone',
    moreNames: (/** @type {number} */ n) => `and ${n} more`,
    unchanged: 'No variable changed',
    people: (/** @type {string} */ names) => `Here now: ${names}`,
    picture: 'Its picture',
    close: 'Close',
    // What can be done
    look: 'Stand here',
    goOn: 'Continue here',
    goOnHint: 'Stands here and goes to the empty cell at the end',
    compare: 'Compare with current',
    removeShort: 'Delete',
    unpin: 'No longer keep in memory',
    drop: 'Forget this attempt',
    actions: (/** @type {string} */ name) => `What to do with ${name}`,
});

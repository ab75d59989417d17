// @ts-check
// The texts of the graph pane.

/** @param {number} n */
const cells = (n) => (n === 1 ? 'one cell' : `${n} cells`);

export const GRAPH_WORDS = Object.freeze({
    hint: 'Arrow keys move, Enter goes to a state, Space shows details, f hides what is below, t shows the table of branches, / searches.',
    folded: cells,
    foldedLong: (/** @type {number} */ n) => `${cells(n)} folded, press Enter to unfold`,
    showAll: 'Unfold all',
    showLess: 'Fold unbranched cells',
    // A subtree
    closed: (/** @type {number} */ n) => String(n),
    closedLong: (/** @type {number} */ n) => `${cells(n)} below hidden, press f to show`,
    closeBelow: 'Hide everything below',
    openBelow: 'Show everything below',
    resize: 'Width of the graph',
    // Search
    search: 'Search code, outputs and labels',
    value: (/** @type {string} */ value) => `output: ${value}`,
    searchHint: 'Also finds variables, and var:df, label:best, failed, running',
    found: (/** @type {number} */ at, /** @type {number} */ of) => `${at} of ${of}`,
    foundNone: 'None',
    foundSaid: (/** @type {number} */ n) =>
        n === 0 ? 'No matches.' : n === 1 ? 'One match.' : `${n} matches.`,
    next: 'Next match (older)',
    previous: 'Previous match (newer)',
    changes: (/** @type {string} */ name) => `changes ${name}`,
    // A node
    grew: (/** @type {number} */ child, /** @type {number} */ parent) =>
        parent ? `Cell ${child} branches from cell ${parent}.` : `Cell ${child} branches from the start.`,
    wentTo: (/** @type {string} */ name) => `The page shows ${name}.`,
    waiting: (/** @type {number} */ n) => (n === 1 ? '1 unrun cell' : `${n} unrun cells`),
    compared: (/** @type {string} */ letter) => `compared as ${letter}`,
    here: 'You are here',
    warned: 'has a warning',
    warnedAbove: (/** @type {number} */ n) =>
        n === 1 ? 'A warning of an earlier cell also holds.' : `${n} warnings of earlier cells also hold.`,
    standsHere: (/** @type {string} */ names) => `here: ${names}`,
    // The card
    about: (/** @type {string} */ name) => `Details of ${name}`,
    cell: (/** @type {number} */ n) => `Cell ${n}`,
    attempt: 'Attempt',
    moreLines: (/** @type {number} */ n) => (n === 1 ? 'and one more line' : `and ${n} more lines`),
    noCode: 'The empty notebook, where every branch begins.',
    added: 'new',
    changed: 'changed',
    removed: 'removed',
    moreNames: (/** @type {number} */ n) => `and ${n} more`,
    unchanged: 'No variable changed',
    people: (/** @type {string} */ names) => `Here now: ${names}`,
    picture: 'Image output',
    close: 'Close',
    // Actions
    look: 'Go to this state',
    goOn: 'New branch from here',
    goOnHint: 'Go to this state and type a new cell below it',
    compare: 'Compare with current',
    take: 'Take variables…',
    takeHint: 'Copies variables of this state into a new state after the current one',
    removeShort: 'Delete',
    unpin: 'Unload as usual',
    drop: 'Delete failed attempt',
    actions: (/** @type {string} */ name) => `Actions for ${name}`,
});

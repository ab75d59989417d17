// @ts-check
// Texts of the variables pane.

export const VARIABLES_WORDS = Object.freeze({
    title: 'Variables',
    filter: 'Filter variables by name, type or value',
    filterHint: 'Filter',
    columns: Object.freeze({
        name: 'Name',
        type: 'Type',
        shape: 'Shape',
        bytes: 'Size',
        cell: 'Cell',
        value: 'Value',
    }),
    cellHint: 'The cell that last changed the variable',
    of: (/** @type {number} */ n) => (n === 0 ? 'at the start' : `after cell ${n}`),
    count: (/** @type {number} */ n, /** @type {number} */ all) =>
        n === all ? `${all} ${all === 1 ? 'variable' : 'variables'}` : `${n} of ${all} variables`,
    isOld: (/** @type {number} */ n) =>
        n === 0
            ? 'Showing the variables at the start; loading…'
            : `Showing the variables after cell ${n}; loading…`,
    runs: 'A running cell may change these variables.',
    noneFound: 'No matching variables.',
    none: 'No variables yet.',
    looking: 'Loading…',
    again: 'Retry',
    needsReplay: 'The variables of this state are not in memory. Replay its cells to see them.',
    gone: 'This state was deleted. Its variables are gone.',
    showMore: (/** @type {number} */ n, /** @type {number} */ left) =>
        n === left ? `Show ${n} more` : `Show ${n} more of ${left.toLocaleString('en')}`,
    modules: (/** @type {number} */ n) => `${n} ${n === 1 ? 'module' : 'modules'}`,
    valueOf: (/** @type {string} */ name) => `Show the value of ${name}`,
    goToCell: (/** @type {number} */ n) => `Go to cell ${n}`,
    goToCellOf: (/** @type {string} */ name, /** @type {number} */ n) =>
        `Go to cell ${n}, which last changed ${name}`,
    axis: (/** @type {number} */ n) => `Position on axis ${n}`,
    entries: (/** @type {number} */ n) => `${n.toLocaleString('en')} ${n === 1 ? 'entry' : 'entries'}`,
    entriesOf: (/** @type {string} */ name) => `Entries of ${name}`,
    pictureOf: (/** @type {string} */ name) => `Picture of ${name}`,
    copyName: 'Copy name',
    nameCopied: (/** @type {string} */ name) => `Copied “${name}”.`,
    copyByHand: 'Copy this name',
    stats: Object.freeze({
        shape: 'Shape',
        dtype: 'Data type',
        min: 'Minimum',
        max: 'Maximum',
        mean: 'Mean',
        nulls: 'Missing',
        bytes: 'Memory',
    }),
    column: 'Column',
    moreColumns: (/** @type {number} */ n) => `and ${n} more ${n === 1 ? 'column' : 'columns'}`,
    width: 'Width of the variables pane',
});

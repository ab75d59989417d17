// @ts-check
// What the variables pane says.

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
    cellHint: 'The cell that changed it last',
    of: (/** @type {number} */ n) => (n === 0 ? 'at the start' : `after cell ${n}`),
    count: (/** @type {number} */ n, /** @type {number} */ all) =>
        n === all ? `${all} ${all === 1 ? 'variable' : 'variables'}` : `${n} of ${all}`,
    isOld: (/** @type {number} */ n) =>
        n === 0 ? 'Still those at the start; looking…' : `Still those of cell ${n}; looking…`,
    runs: 'A cell is running: it may change them.',
    noneFound: 'No variable reads like that.',
    none: 'No variables yet.',
    looking: 'Looking…',
    refused: (/** @type {{why: string, how: string}} */ { why, how }) =>
        `These variables cannot be shown now: ${why}. ${how.slice(0, 1).toUpperCase()}${how.slice(1)}.`,
    again: 'Look again',
    needsReplay: 'This state has no process: replay its cells to see its variables.',
    gone: 'This state was deleted; its variables cannot be had.',
    showMore: (/** @type {number} */ n) => `Show ${n.toLocaleString('en')} more`,
    valueOf: (/** @type {string} */ name) => `Show the value of ${name}`,
    goToCell: (/** @type {number} */ n) => `Cell ${n}`,
    goToCellOf: (/** @type {string} */ name, /** @type {number} */ n) =>
        `${name} was last changed by cell ${n}: go there`,
    copyName: 'Copy name',
    nameCopied: (/** @type {string} */ name) => `“${name}” was copied.`,
    copyByHand: 'Copy this name',
    stats: Object.freeze({
        shape: 'Shape',
        dtype: 'Type of values',
        min: 'Smallest',
        max: 'Largest',
        mean: 'Mean',
        nulls: 'Missing',
        bytes: 'Memory',
    }),
    column: 'Column',
    moreColumns: (/** @type {number} */ n) => `and ${n} more columns`,
    width: 'Width of the variables pane',
});

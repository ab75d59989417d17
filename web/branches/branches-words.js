// @ts-check
// The texts of the table of branches.

export const BRANCHES_WORDS = Object.freeze({
    title: 'Branches',
    why: 'One row for the end of each branch. Other states can be added from their menu in the graph. Copy the address to share this table.',
    removeRow: (/** @type {string} */ name) => `Remove ${name} from the table`,
    add: 'Add a column',
    addHint: 'e.g. r2 or len(df)',
    addDo: 'Add',
    remove: (/** @type {string} */ column) => `Remove the column ${column}`,
    branch: 'Branch',
    code: 'Differing code',
    moreLines: (/** @type {number} */ n) => (n === 1 ? '1 more line' : `${n} more lines`),
    duration: 'Run time',
    durationHint: 'How long the cells since the fork ran',
    memory: 'Memory',
    memoryHint: 'What only the process of this state uses',
    time: 'Created',
    picture: 'Image',
    choose: (/** @type {string} */ name) => `Choose ${name}`,
    highest: 'highest',
    lowest: 'lowest',
    none: 'Every branch is a row here. There is none yet: run a cell.',
    onDisk: 'on disk',
    load: (/** @type {number} */ n) => (n === 1 ? 'Load the state on disk' : `Load the ${n} states on disk`),
    needsReplay: 'needs a replay',
    missing: (/** @type {string} */ name) => `This branch has no variable ${name}`,
    compare: 'Compare',
    compareWhy: 'Choose two or more rows to compare them',
    baseline: 'baseline',
    pin: (/** @type {string} */ name) => `Make ${name} the baseline, and show differences to it`,
    unpin: 'Show no differences to this row',
    filter: 'Filter the rows',
    filterHint: 'Filter: a text, or r2 > 0.9',
    matching: (/** @type {number} */ n, /** @type {number} */ all) =>
        `${n} of ${all === 1 ? '1 row' : `${all} rows`} ${n === 1 ? 'matches' : 'match'} the filter.`,
    more: (/** @type {number} */ n) =>
        n === 1
            ? '1 more row is not shown. Filter to find it.'
            : `${n} more rows are not shown. Filter to find them.`,
    offered: 'Differ between the branches:',
    offer: (/** @type {string} */ name) => `Add the column ${name}`,
    nowhere: (/** @type {string} */ column) => `No branch has what ${column} reads.`,
    failedVariants: (/** @type {number} */ n) =>
        n === 1
            ? '1 variant failed. It made no state, so it has no row.'
            : `${n} variants failed. They made no state, so they have no rows.`,
    question: (/** @type {number} */ n) =>
        n === 1
            ? 'The address contains an expression, which is Python code. It runs in a copy of each state only if you allow it:'
            : `The address contains ${n} expressions, which are Python code. They run in a copy of each state only if you allow it:`,
    allow: 'Run',
    notAllowed: 'not run yet',
    needsRun: 'Only people who may run cells see this',
});

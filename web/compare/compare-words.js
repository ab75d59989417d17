// @ts-check
// The texts of the view that compares states. It is loaded when it is needed.

import { letterOf } from './compare-command-words.js';

const count = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) =>
    `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

export const COMPARE_WORDS = Object.freeze({
    title: (/** @type {number} */ n) => (n === 2 ? 'Compare two states' : `Compare ${n} states`),
    add: 'Add a state…',
    addPick: 'Add a state to the comparison',
    remove: (/** @type {string} */ letter) => `Take ${letter} out of the comparison`,
    pick: (/** @type {string} */ name) => `Compare “${name}” with`,
    pickHint: 'Search by code, label or number',
    pickNone: 'No matching states.',
    pickMore: (/** @type {number} */ n) => `${n} more. Type to narrow the list.`,
    swap: 'Swap',
    close: 'Close',
    closeHint: 'Back to the notebook (Esc)',
    side: Object.freeze({ a: 'A', b: 'B' }),
    sides: (/** @type {string[]} */ names) => names.map((name, at) => `${letterOf(at)}: ${name}.`).join(' '),
    stateName: (/** @type {string} */ letter) => `State ${letter}`,
    nameFrom: (/** @type {string} */ name, /** @type {string} */ origin) => `${origin} › ${name}`,
    sideName: Object.freeze({ a: 'A, the first state', b: 'B, the second state' }),
    start: 'Start',
    cell: (/** @type {number} */ n) => `Cell ${n}`,
    go: 'Go to state',
    goHint: 'Close the comparison and go to this state',
    sign: Object.freeze({ '-': 'only in A', '+': 'only in B', '~': 'changed', '=': 'equal' }),
    code: 'Code',
    shared: (/** @type {number} */ n, /** @type {string} */ from) =>
        n === 0
            ? 'The two branches have only the start in common.'
            : `The two branches have ${count(n, 'cell', 'cells')} in common, up to “${from}”.`,
    sharedByAll: (/** @type {number} */ n, /** @type {string} */ from) =>
        n === 0
            ? 'The branches have only the start in common.'
            : `All branches have ${count(n, 'cell', 'cells')} in common, up to “${from}”.`,
    sameLine: 'No cells differ.',
    sameAs: (/** @type {string} */ letter) => `same as ${letter}`,
    noCell: 'No such cell',
    noVariable: 'No such variable',
    unknown: 'Unknown',
    differing: (/** @type {number} */ n) =>
        n === 0 ? 'No variables differ.' : `${count(n, 'variable differs', 'variables differ')}.`,
    equalCells: (/** @type {number} */ n) => `${count(n, 'equal cell', 'equal cells')}`,
    equalLines: (/** @type {number} */ n) => `${count(n, 'equal line', 'equal lines')}`,
    cellChanged: (/** @type {number} */ a, /** @type {number} */ b) =>
        a === b ? `Cell ${a}` : `Cell ${a} in A, ${b} in B`,
    cellOnly: (/** @type {number} */ n) => `Cell ${n}`,
    variables: 'Variables',
    looking: (/** @type {string} */ side) => `Loading the variables of ${side}…`,
    isGone: (/** @type {string} */ side) =>
        `${side} was deleted. Its variables are gone; its code and outputs are still shown.`,
    needsReplay: (/** @type {string} */ side) =>
        `The variables of ${side} are not in memory and cannot be loaded from disk. Replay the ` +
        `cells of ${side} to compare its variables.`,
    replay: (/** @type {string} */ side) => `Replay cells of ${side}`,
    lacks: (/** @type {string} */ side, /** @type {number} */ n) =>
        `${side} was restored from disk without ${count(n, 'variable', 'variables')}, which the comparison ` +
        `may show as missing.`,
    failed: (/** @type {string} */ side, /** @type {string} */ why) => `${side}: ${why}`,
    tally: (/** @type {{changed: number, added: number, removed: number}} */ t) => {
        const parts = [
            t.changed && `${t.changed} changed`,
            t.removed && `${t.removed} only in A`,
            t.added && `${t.added} only in B`,
        ].filter(Boolean);
        return parts.length ? parts.join(', ') : 'No variables differ.';
    },
    imports: (/** @type {number} */ n) => `${n === 1 ? '1 import' : `${n} imports`} not in all states`,
    equal: (/** @type {number} */ n) => `${n} equal`,
    alike: (/** @type {number} */ n) => `${n} probably equal`,
    alikeHint: 'The summaries of these variables are equal; the complete values could not be compared.',
    fact: Object.freeze({
        type: 'Type',
        size: 'Shape',
        shape: 'Shape',
        dtype: 'Data type',
        rows: 'Rows',
        columns: 'Columns',
        min: 'Minimum',
        max: 'Maximum',
        mean: 'Mean',
        nulls: 'Missing',
        bytes: 'Memory',
    }),
    what: 'Property',
    change: 'Change',
    difference: 'Difference',
    column: 'Column',
    equalColumns: (/** @type {number} */ n) => `${count(n, 'equal column', 'equal columns')}`,
    moreColumns: (/** @type {number} */ n) =>
        `${count(n, 'more column was', 'more columns were')} not compared.`,
    notCompared: (/** @type {string[]} */ names) => `Not compared: ${names.join(', ')}.`,
    elsewhere: Object.freeze({
        unknown: 'The compared columns are equal: the difference is in another column or in the index.',
        order: 'The columns are in a different order.',
        index: 'Every column is equal. The index or the type of the column names differs.',
    }),
    insideDiffers: 'The values differ; shape and statistics are the same.',
    outputs: 'Outputs',
    tips: 'Last cell of each branch',
    sameOutput: 'A and B have the same output.',
    noOutput: 'No output',
    cutShort: (/** @type {number} */ n) =>
        `Only the first ${n.toLocaleString('en')} lines of each output are compared.`,
});

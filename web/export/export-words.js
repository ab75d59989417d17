// @ts-check
// The texts of an exported notebook with all branches.

import { counted } from '../text/format.js';

export const EXPORT_WORDS = Object.freeze({
    graph: 'States',
    hint: 'Click a state to see its cells. Shift-click a second one to compare them.',
    start: 'Start',
    failed: 'failed',
    deleted: 'deleted',
    branches: 'Branches from the state above',
    more: (/** @type {number} */ n) => `${n} more in the graph`,
    compare: 'Compare',
    compareHint: 'Compare this branch with the one beside it',
    comparison: 'Comparison',
    close: 'Close',
    shared: (/** @type {number} */ n) => `${counted(n, 'cell')} in common`,
    equal: (/** @type {number} */ n) => counted(n, 'equal cell'),
    noCell: 'No cell here',
});

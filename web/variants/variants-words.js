// @ts-check
// The texts of the dialog that runs variants of a cell.

import { counted } from '../text/format.js';

export const VARIANTS_WORDS = Object.freeze({
    title: 'Try variants',
    why: 'All variants run at once, each as a branch from the same state. A variant that has run there before is not run again. The page shows the first.',
    variant: (/** @type {number} */ n) => `Variant ${n}`,
    hint: 'Type a variant of the cell',
    add: 'Add variant',
    remove: (/** @type {number} */ n) => `Remove variant ${n}`,
    /** `all`: the number of variants; `fresh`: of those that have not run yet. */
    run: (/** @type {number} */ all, /** @type {number} */ fresh) =>
        all > 0 && fresh === 0
            ? 'Show the variant that ran'
            : `Run ${counted(fresh, 'variant')}${fresh < all ? ` (${all - fresh} ran before)` : ''}`,
});

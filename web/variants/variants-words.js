// @ts-check
// The texts of the dialog that runs variants of a cell.

export const VARIANTS_WORDS = Object.freeze({
    title: 'Try variants',
    why: 'All variants run at once, each as a branch from the same state. A variant that has run there before is not run again. The page shows the first.',
    variant: (/** @type {number} */ n) => `Variant ${n}`,
    hint: 'Type a variant of the cell',
    add: 'Add variant',
    remove: (/** @type {number} */ n) => `Remove variant ${n}`,
    run: (/** @type {number} */ n) => (n === 1 ? 'Run 1 variant' : `Run ${n} variants`),
});

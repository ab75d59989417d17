// @ts-check
// Texts of the banner of a notebook that was renamed or deleted.

export const GONE_WORDS = Object.freeze({
    left: (/** @type {string | null} */ to) =>
        to ? `This notebook was renamed to “${to}”.` : 'This notebook was renamed or deleted.',
    leftHint: 'You can still copy what you see.',
    leftGo: (/** @type {string} */ to) => `Open “${to}”`,
});

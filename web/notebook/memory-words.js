// @ts-check
// Texts of the memory in the header.

export const MEMORY_WORDS = Object.freeze({
    hint: (/** @type {string} */ own, /** @type {string} */ used, /** @type {string} */ total) =>
        `Memory of this notebook, with all its states: ${own}. The computer uses ${used} of ${total}.`,
    scarce: (/** @type {string} */ own, /** @type {string} */ used, /** @type {string} */ total) =>
        `${own} · ${used} of ${total} used`,
});

// @ts-check
// What the graph needs of other parts of the page: who else is here, what is being deleted, what is compared.

/** @typedef {import('../../page.js').Page} Page */

/** Who stands at which state. @param {Page} page @returns {Map<string, string[]>} */
export function standingOf(page) {
    const standing = new Map();
    for (const { state, called } of page.others()) standing.set(state, [...(standing.get(state) ?? []), called]);
    return standing;
}

/** The two states that are compared now, if any. @param {Page} page @returns {string[]} */
export const comparedIn = (page) => Object.values(page.comparing.pair ?? {});

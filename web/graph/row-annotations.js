// @ts-check
// What the graph needs of other parts of the page: who else is here, what is compared.

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../presence/presence.js').Other} Other */

/** Who stands at which state. @param {Page} page @returns {Map<string, Other[]>} */
export function othersByState(page) {
    const standing = new Map();
    for (const one of page.others()) standing.set(one.state, [...(standing.get(one.state) ?? []), one]);
    return standing;
}

/** The two states that are compared now, if any. @param {Page} page @returns {string[]} */
export const comparedIn = (page) => Object.values(page.comparison.pair ?? {});

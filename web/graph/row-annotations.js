// @ts-check
// Data from other features that graph rows show: other people, and the compared states.

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../presence/presence.js').Other} Other */

/** The other people by state. @param {Page} page @returns {Map<string, Other[]>} */
export function othersByState(page) {
    const standing = new Map();
    for (const one of page.others()) standing.set(one.state, [...(standing.get(one.state) ?? []), one]);
    return standing;
}

/** The compared states, if any. @param {Page} page @returns {string[]} */
export const comparedIn = (page) => Object.values(page.comparison.pair ?? {});

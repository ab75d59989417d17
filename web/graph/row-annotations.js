// @ts-check
// Data of other features that the rows of the graph show: other people, and the compared states.

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../presence/presence.js').Other} Other */

/**
 * The other people in the notebook, by the id of their current state.
 * @param {Page} page
 * @returns {Map<string, Other[]>}
 */
export function othersByState(page) {
    const standing = new Map();
    for (const one of page.others()) standing.set(one.state, [...(standing.get(one.state) ?? []), one]);
    return standing;
}

/**
 * The ids of the compared states; empty if no comparison is open.
 * @param {Page} page
 * @returns {string[]}
 */
export const comparedIn = (page) => page.comparison.states;

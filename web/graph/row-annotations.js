// @ts-check
// What the rows of the graph show beside the graph's shape: other people, the compared states, and
// when a node has changed. Pure.

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

/**
 * What changes whenever something changes that the row of a node shows.
 * @param {import('./nodes.js').Node} node
 * @param {import('../shell/model.js').Model} model
 */
export function revsOf({ id, name, lead, state, run, sweep, member, children }, model) {
    return [
        name,
        lead,
        run?.rev,
        (sweep ?? member?.sweep)?.rev,
        children.length > 0,
        model.replays.get(id),
        state && [
            model.stateRevs.get(state),
            model.waitingAt(state.id),
            model.newWarnings(state).length,
            model.trouble !== null && model.unsaved.has(id),
        ],
    ];
}

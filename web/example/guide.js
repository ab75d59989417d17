// @ts-check
// How far the user is with the example. The first steps are read from the graph, so it does not
// matter how the user has done them. Pure.

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {'run' | 'branch' | 'below' | 'third' | 'compare' | 'back' | 'done'} Step */
/**
 * @typedef {{compared: string | null, isBack: boolean}} Seen What the graph does not tell.
 *   `compared`: the current state when the user compared branches; null before that; `isBack`:
 *   whether the user has gone to another state since
 */

/** @type {readonly Step[]} */
export const STEPS = ['run', 'branch', 'below', 'third', 'compare', 'back', 'done'];

/** The cell that begins the branches, and the cell at the end of each; see example-cells.js. */
const CHOOSES = /^features\s*=/m;
const SCORES = /^accuracy\s*=/m;

/** @type {Seen} */
export const NOTHING_SEEN = Object.freeze({ compared: null, isBack: false });

/**
 * The next step of the user.
 * @param {Model} model
 * @param {Seen} seen
 * @returns {Step}
 */
export function stepIn(model, { compared, isBack }) {
    const scores = statesOf(model, SCORES).length;
    if (scores === 0) return 'run';
    if (scores < 3 && compared === null) {
        const branches = statesOf(model, CHOOSES).length;
        if (branches < 2) return 'branch';
        return scores < branches ? 'below' : branches < 3 ? 'third' : 'below';
    }
    return compared === null ? 'compare' : isBack ? 'done' : 'back';
}

/** The states that a cell has left. @param {Model} model @param {RegExp} code */
const statesOf = (model, code) =>
    [...model.states.values()].filter(
        (state) => state.living !== 'deleted' && code.test(model.runOf(state)?.code ?? ''),
    );

/**
 * What the user has seen now.
 * @param {Seen} before
 * @param {{isComparing: boolean, here: string}} now
 * @returns {Seen} `before` itself if nothing is new
 */
export function seenNow(before, { isComparing, here }) {
    if (before.isBack) return before;
    if (isComparing) return before.compared === here ? before : { compared: here, isBack: false };
    return before.compared !== null && before.compared !== here ? { ...before, isBack: true } : before;
}

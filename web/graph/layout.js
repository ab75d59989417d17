// @ts-check
// The graph as a tree: the order of its nodes from top to bottom, and the lane (column) and colour
// of each node. Pure.
//
// A branch keeps its lane: the first child of a node continues the node's lane, and every other
// child begins a branch one lane to the right. The branches of a node stand directly below it, in
// creation order, above the node's first child. So lanes and colours do not depend on where the
// user is, later nodes move others only up or down, and no line crosses another. The rows of a
// sweep are all branches of the sweep's node, with the colour of their number, so that neither
// depends on which of them are drawn.
//
// A branch also keeps its colour when others are deleted: colours that were given are remembered.

/** @typedef {import('./nodes.js').Node} Node */

/** The number of colours of branches; see branch-names.css. */
export const COLOURS = 6;

/**
 * @typedef {object} Tree All lists but `order` are by the index of the node.
 * @property {number[]} order the indexes of the nodes from top to bottom
 * @property {number[]} lanes
 * @property {number[]} colours 0 to `COLOURS` - 1; siblings, and a branch and its parent, differ
 *   while there are enough colours
 */

/**
 * The colours of branches, by their first runs. A deleted branch stays in the map, so that it has
 * the same colour after it is restored.
 * @typedef {Map<string, number>} GivenColours
 */

/**
 * @param {Node[]} nodes parents before their children
 * @param {GivenColours} [given] the colours given before; receives those of new branches
 * @returns {Tree}
 */
export function treeOf(nodes, given = new Map()) {
    const heirs = nodes.map(({ children, sweep }) => (sweep ? -1 : heirOf(nodes, children)));
    const lanes = new Array(nodes.length).fill(0);
    const colours = new Array(nodes.length).fill(0);
    for (const { at, children, sweep } of nodes) {
        for (const child of children) lanes[child] = lanes[at] + (child === heirs[at] ? 0 : 1);
        if (sweep)
            for (const child of children)
                colours[child] = branchColour(colours[at], nodes[child]?.member?.row ?? 0);
        else colourChildren(nodes, children, { heir: heirs[at] ?? -1, colours, own: colours[at] }, given);
    }
    return { order: orderOf(nodes, heirs), lanes, colours };
}

/**
 * The child that continues the lane of a node: the first one that is not a failed attempt; -1 if
 * there is none.
 * @param {Node[]} nodes
 * @param {number[]} children
 */
const heirOf = (nodes, children) => children.find((child) => !nodes[child]?.isFailedLeaf) ?? -1;

/**
 * Sets the colours of a node's children. The first child has the node's colour, unless it began as
 * a branch.
 * @param {Node[]} nodes
 * @param {number[]} children
 * @param {{heir: number, colours: number[], own: number}} tree `own`: the colour of the node
 * @param {GivenColours} given
 */
function colourChildren(nodes, children, { heir, colours, own }, given) {
    const keyOf = (/** @type {number} */ child) => nodes[child]?.run?.exec_id ?? nodes[child]?.id ?? '';
    const isBranch = (/** @type {number} */ child) => child !== heir && !nodes[child]?.isFailedLeaf;
    const used = new Set([own]);
    const isAlone = !children.some(isBranch);
    for (const child of children) if (!nodes[child]?.isFailedLeaf) used.add(given.get(keyOf(child)) ?? own);
    let branches = 0;
    for (const child of children) {
        const colour = given.get(keyOf(child)) ?? (child === heir ? own : nextColour(own, used, branches));
        colours[child] = colour;
        // Where nothing branches off, the colour follows from the parent's.
        if (child !== heir || !isAlone) given.set(keyOf(child), colour);
        // A failed attempt has no colour of its own, so it uses none up.
        if (!isBranch(child)) continue;
        branches += 1;
        used.add(colour);
    }
}

/**
 * The colour of a new branch: the first one that neither its parent nor a sibling has. If there is
 * none, it depends on the number of the branch, and only differs from the parent's.
 * @param {number} own the colour of the parent
 * @param {Set<number>} used
 * @param {number} nth
 */
function nextColour(own, used, nth) {
    const nthColour = (/** @type {number} */ n) => branchColour(own, n);
    for (let n = 0; n < COLOURS - 1; n += 1) if (!used.has(nthColour(n))) return nthColour(n);
    return nthColour(nth);
}

/**
 * The colour of a node's `nth` branch, never that of the node itself.
 * @param {number} own
 * @param {number} nth
 */
export const branchColour = (own, nth) => (own + 1 + (nth % (COLOURS - 1))) % COLOURS;

/** @param {Node[]} nodes @param {number[]} heirs @returns {number[]} */
function orderOf(nodes, heirs) {
    const order = [];
    const next = nodes.filter(({ from }) => from < 0).map(({ at }) => at);
    next.reverse();
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
        order.push(at);
        const heir = heirs[at] ?? -1;
        if (heir >= 0) next.push(heir);
        for (const child of (nodes[at]?.children ?? []).toReversed()) if (child !== heir) next.push(child);
    }
    return order;
}

// @ts-check
// Finds the sequences of states that the graph folds: four or more ordinary cells without a branch.
// Pure.

import { residencyMark } from '../checkpoints/residency.js';
import { pictureOf } from '../outputs/mime.js';

/** @typedef {import('./nodes.js').Node} Node */

/** The minimum length of a sequence that is folded. */
const FEWEST = 4;
/** A graph with at most this many nodes is never folded. */
export const SMALL = 24;
/** The number of states that stay visible before and after the current state. */
const NEAR = 3;

/**
 * The foldable sequences of nodes, each in row order.
 * @param {Node[]} nodes
 * @param {(node: Node) => boolean} isKept whether a node must stay visible
 * @param {Set<number>} [gone] the indexes of nodes without a row
 * @returns {number[][]} for each sequence, the indexes of its nodes
 */
export function foldsOf(nodes, isKept, gone = new Set()) {
    if (nodes.length <= SMALL) return [];
    /** @type {(number[] | undefined)[]} */
    const runs = new Array(nodes.length);
    const all = [];
    for (const node of nodes) {
        if (gone.has(node.at) && node.children.length === 1) runs[node.at] = runs[node.from];
        if (!isTrivial(node, nodes[node.from]) || isKept(node)) continue;
        const run = runs[node.from] ?? [];
        if (run.length === 0) all.push(run);
        run.push(node.at);
        runs[node.at] = run;
    }
    return all.filter((run) => run.length >= FEWEST);
}

/**
 * Whether a node is ordinary: a state with one child, in memory or on disk. A state with a label,
 * pin, image, new warning or failed save is not ordinary, and a partial state is not.
 * @param {Node} node
 * @param {Node | undefined} parent
 */
function isTrivial({ state, run, children, from }, parent) {
    if (!state || from < 0 || children.length !== 1) return false;
    const { label, pinned, warnings, living, partial } = state;
    return (
        !label &&
        !pinned &&
        !partial &&
        warnings.every((warning) => parent?.state?.warnings.includes(warning)) &&
        (living === 'memory' || living === 'disk' || living === 'freezing') &&
        residencyMark(state) !== 'failed' &&
        !(run && pictureOf(run.outputs))
    );
}

/**
 * The indexes of a node, of its last `NEAR` ancestors, and of its descendants in the next `NEAR`
 * generations.
 * @param {Node[]} nodes
 * @param {Node | undefined} here
 * @returns {Set<number>}
 */
export function nearTo(nodes, here) {
    const near = new Set();
    for (let node = here, steps = 0; node && steps <= NEAR; node = nodes[node.from], steps += 1)
        near.add(node.at);
    let after = here ? [here.at] : [];
    for (let steps = 0; steps < NEAR; steps += 1) {
        after = after.flatMap((at) => nodes[at]?.children ?? []);
        for (const at of after) near.add(at);
    }
    return near;
}

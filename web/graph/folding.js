// @ts-check
// Which states the graph folds: unbranched sequences of four or more ordinary cells. Pure.

import { residencyMark } from '../checkpoints/residency.js';
import { pictureOf } from '../outputs/mime.js';

/** @typedef {import('./nodes.js').Node} Node */

/** Shorter sequences are not folded. */
const FEWEST = 4;
/** A graph with at most this many nodes is never folded. */
export const SMALL = 24;
/** This many states before and after the current one stay visible. */
const NEAR = 3;

/**
 * The foldable sequences of nodes, each in row order.
 * @param {Node[]} nodes
 * @param {(node: Node) => boolean} isKept
 * @returns {number[][]} indexes in the list
 */
export function foldsOf(nodes, isKept) {
    if (nodes.length <= SMALL) return [];
    /** @type {(number[] | undefined)[]} */
    const runs = new Array(nodes.length);
    const all = [];
    for (const node of nodes) {
        if (!isTrivial(node, nodes[node.from]) || isKept(node)) continue;
        const run = runs[node.from] ?? [];
        if (run.length === 0) all.push(run);
        run.push(node.at);
        runs[node.at] = run;
    }
    return all.filter((run) => run.length >= FEWEST);
}

/**
 * Whether a node is ordinary: a cell that succeeded, with one child and no new warnings.
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
 * The indexes of a state and of its neighbours on the lineage.
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

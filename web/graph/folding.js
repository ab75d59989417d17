// @ts-check
// Which states of the graph are folded away: runs of four or more on a straight line with nothing special about them. Pure.

import { residencyMark } from '../checkpoints/residency.js';
import { pictureOf } from '../outputs/mime.js';

/** @typedef {import('./nodes.js').Node} Node */

/** Fewer than this are not worth hiding. */
const FEWEST = 4;
/** A graph with no more nodes than this can be taken in as it is. */
export const SMALL = 24;
/** So many states before and behind the one that one stands on stay. */
const NEAR = 3;

/** The runs of nodes that can be folded, each in row order. @param {Node[]} nodes @param {(node: Node) => boolean} isKept @returns {number[][]} places in the list */
export function foldsOf(nodes, isKept) {
    if (nodes.length <= SMALL) return [];
    /** The run that a node belongs to. @type {(number[] | undefined)[]} */
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

/** Nothing but a cell that went well, with one cell after it. What it warns of is as before. @param {Node} node @param {Node | undefined} parent */
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

/** The places of the states next to one on its line, itself included. @param {Node[]} nodes @param {Node | undefined} here @returns {Set<number>} */
export function nearTo(nodes, here) {
    const near = new Set();
    for (let node = here, steps = 0; node && steps <= NEAR; node = nodes[node.from], steps += 1)
        near.add(node.at);
    let after = here ? [here.at] : [];
    for (let steps = 0; steps < NEAR; steps += 1) {
        after = after.flatMap((at) => nodes[at].children);
        for (const at of after) near.add(at);
    }
    return near;
}

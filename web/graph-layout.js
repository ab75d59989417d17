// @ts-check
// Where each node of the state graph stands: one row per state or attempt, in the order in which they came, and a
// lane (column) for each line of states.
//
// Pure, and append-only by construction: a node's place depends only on the nodes before it, so nothing moves when
// the notebook grows. One pass; each step costs the logarithm of the number of lanes.

import { hasEnded } from './protocol.js';

/**
 * @typedef {object} Node What the layout needs to know.
 * @property {string} id a state's id; while there is none, its run's
 * @property {string | null} parent id of a node before this one
 * @property {boolean} bud a failed attempt: nothing will ever grow from it, so it needs no lane where it can sit
 *   beside its parent's
 */

/**
 * @typedef {object} Place
 * @property {string} id
 * @property {number} row
 * @property {number} lane
 * @property {boolean} beside it sits half a lane to the right of its lane
 * @property {number} from row of the parent; -1 for the root
 */

/** As long as there are fewer lanes than this, a new branch gets one of its own; then lanes whose line ended are used again. */
const ROOMY_LANES = 6;

/** @param {Node[]} nodes @returns {{places: Place[], lanes: number}} */
export function layout(nodes) {
    const lanes = new Lanes(nodes.length);
    /** @type {Map<string, Place>} */
    const placed = new Map();
    /** @type {Place[]} */
    const places = [];
    nodes.forEach((node, row) => {
        const parent = node.parent === null ? undefined : placed.get(node.parent);
        const place = parent ? grow(lanes, node, row, parent) : root(lanes, node, row);
        placed.set(node.id, place);
        places.push(place);
    });
    return { places, lanes: lanes.count };
}

/** @param {Lanes} lanes @param {Node} node @param {number} row @returns {Place} */
function root(lanes, node, row) {
    const lane = lanes.freeSince(row - 1);
    lanes.take(lane, row);
    return { id: node.id, row, lane, beside: false, from: -1 };
}

/** @param {Lanes} lanes @param {Node} node @param {number} row @param {Place} parent @returns {Place} */
function grow(lanes, node, row, parent) {
    const straight = !parent.beside && lanes.tip(parent.lane) === parent.row;
    const lane = straight ? parent.lane : lanes.freeSince(parent.row);
    const beside = straight && node.bud;
    if (beside) lanes.extend(lane, row);
    else lanes.take(lane, row);
    return { id: node.id, row, lane, beside, from: parent.row };
}

/** Which rows each lane is in use for: the row of its last node (its tip), and the last row that anything is drawn in. */
class Lanes {
    /** @param {number} most there are never more lanes than nodes */
    constructor(most) {
        this.count = 0;
        /** @type {number[]} */
        this.tips = [];
        let size = 1;
        while (size < Math.max(1, most)) size *= 2;
        this.size = size;
        /** A tree of minima over the lanes' last rows, so that the leftmost free lane is found without a scan. */
        this.least = new Float64Array(2 * size).fill(Infinity);
    }

    /** @param {number} lane */
    tip(lane) {
        return this.tips[lane];
    }

    /** A node stands in the lane now. @param {number} lane @param {number} row */
    take(lane, row) {
        this.tips[lane] = row;
        this.extend(lane, row);
    }

    /** Something beside the lane's line is drawn as far as this row. @param {number} lane @param {number} row */
    extend(lane, row) {
        let at = lane + this.size;
        this.least[at] = row;
        for (at >>= 1; at >= 1; at >>= 1) this.least[at] = Math.min(this.least[2 * at], this.least[2 * at + 1]);
    }

    /** The leftmost lane with nothing below a row, or a new one. @param {number} row */
    freeSince(row) {
        if (this.count < ROOMY_LANES || this.least[1] > row) return this.count++;
        let at = 1;
        while (at < this.size) at = this.least[2 * at] <= row ? 2 * at : 2 * at + 1;
        return at - this.size;
    }
}

/**
 * The nodes of a notebook in row order: the root, then what each run left or will leave. A run keeps its row when it
 * becomes a state.
 * @param {import('./model.js').Model} model
 * @returns {(Node & {state: import('./protocol.js').State | null, run: import('./model.js').Run | null})[]}
 */
export function nodesOf(model) {
    const nodes = [];
    const seen = new Set();
    for (const state of model.states.values()) {
        if (state.parent !== null) continue;
        nodes.push({ id: state.id, parent: null, bud: false, state, run: null });
        seen.add(state.id);
    }
    for (const run of model.runs.values()) {
        const state = model.states.get(run.state ?? '') ?? null;
        // A run that was called off before it began has nothing to show.
        if (!state && hasEnded(run.status) && run.started_at === null) continue;
        const before = 'run' in run.on ? model.runs.get(run.on.run) : undefined;
        const parent = model.baseOf(run) ?? before?.exec_id ?? null;
        if (parent !== null && !seen.has(parent)) continue;
        const id = state?.id ?? run.exec_id;
        nodes.push({ id, parent, bud: !state && hasEnded(run.status), state, run });
        seen.add(id);
    }
    for (const state of model.states.values()) {
        if (!seen.has(state.id)) nodes.push({ id: state.id, parent: state.parent, bud: false, state, run: null });
    }
    return nodes;
}

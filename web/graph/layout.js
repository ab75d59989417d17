// @ts-check
// The position of each row of the graph: one row per state or attempt, in creation order, and one
// lane (column) per branch. The trunk is drawn straight, alone in the first lane; its branches are
// to the right.
//
// Pure and append-only: a position depends only on the trunk and on earlier rows, so nothing moves
// when the notebook grows. Adding a row takes time logarithmic in the number of lanes.

/**
 * @typedef {object} Item The input of the layout for one row.
 * @property {string} id
 * @property {number} from row of the parent; -1 for the root
 * @property {boolean} isFailedLeaf a failed attempt: it never has children, so it needs no lane of
 *   its own if there is room beside the parent's lane
 * @property {boolean} [isTrunk]
 */

/**
 * @typedef {object} Position
 * @property {string} id
 * @property {number} row
 * @property {number} lane
 * @property {boolean} beside drawn half a lane to the right of its lane
 * @property {number} from row of the parent; -1 for the root
 */

/** With fewer lanes than this, each branch gets a new lane. Otherwise, free lanes are reused. */
const ROOMY_LANES = 4;
/** The number of lanes to the left that are searched for a free one before a new lane is added. */
const NEAR = 8;

export class Layout {
    /** @param {number} [trunk] how many rows of the trunk are still to come */
    constructor(trunk = 0) {
        /** @type {Position[]} */
        this.places = [];
        this.lanes = new Lanes();
        this.trunk = trunk;
    }

    /** Places the next row. @param {Item} item @returns {Position} */
    add(item) {
        const place = this.#place(item, this.places.length);
        this.places.push(place);
        return place;
    }

    /** @param {Item} item @param {number} row @returns {Position} */
    #place({ id, from, isFailedLeaf, isTrunk }, row) {
        const { lanes } = this;
        const parent = this.places[from];
        if (isTrunk) this.trunk -= 1;
        if (!parent) {
            const lane = isTrunk || row === 0 ? lanes.first() : lanes.freeSince(row - 1, 1);
            lanes.take(lane, row);
            return { id, row, lane, beside: false, from: -1 };
        }
        const isTip = !parent.beside && lanes.tip(parent.lane) === parent.row;
        // Other nodes may continue the trunk's lane only below the trunk's last row.
        const straight = isTip && (parent.lane > 0 || isTrunk || isFailedLeaf || this.trunk <= 0);
        const lane = straight ? parent.lane : lanes.freeSince(parent.row, parent.lane + 1, isFailedLeaf);
        const beside = straight && isFailedLeaf;
        if (beside) lanes.extend(lane, row);
        else lanes.take(lane, row);
        return { id, row, lane, beside, from };
    }

    /**
     * Marks a run as failed. If its row is the last in the parent's lane, moves the row half a lane
     * aside, so that the next attempt can continue the lane. Returns whether the row moved.
     * @param {number} row
     */
    fail(row) {
        const place = this.places[row];
        const parent = place && this.places[place.from];
        if (
            !place ||
            !parent ||
            place.beside ||
            parent.beside ||
            parent.lane !== place.lane ||
            this.lanes.tip(place.lane) !== row
        )
            return false;
        this.lanes.tips[place.lane] = parent.row;
        place.beside = true;
        return true;
    }
}

/**
 * The positions of all rows at once.
 * @param {Item[]} items
 * @returns {{places: Position[], lanes: number}}
 */
export function layout(items) {
    const whole = new Layout(items.reduce((sum, { isTrunk }) => sum + (isTrunk ? 1 : 0), 0));
    for (const item of items) whole.add(item);
    return { places: whole.places, lanes: whole.lanes.count };
}

/**
 * The lanes. For each one: the row of its last node (its tip), and the last row with anything drawn
 * in the lane.
 */
class Lanes {
    constructor() {
        this.count = 0;
        /** @type {number[]} */
        this.tips = [];
        this.size = 8;
        /**
         * A segment tree of minima over the lanes' last rows, which finds a free lane near another
         * without a scan.
         */
        this.least = new Float64Array(2 * this.size).fill(Infinity);
    }

    /** @param {number} lane */
    tip(lane) {
        return this.tips[lane];
    }

    /** Adds a node to a lane. @param {number} lane @param {number} row */
    take(lane, row) {
        this.tips[lane] = row;
        this.extend(lane, row);
    }

    /** @param {number} at */
    #leastAt(at) {
        return this.least[at] ?? Infinity;
    }

    /** @param {number} at */
    #leastBelow(at) {
        return Math.min(this.#leastAt(2 * at), this.#leastAt(2 * at + 1));
    }

    /** Marks a lane as used down to a row. @param {number} lane @param {number} row */
    extend(lane, row) {
        let at = lane + this.size;
        this.least[at] = row;
        for (at >>= 1; at >= 1; at >>= 1) this.least[at] = this.#leastBelow(at);
    }

    /** The first lane, which belongs to the trunk. */
    first() {
        this.count = Math.max(1, this.count);
        return 0;
    }

    /**
     * The free lane nearest to the right of the parent's lane, so that the edge crosses few others;
     * else a free lane near it on the left, except the first; else a new lane.
     * @param {number} row
     * @param {number} right
     * @param {boolean} [isShort] the row never has children, so it needs no lane of its own
     */
    freeSince(row, right, isShort = false) {
        if (isShort || this.count >= ROOMY_LANES) {
            const lane = this.#nextFree(row, right);
            if (lane >= 0) return lane;
        }
        const end = Math.min(right, this.count);
        for (let left = end - 1; this.count >= ROOMY_LANES && left > Math.max(0, end - NEAR); left -= 1) {
            if (this.#leastAt(left + this.size) <= row) return left;
        }
        if (this.count >= this.size) this.#widen();
        this.count = Math.max(1, this.count);
        return this.count++;
    }

    /**
     * The first lane at or after `lane` that is free below `row`, or -1.
     * @param {number} row
     * @param {number} lane
     */
    #nextFree(row, lane) {
        if (lane >= this.size) return -1;
        let at = lane + this.size;
        while (this.#leastAt(at) > row) {
            // Go up while this node is a right child, then to its right sibling.
            while (at & 1) at >>= 1;
            if (at === 0) return -1;
            at += 1;
        }
        while (at < this.size) at = this.#leastAt(2 * at) <= row ? 2 * at : 2 * at + 1;
        return at - this.size;
    }

    #widen() {
        const { least, size } = this;
        this.size = 2 * size;
        this.least = new Float64Array(2 * this.size).fill(Infinity);
        this.least.set(least.subarray(size), this.size);
        for (let at = this.size - 1; at >= 1; at -= 1) this.least[at] = this.#leastBelow(at);
    }
}

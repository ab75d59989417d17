// @ts-check
// The colours of branches, for the graph and for the cells, which may be shown without it. Pure.

import { branchColour, treeOf } from './layout.js';
import { Nodes } from './nodes.js';
import { memberAt } from '../sweep/sweeps.js';

/** The number of branches whose colours a tab keeps. The oldest are dropped. */
const KEPT = 1000;

export class BranchColours {
    #nodes = new Nodes({ areNamed: false });
    #rev = -1;
    /** The colour of each node. @type {number[]} */
    #colours = [];

    /** @param {[string, number][]} given the colours that this tab gave before a reload */
    constructor(given = []) {
        /** @type {import('./layout.js').GivenColours} */
        this.given = new Map(given);
        /** Whether states were deleted. Only then does a reload need the colours given before. */
        this.isKept = given.length > 0;
    }

    /** What a tab keeps across a reload. @returns {[string, number][]} */
    get kept() {
        return this.isKept ? [...this.given].slice(-KEPT) : [];
    }

    /**
     * @param {import('../shell/model.js').Model} model
     * @param {string} state
     * @returns {number} see layout.js
     */
    of(model, state) {
        if (this.#rev !== model.graphRev) {
            this.#rev = model.graphRev;
            const { from, changed } = this.#nodes.update(model);
            const isSame = from > 0 && from === this.#nodes.list.length && changed.length === 0;
            if (!isSame) this.#colours = treeOf(this.#nodes.list, this.given).colours;
        }
        const node = this.#nodes.get(state);
        const colour = this.#colours[node?.at ?? -1] ?? 0;
        // The rows of a sweep are folded here.
        return node?.sweep ? branchColour(colour, memberAt(model, state)?.row ?? 0) : colour;
    }
}

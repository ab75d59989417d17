// @ts-check
// The nodes of a notebook's graph in row order: the root, then one per run. A run keeps its node
// when it becomes a state.
//
// Pure and incremental: the cost of an update depends on the number of new nodes only.

import { Names } from './node-names.js';
import { hasEnded } from '../shell/protocol.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/protocol.js').State} State */

/**
 * @typedef {object} Node
 * @property {number} at the index in the list
 * @property {string} id the id of the state or, until the run has one, of the run
 * @property {string | null} parent the id of the parent node when this node was added
 * @property {number} from the index of the parent; -1 for the root
 * @property {number[]} children indexes in creation order
 * @property {number} level the number of branchings on its lineage, from 1
 * @property {boolean} isFailedLeaf a failed attempt: it never has children
 * @property {string} name
 * @property {string} [lead] the text before the name in the same statement, shown if there is room
 * @property {State | null} state
 * @property {Run | null} run
 */

export class Nodes {
    constructor() {
        /** @type {Model | null} */
        this.model = null;
        this.shrunkRev = -1;
        /** @type {Node[]} */
        this.list = [];
        /** A node's index by the id of its state and of its run. @type {Map<string, number>} */
        this.index = new Map();
        /** Nodes with an open run. @type {Set<Node>} */
        this.open = new Set();
        this.names = new Names();
        this.takenRuns = 0;
        this.takenStates = 0;
    }

    #clear() {
        this.list = [];
        this.index = new Map();
        this.open = new Set();
        this.names = new Names();
        this.takenRuns = 0;
        this.takenStates = 0;
    }

    /** @param {string | null} id of a state or a run @returns {Node | undefined} */
    get(id) {
        return id === null ? undefined : this.list[this.index.get(id) ?? -1];
    }

    /**
     * Updates the nodes from the model. Returns the index of the first new node, and the older
     * nodes that changed. After a removal the index is 0, because all indexes may have changed.
     * @param {Model} model
     * @returns {{from: number, changed: Node[]}}
     */
    update(model) {
        const from = this.list.length;
        const changed =
            this.model === model && this.shrunkRev === model.shrunkRev ? this.#settle(model) : null;
        if (!changed) return this.#anew(model);
        this.#takeRuns(model);
        if (this.#takeStates(model)) return this.#anew(model);
        return { from, changed };
    }

    /** @param {Model} model */
    #anew(model) {
        this.#clear();
        this.model = model;
        this.shrunkRev = model.shrunkRev;
        for (const state of model.states.values())
            if (state.parent === null) this.#add({ id: state.id, parent: null, state, run: null });
        // The iterator of a map later returns entries added since, provided it was not read past
        // the end.
        this.runs = model.runs.values();
        this.states = model.states.values();
        this.#takeRuns(model);
        this.#takeStates(model);
        return { from: 0, changed: [] };
    }

    /**
     * Updates the nodes of runs that ended.
     * @param {Model} model
     * @returns {Node[]
     *   | null} the nodes whose look changed; null if a node was removed
     */
    #settle(model) {
        const changed = [];
        for (const node of this.open) {
            const { run } = node;
            if (!run || !hasEnded(run.status)) continue;
            const state = model.states.get(run.state ?? '') ?? null;
            if (!state && run.started_at === null) return null;
            this.open.delete(node);
            if (state) this.#become(node, state);
            node.isFailedLeaf = !state;
            changed.push(node);
        }
        return changed;
    }

    /** @param {Node} node @param {State} state */
    #become(node, state) {
        node.id = state.id;
        node.state = state;
        this.index.set(state.id, node.at);
    }

    /** @param {Model} model */
    #takeRuns(model) {
        for (; this.takenRuns < model.runs.size; this.takenRuns += 1) {
            const run = /** @type {Run} */ (this.runs?.next().value);
            const state = model.states.get(run.state ?? '') ?? null;
            const isOver = hasEnded(run.status);
            // A run cancelled before it began has nothing to show.
            if (!state && isOver && run.started_at === null) continue;
            const before = 'run' in run.on ? model.runs.get(run.on.run) : undefined;
            const parent = model.baseOf(run) ?? before?.exec_id ?? null;
            if (parent === null || !this.index.has(parent)) continue;
            const node = this.#add({ id: state?.id ?? run.exec_id, parent, state, run });
            this.index.set(run.exec_id, node.at);
            node.isFailedLeaf = !state && isOver;
            if (!isOver) this.open.add(node);
        }
    }

    /**
     * Adds states without a known run. Returns whether a failed attempt became a state: then its
     * node may move.
     * @param {Model} model
     */
    #takeStates(model) {
        let isRevived = false;
        for (; this.takenStates < model.states.size; this.takenStates += 1) {
            const state = /** @type {State} */ (this.states?.next().value);
            const failedLeaf = this.get(state.exec_id);
            if (failedLeaf?.isFailedLeaf) {
                this.#become(failedLeaf, state);
                failedLeaf.isFailedLeaf = false;
                isRevived = true;
            }
            if (this.index.has(state.id) || this.index.has(state.exec_id ?? '')) continue;
            if (this.index.has(state.parent ?? ''))
                this.#add({ id: state.id, parent: state.parent, state, run: model.runOf(state) ?? null });
        }
        return isRevived;
    }

    /**
     * @param {{id: string, parent: string | null, state: State | null, run: Run | null}} what
     * @returns {Node}
     */
    #add({ id, parent: grewFrom, state, run }) {
        const parent = this.get(grewFrom);
        const level = parent ? parent.level + (parent.children.length ? 1 : 0) : 1;
        /** @type {Node} */
        const node = {
            id,
            parent: grewFrom,
            state,
            run,
            at: this.list.length,
            from: parent?.at ?? -1,
            children: [],
            level,
            isFailedLeaf: false,
            name: '',
        };
        parent?.children.push(node.at);
        this.list.push(node);
        this.index.set(node.id, node.at);
        this.names.add(node);
        return node;
    }
}

/** The nodes of a model, computed once. @param {Model} model @returns {Node[]} */
export function nodesOf(model) {
    const nodes = new Nodes();
    nodes.update(model);
    return nodes.list;
}

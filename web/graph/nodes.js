// @ts-check
// The nodes of a notebook's graph in creation order: the root, then one node per run. When a run
// creates a state, the run's node becomes the state's node.
//
// A sweep has one node, and its rows are the children of that node. The rows of a folded sweep have
// no nodes, except those that are looked at and those from which somebody has continued. The index
// leads from the others to the sweep's node.
//
// Pure and incremental: the cost of an update depends only on the numbers of new runs and of open
// runs with a node.

import { Names } from './node-names.js';
import { hasEnded } from '../shell/protocol.js';
import { memberOf, valuesText } from '../sweep/sweeps.js';
import { ROW_WORDS } from '../sweep/row-words.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('../sweep/sweeps.js').Sweep} Sweep */
/** @typedef {import('../sweep/sweeps.js').Member} Member */

/**
 * @typedef {object} Node
 * @property {number} at the index in the list of nodes
 * @property {string} id the id of the state; if there is no state yet, the id of the run
 * @property {number} from the index of the parent; -1 for the root
 * @property {number[]} children the indexes of the children in creation order
 * @property {boolean} isFailedLeaf whether the node is a failed attempt, which never has children
 * @property {string} name
 * @property {string} [lead] the text before the name in the same statement; see node-names.js
 * @property {State | null} state
 * @property {Run | null} run
 * @property {Sweep | null} sweep the sweep whose rows are below the node, which has no state
 * @property {Member | null} member the row of a sweep to which the node belongs
 */

/** The id of a sweep's node. @param {string} sweep */
export const sweepNodeId = (sweep) => `sweep ${sweep}`;

export class Nodes {
    /**
     * @param {{areNamed?: boolean, isFolded?: (sweep: Sweep) => boolean}} [options] `areNamed`:
     *   whether to find the names of the nodes; `isFolded`: whether the rows of a sweep are folded
     */
    constructor({ areNamed = true, isFolded = () => true } = {}) {
        this.areNamed = areNamed;
        this.isFolded = isFolded;
        /** @type {Model | null} */
        this.model = null;
        this.shrunkRev = -1;
        /** @type {Node[]} */
        this.list = [];
        /** The indexes of nodes by the ids of their states and runs. @type {Map<string, number>} */
        this.index = new Map();
        /** The nodes with an open run. @type {Set<Node>} */
        this.open = new Set();
        this.names = new Names();
        this.takenRuns = 0;
        this.takenStates = 0;
        this.takenSweeps = 0;
        /**
         * The nodes of rows that are drawn only because somebody looks at them.
         * @type {Set<Node>}
         */
        this.lookedAt = new Set();
    }

    #clear() {
        this.list = [];
        this.index = new Map();
        this.open = new Set();
        this.names = new Names();
        this.takenRuns = 0;
        this.takenStates = 0;
        this.takenSweeps = 0;
        this.lookedAt = new Set();
    }

    /** @param {string | null} id of a state or a run @returns {Node | undefined} */
    get(id) {
        return id === null ? undefined : this.list[this.index.get(id) ?? -1];
    }

    /** Whether a state or run is a row that only its sweep's node shows. @param {string} id */
    isHidden(id) {
        const node = this.get(id);
        return Boolean(node?.sweep) && node?.id !== id;
    }

    /**
     * Updates the nodes from the model.
     * @param {Model} model
     * @param {{looked?: string[], isAnew?: boolean}} [look] `looked`: states and runs that have
     *   nodes also in a folded sweep; `isAnew`: whether another sweep is folded now
     * @returns {{from: number, changed: Node[]}} the index of the first new node, and the older
     *   nodes that changed; the index is 0 if all nodes were created again, as after a removal
     */
    update(model, { looked = [], isAnew = false } = {}) {
        const from = this.list.length;
        const isSame = this.model === model && this.shrunkRev === model.shrunkRev && !isAnew;
        const changed = isSame && !this.#mayHide(looked) ? this.#settle(model) : null;
        if (!changed) return this.#anew(model, looked);
        this.#takeSweeps(model);
        this.#takeRuns(model);
        if (this.#takeStates(model)) return this.#anew(model, looked);
        this.#look(model, looked);
        return { from, changed };
    }

    /** Whether a row is no longer looked at. @param {string[]} looked */
    #mayHide(looked) {
        const now = new Set(looked.flatMap((id) => this.get(id) ?? []));
        for (const node of this.lookedAt) {
            if (now.has(node)) continue;
            // Somebody has continued from it, so it stays.
            if (node.children.length) this.lookedAt.delete(node);
            else return true;
        }
        return false;
    }

    /** @param {Model} model @param {string[]} looked */
    #anew(model, looked) {
        this.#clear();
        this.model = model;
        this.shrunkRev = model.shrunkRev;
        for (const state of model.states.values())
            if (state.parent === null) this.#add({ id: state.id, parent: null, state, run: null });
        // Later updates continue these iterators: the iterator of a map also returns entries that
        // are added later, unless it has already reached the end.
        this.runs = model.runs.values();
        this.states = model.states.values();
        this.sweeps = model.sweeps.values();
        this.#takeRuns(model);
        this.#takeStates(model);
        this.#takeSweeps(model);
        this.#look(model, looked);
        return { from: 0, changed: [] };
    }

    /** @param {Model} model @param {string[]} looked */
    #look(model, looked) {
        for (const id of looked) {
            if (!this.#has(model, id) || !this.isHidden(id)) continue;
            const node = this.#show(model, id);
            if (node) this.lookedAt.add(node);
        }
    }

    /** Adds the nodes of sweeps that have none. @param {Model} model */
    #takeSweeps(model) {
        for (; this.takenSweeps < model.sweeps.size; this.takenSweeps += 1)
            this.#sweepNode(model, /** @type {Sweep} */ (this.sweeps?.next().value));
    }

    /**
     * The node of a sweep, which is added if it is missing; undefined if there is no node of the
     * state that the sweep started from.
     * @param {Model} model
     * @param {Sweep} sweep
     */
    #sweepNode(model, sweep) {
        const id = sweepNodeId(sweep.id);
        if (this.index.has(id) || !this.#has(model, sweep.at)) return this.get(id);
        if (this.isHidden(sweep.at)) this.#show(model, sweep.at);
        return this.#add({ id, parent: sweep.at, state: null, run: null, sweep });
    }

    /**
     * Gives a hidden row a node, with the nodes of the cells between it and its sweep's node.
     * @param {Model} model
     * @param {string} id of its state or run
     * @returns {Node | null}
     */
    #show(model, id) {
        const state = model.states.get(id) ?? model.states.get(model.runs.get(id)?.state ?? '') ?? null;
        const run = model.runs.get(state?.exec_id ?? id) ?? null;
        const member = memberOf(model.sweeps, run?.exec_id ?? state?.exec_id);
        if (!member) return null;
        const before = member.rung > 0 ? (state?.parent ?? (run && model.baseOf(run)) ?? null) : null;
        if (before !== null && this.isHidden(before)) this.#show(model, before);
        const parent = before ?? sweepNodeId(member.sweep.id);
        return this.#addRun({ id: state?.id ?? run?.exec_id ?? id, parent, state, run, member });
    }

    /**
     * Whether a state or run has a node or is in a folded sweep.
     * @param {Model} model
     * @param {string} id
     */
    #has(model, id) {
        if (this.index.has(id)) return true;
        // The state of a hidden run may be newer than the last update.
        const node = this.get(model.states.get(id)?.exec_id ?? null);
        if (node?.sweep) this.index.set(id, node.at);
        return this.index.has(id);
    }

    /** Whether only the sweep's node shows a row. @param {Member | null} member */
    #isFoldedRow = (member) => member !== null && this.isFolded(member.sweep);

    /**
     * Updates the nodes of runs that ended.
     * @param {Model} model
     * @returns {Node[] | null} the updated nodes; null if a run ended before it began, because the
     *   node of such a run must be removed
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
            // A run that was cancelled before it began gets no node.
            if (!state && isOver && run.started_at === null) continue;
            const before = 'run' in run.on ? model.runs.get(run.on.run) : undefined;
            const parent = model.baseOf(run) ?? before?.exec_id ?? null;
            const member = memberOf(model.sweeps, run.exec_id);
            const sweep = member && this.#sweepNode(model, member.sweep);
            if (sweep && this.#isFoldedRow(member)) {
                this.index.set(run.exec_id, sweep.at);
                if (state) this.index.set(state.id, sweep.at);
                continue;
            }
            if (parent === null || !this.#has(model, parent)) continue;
            if (this.isHidden(parent)) this.#show(model, parent);
            const isRow = sweep && member?.rung === 0;
            this.#addRun({
                id: state?.id ?? run.exec_id,
                parent: isRow ? sweep.id : parent,
                state,
                run,
                member: sweep ? member : null,
            });
        }
    }

    /**
     * @param {{id: string, parent: string, state: State | null, run: Run | null,
     *   member: Member | null}} what
     * @returns {Node}
     */
    #addRun(what) {
        const { run, state } = what;
        const isOver = !run || hasEnded(run.status);
        const node = this.#add(what);
        const id = run?.exec_id ?? state?.exec_id;
        if (id) this.index.set(id, node.at);
        node.isFailedLeaf = !state && isOver;
        if (!isOver) this.open.add(node);
        return node;
    }

    /**
     * Adds nodes for states whose runs have no node. If a failed attempt was kept as a partial
     * state, the attempt's node becomes the state's node.
     * @param {Model} model
     * @returns {boolean} whether an attempt became a state, so that its node may need to move
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
            if (this.#has(model, state.id) || this.index.has(state.exec_id ?? '')) continue;
            const { parent } = state;
            if (parent === null || !this.#has(model, parent)) continue;
            if (this.isHidden(parent)) this.#show(model, parent);
            this.#add({ id: state.id, parent, state, run: model.runOf(state) ?? null });
        }
        return isRevived;
    }

    /**
     * @param {{id: string, parent: string | null, state: State | null, run: Run | null,
     *   sweep?: Sweep | null, member?: Member | null}} what
     * @returns {Node}
     */
    #add({ id, parent: grewFrom, state, run, sweep = null, member = null }) {
        const parent = this.get(grewFrom);
        /** @type {Node} */
        const node = {
            id,
            state,
            run,
            at: this.list.length,
            from: parent?.at ?? -1,
            children: [],
            isFailedLeaf: false,
            name: '',
            sweep,
            member,
        };
        if (parent?.sweep) this.#insert(parent, node);
        else parent?.children.push(node.at);
        this.list.push(node);
        this.index.set(node.id, node.at);
        if (!this.areNamed) return node;
        if (sweep) node.name = ROW_WORDS.sweep(sweep);
        else if (member?.rung === 0)
            node.name = ROW_WORDS.row(member.row, valuesText(member.sweep, member.row));
        else this.names.add(node);
        return node;
    }

    /**
     * Adds a row below its sweep's node, in the order of the rows.
     * @param {Node} parent
     * @param {Node} node
     */
    #insert({ children }, node) {
        const row = node.member?.row ?? 0;
        const at = children.findLastIndex((child) => (this.list[child]?.member?.row ?? 0) < row);
        children.splice(at + 1, 0, node.at);
    }
}

/** The current nodes of a model, without later updates. @param {Model} model @returns {Node[]} */
export function nodesOf(model) {
    const nodes = new Nodes();
    nodes.update(model);
    return nodes.list;
}

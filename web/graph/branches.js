// @ts-check
// The colours of branches and the names of states, as in the graph, for what may be shown without
// it. Pure.

import { branchColour, treeOf } from './layout.js';
import { GRAPH_WORDS } from './graph-words.js';
import { plainNames } from './node-names.js';
import { Nodes } from './nodes.js';
import { WORDS } from '../shell/words.js';
import { ROW_WORDS } from '../sweep/row-words.js';
import { memberAt, valuesText } from '../sweep/sweeps.js';

/** The number of branches whose colours a tab keeps. The oldest are dropped. */
const KEPT = 1000;

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('./node-names.js').Told} Told */

export class Branches {
    #nodes = new Nodes({ areNamed: false });
    #rev = -1;
    /** The colour of each node. @type {number[]} */
    #colours = [];
    /** The names of the children of nodes. @type {Map<number, Map<string, Told>>} */
    #names = new Map();

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

    /** @param {Model} model */
    #update(model) {
        if (this.#rev === model.graphRev) return;
        this.#rev = model.graphRev;
        const { from, changed } = this.#nodes.update(model);
        if (from > 0 && from === this.#nodes.list.length && changed.length === 0) return;
        this.#colours = treeOf(this.#nodes.list, this.given).colours;
        this.#names.clear();
    }

    /**
     * The name of a state, or of a run without one: its label, else its code, told apart from its
     * siblings.
     * @param {Model} model
     * @param {string} id
     * @returns {Told}
     */
    nameOf(model, id) {
        this.#update(model);
        const state = model.states.get(id);
        if (state?.label) return { name: state.label, lead: '' };
        const member = state && memberAt(model, id);
        if (member?.rung === 0)
            return { name: ROW_WORDS.row(member.row, valuesText(member.sweep, member.row)), lead: '' };
        const told = this.#namesBelow(this.#nodes.get(id)?.from ?? -1).get(id);
        if (told?.name) return told;
        return { name: state?.parent ? GRAPH_WORDS.cell(state.exec_count) : WORDS.graphRoot, lead: '' };
    }

    /** @param {number} parent the index of a node; -1: above the root */
    #namesBelow(parent) {
        const known = this.#names.get(parent);
        if (known) return known;
        const siblings = (this.#nodes.list[parent]?.children ?? []).flatMap(
            (at) => this.#nodes.list[at] ?? [],
        );
        const told = plainNames(siblings.map(({ run }) => ({ label: null, code: run?.code ?? '' })));
        const names = new Map(siblings.map(({ id }, i) => [id, told[i] ?? { name: '', lead: '' }]));
        this.#names.set(parent, names);
        return names;
    }

    /**
     * The place of a state or run among the nodes of the graph.
     * @param {Model} model
     * @param {string} id
     */
    orderOf(model, id) {
        this.#update(model);
        return this.#nodes.get(id)?.at ?? Number.MAX_SAFE_INTEGER;
    }

    /**
     * The label that names the branch of a state: the last one between the fork at which the branch
     * begins and the state; null if there is none.
     * @param {Model} model
     * @param {string} id
     */
    labelOf(model, id) {
        for (
            let state = model.states.get(id);
            state;
            state =
                model.childrenOf(state.parent ?? '').length === 1
                    ? model.states.get(state.parent ?? '')
                    : undefined
        )
            if (state.label) return state.label;
        return null;
    }

    /**
     * The colour of a state's branch.
     * @param {Model} model
     * @param {string} state
     * @returns {number} see layout.js
     */
    colourOf(model, state) {
        this.#update(model);
        const node = this.#nodes.get(state);
        const colour = this.#colours[node?.at ?? -1] ?? 0;
        // The rows of a sweep are folded here.
        return node?.sweep ? branchColour(colour, memberAt(model, state)?.row ?? 0) : colour;
    }
}

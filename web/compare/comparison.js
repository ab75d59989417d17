// @ts-check
// Which two states this tab compares, if any: in the address, so that a reload or somebody else finds the same. The
// state that we stand at stays what it was. No DOM; what differs is found in differences.js.

import { COMPARE_WORDS } from './compare-words.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {{a: string, b: string}} Pair two states by id */

/** The beginning of an address that shows a comparison; see docs/api.md. */
const ADDRESS = 'compare=';

/** @param {Pair} pair @returns {string} what the address bar shows behind the # */
export const addressOf = ({ a, b }) => `${ADDRESS}${a}..${b}`;

/** The two states that an address names, if both are there. Names of states may hold dots themselves. @param {Model} model @param {string} address @returns {Pair | null} */
export function pairOf(model, address) {
    if (!address.startsWith(ADDRESS)) return null;
    const text = address.slice(ADDRESS.length);
    for (let at = text.indexOf('..'); at >= 0; at = text.indexOf('..', at + 1)) {
        const [a, b] = [text.slice(0, at), text.slice(at + 2)];
        if (model.states.has(a) && model.states.has(b)) return { a, b };
    }
    return null;
}

export class Comparison {
    /** @param {import('../notebook/page.js').Page} page @param {import('../notebook/page.js').Host} host */
    constructor(page, host) {
        this.page = page;
        this.host = host;
        /** @type {Pair | null} */
        this.pair = null;
    }

    /** What the address bar shows while two states are compared. @returns {string | null} */
    get address() {
        return this.pair && addressOf(this.pair);
    }

    /** @param {string} a @param {string} b @param {boolean} [replace] in the history of the tab */
    open(a, b, replace = false) {
        const { states } = this.page.model;
        if (a === b || !states.has(a) || !states.has(b)) return;
        this.pair = { a, b };
        this.host.setAddress(addressOf(this.pair), replace);
        this.fetchVariables();
        this.host.changed();
    }

    swap() {
        if (this.pair) this.open(this.pair.b, this.pair.a, true);
    }

    close() {
        if (!this.pair) return;
        this.pair = null;
        this.host.setAddress(this.page.attempt ?? this.page.here, false);
        this.host.changed();
    }

    /** Opens the comparison that an address names, or closes the open one if it names none. @param {string} address @returns {Pair | null} */
    openAddress(address) {
        this.pair = pairOf(this.page.model, address);
        this.fetchVariables();
        return this.pair;
    }

    /** Something was removed: what is not there cannot be compared. */
    onStatesRemoved() {
        if (!this.pair || [this.pair.a, this.pair.b].every((id) => this.page.model.states.has(id))) return;
        this.close();
        this.page.notify(COMPARE_WORDS.gone, false);
    }

    /** Asks for the variables of both, where they can be had and are not known. */
    fetchVariables() {
        if (!this.pair) return;
        this.page.variables.fetchVariables(this.pair.a);
        this.page.variables.fetchVariables(this.pair.b);
    }
}

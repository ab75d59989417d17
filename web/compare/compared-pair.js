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

export class Comparing {
    /** @param {import('../notebook/page.js').Page} page @param {import('../notebook/page.js').Around} around */
    constructor(page, around) {
        this.page = page;
        this.around = around;
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
        this.around.setAddress(addressOf(this.pair), replace);
        this.look();
        this.around.changed();
    }

    swap() {
        if (this.pair) this.open(this.pair.b, this.pair.a, true);
    }

    close() {
        if (!this.pair) return;
        this.pair = null;
        this.around.setAddress(this.page.attempt ?? this.page.here, false);
        this.around.changed();
    }

    /** Opens the comparison that an address names, or closes the open one if it names none. @param {string} address @returns {Pair | null} */
    follow(address) {
        this.pair = pairOf(this.page.model, address);
        this.look();
        return this.pair;
    }

    /** Something was removed: what is not there cannot be compared. */
    heed() {
        if (!this.pair || [this.pair.a, this.pair.b].every((id) => this.page.model.states.has(id))) return;
        this.close();
        this.page.say(COMPARE_WORDS.gone, false);
    }

    /** Asks for the variables of both, where they can be had and are not known. */
    look() {
        if (!this.pair) return;
        this.page.variables.look(this.pair.a);
        this.page.variables.look(this.pair.b);
    }
}

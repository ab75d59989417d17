// @ts-check
// The two states that this tab compares. They are part of the address, so a reload or a shared link
// shows the same comparison. Comparing does not change the current state. No DOM; differences.js
// finds the differences.

import { COMPARE_WORDS } from './compare-words.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {{a: string, b: string}} Pair two states by id */

/** The prefix of addresses that show a comparison; see docs/api.md. */
const ADDRESS = 'compare=';

/** @param {Pair} pair @returns {string} what the address bar shows behind the # */
export const addressOf = ({ a, b }) => `${ADDRESS}${a}..${b}`;

/**
 * The two states that an address names; null unless both exist. State ids may contain dots, too.
 * @param {Model} model
 * @param {string} address
 * @returns {Pair | null}
 */
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
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {import('../notebook/page.js').Host} host
     */
    constructor(page, host) {
        this.page = page;
        this.host = host;
        /** @type {Pair | null} */
        this.pair = null;
    }

    /** The address shown during a comparison. @returns {string | null} */
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
        this.host.requestPaint();
    }

    swap() {
        if (this.pair) this.open(this.pair.b, this.pair.a, true);
    }

    close() {
        if (!this.pair) return;
        this.pair = null;
        this.host.setAddress(this.page.attempt ?? this.page.here, false);
        this.host.requestPaint();
    }

    /**
     * Opens the comparison that an address names, or closes the open one if it names none.
     * @param {string} address
     * @returns {Pair | null}
     */
    openAddress(address) {
        this.pair = pairOf(this.page.model, address);
        this.fetchVariables();
        return this.pair;
    }

    /** Closes the comparison if one of its states was removed. */
    onStatesRemoved() {
        if (!this.pair || [this.pair.a, this.pair.b].every((id) => this.page.model.states.has(id))) return;
        this.close();
        this.page.notify(COMPARE_WORDS.gone, false);
    }

    /** Requests the variables of both states. */
    fetchVariables() {
        if (!this.pair) return;
        this.page.variables.fetchVariables(this.pair.a);
        this.page.variables.fetchVariables(this.pair.b);
    }
}

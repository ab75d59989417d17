// @ts-check
// The states that this tab compares. The address contains their ids, so a reload or a shared link
// shows the same comparison. A comparison does not change the current state. Uses no DOM.
// differences.js and many-differences.js find the differences.

import { COMPARE_COMMAND_WORDS, MOST_STATES } from './compare-command-words.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {{a: string, b: string}} Pair The ids of two states. */

/** The prefix of the address fragment of a comparison; see docs/api.md. */
const ADDRESS = 'compare=';
const SEPARATOR = '..';
/** The longest id of a state; see src/http/limits.rs. */
const LONGEST = 256;

/** @param {string[]} states @returns {string} the address fragment, without the # */
export const addressOf = (states) => ADDRESS + states.join(SEPARATOR);

/**
 * The states that an address fragment names; null unless it names two or more, which all exist. A
 * state id may contain dots, so the function tries each `..` as a separator.
 * @param {Model} model
 * @param {string} address
 * @returns {string[] | null}
 */
export function statesIn(model, address) {
    if (!address.startsWith(ADDRESS)) return null;
    const text = address.slice(ADDRESS.length);
    /**
     * The states from an offset on, at most `most`.
     * @param {number} start
     * @param {number} most
     * @returns {string[] | null}
     */
    const from = (start, most) => {
        if (model.states.has(text.slice(start))) return [text.slice(start)];
        if (most < 2) return null;
        for (let at = text.indexOf(SEPARATOR, start); at >= 0; at = text.indexOf(SEPARATOR, at + 1)) {
            if (at - start > LONGEST) return null;
            const id = text.slice(start, at);
            const rest = model.states.has(id) ? from(at + SEPARATOR.length, most - 1) : null;
            if (rest) return [id, ...rest];
        }
        return null;
    };
    const found = from(0, MOST_STATES);
    return found && isMany(found) ? found : null;
}

/** @param {string[]} states */
const isMany = (states) => states.length > 1 && new Set(states).size === states.length;

export class Comparison {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {import('../notebook/page.js').Host} host
     */
    constructor(page, host) {
        this.page = page;
        this.host = host;
        /** The ids of the compared states; empty if no comparison is open. @type {string[]} */
        this.states = [];
    }

    get isOpen() {
        return this.states.length > 0;
    }

    /** The address fragment of the open comparison. @returns {string | null} */
    get address() {
        return this.isOpen ? addressOf(this.states) : null;
    }

    /**
     * Compares states.
     * @param {string[]} ids
     * @param {boolean} [replace] whether to replace the current entry of the browser history
     */
    open(ids, replace = false) {
        const states = [...new Set(ids)].filter((id) => this.page.model.states.has(id));
        if (states.length < 2) return;
        if (states.length > MOST_STATES) {
            this.page.notify(COMPARE_COMMAND_WORDS.tooMany(MOST_STATES), true);
            return;
        }
        this.states = states;
        this.host.setAddress(addressOf(states), replace);
        this.fetchVariables();
        this.host.requestPaint();
    }

    /** Adds a state to the open comparison. @param {string} id */
    add(id) {
        if (!this.states.includes(id)) this.open([...this.states, id]);
    }

    /** Takes a state out of the comparison. @param {string} id */
    remove(id) {
        const rest = this.states.filter((one) => one !== id);
        if (rest.length < 2) this.close();
        else this.open(rest, true);
    }

    /** Exchanges the sides of a comparison of two states. */
    swap() {
        if (this.states.length === 2) this.open(this.states.toReversed(), true);
    }

    close() {
        if (!this.isOpen) return;
        this.states = [];
        this.host.setAddress(this.page.address, false);
        this.host.requestPaint();
    }

    /**
     * Opens the comparison that an address fragment names. If the fragment names no comparison,
     * closes the open comparison.
     * @param {string} address
     * @returns {string[] | null}
     */
    openAddress(address) {
        const found = statesIn(this.page.model, address);
        this.states = found ?? [];
        this.fetchVariables();
        return found;
    }

    /** Takes states that were removed out of the comparison. */
    onStatesRemoved() {
        const rest = this.states.filter((id) => this.page.model.states.has(id));
        if (rest.length === this.states.length) return;
        if (rest.length < 2) this.close();
        else this.open(rest, true);
        this.page.notify(COMPARE_COMMAND_WORDS.gone, false);
    }

    /** Requests the variables of the states. */
    fetchVariables() {
        for (const state of this.states) this.page.variables.fetchVariables(state);
    }
}

// @ts-check
// The values of the columns of the table of branches. Each is asked for once, because states do not
// change. Who may not run code sees the values of plain variables only. Uses no DOM.

import { canRun } from '../shell/protocol.js';
import { WORDS as ALL } from '../shell/words.js';
import { numberOf } from '../text/number.js';
import { BRANCHES_WORDS as WORDS } from './branches-words.js';
import { isName } from './branch-table.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('./branch-rows.js').Value} Value */
/** @typedef {import('./branch-rows.js').Values} Values */

/** The number of states whose values are asked for at the same time. */
const AT_ONCE = 2;

/** The known values, which hold while the page is open. @type {WeakMap<Page, Values>} */
const known = new WeakMap();

export class BranchValues {
    /** @param {Page} page @param {() => void} onChange */
    constructor(page, onChange) {
        this.page = page;
        this.onChange = onChange;
        /** @type {Values} */
        this.values = known.get(page) ?? new Map();
        known.set(page, this.values);
        /** The states on disk that the user has asked to load. @type {Set<string>} */
        this.loaded = new Set();
        this.asking = 0;
        this.isOver = false;
    }

    /** Ends. What was refused is asked again when the table is opened again. */
    stop() {
        this.isOver = true;
        for (const columns of this.values.values())
            for (const [column, value] of columns) if ('refusal' in value) columns.delete(column);
    }

    /** Whether the values of a state may be asked for. @param {State} state */
    mayAsk({ living, id }) {
        return canRun(living) && (living !== 'disk' || this.loaded.has(id));
    }

    /**
     * Whether a value will come or may still come.
     * @param {State} state
     * @param {string} column
     */
    isComing(state, column) {
        const value = this.values.get(state.id)?.get(column);
        if (value) return 'isPending' in value;
        return this.mayAsk(state) && this.page.branchTable.mayEvaluate(column);
    }

    /**
     * Asks for the values that are missing, some states at a time.
     * @param {State[]} states
     * @param {string[]} columns
     */
    ask(states, columns) {
        const wanted = columns.filter(this.page.branchTable.mayEvaluate);
        for (const state of states) {
            if (this.asking >= AT_ONCE || this.isOver) return;
            const missing = missingColumns(this.values, state.id, wanted);
            if (missing.length && this.mayAsk(state)) void this.#find(state.id, missing);
        }
    }

    /** @param {string} state @param {string[]} columns */
    async #find(state, columns) {
        this.asking += 1;
        this.#set(
            state,
            columns.map((column) => [column, { isPending: true }]),
        );
        if (this.page.mayRun) await this.#evaluate(state, columns);
        else await this.#read(state, columns);
        this.asking -= 1;
        if (!this.isOver) this.onChange();
    }

    /** @param {string} state @param {string[]} columns */
    async #evaluate(state, columns) {
        const reply = await this.page.host.send({ do: 'evaluate', state, expressions: columns });
        // Each alone, because one may have ended the process or taken all the time.
        if (reply.kind === 'refused' && columns.length > 1) {
            for (const column of columns) if (!this.isOver) await this.#evaluate(state, [column]);
            return;
        }
        const refusal = reply.kind === 'refused' ? ALL.refused(reply) : '';
        const found = reply.kind === 'evaluated' ? reply.values : [];
        this.#set(
            state,
            columns.map((column, i) => [column, found[i] ?? { refusal }]),
        );
    }

    /** Reads plain variables. @param {string} state @param {string[]} columns */
    async #read(state, columns) {
        const { variables } = this.page;
        if (columns.some(isName)) await variables.fetchVariables(state);
        const list = variables.known.get(state);
        this.#set(
            state,
            columns.map((column) => {
                if (!isName(column)) return [column, { refusal: WORDS.needsRun }];
                if (!Array.isArray(list)) return [column, { refusal: list ?? '' }];
                return [column, evaluated(column, list)];
            }),
        );
    }

    /** @param {string} state @param {[string, Value][]} entries */
    #set(state, entries) {
        this.values.set(state, new Map([...(this.values.get(state) ?? []), ...entries]));
    }
}

/**
 * The value of a variable as `evaluate` would send it.
 * @param {string} name
 * @param {import('../shell/protocol.js').Variable[]} list
 * @returns {import('../shell/protocol.js').Evaluated}
 */
function evaluated(name, list) {
    const variable = list.find((one) => one.name === name);
    if (!variable) return { text: `NameError: name '${name}' is not defined`, number: null, failed: true };
    const number = numberOf(variable);
    return { text: variable.repr, number: number === null ? null : Number(number), failed: false };
}

/**
 * The columns to evaluate for a state: those without a value that is known or on its way.
 * @param {Values} values
 * @param {string} state
 * @param {string[]} columns
 */
export const missingColumns = (values, state, columns) =>
    columns.filter((column) => !values.get(state)?.has(column));

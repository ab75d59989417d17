// @ts-check
// The variables of states. States are immutable, so each one is requested once.

import { missingOf } from '../checkpoints/residency.js';
import { canRun } from '../shell/protocol.js';
import { WORDS } from '../shell/words.js';
import { numberOf } from '../text/number.js';

/** @typedef {import('../shell/protocol.js').Variable} Variable */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {'name' | 'type' | 'shape' | 'bytes' | 'cell' | 'value'} Column */
/** @typedef {{by: Column, isDown: boolean}} Order */

/** The number of states whose variables are cached. */
const KEPT = 50;
/** Types of imports and definitions, which are listed after data. */
const TOOLS = new Set([
    'module',
    'function',
    'type',
    'ABCMeta',
    'builtin_function_or_method',
    'method',
    'ufunc',
]);

/** Whether a variable is an import or a definition. @param {Variable} variable */
export const isTool = ({ type }) => TOOLS.has(type);

/**
 * Whether a variable was imported. Of a function, this is not known.
 * @param {Variable} variable
 */
export const isImport = ({ type, repr }) =>
    TOOLS.has(type) && type !== 'function' && type !== 'method' && !repr.includes('__main__');

export class Variables {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {import('../notebook/page.js').Host} host
     */
    constructor(page, host) {
        this.page = page;
        this.host = host;
        this.isShown = host.recall('showsVariables') === true;
        /**
         * The variables by state; null while loading, a text if unavailable.
         * @type {Map<string, Variable[] | string | null>}
         */
        this.known = new Map();
        /**
         * The last variables shown, kept visible while others load.
         * @type {{state: string, list: Variable[]} | null}
         */
        this.last = null;
        /** The state at the last fetch. @type {string | null} */
        this.lastPosition = null;
    }

    /** The variables of the current state, data first. */
    get here() {
        return this.known.get(this.page.here);
    }

    /**
     * What the pane shows: the variables of the current state or, while they load, those shown
     * before.
     * @returns {{state: string, list: Variable[], isOld: boolean} | null}
     */
    get shown() {
        const { here } = this;
        if (Array.isArray(here)) this.last = { state: this.page.here, list: here };
        const isComing = here === null && this.last !== null && this.page.model.states.has(this.last.state);
        return this.last && (Array.isArray(here) || isComing) ? { ...this.last, isOld: isComing } : null;
    }

    /** Whether a running cell may change the variables. */
    get mayChange() {
        const { model, here, ownRuns } = this.page;
        return model.openRuns().some((run) => ownRuns.has(run.exec_id) || model.baseOf(run) === here);
    }

    /** @param {boolean} isWanted */
    show(isWanted) {
        this.isShown = isWanted;
        this.lastPosition = null;
        this.host.remember('showsVariables', isWanted);
        this.onPageMoved();
        this.host.requestPaint();
    }

    /** Fetches again after a failure. */
    retry() {
        this.lastPosition = null;
        this.onPageMoved();
        this.host.requestPaint();
    }

    clear() {
        this.known.clear();
    }

    /**
     * Drops the cached variables of a state that was restored, because they may differ now.
     * @param {State} now
     */
    onStateChanged(now) {
        const before = this.page.model.states.get(now.id);
        if (before && isOther(before, now)) this.known.delete(now.id);
    }

    /**
     * Fetches the variables of the page's new position. After a failure, each visit tries again,
     * because the machine may have been busy.
     */
    onPageMoved() {
        const { here } = this.page;
        if (this.lastPosition !== here && typeof this.here === 'string') this.known.delete(here);
        this.lastPosition = here;
        if (this.isShown) this.fetchVariables(this.page.here);
        this.page.comparison?.fetchVariables();
    }

    /**
     * Fetches the variables of a state once, if it has a process or a checkpoint.
     * @param {string} state
     */
    async fetchVariables(state) {
        const { living } = this.page.model.states.get(state) ?? {};
        if (this.known.has(state) || !living || !canRun(living)) return;
        this.known.set(state, null);
        const reply = await this.host.send({ do: 'look_at_variables', state });
        if (reply.kind === 'variables') this.known.set(state, dataFirst(reply.variables));
        else if (reply.kind === 'refused') this.known.set(state, WORDS.variablesRefused(reply));
        const oldest = this.known.keys().next().value;
        if (this.known.size > KEPT && oldest) this.known.delete(oldest);
        this.host.requestPaint();
    }
}

/** @param {Variable[]} all @returns {Variable[]} stable within each kind */
const dataFirst = (all) => [...all.filter((one) => !isTool(one)), ...all.filter(isTool)];

/**
 * Whether a state was restored, so that its variables may differ.
 * @param {State} before
 * @param {State} now
 */
const isOther = (before, now) =>
    (before.living === 'replay') !== (now.living === 'replay') ||
    before.revival?.by !== now.revival?.by ||
    missingOf(before).length !== missingOf(now).length;

/**
 * The variables whose name, type or value contains a text, ignoring case.
 * @param {Variable[]} all
 * @param {string} text
 * @returns {Variable[]}
 */
export function filtered(all, text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return all;
    return all.filter(({ name, type, repr }) =>
        [name, type, repr].some((one) => one.toLowerCase().includes(wanted)),
    );
}

/**
 * Separates the imported modules from all other variables.
 * @param {Variable[]} all
 * @returns {{data: Variable[], modules: Variable[]}}
 */
export const withoutModules = (all) => ({
    data: all.filter(({ type }) => type !== 'module'),
    modules: all.filter(({ type }) => type === 'module'),
});

/**
 * Sorts by a column. Variables without a value there come last in both directions; ties keep
 * their order.
 * @param {Variable[]} all
 * @param {Order | null} order
 * @param {Map<string, State>} cells
 * @returns {Variable[]}
 */
export function sorted(all, order, cells) {
    if (!order) return all;
    const keyed = all.map((variable) => ({ variable, key: keyOf(variable, order.by, cells) }));
    const way = order.isDown ? -1 : 1;
    keyed.sort(({ key: a }, { key: b }) => {
        if (a === null || b === null) return Number(a === null) - Number(b === null);
        if (typeof a === 'number' && typeof b === 'number') return way * (a - b);
        return (
            way *
            (typeof a === typeof b
                ? String(a).localeCompare(String(b), 'en', { numeric: true })
                : typeof a === 'number'
                  ? -1
                  : 1)
        );
    });
    return keyed.map(({ variable }) => variable);
}

/**
 * @param {Variable} variable
 * @param {Column} by
 * @param {Map<string, State>} cells
 * @returns {number | string | null}
 */
function keyOf(variable, by, cells) {
    if (by === 'name' || by === 'type') return variable[by];
    if (by === 'bytes') return variable.bytes ?? null;
    if (by === 'cell') return cells.get(variable.name)?.exec_count ?? null;
    if (by === 'value') {
        const number = numberOf(variable);
        return number === null ? variable.repr : Number(number);
    }
    const sides = variable.size?.match(/\d+/g);
    return sides ? sides.reduce((product, side) => product * Number(side), 1) : null;
}

/**
 * The cell of a lineage that last changed each variable, by name. After a cell with unknown
 * changes, only later changes count.
 * @param {State[]} lineage from the root on
 * @returns {Map<string, State>}
 */
export function changedBy(lineage) {
    /** @type {Map<string, State>} */
    const cells = new Map();
    for (const state of lineage) {
        if (state.parent === null) continue;
        const { changes } = state;
        if (!changes || changes.more > 0) cells.clear();
        for (const name of [...(changes?.added ?? []), ...(changes?.changed ?? [])]) cells.set(name, state);
        for (const name of changes?.removed ?? []) cells.delete(name);
    }
    return cells;
}

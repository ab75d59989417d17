// @ts-check
// The variables of the state we stand at. They never change, so they are asked for once per state.

import { missingOf } from './living.js';
import { canRun } from './protocol.js';
import { WORDS } from './words.js';

/** @typedef {import('./protocol.js').Variable} Variable */

/** How many states' variables are kept. */
const KEPT = 50;
/** What is there because it was imported or defined, not worked out: it stands behind the data. */
const TOOLS = new Set(['module', 'function', 'type', 'ABCMeta', 'builtin_function_or_method', 'method', 'ufunc']);

export class Variables {
    /** @param {import('./page.js').Page} page @param {import('./page.js').Around} around */
    constructor(page, around) {
        this.page = page;
        this.around = around;
        this.isShown = around.recall('showsVariables') === true;
        /** By state; null while they are on their way, a text where they cannot be had. @type {Map<string, Variable[] | string | null>} */
        this.known = new Map();
    }

    /** Those of the state we stand at, data first. */
    get here() {
        return this.known.get(this.page.here);
    }

    /** @param {boolean} isWanted */
    show(isWanted) {
        this.isShown = isWanted;
        this.around.remember('showsVariables', isWanted);
        this.follow();
        this.around.changed();
    }

    clear() {
        this.known.clear();
    }

    /** A state is about to change: if it came back, other variables may be there. @param {import('./protocol.js').State} now */
    heed(now) {
        const before = this.page.model.states.get(now.id);
        if (before && isOther(before, now)) this.known.delete(now.id);
    }

    /** We stand somewhere: looks there, if anyone wants to see it. */
    async follow() {
        const { page } = this;
        const state = page.here;
        const { living } = page.model.states.get(state) ?? {};
        if (!this.isShown || this.known.has(state) || !living || !canRun(living)) return;
        this.known.set(state, null);
        const reply = await this.around.send({ do: 'look_at_variables', state });
        if (reply.kind === 'variables') this.known.set(state, dataFirst(reply.variables));
        else if (reply.kind === 'refused') this.known.set(state, WORDS.refused(reply));
        const oldest = this.known.keys().next().value;
        if (this.known.size > KEPT && oldest) this.known.delete(oldest);
        this.around.changed();
    }
}

/** @param {Variable[]} all @returns {Variable[]} each kind in the order in which it came */
const dataFirst = (all) => [...all.filter(({ type }) => !TOOLS.has(type)), ...all.filter(({ type }) => TOOLS.has(type))];

/**
 * Whether a state came back, or with more or fewer variables.
 * @param {import('./protocol.js').State} before @param {import('./protocol.js').State} now
 */
const isOther = (before, now) => (before.living === 'replay') !== (now.living === 'replay')
    || before.revival?.by !== now.revival?.by || missingOf(before).length !== missingOf(now).length;

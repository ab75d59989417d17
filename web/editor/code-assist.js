// @ts-check
// Requests completions, documentation and syntax errors from the server, for the state on which a
// cell would run.
// If a request fails, the page shows no notice. Pure, except for the requests.

import { isText, runToWaitFor, textOf } from '../notebook/cell-list.js';
import { canRun } from '../shell/protocol.js';
import { toPoints, toUnits } from '../text/points.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/**
 * @typedef {{from: number, to: number, items: import('../shell/protocol.js').Completion[]}}
 *   Completions `from` and `to`: the text to replace, as offsets in UTF-16 units.
 */

/** The maximum time of a quick answer, in milliseconds. */
const QUICK_MS = 400;
/** The time after a slow answer during which typing triggers no requests, in milliseconds. */
const FORGIVEN_MS = 20_000;
/** The most code of drafts above that is sent with a request, in characters. */
const LONGEST_ABOVE = 50_000;

export class CodeAssist {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {() => number} clock in milliseconds
     */
    constructor(page, clock) {
        this.page = page;
        this.clock = clock;
        /** When the last slow answer arrived, by `clock`; -Infinity after a quick answer. */
        this.slowAt = -Infinity;
    }

    /** Whether answers are quick enough for requests while the user types. */
    get isQuick() {
        return this.clock() - this.slowAt > FORGIVEN_MS;
    }

    /**
     * @param {string} key the cell's key
     * @param {string} code the cell's current text
     * @param {number} cursor in UTF-16 units
     * @returns {Promise<Completions | null>}
     */
    async complete(key, code, cursor) {
        const reply = await this.#ask('complete', key, code, cursor);
        if (reply?.kind !== 'completions') return null;
        return { from: toUnits(code, reply.from), to: toUnits(code, reply.to), items: reply.items };
    }

    /**
     * @param {string} key
     * @param {string} code
     * @param {number} cursor in UTF-16 units
     * @returns {Promise<import('../shell/protocol.js').Inspection | null | undefined>} null: the
     *   server knows no such object; undefined: the server gave no answer
     */
    async inspect(key, code, cursor) {
        const reply = await this.#ask('inspect', key, code, cursor);
        return reply?.kind === 'inspected' ? reply.object : undefined;
    }

    /**
     * @param {string} key
     * @param {string} code
     * @returns {Promise<import('../shell/protocol-types').SyntaxProblem | null | undefined>}
     *   null: the code has no syntax error; undefined: the server gave no answer
     */
    async check(key, code) {
        const reply = await this.#ask('check', key, code);
        return reply?.kind === 'checked' ? reply.error : undefined;
    }

    /**
     * @param {'complete' | 'inspect' | 'check'} what
     * @param {string} key
     * @param {string} code
     * @param {number} [cursor]
     */
    async #ask(what, key, code, cursor = 0) {
        const state =
            this.page.connection === 'open' && this.page.mayRun ? stateBehind(this.page, key) : undefined;
        if (state === undefined) return null;
        const began = this.clock();
        const reply = await this.page.host.send(
            what === 'check'
                ? { do: what, state, code }
                : {
                      do: what,
                      state,
                      code,
                      cursor: toPoints(code, cursor),
                      above: codeAbove(this.page.cells(), key, state),
                  },
        );
        if (what === 'check') return reply;
        if (this.clock() - began > QUICK_MS) this.slowAt = this.clock();
        else if (reply.kind !== 'refused') this.slowAt = -Infinity;
        return reply;
    }
}

/**
 * The state on which a cell would run. Below an open run, the state from which that run starts.
 * Undefined for Markdown and attempts, and if no cell can run on the state.
 * @param {import('../notebook/page.js').Page} page
 * @param {string} key
 * @returns {string | undefined}
 */
export function stateBehind(page, key) {
    const cells = page.cells();
    const cell = cells.find((one) => one.key === key);
    if (!cell || cell.kind === 'attempt' || cell.kind === 'text' || isText(cell)) return undefined;
    const state = cell.kind === 'ran' ? (cell.state.parent ?? undefined) : baseUnder(page, cells, cell);
    const living = page.model.states.get(state ?? '')?.living;
    return living && canRun(living) ? state : undefined;
}

/**
 * The code between a state and a cell: it will run before the cell, and has not run yet.
 * @param {Cell[]} cells
 * @param {string} key
 * @param {string} state the state on which the cell would run
 */
export function codeAbove(cells, key, state) {
    const end = cells.findIndex((cell) => cell.key === key);
    const begin = cells.findLastIndex((cell, i) => i < end && cell.kind === 'ran' && cell.state.id === state);
    const texts = cells.slice(begin + 1, end).filter((cell) => cell.kind === 'draft' && !isText(cell));
    const all = texts.map(textOf).join('\n');
    return all.length > LONGEST_ABOVE ? all.slice(all.indexOf('\n', all.length - LONGEST_ABOVE) + 1) : all;
}

/**
 * @param {import('../notebook/page.js').Page} page
 * @param {Cell[]} cells
 * @param {Extract<Cell, {kind: 'draft'}>} cell
 * @returns {string | undefined}
 */
function baseUnder({ model, ownRuns }, cells, cell) {
    const first = runToWaitFor(cells, cell.key, ownRuns.requested);
    if (first === undefined) return cell.draft.on;
    for (
        let run = model.runs.get(first);
        run;
        run = 'run' in run.on ? model.runs.get(run.on.run) : undefined
    ) {
        const base = model.baseOf(run);
        if (base !== undefined) return base;
    }
    // The server has not confirmed the run yet. The run will start from the draft's state.
    return cell.draft.on;
}

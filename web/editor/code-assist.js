// @ts-check
// Requests completions and documentation from the server, for the state that the cell would run on.
// A failed request has no answer and shows no notice. Pure, except for the requests.

import { runToWaitFor } from '../notebook/cell-list.js';
import { canRun } from '../shell/protocol.js';
import { toPoints, toUnits } from '../text/points.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/**
 * @typedef {{from: number, to: number, items: import('../shell/protocol.js').Completion[]}}
 *   Completions Offsets in UTF-16 units.
 */

/** Answers that take longer are too late for a user who types, in milliseconds. */
const QUICK_MS = 400;
/** After a slow answer, how long typing causes no requests, in milliseconds. */
const FORGIVEN_MS = 20_000;

export class CodeAssist {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {() => number} clock in milliseconds
     */
    constructor(page, clock) {
        this.page = page;
        this.clock = clock;
        /** When the last slow answer arrived. */
        this.slowAt = -Infinity;
    }

    /** Whether answers are fast enough to request them while the user types. */
    get isQuick() {
        return this.clock() - this.slowAt > FORGIVEN_MS;
    }

    /**
     * @param {string} key the cell
     * @param {string} code its current text
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
     * @returns {Promise<import('../shell/protocol.js').Inspection | null | undefined>} null:
     *   nothing is known; undefined: no answer
     */
    async inspect(key, code, cursor) {
        const reply = await this.#ask('inspect', key, code, cursor);
        return reply?.kind === 'inspected' ? reply.object : undefined;
    }

    /**
     * @param {'complete' | 'inspect'} what
     * @param {string} key
     * @param {string} code
     * @param {number} cursor
     */
    async #ask(what, key, code, cursor) {
        const state =
            this.page.connection === 'open' && this.page.mayRun ? stateBehind(this.page, key) : undefined;
        if (state === undefined) return null;
        const began = this.clock();
        const reply = await this.page.host.send({ do: what, state, code, cursor: toPoints(code, cursor) });
        if (this.clock() - began > QUICK_MS) this.slowAt = this.clock();
        else if (reply.kind !== 'refused') this.slowAt = -Infinity;
        return reply;
    }
}

/**
 * The state whose variables a cell can use: the state it would run on or, below a running cell, the
 * state from which that run started. Undefined for Markdown, and if no cell can run on that state.
 * @param {import('../notebook/page.js').Page} page
 * @param {string} key
 * @returns {string | undefined}
 */
export function stateBehind(page, key) {
    const cells = page.cells();
    const cell = cells.find((one) => one.key === key);
    if (!cell || cell.kind === 'attempt' || (cell.kind === 'draft' && cell.draft.kind === 'markdown'))
        return undefined;
    const state = cell.kind === 'ran' ? (cell.state.parent ?? undefined) : baseUnder(page, cells, cell);
    const living = page.model.states.get(state ?? '')?.living;
    return living && canRun(living) ? state : undefined;
}

/**
 * @param {import('../notebook/page.js').Page} page
 * @param {Cell[]} cells
 * @param {Extract<Cell, {kind: 'draft'}>} cell
 * @returns {string | undefined}
 */
function baseUnder({ model, requestedRuns }, cells, cell) {
    const first = runToWaitFor(cells, cell.key, requestedRuns);
    if (first === undefined) return cell.draft.on;
    for (
        let run = model.runs.get(first);
        run;
        run = 'run' in run.on ? model.runs.get(run.on.run) : undefined
    ) {
        const base = model.baseOf(run);
        if (base !== undefined) return base;
    }
    // The run is not confirmed yet; it will start from the draft's state.
    return cell.draft.on;
}

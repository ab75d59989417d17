// @ts-check
// Decides which variants of a cell run, and what the page then shows. Uses no DOM.

import { stateUnder } from '../notebook/cell-list.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('../notebook/page.js').Page} Page */

/**
 * Which of some versions of a cell would run. A version that ran at the same state before, or is
 * running there, does not run again.
 * @param {Page} page
 * @param {import('../notebook/cell-list.js').Cell} cell
 * @param {string[]} codes
 * @returns {{fresh: string[], shown: string | null}} `fresh`: the versions that run; `shown`: the
 *   state that the first version has left before, if any
 */
export function planVariants(page, cell, codes) {
    const base = stateUnder(page.cells(), cell, codes[0] ?? '', page.ownRuns.requested);
    const states = codes.map((code) => (base === undefined ? null : stateOf(page, base, code)));
    const running = new Set(
        page.model.openRuns().flatMap((run) => (page.model.baseOf(run) === base ? run.code : [])),
    );
    const isFresh = (/** @type {string} */ code, /** @type {number} */ i) =>
        states[i] === null && !running.has(code);
    return { fresh: codes.filter(isFresh), shown: states[0] ?? null };
}

/**
 * Runs versions of a cell at the same time, each as a branch from the same state. The page follows
 * the first. If the first is the cell as it ran, the page stays where it is.
 * @param {Page} page
 * @param {import('../notebook/cell-list.js').Cell} cell
 * @param {string[]} codes all different
 */
export function runVariants(page, cell, codes) {
    const { fresh, shown } = planVariants(page, cell, codes);
    const known = codes.length - fresh.length;
    const isShown = cell.kind === 'ran' && shown === cell.state.id;
    if (fresh.length > 0 && isShown)
        page.ownRuns.run(cell, codes[0] ?? '', { codes: fresh, known, isFollowed: false });
    else if (fresh.length > 0)
        page.ownRuns.run(cell, fresh[0] ?? '', { codes: fresh.slice(1), known, isFollowed: true });
    else {
        if (shown && !isShown) page.branchFrom(shown);
        page.notify(WORDS.variantsKnown(known), false);
    }
}

/**
 * The newest state that this code left when it ran at a state; null if there is none from which
 * cells can run.
 * @param {Page} page
 * @param {string} base
 * @param {string} code
 */
function stateOf(page, base, code) {
    const isIt = (/** @type {import('../shell/protocol.js').State} */ state) =>
        state.living !== 'deleted' &&
        state.living !== 'replay' &&
        !state.partial &&
        !page.pendingDeletion.has(state.id) &&
        page.model.runOf(state)?.code === code;
    return page.model.childrenOf(base).findLast(isIt)?.id ?? null;
}

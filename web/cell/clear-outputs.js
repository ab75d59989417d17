// @ts-check
// Clears the outputs of all cells, or of one draft. Undo shows them again.
//
// A state keeps its outputs. So cells that ran become drafts at the root, as in a restart, but
// without what they had shown. The line with the outputs stays in the graph.

import { runOrStale } from '../notebook/cell-list.js';
import { ROOT_STATE } from '../shell/protocol.js';
import { MENU_WORDS as WORDS } from './menu-words.js';
import { shownPieces } from './cell-operations.js';
import { openRunsOn } from './run-all.js';

/** @typedef {import('./cell-controller.js').CellController} CellController */
/** @typedef {import('./cell-operations.js').CellOperations} CellOperations */
/** @typedef {import('../shell/protocol.js').Draft} Draft */

/** @param {CellController} controller */
export function clearOutputs({ page, edits, focus }) {
    const cells = page.cells();
    if (openRunsOn(page).length > 0) return page.notify(WORDS.clearLater, false);
    if (!cells.some((cell) => runOrStale(cell)?.outputs.length)) return page.notify(WORDS.noOutputs, false);
    const { made } = edits.history.record(() => cleared(edits.operations, cells), {
        said: ({ count }) => WORDS.clearedOutputs(count),
        isTold: true,
    });
    if (made[0]) focus.go({ key: made[0], asCell: true });
    return undefined;
}

/**
 * @param {CellOperations} operations
 * @param {import('../notebook/cell-list.js').Cell[]} cells
 */
function cleared(operations, cells) {
    const pieces = cells.flatMap(shownPieces).map((piece) => ({ ...piece, stale_run: null }));
    const drafts = operations.movable(cells).map(({ draft }) => draft);
    if (operations.page.here === ROOT_STATE) operations.remove(drafts, []);
    return operations.replaceDrafts(ROOT_STATE, pieces);
}

/**
 * Clears the outputs that a draft shows of an earlier run.
 * @param {CellController} controller
 * @param {Draft} draft
 */
export function clearOutput({ page, edits, focus }, draft) {
    const { id } = draft;
    const key = edits.history.record(() => replaced(edits.operations, page.drafts.now(draft)), {
        said: WORDS.clearedOutput,
        key: id,
    });
    focus.go({ key, asCell: true });
}

/**
 * Puts a draft without outputs in place of one.
 * @param {CellOperations} operations
 * @param {Draft} draft
 * @returns {string} its id
 */
function replaced(operations, { id, on, before, kind, source, imported_cell }) {
    const made = operations.addAt({ on, before }, id, { kind, source, imported_cell });
    operations.page.drafts.remove(id);
    return made;
}

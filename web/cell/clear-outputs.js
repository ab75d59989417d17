// @ts-check
// Clears the outputs of all cells.
//
// A state keeps its outputs. So cells that ran become drafts at the root, as in a restart, but
// without what they had shown. The line with the outputs stays in the graph.

import { runOf, runOrStale } from '../notebook/cell-list.js';
import { hasEnded, ROOT_STATE } from '../shell/protocol.js';
import { MENU_WORDS as WORDS } from './menu-words.js';
import { shownPieces } from './cell-operations.js';

/** @param {import('./cell-controller.js').CellController} controller */
export function clearOutputs({ page, edits, focus }) {
    const cells = page.cells();
    const runs = cells.flatMap((cell) => runOf(cell) ?? []);
    if (runs.some(({ status }) => !hasEnded(status))) return page.notify(WORDS.clearLater, false);
    if (!cells.some((cell) => runOrStale(cell)?.outputs.length)) return page.notify(WORDS.noOutputs, false);
    const { made } = edits.history.record(() => cleared(edits.operations, cells), {
        said: ({ count }) => WORDS.clearedOutputs(count),
        isTold: true,
    });
    if (made[0]) focus.go({ key: made[0], asCell: true });
    return undefined;
}

/**
 * @param {import('./cell-operations.js').CellOperations} operations
 * @param {import('../notebook/cell-list.js').Cell[]} cells
 */
function cleared(operations, cells) {
    const pieces = cells.flatMap(shownPieces).map((piece) => ({ ...piece, stale_run: null }));
    if (operations.page.here === ROOT_STATE) operations.remove(draftsOf(operations, cells), []);
    return operations.replaceDrafts(ROOT_STATE, pieces);
}

/**
 * @param {import('./cell-operations.js').CellOperations} operations
 * @param {import('../notebook/cell-list.js').Cell[]} cells
 */
const draftsOf = (operations, cells) => operations.movable(cells).map(({ draft }) => draft);

// @ts-check
// Moves cells to where they are dropped. Pure.

import { wholeCells, without } from './cell-operations.js';
import { isText, textKey, textOf } from '../notebook/cell-list.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/** @typedef {import('../notebook/cell-list.js').TextCell} TextCell */
/** @typedef {import('./cell-operations.js').CellOperations} CellOperations */
/** @typedef {import('./edit-commands.js').EditCommands} EditCommands */
/** @typedef {import('./cell.js').Cell} CellView */

/**
 * The keys of all cells that move when the user drags a cell.
 * @param {EditCommands} edits
 * @param {CellView} view
 */
export const draggedWith = (edits, view) =>
    wholeCells(edits.selected.with(view).map((one) => one.props.cell)).map(({ key }) => key);

/**
 * Moves cells to the position where the user dropped them.
 * @param {EditCommands} edits
 * @param {CellView} view the cell by which they were dragged
 * @param {string[]} keys
 * @param {string | null} after the key of the cell above that position; null: none
 */
export function dropCells(edits, view, keys, after) {
    const { operations } = edits;
    const { key: held } = view.props.cell;
    const cells = edits.page.cells();
    const moved = cells.filter(({ key }) => keys.includes(key));
    const at = cells.findIndex(({ key }) => key === after);
    const drafts = operations.movable(moved);
    const ids = drafts.map(({ draft }) => draft.id);
    const [first] = drafts;
    const above = cells[at];
    const isBeside = (/** @type {Cell | undefined} */ cell) =>
        cell?.kind === 'draft' && cell.draft.on === first?.draft.on && cell.isInside === first.isInside;
    // Drafts that stay at one state only change their order.
    if (drafts.length === moved.length && (isBeside(above) || isBeside(cells[at + 1]))) {
        const last = above?.kind === 'draft' && isBeside(above) ? above.draft.id : null;
        edits.reorder(ids, held, () => operations.moveAfter(ids, last));
        return;
    }
    // Texts move by themselves: no cell needs to run again.
    if (moved.every(isText)) {
        const below = cells.slice(at + 1).find((cell) => !keys.includes(cell.key));
        edits.moveText(held, () => placeTexts(operations, moved, below));
        return;
    }
    const place = cells.slice(0, at + 1).filter((cell) => !keys.includes(cell.key)).length;
    const wanted = without(cells, moved).toSpliced(place, 0, ...moved);
    if (wanted.every(({ key }, i) => key === cells[i]?.key)) return;
    edits.rewrite(view, wanted, held, (n) => WORDS.movedCells(moved.length, n));
}

/**
 * Moves texts above another cell: into its state, or as drafts above a draft.
 * @param {CellOperations} operations
 * @param {Cell[]} cells texts, and drafts that are texts
 * @param {Cell} [below] not one of them; none: the end of the lineage
 * @returns {string | null} the key of the first
 */
export function placeTexts(operations, cells, below) {
    const { page } = operations;
    const gone = cells.filter((cell) => cell.kind === 'text');
    const sources = cells.map(textOf);
    operations.remove(
        operations.movable(cells).map(({ draft }) => draft),
        gone,
    );
    if (below?.kind !== 'ran' && below?.kind !== 'text') {
        const at = below ?? page.cells().at(-1);
        const keys = sources.map((source) => at && operations.insertAbove(at, { kind: 'markdown', source }));
        return keys[0] ?? null;
    }
    const { id, prose } = below.state;
    const isAbove = (/** @type {TextCell} */ { state, index }) =>
        state.id === id && below.kind === 'text' && index < below.index;
    const at = below.kind === 'text' ? below.index - gone.filter(isAbove).length : prose.length;
    page.prose.set(id, prose.toSpliced(at, 0, ...sources));
    return textKey(id, at);
}

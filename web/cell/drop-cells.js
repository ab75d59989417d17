// @ts-check
// Moves cells to where they are dropped, and texts past the cells beside them. Pure.

import { isWhole, originOf, wholeCells, without } from './cell-operations.js';
import { isText, kindOf, textKey, textOf } from '../notebook/cell-list.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/** @typedef {import('../notebook/cell-list.js').TextCell} TextCell */
/** @typedef {import('./cell-operations.js').CellOperations} CellOperations */
/** @typedef {import('./edit-commands.js').EditCommands} EditCommands */
/** @typedef {import('./cell.js').Cell} CellView */

/**
 * The keys of all cells that move when the user drags a cell: the selected cells, and those that
 * their collapsed sections hide.
 * @param {EditCommands} edits
 * @param {CellView} view
 */
export function draggedWith(edits, view) {
    const chosen = wholeCells(edits.selected.with(view).map((one) => one.props.cell));
    const keys = new Set(chosen.map(({ key }) => key));
    const { hidden } = edits.selected.sections.of();
    let isIn = false;
    const moves = (/** @type {Cell} */ { key }) => (isIn = keys.has(key) || (isIn && hidden.has(key)));
    return edits.page
        .cells()
        .filter(moves)
        .map(({ key }) => key);
}

/**
 * Moves cells by one among those that are shown: a collapsed section moves as one, and cells move
 * past it as a whole. A section that would hide a cell that was shown expands.
 * @param {EditCommands} edits
 * @param {CellView} view
 * @param {1 | -1} step 1: down; -1: up
 */
export function moveShown(edits, view, step) {
    const keys = draggedWith(edits, view);
    const { hidden } = edits.selected.sections.of();
    const cells = edits.page.cells();
    const places = cells.flatMap(({ key }, i) => (keys.includes(key) ? [i] : []));
    let beside = step === 1 ? (places.at(-1) ?? 0) + 1 : (places[0] ?? 0) - 1;
    const isHidden = (/** @type {number} */ at) => hidden.has(cells[at]?.key ?? '');
    while (isHidden(step === 1 ? beside + 1 : beside)) beside += step;
    const past = cells[beside];
    if (!keys.length || !past || !isWhole(past)) return;
    const shown = cells.filter(({ key }) => !hidden.has(key)).map(({ key }) => key);
    edits.focus.goAlong(view.props.cell.key, shown);
    dropCells(edits, view, keys, (step === 1 ? past : cells[beside - 1])?.key ?? null);
}

/**
 * Moves cells to the position where the user dropped them.
 * @param {EditCommands} edits
 * @param {CellView} view the cell by which they were dragged
 * @param {string[]} keys
 * @param {string | null} after the key of the cell above that position; null: none
 */
export function dropCells(edits, view, keys, after) {
    const moved = edits.page.cells().filter(({ key }) => keys.includes(key));
    edits.change(moved, () => drop(edits, view, keys, after));
}

/** @type {typeof dropCells} */
function drop(edits, view, keys, after) {
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
 * Moves a text by one: past a text, or past the code of a cell that ran. No cell needs to run
 * again.
 * @param {EditCommands} edits
 * @param {string} key
 * @param {1 | -1} step 1: down; -1: up
 */
export function moveTextBy(edits, key, step) {
    const cells = edits.page.cells();
    const at = cells.findIndex((cell) => cell.key === key);
    const [text, past] = [cells[at], cells[at + step]];
    if (!text || !past || !isWhole(past)) return;
    edits.moveText(key, () => placeTexts(edits.operations, [text], step === 1 ? cells[at + 2] : past));
}

/**
 * Moves texts above another cell. Above a cell that ran, Markdown becomes a text of its state,
 * unless raw text is among it.
 * @param {CellOperations} operations
 * @param {Cell[]} cells texts, and drafts that are texts
 * @param {Cell} [below] not one of them; none: the end of the lineage
 * @returns {string | null} the key of the first
 */
export function placeTexts(operations, cells, below) {
    const { page } = operations;
    const gone = cells.filter((cell) => cell.kind === 'text');
    const pieces = cells.map((cell) => ({ kind: kindOf(cell), source: textOf(cell), ...originOf(cell) }));
    operations.remove(
        operations.movable(cells).map(({ draft }) => draft),
        gone,
    );
    if (below?.kind !== 'ran' && below?.kind !== 'text') {
        const at = below ?? page.cells().at(-1);
        return pieces.map((piece) => at && operations.insertAbove(at, piece))[0] ?? null;
    }
    const { id, prose } = below.state;
    const isAbove = (/** @type {TextCell} */ { state, index }) =>
        state.id === id && below.kind === 'text' && index < below.index;
    const at = below.kind === 'text' ? below.index - gone.filter(isAbove).length : prose.length;
    if (pieces.some(({ kind }) => kind === 'raw')) {
        // Drafts stand above the state's texts, so the texts above these become drafts too.
        if (at > 0) operations.asDraft({ state: below.state, index: at - 1 });
        const top = below.kind === 'text' ? { ...below, index: 0 } : below;
        return pieces.map((piece) => operations.insertAbove(top, piece))[0] ?? null;
    }
    page.prose.set(id, prose.toSpliced(at, 0, ...pieces.map(({ source }) => source)));
    return textKey(id, at);
}

// @ts-check
// What screen readers call a cell and its editor. Pure.

import { isText, kindOf, numberOf, runOf } from '../notebook/cell-list.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */

/** The kind of a cell, its number, and the status of its last run. @param {Cell} cell */
export function editorName(cell) {
    if (cell.kind === 'text' || isText(cell))
        return (kindOf(cell) === 'raw' ? WORDS.cellRaw : WORDS.cellText)(numberOf(cell));
    const run = runOf(cell);
    const status = cell.isAsked ? WORDS.nodeStatus.queued : run && WORDS.nodeStatus[run.status];
    return [nameOf(cell), status].filter(Boolean).join(', ');
}

/**
 * The name from `editorName`, with how the cell differs from the state that it left.
 * @param {Cell} cell
 */
export function cellName(cell) {
    const name = editorName(cell);
    if (cell.kind === 'draft' && cell.stale) return `${name}, ${WORDS.cellStale}`;
    if (cell.kind !== 'ran') return name;
    const { state, beside, edit, isOutdated } = cell;
    const place = beside.findIndex(({ id }) => id === state.id) + 1;
    const branch = beside.length > 1 && WORDS.branchOf(place, beside.length);
    return [name, state.label, branch, edit && !edit.run && WORDS.cellEdited, isOutdated && WORDS.cellStale]
        .filter(Boolean)
        .join(', ');
}

/** @param {Exclude<Cell, {kind: 'text'}>} cell */
function nameOf(cell) {
    if (cell.kind === 'ran') return WORDS.cellRan(cell.state.exec_count);
    if (cell.kind === 'attempt') return WORDS.cellAttempt;
    return cell.isFresh ? WORDS.cellNew : WORDS.cellDraft;
}

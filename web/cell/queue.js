// @ts-check
// Takes cells out of the queue of those that wait to run, before they change.

import { isOpen, runOf } from '../notebook/cell-list.js';
import { MENU_WORDS } from './menu-words.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */

/**
 * Changes cells after none of them waits to run any more. Then those that have waited and still can
 * run wait again, in their new order. A cell that is running does not change; a notice says so.
 * @param {import('../notebook/page.js').Page} page
 * @param {Cell[]} cells
 * @param {() => void} change
 */
export async function leaveQueue(page, cells, change) {
    const { ownRuns } = page;
    const touched = new Set(keysOf(cells));
    const running = cells.map(runOf).find((run) => run?.status === 'running');
    const stop = { text: WORDS.stop, act: () => running && void ownRuns.stop(running.exec_id) };
    if (running) return page.notify(MENU_WORDS.stopFirst, false, { act: stop });
    // The server also ends the runs that wait for these.
    const waiting = keysOf(page.cells().filter(isWaiting));
    for (const cell of cells.filter(isOpen)) await leave(page, cell);
    const before = page.cells();
    // One may have begun meanwhile.
    if (before.some((cell) => touched.has(cell.key) && isOpen(cell)))
        return page.notify(MENU_WORDS.stopFirst, false);
    const known = new Set(keysOf(before));
    change();
    const after = keysOf(page.cells());
    // The parts of a cell that was split.
    const parts = after.some((key) => touched.has(key)) ? after.filter((key) => !known.has(key)) : [];
    return ownRuns.runThese([...waiting, ...parts]);
}

/** @param {Cell[]} cells */
const keysOf = (cells) => cells.map(({ key }) => key);

/** @param {Cell} cell */
const isWaiting = (cell) => isOpen(cell) && runOf(cell)?.status !== 'running';

/** @param {import('../notebook/page.js').Page} page @param {Cell} cell */
async function leave({ ownRuns }, cell) {
    if (ownRuns.doesNotWait(cell)) return;
    const coming = cell.kind === 'draft' ? ownRuns.requested.get(cell.draft.id) : undefined;
    const run = coming ?? (cell.kind === 'ran' ? cell.edit?.run : runOf(cell)?.exec_id);
    if (run) await ownRuns.stop(run);
}

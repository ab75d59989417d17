// @ts-check
// Tells the user that a cell has failed that is out of sight, as in *Run all*.

import { cellElement } from '../cell/focus.js';
import { runOf } from './cell-list.js';
import { FAILURE_WORDS as WORDS } from './failure-words.js';

/**
 * @param {import('./page.js').Page} page
 * @param {import('../shell/model.js').Run} run of this tab; it has failed
 */
export async function tellFailure(page, run) {
    page.host.paintNow();
    // The page may scroll to what the cell shows.
    for (const _frame of ['laid out', 'scrolled']) await new Promise(requestAnimationFrame);
    if (isInSight(elementOf(page, run))) return;
    // It was announced already, so it is no alert.
    page.notify(WORDS.failed(run.error), false, {
        act: { text: WORDS.goThere, act: () => go(page, run) },
    });
}

/** @param {import('./page.js').Page} page @param {import('../shell/model.js').Run} run */
function go(page, run) {
    if (!elementOf(page, run)) page.goTo(run.exec_id);
    page.host.paintNow();
    const element = elementOf(page, run);
    element?.focus({ preventScroll: true });
    element?.scrollIntoView({ block: 'nearest' });
}

/**
 * The cell that shows a run.
 * @param {import('./page.js').Page} page
 * @param {import('../shell/model.js').Run} run
 * @returns {HTMLElement | null}
 */
const elementOf = (page, run) => cellElement(page.cells().find((cell) => runOf(cell) === run)?.key ?? '');

/** Whether a part of the error can be seen. @param {HTMLElement | null} cell */
function isInSight(cell) {
    const error = cell?.querySelector('.outputs') ?? cell;
    const [at, pane] = [error, cell?.closest('main')].map((one) => one?.getBoundingClientRect());
    return at !== undefined && pane !== undefined && at.bottom > pane.top && at.top < pane.bottom;
}

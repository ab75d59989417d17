// @ts-check
// *Run all* brings the line that is shown up to date; *Restart* begins it again.

import { isOpen, isText, runOf, textOf } from '../notebook/cell-list.js';
import { hasEnded, ROOT_STATE } from '../shell/protocol.js';
import { mayForget } from '../notebook/header.js';
import { withPart } from '../shell/lazy-parts.js';
import { ask } from '../ui/dialog.js';
import { MENU_WORDS } from './menu-words.js';
import { WORDS } from '../shell/words.js';
import { isWhole, shownPieces } from './cell-operations.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/** @typedef {import('./run-commands.js').RunCommands} RunCommands */

/**
 * Runs all cells that have not run since they were changed. If one of them stands among cells that
 * ran, those below it run again after it, in a new branch. If all have run, offers to run them
 * again from the start.
 * @param {RunCommands} runs
 */
export function runAll(runs) {
    const { page } = runs;
    const coming = page.cells().findLast(isComing);
    if (coming) {
        runs.restAfter = coming.edit?.run ?? null;
        return page.notify(MENU_WORDS.restWaits, false);
    }
    const held = runs.focus.view?.props.cell.key ?? '';
    const made = makeDrafts(runs, page.cells().filter(isDue), held);
    if (made.last !== held) runs.focus.go({ key: made.last, asCell: true });
    if (page.ownRuns.runnable().length > 0) return page.ownRuns.runFrom();
    const again = { text: WORDS.restartRun, act: () => void runs.restart(true) };
    return page.notify(MENU_WORDS.allRan, false, { act: again });
}

/**
 * Runs the cells above a cell that have not run, or were changed since.
 * @param {RunCommands} runs
 * @param {string} key
 */
export function runAbove(runs, key) {
    const { page, focus } = runs;
    const cells = page.cells();
    const above = cells.slice(
        0,
        cells.findIndex((cell) => cell.key === key),
    );
    const { last } = makeDrafts(runs, above.filter(isDue), key);
    if (last !== key) focus.go({ key: last, asCell: true });
    if (page.ownRuns.runnableAbove(last).length > 0) return page.ownRuns.runAbove(last);
    return page.notify(MENU_WORDS.aboveRan, false);
}

/**
 * Runs selected cells of which some have run: as one new branch, without the other cells below.
 * @param {RunCommands} runs
 * @param {string[]} keys
 * @param {string} last the key of the last selected cell
 * @param {'next' | 'stay' | 'insert'} then
 */
export function runAgain(runs, keys, last, then) {
    const { page, focus, selected } = runs;
    if (!page.mayRun) return undefined;
    if (openRunsOn(page).length > 0) return page.notify(WORDS.wait, false);
    const chosen = page.cells().filter(({ key }) => keys.includes(key));
    const made = makeDrafts(runs, chosen, last);
    page.ownRuns.runThese(made.keys);
    if (then === 'stay') {
        selected.selection.range(made.keys, made.last);
        focus.go({ key: made.last, asCell: true });
    }
    runs.afterSelection(made.last, then);
    return undefined;
}

/**
 * Goes to the root, where the cells become drafts. Corresponds to Jupyter's restart. Only if cells
 * are running, asks first, and stops them: everything else can be undone.
 * @param {RunCommands} runs
 * @param {boolean} runsAll whether all drafts run then
 */
export async function restart({ page, edits, focus }, runsAll) {
    const n = openRunsOn(page).length;
    if (n > 0 && !(await asksToRestart(page, runsAll, n))) return;
    for (const run of openRunsOn(page)) page.ownRuns.stop(run.exec_id);
    const isAtStart = runsAll && page.here === ROOT_STATE;
    const first = isAtStart ? page.ownRuns.runnable()[0]?.key : edits.restart();
    if (runsAll) page.ownRuns.runFrom();
    if (first) focus.go({ key: first, asCell: true });
}

/**
 * The runs of the cells shown that have not ended.
 * @param {import('../notebook/page.js').Page} page
 */
export const openRunsOn = (page) =>
    page
        .cells()
        .flatMap((cell) => runOf(cell) ?? [])
        .filter(({ status }) => !hasEnded(status));

/**
 * @param {import('../notebook/page.js').Page} page
 * @param {boolean} runsAll
 * @param {number} n the number of running cells
 * @returns {Promise<boolean>}
 */
async function asksToRestart(page, runsAll, n) {
    const reset = () => void withPart('headerMenu', page, (part) => part.forgetEverything(page));
    const answer = await ask({
        title: runsAll ? MENU_WORDS.restartRunAsk : MENU_WORDS.restartAsk,
        why: runsAll ? MENU_WORDS.restartRunWhy(n) : MENU_WORDS.restartWhy(n),
        act: runsAll ? WORDS.restartRun : WORDS.restart,
        isBad: true,
        other: mayForget(page) ? { text: WORDS.reset, act: reset } : undefined,
    });
    return answer !== null;
}

/** The number of cells that *Run all* runs. @param {import('../notebook/page.js').Page} page */
export function countOfAll(page) {
    const cells = page.cells();
    const first = cells.findIndex(isDue);
    if (first < 0) return page.ownRuns.runnable().length;
    return cells.slice(first).filter((cell) => isWhole(cell) && !isText(cell) && textOf(cell).trim()).length;
}

/**
 * Whether a cell among those that ran has to run: it stands between them, or its code was changed
 * since it ran.
 * @param {Cell} cell
 */
const isDue = (cell) =>
    cell.kind === 'ran'
        ? cell.edit !== undefined && !cell.isDeleted && textOf(cell).trim() !== ''
        : cell.kind === 'draft' &&
          cell.isInside &&
          !isText(cell) &&
          textOf(cell).trim() !== '' &&
          !isOpen(cell);

/**
 * Whether a new version of a cell that ran is coming.
 * @param {Cell} cell
 * @returns {cell is Extract<Cell, {kind: 'ran'}>}
 */
const isComing = (cell) => cell.kind === 'ran' && cell.edit?.run != null && isOpen(cell);

/**
 * Makes drafts of the cells from the first of some on, as one step.
 * @param {RunCommands} runs
 * @param {Cell[]} cells those that run then
 * @param {string} [last] the key of another cell
 * @returns {{keys: string[], last: string}} the keys of these cells, and of the other, among the
 *   drafts
 */
function makeDrafts({ page, edits: { history, operations } }, cells, last = '') {
    const keys = new Set(cells.map(({ key }) => key));
    const all = page.cells();
    if (keys.size === 0) return { keys: [], last };
    const rewrite = () => {
        const made = operations.rewrite(all.map((cell) => (keys.has(cell.key) ? shownPieces(cell) : cell)));
        for (const cell of cells) {
            // Its text is in the draft now.
            if (cell.kind === 'ran' && cell.edit) page.revertEdit(cell.state);
            if (cell.kind === 'draft' && cell.isInside) operations.remove([cell.draft], []);
        }
        return made;
    };
    const made = history.record(rewrite, {
        said: ({ count }) => MENU_WORDS.joined(count),
        key: cells[0]?.key,
    });
    const keyOf = (/** @type {string} */ key) => made.keys[all.findIndex((cell) => cell.key === key)] ?? key;
    return { keys: [...keys].map(keyOf), last: keyOf(last) };
}

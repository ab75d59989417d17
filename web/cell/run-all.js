// @ts-check
// *Run all* brings the line that is shown up to date; *Restart* begins it again.

import { isText, runOf, textOf } from '../notebook/cell-list.js';
import { hasEnded, ROOT_STATE } from '../shell/protocol.js';
import { mayForget } from '../notebook/header.js';
import { withPart } from '../shell/lazy-parts.js';
import { ask } from '../ui/dialog.js';
import { MENU_WORDS } from './menu-words.js';
import { WORDS } from '../shell/words.js';
import { isWhole, shownPieces } from './cell-operations.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */

/**
 * Runs all cells that have not run. If one stands between cells that ran, those below it run again
 * after it, in a new branch. If all have run, offers to run them again from the start.
 * @param {import('./run-commands.js').RunCommands} runs
 */
export function runAll(runs) {
    const { page, edits } = runs;
    const between = page.cells().filter(isBetween);
    if (between.length > 0) joinLine(edits, between);
    if (page.ownRuns.runnable().length > 0) return page.ownRuns.runFrom();
    const again = { text: WORDS.restartRun, act: () => void runs.restart(true) };
    return page.notify(MENU_WORDS.allRan, false, { act: again });
}

/**
 * Goes to the root, where the cells become drafts. Corresponds to Jupyter's restart. Only if cells
 * are running, asks first, and stops them: everything else can be undone.
 * @param {import('./run-commands.js').RunCommands} runs
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
    const first = cells.findIndex(isBetween);
    if (first < 0) return page.ownRuns.runnable().length;
    return cells.slice(first).filter((cell) => isWhole(cell) && !isText(cell) && textOf(cell).trim()).length;
}

/**
 * Whether a cell stands between cells that ran, and can run.
 * @param {Cell} cell
 * @returns {cell is Extract<Cell, {kind: 'draft'}>}
 */
const isBetween = (cell) =>
    cell.kind === 'draft' &&
    cell.isInside &&
    !isText(cell) &&
    cell.draft.source.trim() !== '' &&
    (!cell.run || hasEnded(cell.run.status));

/**
 * Makes drafts of the cells from the first of these on.
 * @param {import('./edit-commands.js').EditCommands} edits
 * @param {Extract<Cell, {kind: 'draft'}>[]} between
 */
function joinLine({ page, history, operations }, between) {
    const keys = new Set(between.map(({ key }) => key));
    const wanted = page.cells().map((cell) => (keys.has(cell.key) ? shownPieces(cell) : cell));
    const join = () => {
        const made = operations.rewrite(wanted);
        operations.remove(
            between.map(({ draft }) => draft),
            [],
        );
        return made;
    };
    history.record(join, { said: ({ count }) => MENU_WORDS.joined(count), key: between[0]?.key });
}

// @ts-check
// The outputs that the user keeps in view, and how each follows its cell: from draft to run to the
// next version, and to the draft that takes the cell's place after a change above it. Pure.

import { runOf, runOrStale } from '../notebook/cell-list.js';
import { hasEnded } from '../shell/protocol.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/model.js').Run} Run */
/**
 * @typedef {{keys: string[], run: string, isHeld?: boolean}} Kept `keys`: those that the cell has
 *   had on the page, the newest last; `run`: the run that the cell has shown last; `isHeld`:
 *   whether this run stays, whatever the cell shows
 */
/** @typedef {'' | 'queued' | 'running' | 'failed'} Status */
/**
 * How the output relates to what the page shows. `here`: the cell shows it; `stale`: the cell has
 * changed since, or a cell above it has; `elsewhere`: the page does not show the cell; `gone`: the
 * run was deleted.
 * @typedef {'here' | 'stale' | 'elsewhere' | 'gone'} Place
 */
/** @typedef {{cell: Cell | undefined, run: Run | undefined, status: Status, place: Place}} Shown */

/** The most kept outputs. Each may hold frames, so an older one is dropped. */
const MOST = 20;
/** The most keys of one cell: it gets another one for each change above it. */
const MOST_KEYS = 20;

/**
 * Keeps the output of a run, as the newest one. A cell that is kept already moves to the front.
 * @param {Kept[]} all
 * @param {Cell[]} cells those on the page
 * @param {Run} run
 * @returns {Kept[]}
 */
export function withOutput(all, cells, run) {
    const key = cells.find((cell) => runOrStale(cell) === run)?.key ?? keyOf(run);
    const known = all.find(({ keys, isHeld }) => !isHeld && keys.includes(key));
    const one = { keys: known?.keys ?? [key], run: run.exec_id };
    return [one, ...all.filter((other) => other !== known)].slice(0, MOST);
}

/**
 * Holds an output, so that the next run of the cell can be kept beside it; or lets it follow its
 * cell again, in place of another one that does.
 * @param {Kept[]} all
 * @param {number} at its index
 * @returns {Kept[]}
 */
export function withHeld(all, at) {
    const one = all[at];
    if (!one) return all;
    const { keys, run, isHeld } = one;
    const next = isHeld ? { keys, run } : { keys, run, isHeld: true };
    const isSame = (/** @type {Kept} */ other) =>
        isHeld && !other.isHeld && other.keys.some((key) => keys.includes(key));
    return all.flatMap((other) => (other === one ? [next] : isSame(other) ? [] : [other]));
}

/**
 * The kept outputs after a change of the page: each remembers the run that its cell shows now.
 * @param {Kept[]} all
 * @param {Cell[]} cells
 * @param {Model} model
 * @returns {Kept[]} `all` if nothing changed
 */
export function followed(all, cells, model) {
    const now = all.map((one) => {
        const cell = cellOf(one, cells, model);
        if (!cell || one.isHeld) return one;
        const run = runOrStale(cell)?.exec_id ?? one.run;
        const keys = one.keys.includes(cell.key) ? one.keys : [...one.keys, cell.key].slice(-MOST_KEYS);
        return run === one.run && keys === one.keys ? one : { keys, run };
    });
    return now.every((one, i) => one === all[i]) ? all : now;
}

/**
 * What is shown of a kept output.
 * @param {Kept} one
 * @param {Cell[]} cells
 * @param {Model} model
 * @returns {Shown}
 */
export function shownOf(one, cells, model) {
    const cell = cellOf(one, cells, model);
    const run = model.runs.get(one.run);
    return { cell, run, status: statusOf(cell, run), place: placeOf(cell, run) };
}

/**
 * The cell on the page whose output is kept: it has one of the keys, shows the run, is the draft
 * that was made from the cell, or is a draft with the same code (the copy of a cell that failed).
 * @param {Kept} one
 * @param {Cell[]} cells
 * @param {Model} model
 * @returns {Cell | undefined}
 */
function cellOf({ keys, run, isHeld }, cells, model) {
    const own = cells.find((cell) => runOrStale(cell)?.exec_id === run);
    if (isHeld) return own;
    const key = keys.findLast((known) => cells.some((cell) => cell.key === known));
    if (key !== undefined) return cells.find((cell) => cell.key === key);
    const isMadeFrom = (/** @type {Cell} */ cell) => {
        const before = cell.kind === 'draft' && model.runs.get(cell.draft.stale_run ?? '');
        return before && keys.includes(keyOf(before));
    };
    const code = model.runs.get(run)?.code;
    const isCopy = (/** @type {Cell} */ cell) =>
        cell.kind === 'draft' && !runOrStale(cell) && cell.draft.source === code;
    return own ?? cells.find(isMadeFrom) ?? cells.find(isCopy);
}

/** The key of the cell of a run, wherever it is shown. @param {Run} run */
const keyOf = ({ draft, state, exec_id }) => draft ?? state ?? exec_id;

/** @param {Cell | undefined} cell @param {Run | undefined} run @returns {Status} */
function statusOf(cell, run) {
    if (cell?.isAsked) return 'queued';
    if (!run || run.status === 'ok' || run.status === 'imported') return '';
    return hasEnded(run.status) ? 'failed' : /** @type {Status} */ (run.status);
}

/** @param {Cell | undefined} cell @param {Run | undefined} run @returns {Place} */
function placeOf(cell, run) {
    if (!run) return 'gone';
    if (!cell) return 'elsewhere';
    const isOld = runOf(cell) !== run || ('isOutdated' in cell && cell.isOutdated);
    return isOld ? 'stale' : 'here';
}

// @ts-check
// The cells that the page shows, top to bottom: those that ran on the way to the current state,
// attempts, drafts, and an empty cell. Pure: computes the list from the model and the page's
// position.

import { hasEnded } from '../shell/protocol.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('../shell/protocol.js').Draft} Draft */
/**
 * @typedef {{text: string, run: string | null}} Edit The edited code of a cell that ran, and the
 *   run of that code, if any.
 */

/**
 * @typedef {{kind: 'ran', key: string, state: State, run: Run | undefined, edit: Edit | undefined,
 *     shown: Run | undefined, versions: string[], isOutdated: boolean, isHere: boolean,
 *     isAsked: boolean, warnings: string[],
 *     progress: import('../checkpoints/residency.js').Progress | undefined}
 *   | {kind: 'draft', key: string, draft: Draft, run: Run | undefined, isInside: boolean,
 *     isFresh: boolean, isAsked: boolean}
 *   | {kind: 'attempt', key: string, run: Run, isAsked: false}} Cell
 */

/**
 * @typedef {object} Look The position of the page.
 * @property {string} here the current state
 * @property {string | null} attempt the run shown below it
 * @property {Map<string, Edit>} edits by state
 * @property {string} freshId the id of the empty cell's future draft
 * @property {boolean} mayType whether the user may type; even without a connection, so that typing
 *   is not interrupted
 * @property {Set<string>} openedDrafts drafts between cells that ran, shown even while empty
 * @property {(state: string) => import('../checkpoints/residency.js').Progress
 *   | undefined} progressOf the progress of a replay
 * @property {Map<string, string>} requestedRuns runs that the server has not confirmed yet, by
 *   draft
 * @property {(state: string, before: string | null) => Draft[]} draftsOn the drafts above the cell
 *   of a child of a state, or at the end of its lineage
 * @property {Set<string>} pendingDeletion states and runs about to be deleted
 */

/** @param {Model} model @param {Look} look @returns {Cell[]} */
export function cellsOf(model, look) {
    const taken = new Set();
    /** `wish`, or `other` if a cell above uses it. @param {string} wish @param {string} other */
    const key = (wish, other) => {
        const chosen = taken.has(wish) ? other : wish;
        taken.add(chosen);
        return chosen;
    };
    const line = model.lineage(look.here);
    const drafts = look.draftsOn(look.here, null);
    const runs = new Set([...look.edits.values()].map((edit) => edit.run));
    /** @type {Cell[]} */
    const cells = [];
    let isOutdated = false;
    for (const [i, state] of line.entries()) {
        if (state.parent !== null) {
            const cell = ranCell(model, look, state, isOutdated);
            cells.push({ ...cell, key: key(cell.run?.draft ?? state.id, state.id) });
            isOutdated ||= cell.edit?.run != null;
        }
        if (state.id === look.here) continue;
        for (const draft of look.draftsOn(state.id, line[i + 1]?.id ?? null)) {
            if (draft.source.trim() || look.openedDrafts.has(draft.id))
                cells.push(draftCell(model, look, draft, key(draft.id, `${draft.id}!`), true));
        }
    }
    for (const run of attempts(model, look)) {
        const isShown = runs.has(run.exec_id) || drafts.some((draft) => draft.id === run.draft);
        if (!isShown)
            cells.push({ kind: 'attempt', key: key(run.exec_id, run.exec_id), run, isAsked: false });
    }
    for (const draft of drafts)
        cells.push(draftCell(model, look, draft, key(draft.id, `${draft.id}!`), false));
    if (look.mayType && model.states.get(look.here)?.living !== 'deleted') {
        const draft = /** @type {Draft} */ ({ id: look.freshId, on: look.here, kind: 'code', source: '' });
        cells.push({ ...draftCell(model, look, draft, draft.id, false), isFresh: true });
    }
    return cells;
}

/**
 * @param {Model} model
 * @param {Look} look
 * @param {State} state
 * @param {boolean} isOutdated
 * @returns {Extract<Cell, {kind: 'ran'}>}
 */
function ranCell(model, look, state, isOutdated) {
    const run = model.runOf(state);
    const known = look.edits.get(state.id);
    const edit = known && look.pendingDeletion.has(known.run ?? '') ? { ...known, run: null } : known;
    const shown = (edit?.run ? model.runs.get(edit.run) : undefined) ?? run;
    const isVersion = (/** @type {State} */ other) =>
        cellId(model, other) === cellId(model, state) && (other.living !== 'deleted' || other === state);
    const versions = model.childrenOf(state.parent ?? '').filter(isVersion);
    // Requested to run again, but not confirmed by the server.
    const isAsked = edit?.run != null && !model.runs.has(edit.run);
    const [isHere, progress] = [state.id === look.here, look.progressOf(state.id)];
    // Inherited warnings are shown at the parent only; the current state shows all warnings.
    const toldAbove = isHere ? [] : (model.states.get(state.parent ?? '')?.warnings ?? []);
    const warnings = state.warnings.filter((warning) => !toldAbove.includes(warning));
    return {
        kind: 'ran',
        key: state.id,
        warnings,
        state,
        run,
        edit,
        shown,
        versions: versions.map((other) => other.id),
        isOutdated,
        isHere,
        isAsked,
        progress,
    };
}

/**
 * The id that all versions of a cell share: that of their draft.
 * @param {Model} model
 * @param {State} state
 */
export const cellId = (model, state) => model.runOf(state)?.draft ?? state.id;

/**
 * @param {Model} model
 * @param {Look} look
 * @param {Draft} draft
 * @param {string} key
 * @param {boolean} isInside
 * @returns {Extract<Cell, {kind: 'draft'}>}
 */
function draftCell(model, look, draft, key, isInside) {
    const run = model.runs.get(model.runOfDraft.get(draft.id) ?? '');
    // If a draft has moved to another state, its earlier failures are not shown.
    const isOurs =
        run &&
        !look.pendingDeletion.has(run.exec_id) &&
        (!hasEnded(run.status) || model.baseOf(run) === draft.on);
    const imported = draft.kind === 'code' ? model.runs.get(model.importedOf.get(draft.id) ?? '') : undefined;
    return {
        kind: 'draft',
        key,
        draft,
        run: isOurs ? run : imported,
        isInside,
        isFresh: false,
        isAsked: look.requestedRuns.has(draft.id),
    };
}

/**
 * The runs without a state: those open on the current state, and the attempt that the page shows.
 * @param {Model} model
 * @param {Look} look
 * @returns {Run[]}
 */
function attempts(model, look) {
    return [...model.runs.values()].filter((run) => {
        if ((run.state !== null && model.states.has(run.state)) || look.pendingDeletion.has(run.exec_id))
            return false;
        const isOpen = !hasEnded(run.status) && model.baseOf(run) === look.here;
        return isOpen || run.exec_id === look.attempt;
    });
}

/**
 * The run that a draft must wait for: that of the nearest cell above that is running or requested.
 * @param {Cell[]} cells
 * @param {string} key
 * @param {Map<string, string>} asked runs that the server has not confirmed yet, by draft
 * @returns {string | undefined} its exec_id
 */
export function runToWaitFor(cells, key, asked) {
    const at = cells.findIndex((cell) => cell.key === key);
    const target = cells[at];
    for (const cell of cells.slice(0, Math.max(0, at)).reverse()) {
        if (!target || !sameBase(cell, target)) continue;
        const coming = asked.get(cell.kind === 'draft' ? cell.draft.id : '');
        const run = cell.kind === 'ran' ? cell.shown : cell.run;
        if (coming) return coming;
        if (run && !hasEnded(run.status)) return run.exec_id;
    }
    return undefined;
}

/**
 * Whether a new version of a cell above is requested, waiting or running. If none is, the new
 * versions above have failed.
 * @param {Cell[]} cells
 * @param {string} key
 */
export function isRunningAbove(cells, key) {
    const at = cells.findIndex((cell) => cell.key === key);
    return cells
        .slice(0, Math.max(0, at))
        .some(
            (cell) =>
                cell.kind === 'ran' &&
                cell.edit?.run != null &&
                (cell.isAsked || (cell.shown && !hasEnded(cell.shown.status))),
        );
}

/**
 * The drafts from a cell on that can run now, in order.
 * @param {Cell[]} cells
 * @param {string | undefined} key
 * @param {Map<string, string>} asked runs that the server has not confirmed yet, by draft
 * @returns {Extract<Cell, {kind: 'draft'}>[]}
 */
export function runnableFrom(cells, key, asked) {
    const from = key === undefined ? 0 : cells.findIndex((cell) => cell.key === key);
    return cells
        .slice(Math.max(0, from))
        .filter((cell) => cell.kind === 'draft')
        .filter(
            ({ draft, run, isInside, isFresh }) =>
                draft.kind === 'code' &&
                draft.source.trim() &&
                !isInside &&
                !isFresh &&
                !asked.has(draft.id) &&
                (!run || hasEnded(run.status)),
        );
}

/**
 * The state that a cell would run on if it ran now, without waiting for another run.
 * @param {Cell[]} cells
 * @param {Cell} cell
 * @param {string} code
 * @param {Map<string, string>} asked
 * @returns {string | undefined}
 */
export function stateUnder(cells, cell, code, asked) {
    if (cell.kind === 'ran') return cell.state.parent ?? undefined;
    if (cell.kind === 'attempt' || cell.draft.kind === 'markdown' || !code.trim()) return undefined;
    return runToWaitFor(cells, cell.key, asked) ? undefined : cell.draft.on;
}

/** @param {Cell} above @param {Cell} target */
const sameBase = (above, target) =>
    above.kind === 'draft' && target.kind === 'draft' && above.draft.on === target.draft.on;

/** @param {Cell} cell @returns {Run | undefined} the run whose outputs the cell shows */
export const runOf = (cell) => (cell.kind === 'ran' ? cell.shown : cell.run);

/** @param {Cell} cell */
export function textOf(cell) {
    if (cell.kind === 'ran') return cell.edit?.text ?? cell.run?.code ?? '';
    return cell.kind === 'draft' ? cell.draft.source : cell.run.code;
}

/** @param {Cell} cell */
export const isText = (cell) => cell.kind === 'draft' && cell.draft.kind === 'markdown';

/**
 * All values that the rendering of a cell depends on, comparable with `Object.is`. The model
 * changes runs and states in place, so their values are copied.
 * @param {Cell} cell
 * @returns {readonly unknown[]}
 */
export function renderInputs(cell) {
    const run = runOf(cell);
    const common = [cell.kind, run, run?.rev, cell.isAsked];
    if (cell.kind === 'attempt') return common;
    if (cell.kind === 'draft') {
        const { on, kind, source } = cell.draft;
        return [...common, on, kind, source, cell.isInside, cell.isFresh];
    }
    const { state, warnings, versions } = cell;
    const own = [state, state.label, state.living, cell.edit?.text, cell.isOutdated, cell.isHere];
    const lists = [state.prose, warnings, versions].flatMap((list) => [list.length, ...list]);
    if (!cell.isHere) return [...common, ...own, ...lists];
    const { pinned, saving, memory_bytes, revival, checkpoint } = state;
    const { done, total } = cell.progress ?? {};
    return [...common, ...own, ...lists, pinned, saving, memory_bytes, revival, checkpoint, done, total];
}

/** @param {readonly unknown[]} one @param {readonly unknown[]} other */
export const haveSameItems = (one, other) =>
    one.length === other.length && one.every((item, i) => Object.is(item, other[i]));

// @ts-check
// The cells that the page shows, top to bottom: those that ran on the way to the current state with
// the text cells above them, attempts, drafts, and an empty cell. Pure: computes the list from the
// model and the page's position.

import { largeMemory } from '../checkpoints/residency.js';
import { hasEnded } from '../shell/protocol.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('../shell/protocol.js').Draft} Draft */
/**
 * @typedef {{text: string, run: string | null}} Edit The code of a new version of a cell that ran,
 *   and its run, if any.
 */

/**
 * @typedef {{kind: 'ran', key: string, state: State, run: Run | undefined, edit: Edit | undefined,
 * shown: Run | undefined, beside: Beside[], isOutdated: boolean, isHere: boolean, colour: number,
 *     isAsked: boolean, isDeleted: boolean, warnings: string[], base: State | undefined,
 *     progress: import('../checkpoints/residency.js').Progress | undefined}
 *   | {kind: 'draft', key: string, draft: Draft, run: Run | undefined, stale: Run | undefined,
 *     isInside: boolean, isFresh: boolean, isAsked: boolean, base: State | undefined,
 *     number?: number}
 *   | {kind: 'text', key: string, state: State, index: number, text: string, isOutdated: boolean,
 *     colour: number, isAsked: false, number?: number}
 *   | {kind: 'attempt', key: string, run: Run, beside: Beside[], isAsked: false}} Cell
 *   `beside`: the branches that begin at the same state, the cell's own included; empty if that is
 *   the only one. `base`: the state from which Run runs the cell. `isDeleted`: the state is deleted
 *   or about to be, and those below it are not. `stale`: the run of the cell that the draft was
 *   made from, until the draft itself runs.
 *   `text`: the Markdown text `index` above the code of a state; `number`: counts the text cells.
 */

/** @typedef {Extract<Cell, {kind: 'text'}>} TextCell */

/**
 * A branch, by the cell with which it begins. `id`: of the cell's state; of its run while that has
 * left no state. `label`: that of the state.
 * @typedef {{id: string, state: State | null, run: Run | undefined, label: string | null,
 *   colour: number}} Beside
 */

/**
 * @typedef {object} Look The position of the page.
 * @property {string} here the current state
 * @property {string | null} attempt the run shown below it
 * @property {Map<string, string>} newVersions the runs of new versions of cells, by the state of
 *   the earlier version
 * @property {(state: State) => Draft | undefined} editOf the changed code of a state's cell
 * @property {Map<string, {was: string, text: string}>} [textEdits] text cells that are being typed
 *   into, by key; `was`: the text before
 * @property {string} freshId the id of the empty cell's future draft
 * @property {boolean} mayType whether the user may type; even without a connection, so that typing
 *   is not interrupted
 * @property {Set<string>} openedDrafts drafts between cells that ran, shown even while empty
 * @property {Set<string>} otherBranches drafts and runs of other branches at the current state
 * @property {(state: string) => import('../checkpoints/residency.js').Progress
 *   | undefined} progressOf the progress of a replay
 * @property {(id: string) => number} orderOf the place of a state or run among the nodes of the
 *   graph
 * @property {(state: string) => number} colourOf the colour of a state's branch; see
 *   graph/layout.js
 * @property {Map<string, string>} requestedRuns runs that the server has not confirmed yet, by
 *   draft
 * @property {Map<string, string>} waiting see `OwnRuns`
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
    const drafts = look.draftsOn(look.here, null).filter((draft) => !look.otherBranches.has(draft.id));
    const runs = new Set(look.newVersions.values());
    /** @type {Cell[]} */
    const cells = [];
    const without = [...model.runs.values()].filter((run) => isBranch(run));
    let isOutdated = false;
    for (const [i, state] of line.entries()) {
        if (state.parent !== null) {
            const cell = ranCell(model, look, state, isOutdated, without);
            cells.push(...textCells(look, state, isOutdated));
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
            cells.push({
                kind: 'attempt',
                key: key(run.exec_id, run.exec_id),
                run,
                beside: branchesBeside(model, look, look.here, run.exec_id, [...new Set([...without, run])]),
                isAsked: false,
            });
    }
    for (const draft of drafts)
        cells.push(draftCell(model, look, draft, key(draft.id, `${draft.id}!`), false));
    if (look.mayType && model.states.get(look.here)?.living !== 'deleted') {
        const draft = /** @type {Draft} */ ({ id: look.freshId, on: look.here, kind: 'code', source: '' });
        cells.push({ ...draftCell(model, look, draft, draft.id, false), isFresh: true });
    }
    let number = 0;
    for (const cell of cells)
        if (cell.kind === 'text' || (cell.kind === 'draft' && isText(cell))) cell.number = ++number;
    return cells;
}

/** @param {string} state @param {number} index */
export const textKey = (state, index) => `${state}.${index}`;

/** The place that a key of a text cell names. @param {string} key */
export function textPlace(key) {
    const at = key.lastIndexOf('.');
    return { state: key.slice(0, at), index: Number(key.slice(at + 1)) };
}

/**
 * The text cells above the code of a state.
 * @param {Look} look
 * @param {State} state
 * @param {boolean} isOutdated
 * @returns {TextCell[]}
 */
const textCells = ({ textEdits, colourOf }, state, isOutdated) =>
    state.prose.map((text, index) => {
        const key = textKey(state.id, index);
        const typed = textEdits?.get(key)?.text ?? text;
        const colour = colourOf(state.id);
        return { kind: 'text', key, state, index, text: typed, isOutdated, colour, isAsked: false };
    });

/**
 * @param {Model} model
 * @param {Look} look
 * @param {State} state
 * @param {boolean} isOutdated
 * @param {Run[]} without see `isBranch`
 * @returns {Extract<Cell, {kind: 'ran'}>}
 */
function ranCell(model, look, state, isOutdated, without) {
    const run = model.runOf(state);
    const edit = newVersionOf(look, state, run);
    const shown = (edit?.run ? model.runs.get(edit.run) : undefined) ?? run;
    // Requested to run again, but not confirmed by the server, or not before a cell above has run.
    const isAsked = (edit?.run != null && !model.runs.has(edit.run)) || look.waiting.has(state.id);
    const [isHere, progress] = [state.id === look.here, look.progressOf(state.id)];
    return {
        kind: 'ran',
        key: state.id,
        warnings: model.newWarnings(state),
        state,
        run,
        edit,
        shown,
        beside: branchesBeside(model, look, state.parent ?? '', state.id, without),
        isOutdated,
        isHere,
        isAsked,
        isDeleted: state.living === 'deleted' || look.pendingDeletion.has(state.id),
        base: model.states.get(state.parent ?? ''),
        progress,
        colour: look.colourOf(state.id),
    };
}

/**
 * @param {Look} look
 * @param {State} state
 * @param {Run | undefined} own the run of the state's cell
 * @returns {Edit | undefined}
 */
function newVersionOf({ newVersions, editOf, pendingDeletion }, state, own) {
    const run = newVersions.get(state.id) ?? null;
    const shown = pendingDeletion.has(run ?? '') ? null : run;
    const edit = editOf(state);
    return edit || shown ? { text: edit?.source ?? own?.code ?? '', run: shown } : undefined;
}

/**
 * Whether a run without a state is a branch of its own: while it is open, and after it has failed
 * as one of several variants.
 * @param {Run} run
 */
const isBranch = ({ state, status, variant }) => state === null && (!hasEnded(status) || variant === true);

/**
 * The branches that begin at a state: those of its children, and those that have not left a state
 * yet. The rows of sweeps have a table of their own.
 * @param {Model} model
 * @param {Look} look
 * @param {string} on
 * @param {string} own the id of the state or run that is shown, which is never left out
 * @param {Run[]} runs those that may be among them
 * @returns {Beside[]} empty if there is one only
 */
function branchesBeside(model, look, on, own, runs) {
    const isShown = (/** @type {State} */ state) =>
        state.id === own ||
        (state.living !== 'deleted' && !look.pendingDeletion.has(state.id) && !model.isRow(state));
    const isComing = (/** @type {Run} */ run) =>
        run.exec_id === own ||
        (model.baseOf(run) === on && !look.pendingDeletion.has(run.exec_id) && !model.isRow(run));
    const states = model.childrenOf(on).filter(isShown);
    const attempted = runs.filter(isComing);
    if (states.length + attempted.length < 2) return [];
    const ended = states.map((state) => {
        const { id, label } = state;
        return { id, state, run: model.runOf(state), label, colour: look.colourOf(id) };
    });
    const coming = attempted.map((run) => ({
        id: run.exec_id,
        state: null,
        run,
        label: null,
        colour: look.colourOf(on),
    }));
    return [...ended, ...coming].sort((a, b) => look.orderOf(a.id) - look.orderOf(b.id));
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
    const shown = isOurs ? run : imported;
    const stale = shown || draft.kind !== 'code' ? undefined : model.runs.get(draft.stale_run ?? '');
    return {
        kind: 'draft',
        key,
        draft,
        run: shown,
        stale: stale?.outputs.length && !look.pendingDeletion.has(stale.exec_id) ? stale : undefined,
        isInside,
        isFresh: false,
        isAsked: look.requestedRuns.has(draft.id),
        base: model.states.get(draft.on),
    };
}

/**
 * The runs without a state: those open on the current state, and the attempt that the page shows.
 * The rows of sweeps have a table of their own.
 * @param {Model} model
 * @param {Look} look
 * @returns {Run[]}
 */
function attempts(model, look) {
    return [...model.runs.values()].filter((run) => {
        if ((run.state !== null && model.states.has(run.state)) || look.pendingDeletion.has(run.exec_id))
            return false;
        const isOpen =
            !hasEnded(run.status) &&
            model.baseOf(run) === look.here &&
            !look.otherBranches.has(run.exec_id) &&
            !look.otherBranches.has(run.draft ?? '') &&
            !model.isRow(run);
        return isOpen || run.exec_id === look.attempt;
    });
}

/**
 * The run that a draft must wait for: the requested or open run of the nearest draft above on the
 * same state.
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
        const run = runOf(cell);
        if (coming) return coming;
        if (run && !hasEnded(run.status)) return run.exec_id;
    }
    return undefined;
}

/**
 * The nearest new version of a cell above that is requested, waiting or running. If none is, the
 * new versions above have failed.
 * @param {Cell[]} cells
 * @param {string} key
 * @returns {string | undefined} its exec_id
 */
export function versionToWaitFor(cells, key) {
    const at = cells.findIndex((cell) => cell.key === key);
    const open = cells.slice(0, Math.max(0, at)).flatMap((cell) => {
        const run = cell.kind === 'ran' ? cell.edit?.run : null;
        // A cell shows its new version once the server has confirmed it.
        const shown = runOf(cell);
        return run != null && (shown?.exec_id !== run || !hasEnded(shown.status)) ? [run] : [];
    });
    return open.at(-1);
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
 * The drafts whose code did not succeed when it ran last: it failed, was stopped or crashed. A
 * replay skips them. Drafts are compared by their code, because a replay runs copies of cells.
 * @param {Model} model
 * @param {Extract<Cell, {kind: 'draft'}>[]} drafts
 * @returns {Set<string>} their keys
 */
export function unsuccessful(model, drafts) {
    const codes = new Set(drafts.map(({ draft }) => draft.source));
    /** Whether the last run of a code failed. @type {Map<string, boolean>} */
    const last = new Map();
    for (const { code, status, state, started_at } of model.runs.values())
        if (started_at !== null && codes.has(code) && hasEnded(status) && status !== 'imported')
            last.set(code, status !== 'ok' && state === null);
    return new Set(drafts.filter(({ draft }) => last.get(draft.source)).map(({ key }) => key));
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
    if (cell.kind === 'ran') return (!cell.isOutdated && cell.state.parent) || undefined;
    if (cell.kind !== 'draft' || isText(cell) || !code.trim()) return undefined;
    return runToWaitFor(cells, cell.key, asked) ? undefined : cell.draft.on;
}

/** @param {Cell} above @param {Cell} target */
const sameBase = (above, target) =>
    above.kind === 'draft' && target.kind === 'draft' && above.draft.on === target.draft.on;

/** @param {Cell} cell @returns {Run | undefined} the run whose outputs the cell shows */
export function runOf(cell) {
    if (cell.kind === 'text') return undefined;
    return cell.kind === 'ran' ? cell.shown : cell.run;
}

/** Whether a cell runs or waits to run. @param {Cell} cell */
export const isOpen = (cell) => cell.isAsked || !hasEnded(runOf(cell)?.status ?? 'ok');

/** @param {Cell} cell @returns {Run | undefined} the same, also if it shows them as stale */
export const runOrStale = (cell) => runOf(cell) ?? (cell.kind === 'draft' ? cell.stale : undefined);

/** @param {Cell} cell */
export function textOf(cell) {
    if (cell.kind === 'ran') return cell.edit?.text ?? cell.run?.code ?? '';
    if (cell.kind === 'text') return cell.text;
    return cell.kind === 'draft' ? cell.draft.source : cell.run.code;
}

/** @param {Cell} cell @returns {Draft['kind']} */
export const kindOf = (cell) =>
    cell.kind === 'text' ? 'markdown' : cell.kind === 'draft' ? cell.draft.kind : 'code';

/** Whether a cell is Markdown or raw, and so never runs. @param {Cell} cell */
export const isText = (cell) => kindOf(cell) !== 'code';

/**
 * All values that the rendering of a cell depends on, comparable with `Object.is`. The model
 * changes runs and states in place, so their values are copied.
 * @param {Cell} cell
 * @returns {readonly unknown[]}
 */
export function renderInputs(cell) {
    const run = runOf(cell);
    const common = [cell.kind, run, run?.rev, cell.isAsked];
    if (cell.kind === 'attempt') return [...common, ...besideInputs(cell.beside)];
    if (cell.kind === 'draft') {
        const { on, kind, source } = cell.draft;
        const { base, stale, isInside, isFresh, number } = cell;
        return [...common, on, base?.living, kind, source, stale, stale?.rev, isInside, isFresh, number];
    }
    if (cell.kind === 'text') {
        const { text, isOutdated, colour, number } = cell;
        return [...common, cell.state, text, isOutdated, colour, number];
    }
    const { state, warnings, beside } = cell;
    const own = [
        state,
        state.label,
        state.living,
        cell.base?.living,
        cell.isDeleted,
        cell.edit?.text,
        largeMemory(state, cell.base),
        cell.isOutdated,
        cell.isHere,
        cell.colour,
    ];
    const lists = [warnings, besideInputs(beside)].flatMap((list) => [list.length, ...list]);
    if (!cell.isHere) return [...common, ...own, ...lists];
    const { pinned, saving, memory_bytes, revival, checkpoint } = state;
    const { done, total } = cell.progress ?? {};
    return [...common, ...own, ...lists, pinned, saving, memory_bytes, revival, checkpoint, done, total];
}

/** @param {Beside[]} beside */
const besideInputs = (beside) =>
    beside.flatMap(({ id, label, run, colour }) => [id, label, run?.status, colour]);

/** @param {readonly unknown[]} one @param {readonly unknown[]} other */
export const haveSameItems = (one, other) =>
    one.length === other.length && one.every((item, i) => Object.is(item, other[i]));

/** The number of a text cell. @param {Cell} cell */
export const numberOf = (cell) => ('number' in cell ? (cell.number ?? null) : null);

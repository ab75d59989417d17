// @ts-check
// The runs that this tab starts, and how the page follows them to the states that they leave.

import {
    cellId,
    isOpen,
    isText,
    runnableFrom,
    runToWaitFor,
    stateUnder,
    textOf,
    unsuccessful,
    versionToWaitFor,
} from './cell-list.js';
import { COMPARE_COMMAND_WORDS, MOST_STATES } from '../compare/compare-command-words.js';
import { hasEnded, ROOT_STATE } from '../shell/protocol.js';
import { newId } from '../text/format.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('./cell-list.js').Cell} Cell */
/** @typedef {import('../shell/protocol.js').Command} Command */

/**
 * Versions of a cell's code that run beside it, each as a branch from the same state. `known`: the
 * number of versions that ran before; `isFollowed`: whether the cell itself runs, and the page
 * follows it.
 * @typedef {{codes: string[], known: number, isFollowed: boolean}} Variants
 */
/** @type {Variants} */
const NO_VARIANTS = Object.freeze({ codes: [], known: 0, isFollowed: true });

export class OwnRuns {
    /**
     * The runs that this tab follows, with its position when they started.
     * @type {Map<string, string>}
     */
    #started;
    /**
     * The state that a draft shown here has become. The page goes there when the run has ended.
     * @type {string | null}
     */
    #coming = null;
    /**
     * The variants that this tab has started last, until all have ended.
     * @type {{open: Set<string>, states: string[], failed: number, known: number} | null}
     */
    #variants = null;

    /**
     * @param {import('./page.js').Page} page
     * @param {[string, string][]} kept see `kept`
     * @param {[string, string][]} waiting see `waiting`
     */
    constructor(page, kept, waiting) {
        this.page = page;
        this.#started = new Map(kept);
        /** Runs that the server has not confirmed yet, by draft. @type {Map<string, string>} */
        this.requested = new Map();
        /**
         * Cells, by their states, that run when a run above them has succeeded, which makes drafts
         * of them. The values are the exec_ids of those runs.
         */
        this.waiting = new Map(waiting);
        /** Runs that this tab asked to stop; the next request kills them. @type {Set<string>} */
        this.stopping = new Set();
    }

    /** What a reload of this tab needs. */
    get kept() {
        return [...this.#started];
    }

    /** Whether this tab started a run that has not ended. @param {string} exec_id */
    has(exec_id) {
        return this.#started.has(exec_id);
    }

    /** Follows a run from the current state. @param {string} exec_id */
    follow(exec_id) {
        this.#started.set(exec_id, this.page.here);
    }

    /** @param {string} exec_id */
    forget(exec_id) {
        this.#started.delete(exec_id);
    }

    /** Forgets all runs, because the notebook was reset. */
    clear() {
        this.#started.clear();
        this.waiting.clear();
    }

    // Events

    /** The page has loaded the notebook again. Runs may have ended since. */
    onSnapshot() {
        this.requested.clear();
        for (const id of this.#started.keys()) {
            const run = this.page.model.runs.get(id);
            if (run && hasEnded(run.status)) this.onRunEnded(id, run.state);
        }
    }

    /** @param {import('../shell/protocol.js').State} state */
    onStateAdded(state) {
        if (this.#showsDraftOf(state)) this.#coming = state.id;
    }

    /** The server has confirmed a run. @param {import('../shell/protocol.js').Run} run */
    onRunAdded({ draft, exec_id }) {
        if (this.requested.get(draft ?? '') === exec_id) this.requested.delete(draft ?? '');
    }

    /**
     * Goes to the state that a run left. For a run of this tab: if the user has not navigated away
     * since its start. For any other run: if the page shows it.
     * @param {string} id
     * @param {string | null} state
     */
    onRunEnded(id, state) {
        this.#follow(id, state);
        this.#runWaiting(id, state);
    }

    /** @param {string} id @param {string | null} state the state that it left */
    #follow(id, state) {
        this.#onVariantEnded(id, state);
        const stood = this.#started.get(id);
        this.stopping.delete(id);
        if (stood === undefined) {
            const isComing = state !== null && state === this.#coming;
            this.#coming = null;
            if (!state || !this.page.model.states.has(state)) return;
            if (this.page.attempt === id) this.page.moveTo(state, null, true);
            else if (isComing) this.#goAlongWithRun(id, state);
            return;
        }
        this.#started.delete(id);
        this.#announceEnd(id, state);
        const parent = state && this.page.model.states.get(state)?.parent;
        if (state && this.page.model.states.has(state)) {
            this.page.endNewVersion(id);
            if (this.page.here === stood || this.page.here === parent) this.page.moveTo(state, null, true);
        }
        this.page.saveTabState();
    }

    /**
     * Runs the cells that have waited for a run. If it failed or the user has navigated away, they
     * do not run.
     * @param {string} id
     * @param {string | null} state the state that it left
     */
    #runWaiting(id, state) {
        const due = [...this.waiting].filter(([, run]) => run === id).map(([cell]) => cell);
        if (due.length === 0) return;
        for (const cell of due) this.waiting.delete(cell);
        this.page.saveTabState();
        const runs = due.map((cell) => this.page.model.states.get(cell)?.exec_id);
        const isDue = (/** @type {Extract<Cell, {kind: 'draft'}>} */ { draft }) =>
            runs.includes(draft.stale_run ?? '');
        if (state && this.page.here === state) this.#runEach(() => this.runnable().filter(isDue));
    }

    /** Says when the last variant has ended. @param {string} id @param {string | null} state */
    #onVariantEnded(id, state) {
        const group = this.#variants;
        if (!group?.open.delete(id)) return;
        if (state) group.states.push(state);
        else group.failed += 1;
        if (group.open.size > 0) return;
        this.#variants = null;
        const { states, failed, known } = group;
        const act = {
            text: COMPARE_COMMAND_WORDS.compareVersions,
            act: () => this.page.compare(...states.slice(0, MOST_STATES)),
        };
        const said = WORDS.variantsEnded(states.length, failed, known);
        this.page.notify(said, false, states.length > 1 ? { act } : {});
    }

    /**
     * Whether the page shows the draft that has become a state.
     * @param {import('../shell/protocol.js').State} state
     */
    #showsDraftOf({ parent, exec_id }) {
        const { model, here, drafts, otherBranches } = this.page;
        const draft = model.runs.get(exec_id ?? '')?.draft;
        if (!draft || parent !== here || otherBranches.has(draft)) return false;
        return drafts.on(here, null).some(({ id }) => id === draft);
    }

    /**
     * Follows a run of another user whose draft this page shows. The page goes to the new state, so
     * that the cell keeps its place. The page does not move if its own user waits for a cell, or
     * types in another draft.
     * @param {string} id of the run
     * @param {string} state the state that it left
     */
    #goAlongWithRun(id, state) {
        const { here } = this.page;
        const waits = [...this.#started.values()].includes(here);
        if (waits || this.page.model.draft(this.page.presence.caretDraft ?? '')?.on === here) return;
        this.page.moveTo(state, null, true);
        this.#announceEnd(id, state);
    }

    /** @param {string} id of a run @param {string | null} state the state that it left */
    #announceEnd(id, state) {
        const run = this.page.model.runs.get(id);
        const goesOn = (/** @type {string} */ own) => {
            const other = this.page.model.runs.get(own);
            return other !== undefined && !hasEnded(other.status);
        };
        const count = this.page.model.states.get(state ?? '')?.exec_count ?? 0;
        if (run) this.page.announcements.ended(run, count, ![...this.#started.keys()].some(goesOn));
        if (run?.status === 'error' || run?.status === 'crashed') this.page.host.onFailed?.(run);
    }

    // Running

    /**
     * Runs a cell with its current code. A draft below a running cell waits for that cell.
     * @param {Cell} cell
     * @param {string} code
     * @param {Variants} [variants]
     */
    run(cell, code, variants = NO_VARIANTS) {
        if (!this.page.mayRun) return;
        this.page.checkpoints.confirmReplay(stateUnder(this.page.cells(), cell, code, this.requested), () => {
            const now = this.page.cells().find(({ key }) => key === cell.key) ?? cell;
            if (now.kind === 'ran') this.#runAgain(now, code, variants);
            else if (now.kind === 'draft') this.#runDraft(now, code, variants);
            else if (now.kind === 'attempt') this.page.copyAsDraft(code);
        });
    }

    /** The run that a draft would wait for. @param {Cell} cell */
    waitsFor(cell) {
        return runToWaitFor(this.page.cells(), cell.key, this.requested);
    }

    /**
     * @param {Extract<Cell, {kind: 'draft'}>} cell
     * @param {string} code
     * @param {Variants} [variants]
     */
    #runDraft(cell, code, variants) {
        if (isText(cell) || isOpen(cell) || !code.trim()) return;
        const before = this.waitsFor(cell);
        if (cell.isFresh || cell.draft.source !== code) this.page.type(cell, code);
        this.page.drafts.flushAll();
        const on = before ? { run: before } : { state: cell.draft.on };
        const exec_id = newId();
        this.requested.set(cell.draft.id, exec_id);
        // The cells below an inserted cell become drafts, as after an edit.
        const line =
            cell.isInside && !before ? { instead_of: { state: cell.draft.on, tip: this.page.here } } : {};
        this.#startAll({ do: 'run', exec_id, code, on, draft: cell.draft.id, ...line }, variants);
    }

    /**
     * The drafts from a cell on that can run now, in order.
     * @param {string} [key]
     * @param {Cell[]} [cells]
     * @returns {Extract<Cell, {kind: 'draft'}>[]}
     */
    runnable(key, cells = this.page.cells()) {
        return runnableFrom(cells, key, this.requested);
    }

    /**
     * Runs the drafts from a cell on, each on the result of the one before.
     * @param {string} [key]
     */
    runFrom(key) {
        this.#runEach(() => this.runnable(key));
    }

    /** Runs some drafts, each on the result of the one before. @param {string[]} keys */
    runThese(keys) {
        this.#runEach(() => this.runnable().filter(({ key }) => keys.includes(key)));
    }

    /** The drafts above a cell that can run now, in order. @param {string} key */
    runnableAbove(key) {
        const keys = this.page.cells().map((cell) => cell.key);
        return this.runnable().filter((cell) => keys.indexOf(cell.key) < keys.indexOf(key));
    }

    /** Runs the drafts above a cell. @param {string} key */
    runAbove(key) {
        this.#runEach(() => this.runnableAbove(key));
    }

    /** Runs the drafts above a cell, and the cell. @param {string} key */
    runTo(key) {
        this.#runEach(() => [
            ...this.runnableAbove(key),
            ...this.runnable(key).filter((cell) => cell.key === key),
        ]);
    }

    /** The drafts that a replay runs: without those whose code did not succeed the last time. */
    replayable(waiting = this.runnable()) {
        const skipped = unsuccessful(this.page.model, waiting);
        return skipped.size ? waiting.filter(({ key }) => !skipped.has(key)) : waiting;
    }

    /** Runs the drafts that repeat earlier cells, each on the result of the one before. */
    replayRest() {
        this.#runEach(() => this.replayable());
    }

    /** @param {() => Extract<Cell, {kind: 'draft'}>[]} which the cells, in order */
    #runEach(which) {
        const [first] = which();
        if (!this.page.mayRun || !first) return;
        this.page.checkpoints.confirmReplay(
            stateUnder(this.page.cells(), first, first.draft.source, this.requested),
            () => {
                for (const cell of which()) this.#runDraft(cell, cell.draft.source);
            },
        );
    }

    /**
     * Runs a cell again, as a new version.
     * @param {Extract<Cell, {kind: 'ran'}>} cell
     * @param {string} code
     * @param {Variants} variants
     */
    #runAgain(cell, code, variants) {
        const { state } = cell;
        if (cell.shown && !hasEnded(cell.shown.status)) return;
        if (cell.isOutdated) return this.#runLater(cell, code, variants);
        const exec_id = newId();
        if (variants.isFollowed) {
            if (textOf(cell) !== code) this.page.edit(state, code);
            this.page.newVersions.set(state.id, exec_id);
        }
        this.page.drafts.flushAll();
        this.page.saveTabState();
        const on = { state: state.parent ?? ROOT_STATE };
        const instead_of = { state: state.id, tip: this.page.here };
        const draft = cellId(this.page.model, state);
        this.#startAll({ do: 'run', exec_id, code, on, draft, instead_of }, variants);
    }

    /**
     * Runs a cell when the new version of a cell above has run.
     * @param {Extract<Cell, {kind: 'ran'}>} cell
     * @param {string} code
     * @param {Variants} variants
     */
    #runLater(cell, code, variants) {
        const above = versionToWaitFor(this.page.cells(), cell.key);
        if (!above || variants !== NO_VARIANTS)
            return this.page.notify(above ? WORDS.wait : WORDS.failedAbove, false);
        if (textOf(cell) !== code) this.page.edit(cell.state, code);
        this.page.drafts.flushAll();
        this.waiting.set(cell.state.id, above);
        this.page.saveTabState();
        this.page.host.requestPaint();
    }

    /** The run that a cell waits for; see `waiting`. @param {Cell} cell */
    awaited(cell) {
        return cell.kind === 'ran' ? this.waiting.get(cell.state.id) : undefined;
    }

    /** Takes a cell off those that wait. @param {Cell} cell @returns {boolean} whether it waited */
    doesNotWait(cell) {
        const waited = cell.kind === 'ran' && this.waiting.delete(cell.state.id);
        if (waited) {
            this.page.saveTabState();
            this.page.host.requestPaint();
        }
        return waited;
    }

    /**
     * Starts a run that the page follows, and its variants. The followed run is sent last, because
     * a draft shows its newest run and ends with it.
     * @param {Extract<Command, {do: 'run'}>} command
     * @param {Variants} [variants]
     */
    #startAll(command, { codes, known, isFollowed } = NO_VARIANTS) {
        if (isFollowed) this.#started.set(command.exec_id, this.page.here);
        if (this.page.notice?.untilRun) this.page.dismissNotice();
        const areVariants = codes.length + known > 0;
        const first = areVariants ? { ...command, variant: true } : command;
        const runs = codes.map((code) => ({ ...first, exec_id: newId(), code }));
        if (isFollowed) runs.push(first);
        if (areVariants) {
            const open = new Set(runs.map(({ exec_id }) => exec_id));
            this.#variants = { open, states: [], failed: 0, known };
            this.page.notify(WORDS.variantsRun(runs.length, known), false);
        }
        for (const run of runs) void this.#start(run);
    }

    /** @param {Extract<Command, {do: 'run'}>} command */
    async #start(command) {
        if ('state' in command.on && this.page.checkpoints.needsReplay(command.on.state))
            command.replay = true;
        if ('state' in command.on && this.page.pendingDeletion.has(command.on.state))
            this.page.deletion.undo();
        this.page.saveTabState();
        this.page.host.requestPaint();
        // The run may depend on typing that is not sent yet.
        const sent = this.page.drafts.allSent();
        if (sent) await sent;
        const reply = await this.page.host.send(command);
        // The server refuses a run that is sent again after a lost connection if it already has it.
        if (reply.kind !== 'refused' || this.page.model.runs.has(command.exec_id)) return;
        this.#started.delete(command.exec_id);
        this.#runWaiting(command.exec_id, null);
        this.#variants?.open.delete(command.exec_id);
        if (this.requested.get(command.draft ?? '') === command.exec_id)
            this.requested.delete(command.draft ?? '');
        this.page.endNewVersion(command.exec_id);
        this.page.saveTabState();
        this.page.reportRefusal(reply);
    }

    /**
     * Cells that this tab runs on a state belong to other branches now: the page does not follow
     * them.
     * @param {string} state
     */
    leave(state) {
        const { drafts, model, otherBranches } = this.page;
        for (const { id } of drafts.on(state, null)) {
            const exec_id = this.requested.get(id) ?? model.runOfDraft.get(id) ?? '';
            const run = model.runs.get(exec_id);
            if (run ? hasEnded(run.status) : !this.requested.has(id)) continue;
            otherBranches.add(id);
            this.#started.delete(exec_id);
        }
    }

    /** Stops a run; the second request kills its process. @param {string} exec_id */
    async stop(exec_id) {
        this.stopping.add(exec_id);
        this.page.host.requestPaint();
        this.page.reportRefusal(await this.page.host.send({ do: 'interrupt', exec_id }));
    }

    /** @param {string} exec_id @param {string} text */
    async answer(exec_id, text) {
        const reply = await this.page.host.send({ do: 'answer_input', exec_id, text });
        this.page.reportRefusal(reply);
        return reply.kind !== 'refused';
    }
}

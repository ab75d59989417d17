// @ts-check
// What this tab knows: its position in the graph, edits of cells that ran, runs that it started.
//
// Turns user actions into commands and reacts to events; knows no DOM. The model holds what the
// server knows; the page holds what this tab shows.

import { Comparison } from '../compare/comparison.js';
import { Deletion } from './deletion.js';
import { Drafts } from './drafts.js';
import { CheckpointController } from '../checkpoints/checkpoint-controller.js';
import { cellId, cellsOf, isRunningAbove, runnableFrom, runToWaitFor, stateUnder } from './cell-list.js';
import { others, Presence } from '../presence/presence.js';
import { keepTypingDuringRun, keepOrphanedDraft } from './orphaned-edits.js';
import { hasEnded, ROOT_STATE } from '../shell/protocol.js';
import { newId } from '../text/format.js';
import { RunCompletionBuffer } from '../shell/run-completion-buffer.js';
import { Variables } from '../variables/variables.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('./cell-list.js').Cell} Cell */
/** @typedef {import('../shell/protocol.js').Command} Command */
/** @typedef {import('../shell/protocol.js').Event} Event */
/** @typedef {import('../shell/protocol.js').Reply} Reply */
/**
 * @typedef {'connecting'
 *   | 'open'
 *   | 'waiting'
 *   | 'ended'
 *   | 'gone'
 *   | 'left'} Connection `gone`: the server was restarted and does not know this browser; `left`:
 *     the notebook was renamed or deleted
 */
/**
 * @typedef {{text: string, isBad: boolean, act?: {text: string, act: () => void}, stays?: boolean}}
 *   Notice
 */

/**
 * @typedef {object} Host What the page needs from its host, the browser.
 * @property {(command: Command) => Promise<Reply>} send
 * @property {() => void} requestPaint requests a paint
 * @property {() => void} paintNow paints before the next key press is handled
 * @property {() => void} paintIfDue paints if a paint is pending
 * @property {(id: string, replace: boolean) => void} setAddress updates the address bar
 * @property {(question: {title: string, why: string, act: string,
 *   isBad?: boolean}) => Promise<boolean>} ask
 * @property {(key: string) => any} recall
 * @property {(key: string, value: any) => void} remember stores a value for this tab, across
 *   reloads
 * @property {() => string | null} [displayName] the user's display name
 */

/**
 * @typedef {object} DraftEditor What the page needs from an editor.
 * @property {(changes: import('../text/changes.js').Changes, before: string) => void} receive
 *   applies a change from the server, if the text equals `before`
 * @property {(carets: RemoteCaret[]) => void} showCarets
 * @property {import('./drafts.js').Selection | null} selection
 */
/** @typedef {import('../presence/remote-carets.js').RemoteCaret} RemoteCaret */

export class Page {
    #here = ROOT_STATE;
    /** @type {string | null} */
    #attempt = null;
    /** Whether goTo has been called. */
    #hasPosition = false;

    /** @param {import('../shell/model.js').Model} model @param {Host} host */
    constructor(model, host) {
        this.model = model;
        this.host = host;
        /** @type {import('../shell/protocol.js').Scope} */
        this.scope = 'view';
        /** @type {Connection} */
        this.connection = 'connecting';
        this.isLoaded = false;
        this.freshId = newId();
        /** Drafts of this tab between cells that ran: shown even if empty. @type {Set<string>} */
        this.openedDrafts = new Set();
        /** @type {Map<string, import('./cell-list.js').Edit>} */
        this.edits = new Map(host.recall('edits') ?? []);
        /** Runs that this tab started, with its position then. @type {Map<string, string>} */
        this.ownRuns = new Map(host.recall('mine') ?? []);
        /** Runs that the server has not confirmed yet, by draft. @type {Map<string, string>} */
        this.requestedRuns = new Map();
        /** Runs that this tab asked to stop; the next request kills them. @type {Set<string>} */
        this.stoppingRuns = new Set();
        this.variables = new Variables(this, host);
        this.checkpoints = new CheckpointController(this, host);
        this.completions = new RunCompletionBuffer();
        this.comparison = new Comparison(this, host);
        /** @type {Notice | null} */
        this.notice = null;
        const time = {
            setTimer: (/** @type {() => void} */ what, /** @type {number} */ ms) => setTimeout(what, ms),
            clearTimer: (/** @type {any} */ timer) => clearTimeout(timer),
        };
        const refused = (/** @type {Reply} */ reply) => this.reportRefusal(reply);
        /**
         * The mounted editors, by the key of their cell. For a draft, this is the draft's id.
         * @type {Map<string, DraftEditor>}
         */
        this.draftEditors = new Map();
        this.drafts = new Drafts(model, host.send, {
            ...time,
            received: (id, changes, before) => this.draftEditors.get(id)?.receive(changes, before),
            requestPaint: host.requestPaint,
            refused,
            orphaned: (draft) => keepOrphanedDraft(this, draft),
        });
        this.presence = new Presence(this, host, time);
        this.deletion = new Deletion(this, host, time);
    }

    /** The current state. */
    get here() {
        return this.#here;
    }

    /** The run without a state that is shown below the current state, if any. */
    get attempt() {
        return this.#attempt;
    }

    get mayRun() {
        return this.scope !== 'view' && !['ended', 'gone', 'left'].includes(this.connection);
    }

    /** The cells shown. @returns {Cell[]} */
    cells() {
        const { here, attempt, edits, freshId } = this;
        return cellsOf(this.model, {
            here,
            attempt,
            edits,
            freshId,
            requestedRuns: this.requestedRuns,
            pendingDeletion: this.pendingDeletion,
            openedDrafts: this.openedDrafts,
            mayType: this.scope !== 'view',
            progressOf: (state) => this.checkpoints.progressOf(state),
            draftsOn: (state, before) => this.drafts.on(state, before),
        });
    }

    /** The other people viewing the notebook. */
    others() {
        return others(this.model.people, this.presence.id);
    }

    /** States about to be deleted unless undone. */
    get pendingDeletion() {
        return this.deletion.pendingIds;
    }

    // Events

    /**
     * @param {import('../shell/protocol.js').Snapshot} snapshot
     * @param {string} address the fragment of the address bar
     */
    onSnapshot(snapshot, address) {
        this.completions = new RunCompletionBuffer();
        const before = this.isLoaded ? this.here : ROOT_STATE;
        this.model.load(snapshot);
        this.variables.clear();
        this.isLoaded = true;
        this.requestedRuns.clear();
        for (const id of this.ownRuns.keys()) {
            const run = this.model.runs.get(id);
            if (run && hasEnded(run.status)) this.#onRunEnded(id, run.state);
        }
        this.goTo(address, true);
        this.drafts.rescue(this.here);
        this.showCarets();
        if (!this.#exists(before)) this.notify(WORDS.startedAnew, true);
    }

    /** @param {Event} event */
    onEvent(event) {
        for (const one of this.completions.add(event)) this.#apply(one);
        this.host.requestPaint();
    }

    /** @param {Event} event */
    #apply(event) {
        const refuge = event.event === 'removed' ? this.#refuge(event.states) : null;
        if (event.event === 'state_added') keepTypingDuringRun(this, event.state);
        if (event.event === 'drafts_changed') this.drafts.applyServerDrafts(event);
        if (event.event === 'state_changed') this.variables.onStateChanged(event.state);
        this.model.fold(event);
        if (event.event === 'people_changed') this.showCarets();
        if (event.event === 'drafts_changed' && this.presence.caretDraft) this.presence.onMoved();
        if (
            event.event === 'run_added' &&
            this.requestedRuns.get(event.run.draft ?? '') === event.run.exec_id
        )
            this.requestedRuns.delete(event.run.draft ?? '');
        if (event.event === 'run_ended') this.#onRunEnded(event.exec_id, event.state);
        if (event.event === 'removed')
            for (const edit of this.edits.values()) if (event.runs.includes(edit.run ?? '')) edit.run = null;
        if (event.event === 'removed' && this.attempt && event.runs.includes(this.attempt))
            this.#attempt = null;
        if (event.event === 'reset') this.variables.clear();
        if (event.event === 'state_changed') this.variables.onPageMoved();
        if (event.event === 'removed' || event.event === 'reset') this.comparison.onStatesRemoved();
        if (!this.#exists(this.here)) this.#moveTo(refuge ?? this.model.newest(), null, true);
    }

    /** @param {import('../shell/protocol.js').Scope} scope */
    onScope(scope) {
        this.scope = scope;
        this.host.requestPaint();
    }

    /** @param {Connection} connection */
    onConnection(connection) {
        this.connection = connection;
        if (connection === 'open') this.presence.onConnected();
        this.host.requestPaint();
    }

    // Position

    /**
     * Goes to a state or, by the id of its run, to an attempt.
     * @param {string} id
     * @param {boolean} [replace]
     */
    goTo(id, replace = false) {
        const isFirst = !this.#hasPosition;
        this.#hasPosition = true;
        const pair = this.comparison.openAddress(id);
        if (pair) return this.#moveBehind(pair, isFirst);
        const run = this.model.runs.get(id);
        if (this.model.states.has(id)) this.#moveTo(id, null, replace);
        else if (run?.state) this.#moveTo(run.state, null, replace);
        else if (run) this.#moveTo(this.model.baseOf(run) ?? this.here, id, replace);
        else this.#moveTo(this.model.newest(), null, true);
        return undefined;
    }

    /** Compares two states. @type {(a: string, b: string) => void} */
    compare = (a, b) => this.comparison.open(a, b);

    /** @param {string} state @param {string | null} attempt @param {boolean} replace */
    #moveTo(state, attempt, replace) {
        this.#here = state;
        this.#attempt = attempt;
        this.host.setAddress(this.comparison.address ?? attempt ?? state, replace);
        this.variables.onPageMoved();
        this.presence.onMoved();
        this.host.requestPaint();
    }

    /**
     * A comparison was opened and hides the cells. A page without a position goes to the second
     * compared state.
     * @param {import('../compare/comparison.js').Pair} pair
     * @param {boolean} isFirst
     */
    #moveBehind(pair, isFirst) {
        if (isFirst || !this.#exists(this.here)) this.#here = pair.b;
        this.variables.onPageMoved();
        this.host.requestPaint();
    }

    #exists = (/** @type {string} */ state) => this.model.states.has(state);

    /**
     * The nearest remaining ancestor of the current state.
     * @param {string[]} gone
     * @returns {string | null}
     */
    #refuge(gone) {
        const line = this.model.lineage(this.here).filter((state) => !gone.includes(state.id));
        return line.at(-1)?.id ?? null;
    }

    // Running

    /**
     * Runs a cell with its current code. A draft below a running cell waits for that cell. With
     * `beside`, the draft does not wait: it runs from its own state.
     * @param {Cell} cell
     * @param {string} code
     * @param {boolean} [beside]
     */
    run(cell, code, beside = false) {
        if (!this.mayRun) return;
        this.checkpoints.confirmReplay(stateUnder(this.cells(), cell, code, this.requestedRuns), () => {
            const now = this.cells().find(({ key }) => key === cell.key) ?? cell;
            if (now.kind === 'ran') this.#runAgain(now, code);
            else if (now.kind === 'draft') this.#runDraft(now, code, beside);
            else this.copyAsDraft(code);
        });
    }

    /** The run that a draft would wait for. @param {Cell} cell */
    waitsFor(cell) {
        return runToWaitFor(this.cells(), cell.key, this.requestedRuns);
    }

    /**
     * @param {Extract<Cell, {kind: 'draft'}>} cell
     * @param {string} code
     * @param {boolean} [beside]
     */
    #runDraft(cell, code, beside = false) {
        const isOpen = (cell.run && !hasEnded(cell.run.status)) || this.requestedRuns.has(cell.draft.id);
        if (cell.draft.kind === 'markdown' || isOpen || !code.trim()) return;
        const before = beside ? undefined : this.waitsFor(cell);
        if (cell.isFresh || cell.draft.source !== code) this.type(cell, code);
        this.drafts.flushAll();
        const on = before ? { run: before } : { state: cell.draft.on };
        const exec_id = newId();
        this.requestedRuns.set(cell.draft.id, exec_id);
        // The cells below an inserted cell become drafts, as after an edit.
        const line = cell.isInside && !before ? { instead_of: { state: cell.draft.on, tip: this.here } } : {};
        this.#start({ do: 'run', exec_id, code, on, draft: cell.draft.id, ...line });
    }

    /**
     * The drafts from a cell on that can run now, in order.
     * @param {string} [key]
     * @param {Cell[]} [cells]
     * @returns {Extract<Cell, {kind: 'draft'}>[]}
     */
    runnable(key, cells = this.cells()) {
        return runnableFrom(cells, key, this.requestedRuns);
    }

    /**
     * Runs the drafts from a cell on, each on the result of the one before.
     * @param {string} [key]
     */
    runFrom(key) {
        const [first] = this.runnable(key);
        if (!this.mayRun || !first) return;
        this.checkpoints.confirmReplay(
            stateUnder(this.cells(), first, first.draft.source, this.requestedRuns),
            () => {
                for (const cell of this.runnable(key)) this.#runDraft(cell, cell.draft.source);
            },
        );
    }

    /**
     * Runs a cell again, as a new version.
     * @param {Extract<Cell, {kind: 'ran'}>} cell
     * @param {string} code
     */
    #runAgain(cell, code) {
        const { state } = cell;
        if (cell.shown && !hasEnded(cell.shown.status)) return;
        if (cell.isOutdated) {
            this.notify(isRunningAbove(this.cells(), cell.key) ? WORDS.wait : WORDS.failedAbove, false);
            return;
        }
        const exec_id = newId();
        this.edits.set(state.id, { text: code, run: exec_id });
        this.saveTabState();
        const on = { state: state.parent ?? ROOT_STATE };
        this.#start({
            do: 'run',
            exec_id,
            code,
            on,
            draft: cellId(this.model, state),
            instead_of: { state: state.id, tip: this.here },
        });
    }

    /** @param {Extract<Command, {do: 'run'}>} command */
    async #start(command) {
        if ('state' in command.on && this.checkpoints.needsReplay(command.on.state)) command.replay = true;
        if ('state' in command.on && this.pendingDeletion.has(command.on.state)) this.deletion.undo();
        this.ownRuns.set(command.exec_id, this.here);
        this.saveTabState();
        this.host.requestPaint();
        // The run may depend on typing that is not sent yet.
        const sent = this.drafts.allSent();
        if (sent) await sent;
        const reply = await this.host.send(command);
        // The server refuses a run that is sent again after a lost connection if it already has it.
        if (reply.kind !== 'refused' || this.model.runs.has(command.exec_id)) return;
        this.ownRuns.delete(command.exec_id);
        if (command.draft) this.requestedRuns.delete(command.draft);
        for (const edit of this.edits.values()) if (edit.run === command.exec_id) edit.run = null;
        this.saveTabState();
        this.reportRefusal(reply);
    }

    /**
     * Goes to the state that a run left. For a run of this tab: if the user has not navigated away
     * since its start. For any other run: if the page shows it.
     * @param {string} id
     * @param {string | null} state
     */
    #onRunEnded(id, state) {
        const stood = this.ownRuns.get(id);
        this.stoppingRuns.delete(id);
        if (stood === undefined) {
            if (this.attempt === id && state && this.#exists(state)) this.#moveTo(state, null, true);
            return;
        }
        this.ownRuns.delete(id);
        const parent = state && this.model.states.get(state)?.parent;
        if (state && this.#exists(state)) {
            for (const [edited, edit] of this.edits) if (edit.run === id) this.edits.delete(edited);
            if (this.here === stood || this.here === parent) {
                if (parent)
                    this.drafts.follow(
                        parent,
                        state,
                        (draft) => this.requestedRuns.has(draft) || this.model.runOfDraft.has(draft),
                    );
                this.#moveTo(state, null, true);
            }
        }
        this.saveTabState();
    }

    /** Stops a run; the second request kills its process. @param {string} exec_id */
    async stop(exec_id) {
        this.stoppingRuns.add(exec_id);
        this.host.requestPaint();
        this.reportRefusal(await this.host.send({ do: 'interrupt', exec_id }));
    }

    /** @param {string} exec_id @param {string} text */
    async answer(exec_id, text) {
        const reply = await this.host.send({ do: 'answer_input', exec_id, text });
        this.reportRefusal(reply);
        return reply.kind !== 'refused';
    }

    // Editing

    /**
     * The user typed into a cell.
     * @param {Cell} cell
     * @param {string} text
     * @param {import('./drafts.js').Typed} [typed] how the cell's editor changed the text
     */
    type(cell, text, typed) {
        if (cell.kind === 'ran') {
            const run = cell.edit?.run ?? null;
            if (text === cell.run?.code && !run) this.edits.delete(cell.state.id);
            else this.edits.set(cell.state.id, { text, run });
            this.saveTabState();
            this.host.requestPaint();
        } else if (cell.kind === 'draft') {
            const last = this.drafts.lastOn(cell.draft.on);
            // The empty cell becomes an ordinary draft, and a new empty cell follows it.
            if (cell.draft.id === this.freshId) this.freshId = newId();
            this.drafts.put(
                { ...this.drafts.now(cell.draft), source: text },
                cell.isFresh ? last : null,
                typed,
            );
        }
    }

    /**
     * An editor was created or destroyed.
     * @param {string} draft
     * @param {DraftEditor | null} editor
     */
    onEditor(draft, editor) {
        if (!editor) this.draftEditors.delete(draft);
        else {
            this.draftEditors.set(draft, editor);
            editor.showCarets(this.#carets().filter((one) => one.draft === draft));
        }
    }

    /** Shows the carets of other people in the editors. */
    showCarets() {
        const carets = this.#carets();
        for (const [draft, editor] of this.draftEditors)
            editor.showCarets(carets.filter((one) => one.draft === draft));
    }

    /** The carets of others. @returns {RemoteCaret[]} */
    #carets() {
        return this.others().flatMap(({ id, called, colour, caret }) => {
            if (!caret) return [];
            const said = `${id} ${JSON.stringify(caret)}`;
            return [{ id, called, colour, said, draft: caret.draft, ...this.drafts.shownCaret(caret) }];
        });
    }

    /** @param {Extract<Cell, {kind: 'ran'}>} cell */
    undoEdit(cell) {
        this.edits.delete(cell.state.id);
        this.saveTabState();
        this.host.requestPaint();
    }

    /**
     * Adds a draft below a cell and returns its id. Below a cell that ran, it becomes the first
     * draft at the end of the lineage, because between cells an empty draft would begin a branch.
     * @param {Cell} cell
     * @param {'code' | 'markdown'} [kind]
     * @param {string} [source]
     * @returns {string}
     */
    insertBelow(cell, kind = 'code', source = '') {
        const isBeside = cell.kind !== 'draft' || cell.isInside;
        const on = isBeside ? this.here : cell.draft.on;
        const after = isBeside ? null : cell.isFresh ? this.drafts.lastOn(on) : cell.draft.id;
        return this.drafts.add({ id: newId(), on, kind, source }, after);
    }

    /** @param {string} code @returns {string} */
    copyAsDraft(code) {
        return this.drafts.add(
            { id: newId(), on: this.here, kind: 'code', source: code },
            this.drafts.lastOn(this.here),
        );
    }

    /** @param {Extract<Cell, {kind: 'draft'}>} cell @param {'code' | 'markdown'} kind */
    setKind(cell, kind) {
        if (cell.isFresh) this.type(cell, '');
        this.drafts.put({ ...this.drafts.now(cell.draft), kind });
        this.drafts.flush(cell.draft.id);
    }

    /** @param {string} state @param {string[]} prose */
    async setProse(state, prose) {
        this.reportRefusal(
            await this.host.send({ do: 'put_prose', state, prose: prose.filter((text) => text.trim()) }),
        );
    }

    // The graph

    /** @param {string} state @param {string} label */
    async label(state, label) {
        this.reportRefusal(await this.host.send({ do: 'label', state, label: label.trim() || null }));
    }

    /**
     * Deletes a state or its subtree, with undo.
     * @type {(what: {state: string, subtree?: boolean}) => any}
     */
    deleteState = (what) => this.deletion.deleteState(what.state, what.subtree ?? false);

    /** Deletes a failed attempt, with undo. @param {string} exec_id */
    dropAttempt = (exec_id) => this.deletion.forgetAttempt(exec_id);

    /** Resets the notebook. @returns {Promise<boolean>} whether it succeeded */
    async reset() {
        const reply = await this.host.send({ do: 'reset' });
        this.reportRefusal(reply);
        if (reply.kind === 'refused') return false;
        for (const map of [this.edits, this.ownRuns]) map.clear();
        this.saveTabState();
        return true;
    }

    // Notices

    /**
     * @param {string} text
     * @param {boolean} isBad
     * @param {{act?: Notice['act'], stays?: boolean}} [more]
     */
    notify(text, isBad, more = {}) {
        this.notice = { text, isBad, ...more };
        this.host.requestPaint();
    }

    dismissNotice() {
        this.notice = null;
        this.host.requestPaint();
    }

    /** @param {Reply} reply */
    reportRefusal(reply) {
        // A banner already reports disk failures while they last.
        if (reply.kind === 'refused' && !(reply.code === 'disk' && this.model.trouble))
            this.notify(WORDS.refused(reply), true);
    }

    /** Stores the state of this tab, so that a reload keeps it. */
    saveTabState() {
        this.host.remember('edits', [...this.edits]);
        this.host.remember('mine', [...this.ownRuns]);
    }
}

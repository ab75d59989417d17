// @ts-check
// What this tab knows: its position in the graph, and the runs that it shows in cells.
//
// Turns user actions into commands and reacts to events; knows no DOM. The model holds what the
// server knows; the page holds what this tab shows.

import { Branches } from '../graph/branches.js';
import { BranchTable } from '../branches/branch-table.js';
import { Comparison } from '../compare/comparison.js';
import { Deletion } from './state-deletion.js';
import { Drafts } from './drafts.js';
import { Prose } from './prose.js';
import { Files } from '../files/files.js';
import { CheckpointController } from '../checkpoints/checkpoint-controller.js';
import { cellId, cellsOf } from './cell-list.js';
import { Following } from '../presence/following.js';
import { others, Presence } from '../presence/presence.js';
import { OwnRuns } from './own-runs.js';
import { keepOrphanedDraft } from './orphaned-edits.js';
import { ROOT_STATE } from '../shell/protocol.js';
import { newId } from '../text/format.js';
import { RunAnnouncements } from './run-announcements.js';
import { RunCompletionBuffer } from '../shell/run-completion-buffer.js';
import { Variables } from '../variables/variables.js';
import { PRESENCE_WORDS } from '../presence/presence-words.js';
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
 * @typedef {{text: string, act: () => void}} NoticeAction
 * @typedef {{text: string, isBad: boolean, act?: NoticeAction, other?: NoticeAction,
 *   stays?: boolean, untilRun?: boolean}} Notice `untilRun`: only until a cell of this tab runs
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
 * @property {() => boolean} [isSaving] whether the server has not answered all changes
 * @property {() => string | null} [displayName] the user's display name
 * @property {() => string | null} [focusedCell] the key of the cell that has the focus
 * @property {(id: string) => void} [onParticipantId] the server has given this tab an id
 * @property {() => void} [reconnect] tries now to connect to the server again
 * @property {(text: string) => void} [announce] announces a text to screen readers
 * @property {(run: import('../shell/model.js').Run) => void} [onFailed] a run of this tab has
 *   failed
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
        /** What this browser may do. @type {import('../shell/protocol.js').Scope} */
        this.ownScope = 'view';
        /** @type {import('../shell/protocol.js').Sandbox | undefined} */
        this.sandbox = undefined;
        /** Whether the user may open terminals. */
        this.hasTerminals = false;
        /** Whether the server was started with this notebook. */
        this.isStart = false;
        /** @type {Connection} */
        this.connection = 'connecting';
        this.isLoaded = false;
        this.freshId = newId();
        /** Drafts of this tab between cells that ran: shown even if empty. @type {Set<string>} */
        this.openedDrafts = new Set(host.recall('opened') ?? []);
        /**
         * The runs of new versions of cells that ran, by the state of the earlier version: they
         * wait, run, or have failed. The cell shows such a run in place of its own.
         * @type {Map<string, string>}
         */
        this.newVersions = new Map(host.recall('versions') ?? []);
        /**
         * Typing into text cells above cells that ran, until the user leaves the cell; by key.
         * `was`: the text that the notebook has.
         * @type {Map<string, {was: string, text: string}>}
         */
        this.textEdits = new Map(host.recall('texts') ?? []);
        this.ownRuns = new OwnRuns(this, host.recall('mine') ?? [], host.recall('waiting') ?? []);
        /**
         * Drafts and runs at the current state that belong to other branches than the one that the
         * user has begun there, by their ids. The page does not show them.
         * @type {Set<string>}
         */
        this.otherBranches = new Set();
        this.variables = new Variables(this, host);
        this.files = new Files(this, host);
        /**
         * The outputs kept in view beside the notebook, the newest first.
         * @type {import('../kept/kept-outputs.js').Kept[]}
         */
        this.kept = host.recall('kept') ?? [];
        this.checkpoints = new CheckpointController(this, host);
        /** Grows whenever the memory of a state was measured. */
        this.memoryRev = 0;
        this.completions = new RunCompletionBuffer();
        this.announcements = new RunAnnouncements((text) => host.announce?.(text));
        this.comparison = new Comparison(this, host);
        this.branchTable = new BranchTable(this, host);
        this.branches = new Branches(host.recall('branchColours') ?? []);
        /**
         * The mounted widgets.
         * @type {Set<{onEvent: (event: Event) => void, onMoved: () => void}>}
         */
        this.widgets = new Set();
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
        this.prose = new Prose(this, time);
        this.drafts = new Drafts(model, host.send, {
            ...time,
            received: (id, changes, before) => this.editorOf(id)?.receive(changes, before),
            requestPaint: host.requestPaint,
            refused,
            orphaned: (draft) => keepOrphanedDraft(this, draft),
        });
        this.presence = new Presence(this, host, time);
        this.following = new Following(this);
        /** The ids of the other tabs of this browser; see own-tabs.js. @type {Set<string>} */
        this.ownTabs = new Set();
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

    /** What this browser may do now: only view, while another server writes the notebook. */
    get scope() {
        return this.model.offsite?.phase === 'held' ? 'view' : this.ownScope;
    }

    /** Makes this server the one that writes the notebook. */
    async takeOver() {
        this.reportRefusal(await this.host.send({ do: 'take_over' }));
    }

    get mayRun() {
        return this.scope !== 'view' && !['ended', 'gone', 'left'].includes(this.connection);
    }

    /** The cells shown. @returns {Cell[]} */
    cells() {
        const { here, attempt, freshId } = this;
        const edits = this.drafts.edits();
        return cellsOf(this.model, {
            here,
            attempt,
            newVersions: this.newVersions,
            editOf: ({ id }) => edits.get(id),
            textEdits: this.textEdits,
            freshId,
            requestedRuns: this.ownRuns.requested,
            waiting: this.ownRuns.waiting,
            pendingDeletion: this.pendingDeletion,
            openedDrafts: this.openedDrafts,
            otherBranches: this.otherBranches,
            mayType: this.scope !== 'view',
            progressOf: (state) => this.checkpoints.progressOf(state),
            orderOf: (id) => this.branches.orderOf(this.model, id),
            colourOf: (state) => this.branches.colourOf(this.model, state),
            draftsOn: (state, before) => this.drafts.on(state, before),
        });
    }

    /** The other people viewing the notebook. */
    others() {
        return others(this.model.people, this.presence.id, this.ownTabs);
    }

    /** The ids of states and attempts that are deleted unless the user undoes the deletion. */
    get pendingDeletion() {
        return this.deletion.pendingIds;
    }

    // Events

    /**
     * @param {import('../shell/protocol.js').Snapshot} snapshot
     * @param {string} address the fragment of the address bar
     * @param {boolean} [isAnotherEpoch] the notebook was opened again since, perhaps after a crash
     */
    onSnapshot(snapshot, address, isAnotherEpoch = false) {
        this.completions = new RunCompletionBuffer();
        const before = this.isLoaded ? this.here : ROOT_STATE;
        this.model.load(snapshot);
        this.prose.onSnapshot();
        this.variables.clear();
        this.isLoaded = true;
        this.ownRuns.onSnapshot();
        this.#goTo(address, true);
        this.following.onPeople();
        this.drafts.rescue(this.here, isAnotherEpoch);
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
        if (event.event === 'state_added') this.ownRuns.onStateAdded(event.state);
        if (event.event === 'drafts_changed') this.drafts.applyServerDrafts(event);
        if (event.event === 'state_changed') this.variables.onStateChanged(event.state);
        this.model.fold(this.prose.inEvent(event));
        if (event.event === 'people_changed') this.onPeople();
        if (event.event === 'drafts_changed' && this.presence.caretDraft) this.presence.onMoved();
        if (event.event === 'run_added') this.ownRuns.onRunAdded(event.run);
        if (event.event === 'run_ended') {
            this.ownRuns.onRunEnded(event.exec_id, event.state);
            this.files.onRunEnded();
        }
        if (event.event === 'removed') for (const run of event.runs) this.endNewVersion(run);
        if (event.event === 'removed') {
            this.branches.isKept = true;
            this.saveTabState();
        }
        if (event.event === 'removed' && this.attempt && event.runs.includes(this.attempt))
            this.#attempt = null;
        if (event.event === 'reset') this.variables.clear();
        if (event.event === 'state_changed') this.variables.onPageMoved();
        if (event.event === 'memory_measured') this.memoryRev += 1;
        if (event.event === 'removed' || event.event === 'reset') this.comparison.onStatesRemoved();
        if (!this.#exists(this.here)) {
            this.moveTo(refuge ?? this.model.newest(), null, true);
            if (event.event === 'removed') this.notify(PRESENCE_WORDS.placeDeleted, false);
        }
        for (const widget of this.widgets) widget.onEvent(event);
    }

    #moveWidgets() {
        for (const widget of this.widgets) widget.onMoved();
    }

    /** Other people, or other tabs of this browser, moved, came or left. */
    onPeople() {
        this.showCarets();
        this.following.onPeople();
        this.host.requestPaint();
    }

    /**
     * @param {import('../shell/protocol.js').Scope} scope
     * @param {import('../shell/protocol.js').Sandbox} [sandbox]
     * @param {{terminals?: boolean, start?: boolean}} [more]
     */
    onScope(scope, sandbox, { terminals = false, start = false } = {}) {
        this.hasTerminals = terminals;
        this.isStart = start;
        this.ownScope = scope;
        this.sandbox = sandbox;
        this.#moveWidgets();
        this.host.requestPaint();
    }

    /** @param {Connection} connection */
    onConnection(connection) {
        this.connection = connection;
        this.#moveWidgets();
        if (connection === 'open') this.presence.onConnected();
        this.host.requestPaint();
    }

    // Position

    /**
     * Goes to a state or, by the id of its run, to an attempt. An address fragment may also name a
     * comparison or the table of branches.
     * @param {string} id
     * @param {boolean} [replace]
     */
    goTo(id, replace = false) {
        this.following.stop();
        this.#goTo(id, replace);
    }

    /** Goes where a followed person is. @param {string} state */
    goAlong(state) {
        if (state !== this.here && this.#exists(state)) this.#goTo(state, true);
    }

    /** @param {string} id @param {boolean} replace */
    #goTo(id, replace) {
        this.otherBranches.clear();
        const isFirst = !this.#hasPosition;
        this.#hasPosition = true;
        const isTable = this.branchTable.openAddress(id);
        const compared = this.comparison.openAddress(id);
        if (compared) return this.#moveBehind(compared.at(-1), isFirst);
        if (isTable) return this.#moveBehind(this.model.newest(), isFirst);
        const run = this.model.runs.get(id);
        if (this.model.states.has(id)) this.moveTo(id, null, replace);
        else if (run?.state) this.moveTo(run.state, null, replace);
        else if (run) this.moveTo(this.model.baseOf(run) ?? this.here, id, replace);
        else {
            this.moveTo(this.model.newest(), null, true);
            if (id !== '') this.notify(WORDS.addressGone, false);
        }
        return undefined;
    }

    /**
     * Goes to a state to begin a branch there. Cells that run on the state belong to other
     * branches: the page neither shows nor follows them, and no cell waits for them.
     * @param {string} state
     */
    branchFrom(state) {
        this.goTo(state);
        this.ownRuns.leave(state);
        for (const run of this.model.openRuns())
            if (this.model.baseOf(run) === state) this.otherBranches.add(run.exec_id);
        this.saveTabState();
        this.host.requestPaint();
    }

    /** Compares states. @param {string[]} states */
    compare(...states) {
        this.branchTable.hide();
        this.comparison.open(states);
    }

    /** The address fragment of what is shown. */
    get address() {
        return this.branchTable.address ?? this.comparison.address ?? this.attempt ?? this.here;
    }

    /**
     * Shows a state. Keeps what `goTo` ends: the following of a person, and a comparison.
     * @param {string} state
     * @param {string | null} attempt the run without a state that is shown below it, if any
     * @param {boolean} replace whether the address replaces the last one in the history
     */
    moveTo(state, attempt, replace) {
        this.#here = state;
        this.#attempt = attempt;
        this.host.setAddress(this.address, replace);
        this.variables.onPageMoved();
        this.presence.onMoved();
        this.#moveWidgets();
        this.host.requestPaint();
    }

    /**
     * A comparison or the table of branches was opened and hides the cells. A page without a
     * position gets one.
     * @param {string | undefined} state
     * @param {boolean} isFirst
     */
    #moveBehind(state, isFirst) {
        if (isFirst || !this.#exists(this.here)) this.#here = state ?? this.#here;
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

    // Editing

    /**
     * The user typed into a cell.
     * @param {Cell} cell
     * @param {string} text
     * @param {import('./drafts.js').Typed} [typed] how the cell's editor changed the text
     */
    type(cell, text, typed) {
        if (cell.kind === 'ran') {
            this.edit(cell.state, text, typed);
        } else if (cell.kind === 'text') {
            const was = cell.state.prose[cell.index] ?? '';
            this.textEdits.set(cell.key, { was, text });
            this.prose.saveSoon();
            this.saveTabState();
            this.host.requestPaint();
        } else if (cell.kind === 'draft') {
            // The empty cell becomes an ordinary draft, and a new empty cell follows it. The caller
            // may have the empty cell of the last paint, which was at an earlier state.
            const isFresh = cell.draft.id === this.freshId;
            if (isFresh) this.freshId = newId();
            const draft = isFresh ? { ...cell.draft, on: this.here } : this.drafts.now(cell.draft);
            const after = isFresh ? this.drafts.lastOn(draft.on) : null;
            this.drafts.put({ ...draft, source: text }, after, typed);
        }
    }

    /**
     * An editor was created or destroyed.
     * @param {string} key of its cell
     * @param {DraftEditor | null} editor
     */
    onEditor(key, editor) {
        if (!editor) this.draftEditors.delete(key);
        else {
            this.draftEditors.set(key, editor);
            editor.showCarets(this.#carets().filter(({ draft }) => this.#editorKey(draft) === key));
        }
    }

    /** The editor that shows a draft. @param {string} id @returns {DraftEditor | undefined} */
    editorOf(id) {
        return this.draftEditors.get(this.#editorKey(id));
    }

    /** The key of the cell that shows a draft. @param {string} id */
    #editorKey(id) {
        const edited = this.model.states.get(this.drafts.get(id)?.instead_of ?? '');
        return edited ? cellId(this.model, edited) : id;
    }

    /** Shows the carets of other people in the editors. */
    showCarets() {
        const carets = this.#carets();
        for (const [key, editor] of this.draftEditors)
            editor.showCarets(carets.filter(({ draft }) => this.#editorKey(draft) === key));
    }

    /** The carets of others. @returns {RemoteCaret[]} */
    #carets() {
        return this.others().flatMap(({ id, called, colour, caret }) => {
            if (!caret) return [];
            const said = `${id} ${JSON.stringify(caret)}`;
            return [{ id, called, colour, said, draft: caret.draft, ...this.drafts.shownCaret(caret) }];
        });
    }

    /**
     * Changes the code of a cell that ran. Its own code ends the edit.
     * @param {import('../shell/protocol.js').State} state
     * @param {string} source
     * @param {import('./drafts.js').Typed} [typed]
     */
    edit(state, source, typed) {
        const known = this.drafts.editOf(state);
        if (source !== this.model.runOf(state)?.code) {
            const [on, instead_of] = [state.parent ?? ROOT_STATE, state.id];
            // Two tabs that begin to edit the same cell make the same draft.
            /** @type {import('../shell/protocol.js').Draft} */
            const edit = known ?? { id: `edit-${instead_of}`, on, instead_of, kind: 'code', source };
            this.drafts.put({ ...edit, source }, null, typed);
        } else if (known) this.drafts.remove(known.id);
    }

    /**
     * Shows the code that ran in place of the changed code.
     * @param {import('../shell/protocol.js').State} state
     */
    revertEdit(state) {
        this.newVersions.delete(state.id);
        this.edit(state, this.model.runOf(state)?.code ?? '');
        this.saveTabState();
        this.host.requestPaint();
    }

    /** A new version of a cell is not shown any more. @param {string} exec_id its run */
    endNewVersion(exec_id) {
        for (const [state, run] of this.newVersions) if (run === exec_id) this.newVersions.delete(state);
    }

    /**
     * Adds a draft that stays on the page even if it is empty between cells that ran.
     * @param {import('../shell/protocol.js').Draft} draft
     * @param {string | null} after the draft above it
     * @returns {string} its id
     */
    addShown(draft, after) {
        // The page shows a full draft anyway, and does not have to remember it.
        if (draft.before || !draft.source.trim()) this.openedDrafts.add(draft.id);
        return this.drafts.add(draft, after);
    }

    /** @param {string} code @returns {string} */
    copyAsDraft(code) {
        return this.drafts.add(
            { id: newId(), on: this.here, kind: 'code', source: code },
            this.drafts.lastOn(this.here),
        );
    }

    /**
     * @param {Extract<Cell, {kind: 'draft'}>} cell
     * @param {import('../shell/protocol.js').Draft['kind']} kind
     */
    setKind(cell, kind) {
        if (cell.isFresh) this.type(cell, '');
        this.drafts.put({ ...this.drafts.now(cell.draft), kind });
        this.drafts.flush(cell.draft.id);
    }

    /** @param {import('./cell-list.js').TextCell} cell @param {string} text */
    setText({ state, index }, text) {
        if (index < state.prose.length) this.prose.set(state.id, state.prose.with(index, text));
    }

    /**
     * Ends the typing into a text cell and saves its text.
     * @param {import('./cell-list.js').TextCell} cell
     */
    saveText(cell) {
        const edit = this.textEdits.get(cell.key);
        if (!this.textEdits.delete(cell.key) || !edit) return;
        this.saveTabState();
        if (edit.text !== edit.was) this.setText(cell, edit.text);
    }

    /**
     * Sends all typing.
     * @param {boolean} [isLast] the page may be closing: sends even if messages are in flight
     */
    save(isLast = false) {
        this.drafts.flushAll(isLast);
        this.prose.saveTyped();
    }

    // The graph

    /** The name of a state, or of a run without one; see branches.js. @param {string} id */
    nameOf = (id) => this.branches.nameOf(this.model, id);

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
        for (const map of [this.newVersions, this.textEdits, this.ownRuns]) map.clear();
        this.saveTabState();
        return true;
    }

    // Notices

    /**
     * @param {string} text
     * @param {boolean} isBad
     * @param {Omit<Notice, 'text' | 'isBad'>} [more]
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
        this.host.remember('versions', [...this.newVersions]);
        this.host.remember('texts', [...this.textEdits]);
        this.host.remember('mine', this.ownRuns.kept);
        this.host.remember('waiting', [...this.ownRuns.waiting]);
        const isThere = (/** @type {string} */ id) => this.drafts.has(id);
        this.host.remember('opened', [...this.openedDrafts].filter(isThere));
        this.host.remember('branchColours', this.branches.kept);
    }
}

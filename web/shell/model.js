// @ts-check
// The notebook as this page knows it: a snapshot plus all later events.
//
// Pure: no DOM, no clock, no socket. The model changes in place, because a cell may print a hundred
// thousand lines. The `rev` numbers of runs and of the graph tell the views what to repaint.

import { applied } from '../widgets/models.js';
import { count, memberOf, tallyOf, runIdOf } from '../sweep/sweeps.js';
import { EVENTS, hasEnded, ROOT_STATE } from './protocol.js';

/** @typedef {import('./protocol.js').State} State */
/** @typedef {import('./protocol.js').Draft} Draft */
/** @typedef {import('./protocol.js').Event} Event */

/**
 * An output as the page keeps it. A stream's text is a list of pieces, so that a view paints only
 * new pieces and no code joins megabytes of text for each printed line.
 * @typedef {{key: number, output_type: 'stream', name: 'stdout' | 'stderr', pieces: string[]}
 *   | ({key: number} & Exclude<import('./protocol.js').Output, {output_type: 'stream'}>)} Item
 */

/**
 * @typedef {Omit<import('./protocol.js').Run, 'outputs'> & {outputs: Item[], rev: number,
 *   clearPending: boolean}} Run `rev`: the model's `rev` when the run last changed; `clearPending`:
 *   the next output replaces all earlier ones
 */

export class Model {
    constructor(name = '') {
        this.name = name;
        /** The notebook's new name, after it was renamed and closed. @type {string | null} */
        this.movedTo = null;
        /** Grows by one with each event and snapshot. */
        this.rev = 0;
        /** `rev` of the last change to the graph's shape. */
        this.graphRev = 0;
        /** `rev` of the last change to the graph's shape or to what its nodes show. */
        this.marksRev = 0;
        /** `rev` of the last removal or snapshot; since then the maps have only grown. */
        this.shrunkRev = 0;
        /** @type {Map<string, State>} in creation order */
        this.states = new Map();
        /** `rev` of the last change of a state. @type {WeakMap<State, number>} */
        this.stateRevs = new WeakMap();
        /** @type {Map<string, Run>} in the order of their requests */
        this.runs = new Map();
        /** @type {Map<string, Draft[]>} by the state to which they are attached */
        this.drafts = new Map();
        /** @type {Map<string, string>} the state to which a draft is attached */
        this.stateOfDraft = new Map();
        /** @type {Map<string, string[]>} the children of a state */
        this.children = new Map();
        /** @type {Map<string, string>} the latest run of a draft */
        this.runOfDraft = new Map();
        /**
         * @type {Map<string, string>} the run with the imported outputs of a draft
         */
        this.importedOf = new Map();
        /** @type {Map<string, import('../sweep/sweeps.js').Sweep>} in the order in which they began */
        this.sweeps = new Map();
        /**
         * The progress of running replays, by state.
         * @type {Map<string, {done: number, total: number}>}
         */
        this.replays = new Map();
        /** States that are not on disk yet. @type {Set<string>} */
        this.unsaved = new Set();
        /**
         * Why writing to disk fails at the moment; null if it works.
         * @type {import('./protocol.js').Trouble | null}
         */
        this.trouble = null;
        /**
         * The copy in a store off the machine; null if the server has no store.
         * @type {import('./protocol.js').OffsiteStatus | null}
         */
        this.offsite = null;
        /**
         * The Python that runs the cells; null until the notebook is loaded.
         * @type {import('./protocol.js').Python | null}
         */
        this.python = null;
        /** The people viewing the notebook. @type {import('./protocol.js').Person[]} */
        this.people = [];
    }

    /** Replaces everything with a snapshot. @param {import('./protocol.js').Snapshot} snapshot */
    load(snapshot) {
        this.rev += 1;
        this.graphRev = this.marksRev = this.shrunkRev = this.rev;
        this.name = snapshot.name;
        this.trouble = snapshot.trouble;
        this.offsite = snapshot.offsite ?? null;
        this.python = snapshot.python;
        this.people = snapshot.people;
        const before = new Map(this.runs);
        for (const map of [
            this.states,
            this.runs,
            this.drafts,
            this.children,
            this.runOfDraft,
            this.importedOf,
            this.sweeps,
            this.replays,
            this.unsaved,
        ])
            map.clear();
        for (const state of snapshot.states) this.#addState(state);
        for (const run of snapshot.runs) this.#addRun(run, before.get(run.exec_id)?.outputs);
        for (const draft of snapshot.drafts) listAt(this.drafts, draft.on).push(draft);
        this.stateOfDraft = new Map(snapshot.drafts.map(({ id, on }) => [id, on]));
        for (const sweep of snapshot.sweeps ?? []) this.#addSweep(sweep);
    }

    /** Applies one event. @param {Event} event */
    fold(event) {
        this.rev += 1;
        const changes = EVENTS[event.event]?.graph;
        if (changes) this.marksRev = this.rev;
        if (changes === 'shape') this.graphRev = this.rev;
        switch (event.event) {
            case 'run_added':
                return this.#addRun(event.run);
            case 'run_started':
                return this.#change(event.exec_id, (run) => {
                    run.status = 'running';
                    run.on = event.on;
                    run.started_at = event.started_at;
                });
            case 'output_added':
                return this.#change(event.exec_id, (run) => addOutput(run, event.output));
            case 'outputs_cleared':
                return this.#change(event.exec_id, (run) => {
                    if (event.wait) run.clearPending = true;
                    else run.outputs = [];
                });
            case 'display_updated':
                return this.#change(event.exec_id, (run) => {
                    run.outputs = run.outputs.map((item) =>
                        item.output_type === 'display_data' && item.display_id === event.display_id
                            ? { ...item, data: event.data, metadata: event.metadata }
                            : item,
                    );
                });
            case 'widgets_changed': {
                // No new `rev`: the outputs stay the same, and the widgets get the messages.
                const run = this.runs.get(event.exec_id);
                if (run) run.widgets = applied(run.widgets ?? {}, event.messages);
                return;
            }
            case 'prompt_changed':
                return this.#change(event.exec_id, (run) => {
                    run.prompt = event.prompt;
                });
            case 'run_warned':
                return this.#change(event.exec_id, (run) => {
                    run.warnings = [...(run.warnings ?? []), event.warning];
                });
            case 'run_ended':
                return this.#change(event.exec_id, (run) => {
                    const { status, error, duration_ms, state } = event;
                    Object.assign(run, { status, error, duration_ms, state, prompt: null });
                });
            case 'keepable_changed':
                return this.#change(event.exec_id, (run) => {
                    run.keepable = event.keepable;
                });
            case 'state_added':
                this.unsaved.add(event.state.id);
                return this.#addState(event.state);
            case 'state_changed':
                this.replays.delete(event.state.id);
                return this.#changeState(event.state.id, event.state);
            case 'saving_changed':
                return this.#changeState(event.state, { saving: event.saving });
            case 'memory_measured':
                return this.#changeState(event.state, {
                    memory_bytes: event.memory_bytes,
                    shared_bytes: event.shared_bytes,
                });
            case 'changes_found':
                return this.#changeState(event.state, { changes: event.changes });
            case 'people_changed':
                this.people = event.people;
                return;
            case 'replaying':
                if (event.done < event.total)
                    this.replays.set(event.state, { done: event.done, total: event.total });
                else this.replays.delete(event.state);
                return;
            case 'state_saved':
                this.unsaved.delete(event.state);
                return;
            case 'trouble_changed':
                this.trouble = event.trouble;
                if (!event.trouble) this.unsaved.clear();
                return;
            case 'offsite_changed':
                this.offsite = event.offsite;
                return;
            case 'python_changed':
                this.python = event.python;
                return;
            case 'removed':
                return this.#remove(event);
            case 'restored':
                return this.#restore(event);
            case 'drafts_changed':
                return this.#changeDrafts(event);
            case 'reset':
                return this.load(event.notebook);
            case 'sweep_added':
                return this.#addSweep(event.sweep);
            case 'sweep_rows_added':
                return this.#changeSweep(event.sweep, ({ rows }) => void rows.push(...event.rows));
            case 'sweep_row_ended':
                return this.#changeSweep(event.sweep, (sweep) => {
                    const row = sweep.rows[event.row];
                    row?.ends.push(event.end);
                    if (row) count(sweep, sweep.tally, event.row, row);
                });
            case 'sweep_ended':
                return this.#changeSweep(event.sweep, (sweep) => {
                    const { status, ended_at, note } = event;
                    Object.assign(sweep, { status, ended_at, note });
                });
            case 'sweep_removed':
                this.sweeps.delete(event.sweep);
                this.#numberSweeps();
                this.shrunkRev = this.rev;
        }
    }

    /** The notebook was renamed, or deleted (null). @param {string | null} to */
    moved(to) {
        this.movedTo = to;
    }

    /** The server answered this page's replay request. @param {string} state */
    replayEnded(state) {
        this.replays.delete(state);
    }

    /** The drafts of a state. @param {string} state @returns {Draft[]} */
    draftsOn(state) {
        return this.drafts.get(state) ?? [];
    }

    /**
     * The state whose cell follows the draft: a child of the draft's state. Null if the draft is at
     * the end of the lineage, or if that child was deleted.
     * @param {Draft} draft
     * @returns {string | null}
     */
    childBelow({ on, before }) {
        return before && this.states.get(before)?.parent === on ? before : null;
    }

    /**
     * The number of cells with code at the end of a state's lineage that have not run, without
     * those that run: the graph shows their runs.
     * @param {string} state
     */
    waitingAt(state) {
        const isOpen = (/** @type {Run | undefined} */ run) => run !== undefined && !hasEnded(run.status);
        return this.draftsOn(state).filter(
            (draft) =>
                draft.kind === 'code' &&
                draft.source.trim() &&
                !draft.instead_of &&
                this.childBelow(draft) === null &&
                !isOpen(this.runs.get(this.runOfDraft.get(draft.id) ?? '')),
        ).length;
    }

    /** A draft by id. @param {string} id @returns {Draft | undefined} */
    draft(id) {
        return this.draftsOn(this.stateOfDraft.get(id) ?? '').find((draft) => draft.id === id);
    }

    /**
     * The state that a draft has become: of its newest run.
     * @param {string} id
     * @returns {State | undefined}
     */
    stateMadeFrom(id) {
        const run = this.runOfDraft.get(id);
        return run === undefined
            ? undefined
            : [...this.states.values()].findLast(({ exec_id }) => exec_id === run);
    }

    /** The children of a state, in creation order. @param {string} state @returns {State[]} */
    childrenOf(state) {
        return (this.children.get(state) ?? []).flatMap((id) => this.states.get(id) ?? []);
    }

    /** The path from the root to a state, both included. @param {string} tip @returns {State[]} */
    lineage(tip) {
        const line = [];
        for (let state = this.states.get(tip); state; state = this.states.get(state.parent ?? ''))
            line.push(state);
        return line.reverse();
    }

    /**
     * The warnings of a state that its parent does not have.
     * @param {State} state
     * @returns {string[]}
     */
    newWarnings({ warnings, parent }) {
        const above = this.states.get(parent ?? '')?.warnings ?? [];
        return warnings.filter((warning) => !above.includes(warning));
    }

    /** The run that made a state. @param {State} state @returns {Run | undefined} */
    runOf(state) {
        return state.exec_id ? this.runs.get(state.exec_id) : undefined;
    }

    /**
     * The state that a run starts from, if already known.
     * @param {Run} run
     * @returns {string | undefined}
     */
    baseOf(run) {
        if ('state' in run.on) return run.on.state;
        return this.runs.get(run.on.run)?.state ?? undefined;
    }

    /** Runs that have not ended. @returns {Run[]} */
    openRuns() {
        return [...this.runs.values()].filter((run) => !hasEnded(run.status));
    }

    /**
     * The newest state at or below a state, following the newest child at each step that is no row
     * of a sweep.
     * @param {string} from
     */
    newestBelow(from) {
        let newest = from;
        const next = () => this.childrenOf(newest).findLast((state) => !this.isRow(state));
        for (let state = next(); state; state = next()) newest = state.id;
        return newest;
    }

    /** The newest state that is neither deleted nor a row of a sweep. @returns {string} */
    newest() {
        const alive = [...this.states.values()].filter(
            (state) => state.living !== 'deleted' && !this.isRow(state),
        );
        return (alive.at(-1) ?? [...this.states.values()][0])?.id ?? ROOT_STATE;
    }

    /** Whether a state or a run is a row of a sweep. @param {State | Run} its */
    isRow({ exec_id }) {
        return memberOf(this.sweeps, exec_id) !== null;
    }

    /** @param {State} state */
    #addState(state) {
        this.#putState(state);
        if (state.parent) listAt(this.children, state.parent).push(state.id);
    }

    /** @param {State} state */
    #putState(state) {
        const own = { ...state };
        this.states.set(state.id, own);
        this.stateRevs.set(own, this.rev);
    }

    /** @param {string} id @param {Partial<State>} values */
    #changeState(id, values) {
        const state = this.states.get(id);
        if (!state) return;
        const was = state.living;
        Object.assign(state, values);
        this.stateRevs.set(state, this.rev);
        // The graph hides deleted states.
        if ((was === 'deleted') !== (state.living === 'deleted')) this.graphRev = this.shrunkRev = this.rev;
    }

    /**
     * @param {import('./protocol.js').Run} run
     * @param {Item[]} [before] the outputs of the run that the page already had
     */
    #addRun(run, before = []) {
        /** @type {Run} */
        const own = { ...run, outputs: [], rev: this.rev, clearPending: false };
        for (const output of run.outputs) addOutput(own, output);
        own.outputs = own.outputs.map((item, i) => sameOr(item, before[i]));
        this.runs.set(run.exec_id, own);
        if (run.draft)
            (run.status === 'imported' ? this.importedOf : this.runOfDraft).set(run.draft, run.exec_id);
    }

    /**
     * @param {{on: string, removed: string[], put: {draft: Draft, after: string | null}[]}} event
     */
    #changeDrafts({ on, removed, put }) {
        const ids = [...removed, ...put.map(({ draft }) => draft.id)];
        const states = [...new Set([on, ...ids.flatMap((id) => this.stateOfDraft.get(id) ?? [])])];
        const waited = states.map((state) => this.waitingAt(state));
        this.#takeDrafts(ids);
        const drafts = [...this.draftsOn(on)];
        let last = -1;
        for (const { draft, after } of put) {
            if (drafts[last]?.id !== after)
                last = after === null ? -1 : drafts.findIndex(({ id }) => id === after);
            last += 1;
            drafts.splice(last, 0, draft);
            this.stateOfDraft.set(draft.id, on);
        }
        if (put.length) this.drafts.set(on, drafts);
        // The graph shows the number of drafts. It must not repaint for each typed letter.
        if (states.some((state, i) => this.waitingAt(state) !== waited[i])) this.marksRev = this.rev;
    }

    /** @param {string[]} ids */
    #takeDrafts(ids) {
        const taken = new Set(ids);
        const states = new Set(ids.flatMap((id) => this.stateOfDraft.get(id) ?? []));
        for (const id of ids) this.stateOfDraft.delete(id);
        for (const on of states) {
            const left = this.draftsOn(on).filter((draft) => !taken.has(draft.id));
            if (left.length) this.drafts.set(on, left);
            else this.drafts.delete(on);
        }
    }

    /** @param {import('../sweep/sweeps.js').SentSweep} sweep */
    #addSweep(sweep) {
        const own = { ...sweep, rows: sweep.rows.map((row) => ({ ...row, ends: [...(row.ends ?? [])] })) };
        this.sweeps.set(sweep.id, { ...own, number: 0, rev: this.rev, tally: tallyOf(own) });
        this.#numberSweeps();
        // The graph has the rows of a restored sweep already, as ordinary states.
        if (sweep.rows.some((_, row) => this.runs.has(runIdOf(sweep.id, row)))) this.shrunkRev = this.rev;
    }

    /** Numbers the sweeps in the order in which they began. */
    #numberSweeps() {
        let number = 0;
        for (const sweep of this.sweeps.values()) sweep.number = number += 1;
    }

    /**
     * @param {string} id
     * @param {(sweep: import('../sweep/sweeps.js').Sweep) => void} how
     */
    #changeSweep(id, how) {
        const sweep = this.sweeps.get(id);
        if (!sweep) return;
        sweep.rev = this.rev;
        how(sweep);
    }

    /** @param {string} id @param {(run: Run) => void} how */
    #change(id, how) {
        const run = this.runs.get(id);
        if (!run) return;
        run.rev = this.rev;
        how(run);
    }

    /** @param {{states: State[], runs: import('./protocol.js').Run[]}} event */
    #restore({ states, runs }) {
        this.shrunkRev = this.rev;
        for (const state of states) {
            const isHere = this.states.has(state.id);
            this.#putState(state);
            if (isHere || !state.parent) continue;
            const siblings = listAt(this.children, state.parent);
            const at = siblings.findIndex((id) => (this.states.get(id)?.created_at ?? 0) > state.created_at);
            siblings.splice(at < 0 ? siblings.length : at, 0, state.id);
        }
        for (const run of runs) this.#addRun(run);
    }

    /** @param {{states: string[], runs: string[]}} gone */
    #remove(gone) {
        this.shrunkRev = this.rev;
        for (const id of gone.states) {
            const parent = this.states.get(id)?.parent;
            if (parent)
                this.children.set(
                    parent,
                    (this.children.get(parent) ?? []).filter((child) => child !== id),
                );
            this.states.delete(id);
            this.replays.delete(id);
            this.unsaved.delete(id);
            this.children.delete(id);
            for (const draft of this.draftsOn(id)) this.stateOfDraft.delete(draft.id);
            this.drafts.delete(id);
        }
        for (const id of gone.runs) {
            const draft = this.runs.get(id)?.draft;
            for (const map of [this.runOfDraft, this.importedOf])
                if (draft && map.get(draft) === id) map.delete(draft);
            this.runs.delete(id);
        }
    }
}

/**
 * @template T
 * @param {Map<string, T[]>} lists
 * @param {string} key
 * @returns {T[]} the list under a key, created if missing
 */
function listAt(lists, key) {
    const found = lists.get(key) ?? [];
    lists.set(key, found);
    return found;
}

/**
 * Adds an output. Text of the same stream is appended to the last item, as on the server.
 * @param {Run} run
 * @param {import('./protocol.js').Output} output
 */
function addOutput(run, output) {
    if (run.clearPending) {
        run.outputs = [];
        run.clearPending = false;
    }
    const last = run.outputs.at(-1);
    if (output.output_type !== 'stream') {
        run.outputs.push({ ...output, key: nextKey() });
    } else if (last?.output_type === 'stream' && last.name === output.name) {
        last.pieces.push(output.text);
    } else {
        run.outputs.push({ key: nextKey(), output_type: 'stream', name: output.name, pieces: [output.text] });
    }
}

/**
 * Reuses the known item if the new one equals it or, for a stream, continues it. So a snapshot of
 * the same outputs repaints nothing: frames stay loaded and the scroll position holds.
 * @param {Item} item
 * @param {Item | undefined} known
 * @returns {Item}
 */
function sameOr(item, known) {
    if (!known || known.output_type !== item.output_type) return item;
    if (item.output_type !== 'stream' || known.output_type !== 'stream')
        return JSON.stringify({ ...item, key: 0 }) === JSON.stringify({ ...known, key: 0 }) ? known : item;
    const [text, before] = [item.pieces.join(''), known.pieces.join('')];
    if (item.name !== known.name || !text.startsWith(before)) return item;
    if (text !== before) known.pieces.push(text.slice(before.length));
    return known;
}

let keys = 0;
/** Keys are never reused, so that a cleared output is never mistaken for its successor. */
const nextKey = () => (keys += 1);

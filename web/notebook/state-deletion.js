// @ts-check
// Deletes states and failed attempts, with an undo. The command is sent only when the notice is
// gone, so that a quick undo keeps the states' processes. A later undo restores the states from the
// notebook's trash. No DOM; timers come from outside.

import { PRESENCE_WORDS as WORDS } from '../presence/presence-words.js';
import { hasEnded } from '../shell/protocol.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/protocol.js').Command} Command */
/**
 * @typedef {Extract<Command, {do: 'delete_state' | 'delete_branches' | 'drop_attempt'}>} Deleting
 * @typedef {{id: string, command: Deleting, to: string}} Deleted A deletion. `id`: of the first
 *   state or attempt; `to`: where the page goes.
 */

/** How long the undo is offered, in milliseconds. */
export const UNDO_MS = 8000;
/** Before deleting more states than this, the page asks. */
const MANY = 50;

export class Deletion {
    /**
     * @param {import('./page.js').Page} page
     * @param {import('./page.js').Host} host
     * @param {{setTimer: (what: () => void, ms: number) => unknown,
     *   clearTimer: (timer: any) => void}} time
     */
    constructor(page, host, time) {
        this.page = page;
        this.host = host;
        this.time = time;
        /** States and attempts shown as being deleted. @type {Set<string>} */
        this.pendingIds = new Set();
        /**
         * The command to send when the undo is no longer offered, the position to which an undo
         * returns, and the states that go with all below them.
         * @type {{command: Deleting, stood: string | null,
         *     firsts: string[], timer: unknown}
         *   | null}
         */
        this.pending = null;
        this.offer = { text: WORDS.undo, act: () => this.undo() };
        /**
         * Adds an undo step for the keyboard and the palette.
         * @type {(deleted: Deleted, said: string) => void}
         */
        this.onDeleted = () => {};
    }

    /**
     * Deletes a state, alone or with all its descendants.
     * @param {string} state
     * @param {boolean} subtree
     */
    async deleteState(state, subtree) {
        const parent = this.page.model.states.get(state)?.parent;
        if (parent) await this.#delete({ do: 'delete_state', state, subtree }, parent);
    }

    /**
     * Deletes branches and failed attempts as one deletion.
     * @param {{states: string[], attempts: string[]}} which the first states of the branches
     * @param {{kept: string, said: string}} how `kept`: the branch that the page goes to, unless it
     *   shows it; `said`: the notice
     */
    deleteBranches({ states, attempts }, { kept, said }) {
        return this.#delete({ do: 'delete_branches', states, attempts }, kept, said);
    }

    /** Deletes a failed attempt. @param {string} exec_id */
    forgetAttempt(exec_id) {
        if (!this.pendingIds.has(exec_id)) void this.#delete({ do: 'drop_attempt', exec_id }, this.page.here);
    }

    /**
     * Repeats a deletion that was undone.
     * @param {Deleted} deleted
     * @param {string} said
     * @returns {boolean} whether there is something to delete
     */
    again({ id, command, to }, said) {
        const { states, runs } = this.page.model;
        const isThere = (states.get(id)?.living ?? 'deleted') !== 'deleted' || runs.has(id);
        if (isThere && !this.pendingIds.has(id)) void this.#delete(command, to, said);
        return isThere;
    }

    /**
     * @param {Deleting} command
     * @param {string} to the state that a page goes to whose own is deleted; of branches, the state
     *   that is kept
     * @param {string} [said] the notice
     */
    async #delete(command, to, said) {
        const { model } = this.page;
        const firsts = firstsOf(command);
        if (firsts.length > 0 && !(await this.#confirm(idsOf(model, command)))) return;
        const ids = idsOf(model, command);
        const { here, attempt } = this.page;
        const left = [attempt, here].find((id) => id !== null && ids.includes(id));
        const areBranches = command.do === 'delete_branches';
        const isElsewhere = areBranches && !model.lineage(here).some(({ id }) => id === to);
        const stood = left ?? (isElsewhere ? (attempt ?? here) : null);
        const done = said ?? WORDS.deleted(...this.#counts(ids));
        this.#schedule(command, ids, { stood, firsts });
        if (stood) this.page.goTo(areBranches ? model.newestBelow(to) : to, true);
        this.onDeleted({ id: ids[0] ?? '', command, to }, done);
        this.page.notify(done, false, { act: this.offer });
    }

    /**
     * @param {Deleting} command
     * @param {string[]} ids
     * @param {{stood: string | null, firsts: string[]}} how
     */
    #schedule(command, ids, { stood, firsts }) {
        this.commit();
        this.pendingIds = new Set([...this.pendingIds, ...ids]);
        this.pending = { command, stood, firsts, timer: this.time.setTimer(() => this.commit(), UNDO_MS) };
        this.host.requestPaint();
    }

    /** @param {string[]} ids */
    async #confirm(ids) {
        const { model } = this.page;
        const running = model.openRuns().filter((run) => ids.includes(model.baseOf(run) ?? '')).length;
        if (ids.length <= MANY && !running) return true;
        return this.host.ask({
            title: WORDS.deleteAsk(...this.#counts(ids)),
            why: WORDS.deleteWhy(running),
            act: WORDS.deleteDo(...this.#counts(ids)),
            isBad: true,
        });
    }

    /**
     * The numbers of states and of failed attempts.
     * @param {string[]} ids
     * @returns {[number, number]}
     */
    #counts(ids) {
        const { states, runs } = this.page.model;
        const isState = (/** @type {string} */ id) => (states.get(id)?.living ?? 'deleted') !== 'deleted';
        const isAttempt = (/** @type {string} */ id) => hasEnded(runs.get(id)?.status ?? 'queued');
        return [ids.filter(isState).length, ids.filter(isAttempt).length];
    }

    /**
     * Whether a cell was run on what is to be deleted since the user decided it.
     * @param {string[]} firsts
     */
    #hasGrown(firsts) {
        const { model } = this.page;
        const ids = firsts.filter((id) => model.states.has(id));
        return allBelow(model, ids).some(
            (id) => !this.pendingIds.has(id) && !this.pendingIds.has(model.states.get(id)?.exec_id ?? ''),
        );
    }

    /**
     * Undoes the deletion of a state or attempt.
     * @param {string} id
     * @returns {'' | null} null if it is there already
     */
    undoOf(id) {
        const isPending = this.pendingIds.has(id);
        if (this.pending && isPending) {
            this.undo();
            return '';
        }
        const { model } = this.page;
        const state = model.states.get(id);
        if (!isPending && (state ? state.living !== 'deleted' : model.runs.has(id))) return null;
        void this.restore(id).then((isThere) => isThere && this.goBack(id));
        return '';
    }

    /**
     * Restores a state or failed attempt, with all that was deleted with it.
     * @param {string} id
     * @returns {Promise<boolean>} whether it is there again
     */
    async restore(id) {
        const reply = await this.host.send({ do: 'restore', deleted: id });
        const { states, runs } = this.page.model;
        const isThere = states.has(id) || runs.has(id);
        if (!isThere) this.page.reportRefusal(reply);
        return isThere;
    }

    /** Goes to the end of a restored branch. @param {string} id of a state; an attempt has none */
    goBack(id) {
        const { model } = this.page;
        if (model.states.has(id)) this.page.goTo(model.newestBelow(id));
    }

    /** Cancels the pending deletion. */
    undo() {
        const { pending } = this;
        if (!pending) return;
        this.time.clearTimer(pending.timer);
        this.pending = null;
        this.pendingIds = new Set();
        if (pending.stood) this.page.goTo(pending.stood, true);
        this.#dismissOffer();
        this.host.requestPaint();
    }

    /**
     * Sends the pending deletion: the time for the undo is over, another deletion begins, or the
     * page closes.
     */
    async commit() {
        const { pending } = this;
        if (!pending) return;
        this.time.clearTimer(pending.timer);
        this.pending = null;
        this.#dismissOffer();
        const ids = [...this.pendingIds];
        if (this.#hasGrown(pending.firsts)) {
            this.pendingIds = new Set();
            this.page.notify(WORDS.notDeleted, true);
            return;
        }
        const reply = await this.host.send(pending.command);
        // Another deletion may be pending by now.
        this.pendingIds = new Set([...this.pendingIds].filter((id) => !ids.includes(id)));
        const isGone = reply.kind === 'refused' && reply.code === 'not_found';
        if (!isGone) this.page.reportRefusal(reply);
        this.host.requestPaint();
    }

    #dismissOffer() {
        if (this.page.notice?.act === this.offer) this.page.dismissNotice();
    }
}

/**
 * The runs at states that have left no state: failed, open, or cancelled.
 * @param {Model} model
 * @param {string[]} ids of the states
 */
export function runsOn(model, ids) {
    const on = new Set(ids);
    return [...model.runs.values()].filter((run) => !run.state && on.has(model.baseOf(run) ?? ''));
}

/** The states that a command deletes with all below them. @param {Deleting} command */
function firstsOf(command) {
    if (command.do === 'delete_branches') return command.states;
    return command.do === 'delete_state' && command.subtree ? [command.state] : [];
}

/**
 * The ids of all states and attempts that a command deletes.
 * @param {Model} model
 * @param {Deleting} command
 */
function idsOf(model, command) {
    if (command.do === 'drop_attempt') return [command.exec_id];
    const below = allBelow(model, firstsOf(command));
    if (command.do === 'delete_branches') return [...below, ...(command.attempts ?? [])];
    if (below.length > 0) return below;
    // Without its subtree, cells that run on the state go on.
    const failed = runsOn(model, [command.state]).filter((run) => hasEnded(run.status));
    return [command.state, ...failed.map(({ exec_id }) => exec_id)];
}

/**
 * The ids of states, their descendants, and the runs there that have left no state.
 * @param {Model} model
 * @param {string[]} firsts
 */
function allBelow(model, firsts) {
    const states = firsts.flatMap((id) => subtreeOf(model, id));
    return [...states, ...runsOn(model, states).map(({ exec_id }) => exec_id)];
}

/**
 * A state and its descendants, parents first.
 * @param {Model} model
 * @param {string} id
 * @returns {string[]}
 */
export function subtreeOf(model, id) {
    const found = [id];
    for (const one of found) found.push(...(model.children.get(one) ?? []));
    return found;
}

/**
 * The number of descendants that still exist.
 * @param {Model} model
 * @param {string} id
 * @param {Set<string>} [going] states about to be deleted, which do not count
 */
export const countBelow = (model, id, going = new Set()) =>
    subtreeOf(model, id)
        .slice(1)
        .filter((one) => model.states.get(one)?.living !== 'deleted' && !going.has(one)).length;

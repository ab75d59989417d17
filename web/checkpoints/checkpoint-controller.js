// @ts-check
// The commands for the residency of states: pin, save, replay and trust. Also asks the user before
// a cell runs on a state that must be replayed. Uses no DOM: `host.ask` shows the dialogs.

import { cellsToReplay } from './residency.js';
import { bytes, firstLine } from '../text/format.js';
import { WORDS } from '../shell/words.js';

export class CheckpointController {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {import('../notebook/page.js').Host} host
     */
    constructor(page, host) {
        this.page = page;
        this.host = host;
        /**
         * The states for which this page sent a replay request that the server has not answered.
         * @type {Set<string>}
         */
        this.requested = new Set();
        /**
         * The states whose replay this page stopped. The server then refuses the request to replay,
         * and the page shows no error.
         * @type {Set<string>}
         */
        this.stopped = new Set();
    }

    /**
     * The progress of a state's replay; undefined if no replay is under way. `total` is 0 until the
     * server reports the number of cells.
     * @param {string} state
     * @returns {import('./residency.js').Progress | undefined}
     */
    progressOf(state) {
        return (
            this.page.model.replays.get(state) ??
            (this.requested.has(state) ? { done: 0, total: 0 } : undefined)
        );
    }

    /** Whether a state must be replayed before a cell can run on it. @param {string} state */
    needsReplay(state) {
        return this.page.model.states.get(state)?.living === 'replay';
    }

    /**
     * Calls `then`. If cells must be replayed first, calls `then` only if the user agrees.
     * @param {string | undefined} state
     * @param {() => void} then
     */
    async confirmReplay(state, then) {
        if (state !== undefined && this.needsReplay(state) && !this.progressOf(state)) {
            const cells = cellsToReplay(this.page.model, state);
            if (!(await this.#ask(cells, WORDS.replayFirst(cells.length), WORDS.replayRunDo))) return;
        }
        then();
    }

    /** @param {string} state */
    async replay(state) {
        const cells = cellsToReplay(this.page.model, state);
        if (
            cells.length &&
            !(await this.#ask(cells, WORDS.replayAsk(cells.length), WORDS.replayDo(cells.length)))
        )
            return;
        this.requested.add(state);
        // It may tell of an earlier replay that failed.
        if (this.page.notice?.isBad) this.page.dismissNotice();
        this.host.requestPaint();
        const reply = await this.host.send({ do: 'replay', state });
        this.requested.delete(state);
        this.page.model.replayEnded(state);
        if (this.stopped.delete(state) && reply.kind === 'refused')
            this.page.notify(WORDS.replayStopped, false);
        else this.page.reportRefusal(reply);
        this.host.requestPaint();
    }

    /** @param {string} state */
    async stopReplay(state) {
        if (this.requested.has(state)) this.stopped.add(state);
        this.page.reportRefusal(await this.host.send({ do: 'interrupt', exec_id: `replay:${state}` }));
    }

    /**
     * @param {import('../shell/protocol.js').State[]} cells
     * @param {string} title
     * @param {string} act
     */
    #ask(cells, title, act) {
        const [first] = cells;
        const line = firstLine((first && this.page.model.runOf(first)?.code) ?? '');
        return this.host.ask({ title, why: WORDS.replayWhy(cells.length, line), act });
    }

    /**
     * Makes a partial state from the variables that a failed cell set, and goes to that state.
     * @param {string} exec_id
     */
    async keepPartial(exec_id) {
        const { page } = this;
        page.ownRuns.follow(exec_id);
        const reply = await this.host.send({ do: 'keep_partial', exec_id });
        if (reply.kind === 'refused') page.ownRuns.forget(exec_id);
        page.reportRefusal(reply);
    }

    /** @param {string} state @param {boolean} pinned */
    async pin(state, pinned) {
        this.page.reportRefusal(await this.host.send({ do: 'pin', state, pinned }));
    }

    /** @param {string} state @param {boolean} anyway */
    async forkAnyway(state, anyway) {
        this.page.reportRefusal(await this.host.send({ do: 'fork_anyway', state, anyway }));
    }

    /** @param {string} state */
    async save(state) {
        const reply = await this.host.send({ do: 'checkpoint', state });
        if (reply.kind !== 'checkpointed') return this.page.reportRefusal(reply);
        const { compressed_size_bytes, missing } = reply.checkpoint;
        return this.page.notify(WORDS.savedNow(bytes(compressed_size_bytes), missing.length), false);
    }

    async trust() {
        if (
            !(await this.host.ask({
                title: WORDS.trustAsk,
                why: WORDS.trustWhy,
                act: WORDS.trustDo,
                isBad: true,
            }))
        )
            return;
        const reply = await this.host.send({ do: 'trust' });
        if (reply.kind === 'trusted') this.page.notify(WORDS.trusted(reply.count), false);
        else this.page.reportRefusal(reply);
    }
}

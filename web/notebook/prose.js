// @ts-check
// The texts above the code of states. A change shows at once. Until the server has answered it,
// events and snapshots from before it have older texts, which must not show again.

import { textPlace } from './cell-list.js';

/** @typedef {import('./page.js').Page} Page */

/** The delay before typing into a text above a cell is saved, in milliseconds. */
const WAIT_MS = 1000;

export class Prose {
    /** @type {unknown} */
    #timer = null;

    /**
     * @param {Page} page
     * @param {{setTimer: (what: () => void, ms: number) => unknown,
     *   clearTimer: (timer: any) => void}} time
     */
    constructor(page, time) {
        this.page = page;
        this.time = time;
        /**
         * By the state's id, its newest change that the server has not answered: the texts, the
         * server's texts before it, and those that the server has sent since, if any.
         * @type {Map<string, {prose: string[], before: string[], said: string[] | null}>}
         */
        this.unanswered = new Map();
    }

    /**
     * Replaces the texts above the code of a state.
     * @param {string} id
     * @param {string[]} prose
     */
    async set(id, prose) {
        const { page, unanswered } = this;
        const state = page.model.states.get(id);
        if (!state) return;
        const earlier = unanswered.get(id);
        const change = { prose, before: earlier?.said ?? earlier?.before ?? state.prose, said: null };
        unanswered.set(id, change);
        state.prose = prose;
        page.host.requestPaint();
        const reply = await page.host.send({ do: 'put_prose', state: id, prose });
        if (unanswered.get(id) === change) {
            unanswered.delete(id);
            const now = page.model.states.get(id);
            // Another person may have changed the texts after this change.
            if (now) now.prose = change.said ?? (reply.kind === 'refused' ? change.before : prose);
            page.host.requestPaint();
        }
        page.reportRefusal(reply);
    }

    /** Saves what is being typed, after a while. */
    saveSoon() {
        this.#timer ??= this.time.setTimer(() => this.saveTyped(), WAIT_MS);
    }

    /** Saves what is being typed. */
    saveTyped() {
        const { model, textEdits } = this.page;
        this.time.clearTimer(this.#timer);
        this.#timer = null;
        for (const [key, edit] of textEdits) {
            const { state, index } = textPlace(key);
            const prose = model.states.get(state)?.prose ?? [];
            if (!isUnsaved(edit) || index >= prose.length) continue;
            edit.was = edit.text;
            void this.set(state, prose.with(index, edit.text));
        }
        this.page.saveTabState();
    }

    /** Whether typing is not sent yet. */
    get isBehind() {
        return [...this.page.textEdits.values()].some(isUnsaved);
    }

    /**
     * Called before an event is applied. Returns the event with the texts that are to show.
     * @param {import('../shell/protocol.js').Event} event
     */
    inEvent(event) {
        if (event.event !== 'state_changed') return event;
        const change = this.unanswered.get(event.state.id);
        if (!change) return event;
        change.said = event.state.prose;
        return { ...event, state: { ...event.state, prose: change.prose } };
    }

    /** Called after a snapshot was loaded. */
    onSnapshot() {
        for (const [id, change] of this.unanswered) {
            const state = this.page.model.states.get(id);
            if (!state) continue;
            change.said = state.prose;
            state.prose = change.prose;
        }
    }
}

/**
 * Whether a text that is being typed must be saved. An empty one needs no saving: it is deleted
 * when the user leaves its cell.
 * @param {{was: string, text: string}} edit
 */
const isUnsaved = ({ was, text }) => text !== was && text.trim() !== '';

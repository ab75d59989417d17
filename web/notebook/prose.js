// @ts-check
// The texts above the code of states. A change shows at once. Until the server has answered it,
// events and snapshots from before it have older texts, which must not show again.

/** @typedef {import('./page.js').Page} Page */

export class Prose {
    /** @param {Page} page */
    constructor(page) {
        this.page = page;
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

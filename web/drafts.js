// @ts-check
// Drafts as the user sees them: the server's, with what was typed here and is not there yet laid over them.
//
// Typing is sent after a pause, one message per draft at a time; the echo of our own typing never touches an editor,
// and what another tab typed wins as soon as we have nothing unsent. No DOM; time comes in as `later`.

/** @typedef {import('./protocol.js').Draft} Draft */

/** How long typing must rest before it is sent, in milliseconds. */
const REST_MS = 300;

/**
 * @typedef {object} Local
 * @property {Draft} draft as it stands here
 * @property {string | null} after the draft behind which it was made
 * @property {boolean} unsent
 * @property {boolean} sending
 * @property {unknown} timer
 */

export class Drafts {
    /**
     * @param {import('./model.js').Model} model
     * @param {(command: import('./protocol.js').Command) => Promise<import('./protocol.js').Reply>} send
     * @param {{changed: () => void, refused: (reply: import('./protocol.js').Reply) => void,
     *   later: (what: () => void, ms: number) => unknown, notLater: (timer: any) => void}} around
     */
    constructor(model, send, around) {
        this.model = model;
        this.send = send;
        this.around = around;
        /** @type {Map<string, Local>} */
        this.local = new Map();
    }

    /** The drafts on a state, in order, as this page shows them. @param {string} state @returns {Draft[]} */
    on(state) {
        const drafts = this.model.draftsOn(state).map((draft) => {
            const local = this.local.get(draft.id);
            return local ? { ...draft, source: local.draft.source, kind: local.draft.kind } : draft;
        });
        for (const { draft, after } of this.local.values()) {
            if (draft.on !== state || this.#known(draft.id)) continue;
            const behind = drafts.findIndex((other) => other.id === after);
            drafts.splice(after === null ? 0 : behind < 0 ? drafts.length : behind + 1, 0, draft);
        }
        return drafts;
    }

    /** A draft by id, as this page shows it. @param {string} id @returns {Draft | undefined} */
    get(id) {
        const known = this.#known(id);
        return this.on(known?.on ?? this.local.get(id)?.draft.on ?? '').find((draft) => draft.id === id);
    }

    /** Makes a draft, or changes one. @param {Draft} draft @param {string | null} [after] where a new one is to stand */
    put(draft, after = null) {
        const local = this.local.get(draft.id) ?? { draft, after, unsent: true, sending: false, timer: null };
        local.draft = { ...draft };
        local.unsent = true;
        this.around.notLater(local.timer);
        local.timer = this.around.later(() => this.flush(draft.id), REST_MS);
        this.local.set(draft.id, local);
        this.around.changed();
    }

    /** Sends now what was typed. @param {string} id */
    flush(id) {
        const local = this.local.get(id);
        if (!local || !local.unsent || local.sending) return;
        this.around.notLater(local.timer);
        local.unsent = false;
        local.sending = true;
        const known = this.#known(id);
        // A run may have moved it on to the next state meanwhile.
        const draft = { ...local.draft, on: known?.on ?? local.draft.on };
        this.send({ do: 'put_draft', draft, after: local.after, in_place: known !== undefined }).then((reply) => {
            local.sending = false;
            this.around.refused(reply);
            if (local.unsent) this.flush(id);
            else if (this.local.get(id) === local) this.local.delete(id);
            this.around.changed();
        });
    }

    /** Sends all that was typed; the page may be going. */
    flushAll() {
        for (const id of this.local.keys()) this.flush(id);
    }

    /** Throws a draft away. @param {string} id */
    remove(id) {
        this.forget(id);
        if (this.#known(id)) this.send({ do: 'delete_draft', draft: id }).then((reply) => this.around.refused(reply));
        this.around.changed();
    }

    /** It has become a state: there is nothing left to send. @param {string} id */
    forget(id) {
        const local = this.local.get(id);
        if (!local) return;
        this.around.notLater(local.timer);
        local.unsent = false;
        this.local.delete(id);
    }

    /** Drafts that were made here and that the server has not seen yet move with the page. @param {string} from @param {string} to */
    follow(from, to) {
        for (const [id, local] of this.local) {
            if (local.draft.on !== from || this.#known(id)) continue;
            local.draft.on = to;
            local.unsent = true;
            this.flush(id);
        }
    }

    /** The server's record of a draft. @param {string} id @returns {Draft | undefined} */
    #known(id) {
        for (const drafts of this.model.drafts.values()) {
            const found = drafts.find((draft) => draft.id === id);
            if (found) return found;
        }
        return undefined;
    }
}

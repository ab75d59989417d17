// @ts-check
// Drafts as the user sees them: the server's, with what was typed here and is not there yet laid over them.
//
// Typing is sent a moment after it began, one message per draft at a time; the echo of our own typing never touches an
// editor. What another tab typed into the same draft meanwhile is laid together with ours, or, where both changed the same
// place, kept in a draft of its own: the server keeps the last text it was sent, so who was last sees to it. No DOM; time
// comes in as `later`.

import { newId } from './text/format.js';
import { merge } from './text/merge.js';

/** @typedef {import('./protocol.js').Draft} Draft */

/** How long what was typed may wait for more before it is sent, in milliseconds. */
const WAIT_MS = 300;

/**
 * @typedef {object} Local
 * @property {Draft} draft as it stands here
 * @property {string | null} after the draft behind which it was made
 * @property {string | null} base the server's text that ours grew from; null when it had none
 * @property {string[]} sent the texts that are under way, until the server tells of them
 * @property {boolean} unsent
 * @property {number} sending messages that are not answered yet
 * @property {unknown} timer
 */

export class Drafts {
    /**
     * @param {import('./model.js').Model} model
     * @param {(command: import('./protocol.js').Command) => Promise<import('./protocol.js').Reply>} send
     * @param {{changed: () => void, refused: (reply: import('./protocol.js').Reply) => void, kept: () => void,
     *   later: (what: () => void, ms: number) => unknown, notLater: (timer: any) => void}} around
     */
    constructor(model, send, around) {
        this.model = model;
        this.send = send;
        this.around = around;
        /** @type {Map<string, Local>} */
        this.local = new Map();
        /** Drafts that were thrown away here, until the server says so too. @type {Set<string>} */
        this.gone = new Set();
        /** Where another's text was put that met ours. @type {Map<string, string>} */
        this.copies = new Map();
    }

    /** The drafts on a state, in order, as this page shows them. @param {string} state @returns {Draft[]} */
    on(state) {
        const drafts = this.model.draftsOn(state).filter((draft) => !this.gone.has(draft.id)).map((draft) => {
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

    /** @param {string} state @returns {string | null} the last draft on a state */
    lastOn(state) {
        return this.on(state).at(-1)?.id ?? null;
    }

    /** @param {Draft} draft @returns {string | null} the draft above it on the same state */
    before({ id, on }) {
        const drafts = this.on(on);
        return drafts[drafts.findIndex((other) => other.id === id) - 1]?.id ?? null;
    }

    /** Makes a draft and tells of it at once. @param {Draft} draft @param {string | null} after @returns {string} its id */
    add(draft, after) {
        this.put(draft, after);
        this.flush(draft.id);
        return draft.id;
    }

    /** Makes a draft, or changes one. @param {Draft} draft @param {string | null} [after] where a new one is to stand */
    put(draft, after = null) {
        this.gone.delete(draft.id);
        const base = this.#known(draft.id)?.source ?? null;
        const local = this.local.get(draft.id) ?? { draft, after, base, sent: [], unsent: true, sending: 0, timer: null };
        local.draft = { ...draft };
        local.unsent = true;
        local.timer ??= this.around.later(() => this.flush(draft.id), WAIT_MS);
        this.local.set(draft.id, local);
        this.around.changed();
    }

    /** Sends now what was typed, unless something is under way. @param {string} id @param {boolean} [anyway] even then */
    flush(id, anyway = false) {
        const local = this.local.get(id);
        if (!local) return;
        this.around.notLater(local.timer);
        local.timer = null;
        if (!local.unsent || (local.sending && !anyway)) return;
        local.unsent = false;
        local.sending += 1;
        local.sent.push(local.draft.source);
        const known = this.#known(id);
        // A run may have moved it on to the next state meanwhile.
        const draft = { ...local.draft, on: known?.on ?? local.draft.on };
        this.send({ do: 'put_draft', draft, after: local.after, in_place: known !== undefined }).then((reply) => {
            local.sending -= 1;
            if (local.sent.includes(draft.source)) this.#arrived(local, draft.source, reply.kind === 'refused' ? local.base : draft.source);
            this.around.refused(reply);
            if (local.sending) return;
            if (local.unsent) this.flush(id);
            else if (this.local.get(id) === local) this.local.delete(id);
            this.around.changed();
        });
    }

    /** What we sent is there, and all that was sent before it. @param {Local} local @param {string} text @param {string | null} base */
    #arrived(local, text, base) {
        local.sent.splice(0, local.sent.indexOf(text) + 1);
        local.base = base;
    }

    /** The server tells what hangs on a state now; the model does not know it yet. @param {string} on @param {Draft[]} drafts */
    hear(on, drafts) {
        for (const { id } of this.model.draftsOn(on)) if (!drafts.some((draft) => draft.id === id)) this.gone.delete(id);
        for (const theirs of drafts) {
            const local = this.local.get(theirs.id);
            if (!local || theirs.source === local.base) continue;
            const base = local.base ?? '';
            local.base = theirs.source;
            if (local.sent.includes(theirs.source)) this.#arrived(local, theirs.source, theirs.source);
            else this.#meet(local, base, theirs);
        }
    }

    /** Another tab changed a draft that we are changing. @param {Local} local @param {string} base @param {Draft} theirs */
    #meet(local, base, theirs) {
        const mine = local.draft;
        const merged = merge(base, mine.source, theirs.source);
        if (merged !== null) this.put({ ...mine, source: merged });
        else if (!mine.source.includes(theirs.source.trim())) this.#keep(theirs);
    }

    /** Puts another's text below ours; more of it goes to the same place. @param {Draft} theirs */
    #keep({ id, on, kind, source }) {
        const known = this.copies.get(id);
        const copy = known !== undefined && this.get(known) ? known : newId();
        this.copies.set(id, copy);
        this.put({ id: copy, on, kind, source }, id);
        this.flush(copy);
        this.around.kept();
    }

    /** The notebook was replaced: what was typed and hangs on nothing now hangs where we stand. @param {string} on */
    rescue(on) {
        this.gone.clear();
        for (const local of this.local.values()) {
            if (this.model.states.has(local.draft.on) || !local.draft.source.trim()) continue;
            Object.assign(local, { base: null, after: null, draft: { ...local.draft, on } });
            local.unsent = true;
            this.flush(local.draft.id);
        }
    }

    /** Sends all that was typed, before something that builds on it, or when the page may be going. */
    flushAll() {
        for (const id of this.local.keys()) this.flush(id, true);
    }

    /** Throws a draft away. @param {string} id */
    remove(id) {
        const isOnItsWay = this.local.get(id)?.sending;
        this.forget(id);
        if (this.#known(id) || isOnItsWay) {
            this.gone.add(id);
            this.send({ do: 'delete_draft', draft: id }).then((reply) => {
                if (reply.kind === 'refused') this.gone.delete(id);
                this.around.refused(reply);
            });
        }
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

    /**
     * Drafts that were made here and that the server has not seen yet move with the page. One that was asked to run is
     * moved by the server: sent again, it might come back when it has become a state.
     * @param {string} from @param {string} to @param {(id: string) => boolean} isAsked
     */
    follow(from, to, isAsked) {
        for (const [id, local] of this.local) {
            if (local.draft.on !== from || this.#known(id) || isAsked(id)) continue;
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

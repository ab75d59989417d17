// @ts-check
// Drafts as the user sees them: the server's, with what was typed here and is not there yet laid
// over them.
//
// Typing is sent a moment after it began, one message per draft at a time, with the version that it
// grew from; the echo of our own typing never touches an editor. When another tab was first, its
// text is laid together with ours and the result goes out: every tab comes to the server's last
// text, and nobody's typing is lost on the way. No DOM; time comes in as `later`.

import { difference } from '../text/format.js';
import { edits, merge, offsetAfter } from '../text/merge.js';

/** @typedef {import('../shell/protocol.js').Draft} Draft */

/** How long what was typed may wait for more before it is sent, in milliseconds. */
const WAIT_MS = 300;

/**
 * @typedef {object} Local
 * @property {Draft} draft as it stands here
 * @property {string | null} after the draft behind which it was made
 * @property {Base | null} base what the server has, and ours grew from; null when it has none
 * @property {{kind: Draft['kind'], source: string, end: number} | null} sent what is under way,
 *   until the server tells of it
 * @property {number} end where our typing has come to
 * @property {boolean} unsent
 * @property {number} sending messages that are not answered yet
 * @property {unknown} timer
 */
/** @typedef {{version: number, kind: Draft['kind'], source: string}} Base */

export class Drafts {
    /**
     * @param {import('../shell/model.js').Model} model
     * @param {(command: import('../shell/protocol.js').Command) =>
     *   Promise<import('../shell/protocol.js').Reply>} send
     * @param {{changed: () => void, refused: (reply: import('../shell/protocol.js').Reply) => void,
     *   orphaned: (draft: Draft) => void, setTimer: (what: () => void, ms: number) => unknown,
     *   clearTimer: (timer: any) => void}} host `orphaned`: what was typed into a draft that cannot
     *   be made again
     */
    constructor(model, send, host) {
        this.model = model;
        this.send = send;
        this.host = host;
        /** @type {Map<string, Local>} */
        this.local = new Map();
        /** Drafts that were thrown away here, until the server says so too. @type {Set<string>} */
        this.gone = new Set();
        /**
         * Where our typing has come to in drafts of which the server has all.
         * @type {Map<string, number>}
         */
        this.ends = new Map();
        /**
         * Kept when the last of what was typed is sent, for all who wait for that, in their order.
         * @type {{done: () => void, kept: Promise<void>} | null}
         */
        this.behind = null;
    }

    /**
     * The drafts at one place, in order, as this page shows them: above the cell of a child of a
     * state, or at the end of the line to it.
     * @param {string} state
     * @param {string | null} [before]
     * @returns {Draft[]}
     */
    on(state, before = null) {
        return this.#allOn(state).filter((draft) => this.model.childBelow(draft) === before);
    }

    /** @param {string} state @returns {Draft[]} */
    #allOn(state) {
        const drafts = this.model
            .draftsOn(state)
            .filter((draft) => !this.gone.has(draft.id))
            .map((draft) => {
                const local = this.local.get(draft.id);
                return local ? { ...draft, source: local.draft.source, kind: local.draft.kind } : draft;
            });
        for (const { draft, after } of this.local.values()) {
            if (draft.on !== state || this.model.draft(draft.id)) continue;
            const behind = drafts.findIndex((other) => other.id === after);
            drafts.splice(after === null ? 0 : behind < 0 ? drafts.length : behind + 1, 0, draft);
        }
        return drafts;
    }

    /** A draft by id, as this page shows it. @param {string} id @returns {Draft | undefined} */
    get(id) {
        const known = this.model.draft(id);
        return this.#allOn(known?.on ?? this.local.get(id)?.draft.on ?? '').find((draft) => draft.id === id);
    }

    /**
     * A draft as it is now; who holds one has it as it was painted.
     * @param {Draft} draft
     * @returns {Draft}
     */
    now(draft) {
        return this.get(draft.id) ?? draft;
    }

    /**
     * The drafts at the place of one, itself among them.
     * @param {Draft} draft
     * @returns {Draft[]}
     */
    beside(draft) {
        return this.on(draft.on, this.model.childBelow(draft));
    }

    /**
     * @param {string} state
     * @param {string | null} [before]
     * @returns {string | null} the last draft at a place
     */
    lastOn(state, before = null) {
        return this.on(state, before).at(-1)?.id ?? null;
    }

    /** @param {Draft} draft @returns {string | null} the draft above it at the same place */
    before(draft) {
        const drafts = this.beside(draft);
        return drafts[drafts.findIndex(({ id }) => id === draft.id) - 1]?.id ?? null;
    }

    /**
     * Makes a draft and tells of it at once.
     * @param {Draft} draft
     * @param {string | null} after
     * @returns {string} its id
     */
    add(draft, after) {
        this.put(draft, after);
        this.flush(draft.id);
        return draft.id;
    }

    /**
     * Makes a draft, or changes one.
     * @param {Draft} draft
     * @param {string | null} [after] where a new one is to stand
     * @param {string} [before] what the editor read before; another's text may have come that it
     *   does not show yet
     */
    put(draft, after = null, before) {
        this.gone.delete(draft.id);
        const local = this.local.get(draft.id) ?? this.#begin(draft, after);
        const now = local.draft.source;
        // The cursor stands before what has come in at its place, as it would if the editor showed
        // it.
        const source =
            before === undefined || before === now
                ? draft.source
                : merge(before, draft.source, now, difference(before, draft.source).from);
        const { from, insert } = difference(now, source);
        if (source !== now) local.end = from + insert.length;
        local.draft = { ...draft, source };
        this.#send(local);
        this.host.changed();
    }

    /** @param {Draft} draft @param {string | null} after @returns {Local} */
    #begin(draft, after) {
        const known = this.model.draft(draft.id);
        const local = {
            draft: known ?? { ...draft, source: '' },
            after,
            base: known ? baseOf(known) : null,
            sent: null,
            end: this.ends.get(draft.id) ?? -1,
            unsent: true,
            sending: 0,
            timer: null,
        };
        this.local.set(draft.id, local);
        return local;
    }

    /** Has what a draft reads now sent soon. @param {Local} local */
    #send(local) {
        local.unsent = true;
        local.timer ??= this.host.setTimer(() => this.flush(local.draft.id), WAIT_MS);
    }

    /**
     * Sends now what was typed, unless something is under way.
     * @param {string} id
     * @param {boolean} [anyway] even then
     */
    flush(id, anyway = false) {
        const local = this.local.get(id);
        if (!local) return;
        this.host.clearTimer(local.timer);
        local.timer = null;
        if (!local.unsent || (local.sending && !anyway)) return;
        local.unsent = false;
        if (local.base && isSame(local.draft, local.base) && !local.sending) return this.#settle(local);
        const base = (local.base?.version ?? 0) + (local.sent ? 1 : 0);
        local.sending += 1;
        local.sent = { kind: local.draft.kind, source: local.draft.source, end: local.end };
        const { sent } = local;
        const known = this.model.draft(id);
        // A run may have moved it on to the next state meanwhile.
        const draft = { ...(known ?? local.draft), kind: local.draft.kind, source: local.draft.source };
        this.send({ do: 'put_draft', draft, after: local.after, in_place: known !== undefined, base }).then(
            (reply) => {
                local.sending -= 1;
                if (local.sent === sent) local.sent = null;
                if (this.local.get(id) === local)
                    this.#answered(local, reply, { version: base + 1, ...sent });
                this.#caughtUp();
                this.host.changed();
            },
        );
    }

    /**
     * Waits until the last of what was typed is sent; null where there is nothing to wait for.
     * @returns {Promise<void> | null}
     */
    allSent() {
        if (!this.#isBehind()) return null;
        if (!this.behind) {
            let done = () => {};
            const kept = /** @type {Promise<void>} */ (new Promise((resolve) => (done = resolve)));
            this.behind = { done, kept };
        }
        return this.behind.kept;
    }

    #caughtUp() {
        if (this.#isBehind()) return;
        this.behind?.done();
        this.behind = null;
    }

    /** Whether something waits for the answer to what was sent before it. */
    #isBehind() {
        return [...this.local.values()].some(({ unsent, sending }) => unsent && sending > 0);
    }

    /**
     * @param {Local} local
     * @param {import('../shell/protocol.js').Reply} reply
     * @param {Base & {end: number}} sent what it is the reply to
     */
    #answered(local, reply, sent) {
        const { id } = local.draft;
        const known = this.model.draft(id);
        if (reply.kind === 'refused' && reply.code === 'conflict') {
            const { base } = local;
            if (known) this.#meet(local, known);
            local.unsent = true;
            // What it has grown to has not been heard of yet: not at once again.
            if (local.base === base && base?.version === sent.version - 1) return this.#send(local);
        } else if (reply.kind === 'refused' && reply.code === 'not_found') {
            // Thrown away by somebody while we typed: it is made again, unless there is no place
            // for it.
            const isNew = local.base === null || known !== undefined;
            if (isNew) return this.#orphan(local);
            local.base = null;
            local.unsent = true;
        } else if (reply.kind === 'refused' && reply.code !== 'disk') {
            // What cannot be kept as it is stays here, and is tried again when more is typed.
            local.unsent = true;
            return this.host.refused(reply);
        } else {
            // Where no event told of it: nothing has changed, or it was told before the page was
            // loaded anew.
            if (local.base === null)
                local.base = { version: sent.version, kind: sent.kind, source: sent.source };
            this.host.refused(reply);
        }
        if (local.sending) return undefined;
        if (local.unsent) return this.flush(id);
        return this.#settle(local);
    }

    /** The server has all of it. @param {Local} local */
    #settle(local) {
        this.ends.set(local.draft.id, local.end);
        if (this.local.get(local.draft.id) === local) this.local.delete(local.draft.id);
    }

    /** It has become a state, or where it hung is gone. @param {Local} local */
    #orphan(local) {
        this.forget(local.draft.id);
        this.host.orphaned(local.draft);
    }

    /**
     * The server tells of drafts that have changed; the model does not know it yet.
     * @param {{removed: string[], put: {draft: Draft}[]}} event
     */
    applyServerDrafts({ removed, put }) {
        for (const id of removed) this.gone.delete(id);
        for (const { draft: theirs } of put) {
            const local = this.local.get(theirs.id);
            if (local) this.#meet(local, theirs);
            else this.#moveEnd(theirs);
        }
    }

    /** Where our typing has come to moves with the text. @param {Draft} theirs */
    #moveEnd(theirs) {
        const end = this.ends.get(theirs.id);
        const before = this.model.draft(theirs.id);
        if (end !== undefined && before && before.source !== theirs.source)
            this.ends.set(theirs.id, offsetAfter(end, edits(before.source, theirs.source)));
    }

    /**
     * What the server has of a draft that is being changed here: our own text, or another's to be
     * laid together with ours.
     * @param {Local} local
     * @param {Draft} theirs
     */
    #meet(local, theirs) {
        const { base, sent, draft } = local;
        const now = baseOf(theirs);
        if (base && base.version === now.version && isSame(base, now)) return;
        local.base = now;
        if (sent && isSame(sent, now)) {
            this.ends.set(draft.id, sent.end);
            local.sent = null;
            return;
        }
        const before = base ?? { kind: draft.kind, source: '' };
        // In the text that the server had our typing ended where the last that it took ended.
        const held = base ? (this.ends.get(draft.id) ?? -1) : -1;
        const source = merge(before.source, draft.source, now.source, held);
        const kind = draft.kind === before.kind ? now.kind : draft.kind;
        local.end = offsetAfter(local.end, edits(draft.source, source));
        this.ends.set(draft.id, offsetAfter(held, edits(before.source, now.source)));
        local.draft = { ...draft, kind, source };
        if (isSame(local.draft, now)) local.unsent = false;
        else this.#send(local);
    }

    /**
     * The notebook was replaced: what was typed is laid over what it has now; what hangs on nothing
     * now hangs where we stand.
     * @param {string} on
     */
    rescue(on) {
        this.gone.clear();
        for (const local of this.local.values()) {
            const known = this.model.draft(local.draft.id);
            if (known) this.#meetAgain(local, known);
            else if (this.model.states.has(local.draft.on)) local.base = null;
            else if (local.draft.source.trim()) {
                Object.assign(local, {
                    base: null,
                    after: null,
                    draft: { ...local.draft, on, before: null },
                });
                local.unsent = true;
                this.flush(local.draft.id);
            }
        }
    }

    /**
     * What happened to a draft in between is not known.
     * @param {Local} local
     * @param {Draft} known
     */
    #meetAgain(local, known) {
        const { base, sent } = local;
        // The server has lost what it took last: ours has it all.
        if (base && known.version !== undefined && known.version < base.version)
            local.base = { ...base, ...baseOf(known) };
        // It has taken what was under way, and another's text since.
        else if (
            sent &&
            known.version !== base?.version &&
            edits(base?.source ?? '', sent.source).every(({ insert }) => known.source.includes(insert))
        )
            local.base = { version: -1, kind: sent.kind, source: sent.source };
        this.#meet(local, known);
        if (!isSame(local.draft, known)) this.#send(local);
    }

    /**
     * Sends all that was typed, before something that builds on it.
     * @param {boolean} [isLast] the page may be going: even behind what is under way
     */
    flushAll(isLast = false) {
        for (const id of [...this.local.keys()]) this.flush(id, isLast);
    }

    /** Throws a draft away. @param {string} id */
    remove(id) {
        const isOnItsWay = this.local.get(id)?.sending;
        this.forget(id);
        if (this.model.draft(id) || isOnItsWay) {
            this.gone.add(id);
            this.send({ do: 'delete_draft', draft: id }).then((reply) => {
                if (reply.kind === 'refused') this.gone.delete(id);
                this.host.refused(reply);
            });
        }
        this.host.changed();
    }

    /** It has become a state: there is nothing left to send. @param {string} id */
    forget(id) {
        const local = this.local.get(id);
        if (!local) return;
        this.host.clearTimer(local.timer);
        local.unsent = false;
        this.local.delete(id);
    }

    /**
     * Drafts that were made here and that the server has not seen yet move with the page. One that
     * was asked to run is moved by the server: sent again, it might come back when it has become a
     * state.
     * @param {string} from
     * @param {string} to
     * @param {(id: string) => boolean} isAsked
     */
    follow(from, to, isAsked) {
        for (const [id, local] of this.local) {
            if (local.draft.on !== from || this.model.draft(id) || isAsked(id)) continue;
            Object.assign(local.draft, { on: to, before: null });
            local.unsent = true;
            this.flush(id);
        }
    }
}

/** @param {Draft} draft @returns {Base} */
const baseOf = ({ version = 0, kind, source }) => ({ version, kind, source });

/** @param {{kind: string, source: string}} one @param {{kind: string, source: string}} other */
const isSame = (one, other) => one.source === other.source && one.kind === other.kind;

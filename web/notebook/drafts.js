// @ts-check
// Drafts as the user sees them: the server's drafts plus local typing that the server does not
// have yet.
//
// Typing is sent after a short delay: one message per draft at a time, with the text, the version
// that it is based on, and the changes since that version (shared-text.js). The echo of our own
// typing never touches an editor. If another tab was first, the server refuses our message; our
// changes are rebased and sent again. So all tabs converge to the server's text. No DOM; the host
// provides `setTimer`.

import { changesBetween, claimedChanges } from '../text/changes.js';
import { newId } from '../text/format.js';
import { SharedText } from './shared-text.js';

/** @typedef {import('../shell/protocol.js').Command} Command */
/** @typedef {import('../shell/protocol.js').Draft} Draft */
/** @typedef {import('../shell/protocol.js').Reply} Reply */
/** @typedef {import('../shell/protocol.js').PlacedDraft} PlacedDraft */
/** @typedef {import('../shell/protocol.js').Caret} Caret */
/** @typedef {{anchor: number, head: number}} Selection */
/** @typedef {import('../text/changes.js').Changes} Changes */

/** The delay before typing is sent, in milliseconds. */
const WAIT_MS = 300;

/**
 * @typedef {{number: number, kind: Draft['kind'], base: number, isEmpty: boolean}} Message
 *   `number`: 1, 2, 3, …; the server reports the last one that it has
 */
/**
 * @typedef {object} Local A draft with local typing.
 * @property {Draft} draft as shown here; its source is that of `text`
 * @property {string | null} after the draft below which it was created
 * @property {SharedText} text
 * @property {Draft['kind']} kind the kind on the server
 * @property {Message[]} sent the unconfirmed messages, one for each of `text.sent`
 * @property {number} arrived the number of the last message that the server has
 * @property {boolean} recovers whether the typing to be sent may contain what other clients typed:
 *   the server lost it in a crash, and they send it again too
 * @property {boolean} unsent whether typing or a change of kind is not sent yet
 * @property {number} sending the number of unanswered messages
 * @property {unknown} timer
 */

export class Drafts {
    /**
     * @param {import('../shell/model.js').Model} model
     * @param {(command: Command) => Promise<Reply>} send
     * @param {{requestPaint: () => void,
     *   refused: (reply: import('../shell/protocol.js').Reply) => void,
     *   orphaned: (draft: Draft) => void, received?: (draft: string, changes: Changes,
     *   before: string) => void, setTimer: (what: () => void, ms: number) => unknown,
     *   clearTimer: (timer: any) => void}} host `orphaned`: typing into a draft that cannot be
     *   created again; `received`: a change from the server, and the text before that change
     */
    constructor(model, send, host) {
        this.model = model;
        this.send = send;
        this.host = host;
        /** @type {Map<string, Local>} */
        this.local = new Map();
        /** Drafts deleted here, until the server confirms the deletion. @type {Set<string>} */
        this.gone = new Set();
        /**
         * The offset at which our typing ended, for drafts without unconfirmed changes.
         * @type {Map<string, number>}
         */
        this.ends = new Map();
        /** Identifies our own changes among those that the server sends. */
        this.client = newId();
        /**
         * The promise that all callers of `allSent` share while they wait.
         * @type {{done: () => void, kept: Promise<void>} | null}
         */
        this.behind = null;
    }

    /**
     * The drafts at one position, in order, as this page shows them: above the cell of the child
     * `before` of a state, or at the end of the state's lineage. Without edits of cells that ran.
     * @param {string} state
     * @param {string | null} [before]
     * @returns {Draft[]}
     */
    on(state, before = null) {
        const isThere = (/** @type {Draft} */ draft) =>
            !draft.instead_of && this.model.childBelow(draft) === before;
        return this.#allOn(state).filter(isThere);
    }

    /**
     * The changed code of a state's cell, if it was changed.
     * @param {import('../shell/protocol.js').State} state
     * @returns {Draft | undefined}
     */
    editOf({ id, parent }) {
        return this.#allOn(parent ?? '').find(({ instead_of }) => instead_of === id);
    }

    /** The changed code of cells, by their states. @returns {Map<string, Draft>} */
    edits() {
        const all = this.#states().flatMap((state) => this.#allOn(state));
        // Of several, the first counts, as in `editOf`.
        return new Map(
            all.toReversed().flatMap((draft) => (draft.instead_of ? [[draft.instead_of, draft]] : [])),
        );
    }

    /** The states that have drafts. */
    #states() {
        const local = [...this.local.values()].map(({ draft }) => draft.on);
        return [...new Set([...this.model.drafts.keys(), ...local])];
    }

    /** @param {string} state @returns {Draft[]} */
    #allOn(state) {
        const drafts = this.model
            .draftsOn(state)
            .filter((draft) => !this.gone.has(draft.id))
            .map((draft) => {
                const local = this.local.get(draft.id);
                if (!local) return draft;
                return { ...draft, source: local.draft.source, kind: local.draft.kind };
            });
        for (const { draft, after } of this.local.values()) {
            if (draft.on !== state || this.model.draft(draft.id)) continue;
            const behind = drafts.findIndex((other) => other.id === after);
            drafts.splice(after === null ? 0 : behind < 0 ? drafts.length : behind + 1, 0, draft);
        }
        return drafts;
    }

    /**
     * All drafts as this page shows them, by id, each with the draft above it at its position.
     * @returns {Map<string, {draft: Draft, after: string | null}>}
     */
    placed() {
        const found = new Map();
        for (const state of this.#states()) {
            /** The last draft so far at each position. @type {Map<string | null, string>} */
            const last = new Map();
            for (const draft of this.#allOn(state)) {
                const before = this.model.childBelow(draft);
                found.set(draft.id, { draft: { ...draft }, after: last.get(before) ?? null });
                if (!draft.instead_of) last.set(before, draft.id);
            }
        }
        return found;
    }

    /** A draft by id, as this page shows it. @param {string} id @returns {Draft | undefined} */
    get(id) {
        const known = this.model.draft(id);
        return this.#allOn(known?.on ?? this.local.get(id)?.draft.on ?? '').find((draft) => draft.id === id);
    }

    /** Whether there is a draft with this id. @param {string} id */
    has(id) {
        return !this.gone.has(id) && (this.model.stateOfDraft.has(id) || this.local.has(id));
    }

    /**
     * The current version of a draft. A caller may hold the version that was painted last.
     * @param {Draft} draft
     * @returns {Draft}
     */
    now(draft) {
        return this.get(draft.id) ?? draft;
    }

    /**
     * The drafts at the position of a draft, including that draft.
     * @param {Draft} draft
     * @returns {Draft[]}
     */
    beside(draft) {
        return this.on(draft.on, this.model.childBelow(draft));
    }

    /**
     * @param {string} state
     * @param {string | null} [before]
     * @returns {string | null} the last draft at a position
     */
    lastOn(state, before = null) {
        return this.on(state, before).at(-1)?.id ?? null;
    }

    /** @param {Draft} draft @returns {string | null} the draft above it at the same position */
    before(draft) {
        const drafts = this.beside(draft);
        return drafts[drafts.findIndex(({ id }) => id === draft.id) - 1]?.id ?? null;
    }

    /**
     * Creates a draft and sends it without delay.
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
     * Creates or changes a draft.
     * @param {Draft} draft
     * @param {string | null} [after] the draft above a new one
     * @param {Typed} [typed] how the editor changed the text; the editor may not show the latest
     *   typing of other clients yet
     */
    put(draft, after = null, typed) {
        this.gone.delete(draft.id);
        const local = this.local.get(draft.id) ?? this.#begin(draft, after);
        const { text } = local;
        const shown = typed?.before ?? text.text;
        const changes = typed?.changes ?? changesBetween(shown, draft.source);
        // The cursor stays before text that others inserted at its position, as in an up-to-date
        // editor.
        text.edit(shown === text.text ? changes : changes.map(changesBetween(shown, text.text), true));
        local.draft = { ...draft, source: text.text };
        this.#send(local);
        this.host.requestPaint();
    }

    /**
     * Moves a draft below another at its position.
     * @param {Draft} draft
     * @param {string | null} after
     */
    place(draft, after) {
        this.send({ do: 'put_draft', draft, after, in_place: false }).then(this.host.refused);
    }

    /** @param {Draft} draft @param {string | null} after @returns {Local} */
    #begin(draft, after) {
        const known = this.model.draft(draft.id);
        const { id } = draft;
        const text = new SharedText(
            known ? (known.version ?? 0) : NEW,
            known?.source ?? this.#firstText(draft),
            this.ends.get(id),
        );
        const { kind } = known ?? draft;
        /** @type {Local} */
        const local = {
            draft: known ?? { ...draft, source: '' },
            after,
            text,
            kind,
            sent: [],
            arrived: this.#arrived(known),
            recovers: false,
            unsent: true,
            sending: 0,
            timer: null,
        };
        this.local.set(id, local);
        return local;
    }

    /**
     * The text from which the first version of a draft is made: for an edit, the code that ran.
     * @param {Draft} draft
     */
    #firstText({ instead_of }) {
        const state = this.model.states.get(instead_of ?? '');
        return (state && this.model.runOf(state)?.code) ?? '';
    }

    /** Schedules sending the current text of a draft. @param {Local} local */
    #send(local) {
        local.unsent = true;
        local.timer ??= this.host.setTimer(() => this.flush(local.draft.id), WAIT_MS);
    }

    /**
     * Sends typing now, unless a message is in flight.
     * @param {string} id
     * @param {boolean} [anyway] even if a message is in flight
     */
    flush(id, anyway = false) {
        const local = this.local.get(id);
        if (!local) return;
        this.host.clearTimer(local.timer);
        local.timer = null;
        if (!local.unsent || (local.sending && !anyway)) return;
        local.unsent = false;
        const { text } = local;
        const known = this.model.draft(id);
        const isSame = text.isSettled && local.draft.kind === local.kind;
        if (text.version !== NEW && isSame && !local.sending) return this.#settle(local);
        const base = Math.max(text.version, 0) + text.sent.length;
        const number = local.arrived + local.sent.length + 1;
        const changes = text.send();
        const message = { number, kind: local.draft.kind, base, isEmpty: changes.empty };
        local.sent.push(message);
        local.sending += 1;
        // A run may have moved the draft to the next state meanwhile.
        const draft = { ...(known ?? local.draft), kind: local.draft.kind, source: text.text };
        const update = { client: this.client, number, changes: changes.toJSON() };
        const place = { after: local.after, in_place: known !== undefined };
        this.send({ do: 'put_draft', draft, ...place, base, update }).then((reply) => {
            local.sending -= 1;
            if (this.local.get(id) === local) this.#answered(local, reply, message);
            this.#caughtUp();
            this.host.requestPaint();
        });
    }

    /**
     * Waits until all typing is sent; null if there is nothing to wait for.
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

    /** Whether some typing is not on the server's disk yet, as far as this tab knows. */
    get isSaving() {
        return [...this.local.values()].some(({ unsent, sending }) => unsent || sending > 0);
    }

    /** Whether typing waits for the reply to an earlier message. */
    #isBehind() {
        return [...this.local.values()].some(({ unsent, sending }) => unsent && sending > 0);
    }

    /**
     * @param {Local} local
     * @param {import('../shell/protocol.js').Reply} reply
     * @param {Message} message the message that the reply answers
     */
    #answered(local, reply, message) {
        const { text } = local;
        const { id } = local.draft;
        const known = this.model.draft(id);
        const isRefused = reply.kind === 'refused' && reply.code !== 'disk';
        const isPending = local.sent.includes(message);
        if (isRefused) {
            if (isPending) retract(local);
            local.unsent = true;
        }
        if (reply.kind === 'refused' && reply.code === 'conflict') {
            if (known) this.#receive(local, { draft: known, after: null });
            // Wait before the retry: the version that caused the refusal has not arrived yet.
            if (Math.max(text.version, 0) === message.base) return this.#send(local);
        } else if (reply.kind === 'refused' && reply.code === 'not_found') {
            // Another client deleted the draft while we typed: create it again, if its position
            // still exists.
            if (text.version === NEW || known !== undefined) return this.#orphan(local);
            this.#makeAgain(local);
        } else if (isRefused) {
            // Refused typing stays here and is sent again with the next typing.
            return this.host.refused(reply);
        } else {
            // No event reported this message: it changed nothing, or the event came before a page
            // reload.
            const isSame = message.isEmpty && message.kind === local.kind && text.version !== NEW;
            if (isPending) confirm(local, message.base + (isSame ? 0 : 1));
            this.host.refused(reply);
        }
        if (local.sending) return undefined;
        if (local.unsent) return this.flush(id);
        return this.#settle(local);
    }

    /** The server no longer has the draft: creates it again. @param {Local} local */
    #makeAgain(local) {
        local.text.restart(NEW, this.#firstText(local.draft));
        [local.sent, local.arrived] = [[], 0];
        local.unsent = true;
    }

    /** Drops the local copy of a draft whose text is all at the server. @param {Local} local */
    #settle(local) {
        if (local.text.typingEnd !== null) this.ends.set(local.draft.id, local.text.typingEnd);
        if (this.local.get(local.draft.id) === local) this.local.delete(local.draft.id);
    }

    /** The number of our last message that a draft holds. @param {Draft | undefined} draft */
    #arrived(draft) {
        return draft?.received?.find(({ client }) => client === this.client)?.number ?? 0;
    }

    /**
     * The draft has become a state, or its state was deleted. Hands its typing to the host.
     * @param {Local} local
     */
    #orphan(local) {
        this.forget(local.draft.id);
        this.host.orphaned(local.draft);
    }

    /**
     * Applies changed drafts from the server, before the model does.
     * @param {{removed: string[], put: PlacedDraft[]}} event
     */
    applyServerDrafts({ removed, put }) {
        for (const id of removed) {
            this.gone.delete(id);
            const local = this.local.get(id);
            if (!local || local.text.version === NEW) continue;
            // All typing was in the deleted draft, so nothing is left to send.
            if (local.text.isSettled) this.forget(id);
            else if (this.model.stateMadeFrom(id)) this.#orphan(local);
        }
        for (const id of removed) this.#moveAlong(id, this.model.stateMadeFrom(id)?.id);
        for (const { draft } of put) this.#moveAlong(draft.id, draft.instead_of ?? draft.on);
        for (const placed of put) {
            const local = this.local.get(placed.draft.id);
            if (local) this.#receive(local, placed);
            else this.#follow(placed);
        }
    }

    /**
     * New drafts that the server does not have yet follow the draft above them to another state, as
     * they do at the server.
     * @param {string} above the draft above
     * @param {string | undefined} on the state that it moved to, or has become
     */
    #moveAlong(above, on) {
        for (const local of this.local.values()) {
            if (local.after !== above || local.text.version !== NEW || !on || local.draft.on === on) continue;
            local.draft = { ...local.draft, on, before: null };
            this.#moveAlong(local.draft.id, on);
        }
    }

    /** Another client changed a draft that has no local typing. @param {PlacedDraft} placed */
    #follow({ draft: { id, source }, update }) {
        const before = this.model.draft(id);
        if (!before || before.source === source) return;
        const changes = claimedChanges(update?.changes, before.source, source);
        const end = this.ends.get(id);
        if (end !== undefined) this.ends.set(id, changes.mapPos(end, -1));
        this.host.received?.(id, changes, before.source);
    }

    /**
     * Takes in the server's version of a draft that also has local typing. It is our own change or
     * another client's.
     * @param {Local} local
     * @param {PlacedDraft} placed
     */
    #receive(local, { draft: theirs, update }) {
        const { text, draft } = local;
        const version = theirs.version ?? 0;
        const arrived = this.#arrived(theirs);
        while (local.sent[0] && local.sent[0].number <= arrived) confirm(local, version);
        const isKnown = text.version === version && text.confirmed === theirs.source;
        if (isKnown && local.kind === theirs.kind && !local.recovers) return;
        const before = text.text;
        const isLost = arrived < local.arrived;
        local.recovers ||= isLost;
        const how = isLost ? 'recover' : local.recovers ? 'receiveAgain' : 'receive';
        const changes = text[how](version, theirs.source, update?.changes);
        if (local.recovers) [local.sent, local.arrived] = [[], arrived];
        const kind = draft.kind === local.kind ? theirs.kind : draft.kind;
        local.kind = theirs.kind;
        local.draft = { ...draft, kind, source: text.text };
        if (!changes.empty) this.host.received?.(draft.id, changes, before);
        if (text.text !== theirs.source || kind !== theirs.kind) return this.#send(local);
        local.unsent = false;
        if (!local.sending) this.#settle(local);
    }

    /**
     * Our caret as an offset in the server's text; null if the server does not have the draft.
     * @param {string} id
     * @param {Selection} selection
     * @returns {Caret | null}
     */
    confirmedCaret(id, { anchor, head }) {
        const known = this.model.draft(id);
        const text = this.local.get(id)?.text;
        if (!known || text?.version === NEW) return null;
        if (!text) return { draft: id, version: known.version ?? 0, anchor, head };
        const [from, to] = [text.confirmedOffset(anchor), text.confirmedOffset(head)];
        return { draft: id, version: text.version, anchor: from, head: to };
    }

    /**
     * Another client's caret as an offset in the text shown here.
     * @param {Caret} caret
     * @returns {Selection}
     */
    shownCaret({ draft, version, anchor, head }) {
        const text = this.local.get(draft)?.text;
        const length = (text?.text ?? this.get(draft)?.source ?? '').length;
        const shown = (/** @type {number} */ offset) =>
            Math.min(text?.version === version ? text.shownOffset(offset) : offset, length);
        return { anchor: shown(anchor), head: shown(head) };
    }

    /**
     * The notebook was replaced: merges local typing into its new drafts. Drafts whose state no
     * longer exists move to the current state.
     * @param {string} on
     * @param {boolean} isAnotherEpoch the server may have lost what it had accepted
     */
    rescue(on, isAnotherEpoch) {
        this.gone.clear();
        this.ends.clear();
        for (const local of this.local.values()) {
            const known = this.model.draft(local.draft.id);
            local.recovers ||= isAnotherEpoch;
            if (known) this.#receive(local, { draft: known, after: null });
            else if (this.model.states.has(local.draft.on)) {
                // Unanswered messages are sent again; their replies decide.
                if (isAnotherEpoch || !local.sending) this.#makeAgain(local);
            } else if (local.draft.source.trim()) {
                this.#makeAgain(local);
                Object.assign(local, { after: null, draft: { ...local.draft, on, before: null } });
                this.flush(local.draft.id);
            }
        }
    }

    /**
     * Sends all typing, before a command that depends on it.
     * @param {boolean} [isLast] the page may be closing: send even if messages are in flight
     */
    flushAll(isLast = false) {
        for (const id of [...this.local.keys()]) this.flush(id, isLast);
    }

    /** Deletes a draft. @param {string} id */
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
        this.host.requestPaint();
    }

    /**
     * Drops local typing without sending it, for example because the draft has become a state.
     * @param {string} id
     */
    forget(id) {
        const local = this.local.get(id);
        if (!local) return;
        this.host.clearTimer(local.timer);
        local.unsent = false;
        this.local.delete(id);
    }
}

/** The version of a draft that the server does not have yet. */
const NEW = -1;

/**
 * @typedef {{before: string, changes?: Changes}} Typed the text of an editor before typing, and
 *   the changes to it
 */

/**
 * The server has accepted the first message in flight.
 * @param {Local} local
 * @param {number} version
 */
function confirm(local, version) {
    local.text.confirm(version);
    const message = local.sent.shift();
    if (message) [local.kind, local.arrived] = [message.kind, message.number];
}

/** The server has refused the messages in flight. @param {Local} local */
function retract(local) {
    local.text.retract();
    local.sent = [];
}

// @ts-check
// The other people viewing the notebook. Sends our position to the server. Pure; the host provides
// timers.

import { fullName } from '../graph/node-names.js';
import { PRESENCE_WORDS as WORDS } from './presence-words.js';

/** @typedef {import('../shell/protocol.js').Person} Person */
/**
 * @typedef {Person & {called: string, initials: string, colour: number}} Other A person with a
 *   display name; `colour`: an index below `COLOURS`.
 */

/**
 * How long a position must last before it is sent, in milliseconds: keyboard navigation passes many
 * states.
 */
const STAND_MS = 200;
/** The number of colours in presence.css. */
export const COLOURS = 8;

/**
 * All people except ourselves, in order of arrival.
 * @param {Person[]} people
 * @param {string | null} own
 * @param {Set<string>} [ownTabs] the ids of the other tabs of this browser
 * @returns {Other[]}
 */
export function others(people, own, ownTabs = new Set()) {
    const shown = people.map((person) => {
        const { name, scope, number } = person;
        const isOwner = scope === 'owner';
        const called = name ?? (isOwner ? WORDS.owner : WORDS.guest(number));
        const initials = name || isOwner ? initialsOf(called) : `G${number}`;
        return { ...person, called, initials, colour: number % COLOURS };
    });
    return shown.filter(({ id }) => id !== own && !ownTabs.has(id));
}

/** The first letters of the first and the last word. @param {string} name @returns {string} */
export function initialsOf(name) {
    const words = name.trim().split(/\s+/);
    const letters = [words[0] ?? '', words.length > 1 ? (words.at(-1) ?? '') : ''].map(
        (word) => [...word][0] ?? '',
    );
    return letters.join('').toLocaleUpperCase();
}

/**
 * Describes a position.
 * @param {Pick<import('../notebook/page.js').Page, 'model' | 'branches'>} page
 * @param {string} id
 */
export function positionText({ model, branches }, id) {
    const state = model.states.get(id);
    if (!state || state.parent === null) return WORDS.atStart;
    return state.label ?? WORDS.atCell(state.exec_count, fullName(branches.nameOf(model, id)));
}

/** Sends our position shortly after each move, and after each reconnection. */
export class Presence {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {import('../notebook/page.js').Host} host
     * @param {{setTimer: (what: () => void, ms: number) => unknown,
     *   clearTimer: (timer: any) => void}} time
     */
    constructor(page, host, time) {
        this.page = page;
        this.host = host;
        this.time = time;
        /** Our own participant id. @type {string | null} */
        this.id = null;
        /** The last position sent on this connection. @type {string | null} */
        this.lastSent = null;
        this.isTelling = false;
        /** The draft that our caret is in. @type {string | null} */
        this.caretDraft = null;
        /**
         * The number of caret moves. Edits before the caret do not count: other pages move the
         * caret with the text themselves.
         */
        this.caretMoves = 0;
        /** @type {unknown} */
        this.timer = null;
    }

    /** Sends the position again, because a new connection is a new participant to the server. */
    onConnected() {
        this.lastSent = null;
        this.onMoved();
    }

    /** Our caret has moved in a draft or left it (null). @param {string | null} draft */
    onCaret(draft) {
        if (draft === null && this.caretDraft === null) return;
        this.caretDraft = draft;
        this.caretMoves += 1;
        this.onMoved();
    }

    /** @returns {import('../shell/protocol.js').Caret | null} */
    get caret() {
        const { drafts } = this.page;
        const selection = this.caretDraft === null ? null : this.page.editorOf(this.caretDraft)?.selection;
        return this.caretDraft !== null && selection
            ? drafts.confirmedCaret(this.caretDraft, selection)
            : null;
    }

    /** Schedules sending the position, the caret and the name, if they have changed. */
    onMoved() {
        this.timer ??= this.time.setTimer(() => {
            this.timer = null;
            this.#tell();
        }, STAND_MS);
    }

    async #tell() {
        const { page } = this;
        const name = this.host.displayName?.() || null;
        const { caret } = this;
        // `caret` is null until the server has the draft. The last element changes then, so the
        // caret is sent.
        const cell = this.host.focusedCell?.() ?? null;
        const follows = page.following.id;
        const said = JSON.stringify([page.here, name, cell, follows, this.caretMoves, caret !== null]);
        if (!page.isLoaded || page.connection !== 'open' || this.isTelling || said === this.lastSent) return;
        this.isTelling = true;
        this.lastSent = said;
        const more = { ...(caret && { caret }), ...(cell && { cell }), ...(follows && { follows }) };
        const reply = await this.host.send({ do: 'stand', state: page.here, name, ...more });
        this.isTelling = false;
        // A refusal is not reported: the state was just deleted, or the server does not know this
        // command.
        if (reply.kind === 'standing' && reply.id !== this.id) {
            this.id = reply.id;
            this.host.onParticipantId?.(reply.id);
            this.page.showCarets();
            this.host.requestPaint();
        }
        // What has changed since is sent, also after a refusal.
        this.onMoved();
    }
}

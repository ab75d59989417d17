// @ts-check
// Who else looks at the notebook, how they are shown, and telling them where we stand. Pure; time comes in as `later`.

import { PEOPLE_WORDS as WORDS } from './presence-words.js';

/** @typedef {import('../shell/protocol.js').Person} Person */
/** @typedef {Person & {called: string, initials: string, colour: number}} Other A person as they are shown; `colour`: which of `COLOURS`. */

/** How long we stand somewhere before it is told, in milliseconds: who walks the graph by keys passes many states. */
const STAND_MS = 200;
/** How many colours there are; presence.css has them. */
export const COLOURS = 8;

/** The people without ourselves, in the order in which they came. @param {Person[]} people @param {string | null} own @returns {Other[]} */
export function others(people, own) {
    // Everybody counts the same guests, so that two who speak of “Guest 2” mean the same.
    let guests = 0;
    const shown = people.map((person) => {
        if (!person.name) guests += 1;
        const called = person.name ?? WORDS.guest(guests);
        return {
            ...person,
            called,
            initials: person.name ? initialsOf(person.name) : `G${guests}`,
            colour: colourOf(person.id),
        };
    });
    return shown.filter(({ id }) => id !== own);
}

/** Of the first and the last word. @param {string} name @returns {string} */
export function initialsOf(name) {
    const words = name.trim().split(/\s+/);
    const letters = [words[0], words.length > 1 ? (words.at(-1) ?? '') : ''].map(
        (word) => [...word][0] ?? '',
    );
    return letters.join('').toLocaleUpperCase();
}

/** Who came one after the other has different colours. @param {string} id @returns {number} */
export const colourOf = (id) =>
    [...id].reduce((sum, letter) => (/\d/.test(letter) ? sum * 10 + Number(letter) : sum) % 1_000_000, 0) %
    COLOURS;

/** Where somebody stands, in words. @param {import('../shell/model.js').Model} model @param {string} id */
export function positionText(model, id) {
    const state = model.states.get(id);
    if (!state || state.parent === null) return WORDS.atStart;
    return state.label ?? WORDS.atCell(state.exec_count);
}

/** Tells where we stand: a moment after we went there, and after each new connection. */
export class Presence {
    /**
     * @param {import('../notebook/page.js').Page} page @param {import('../notebook/page.js').Host} host
     * @param {{setTimer: (what: () => void, ms: number) => unknown, clearTimer: (timer: any) => void}} time
     */
    constructor(page, host, time) {
        this.page = page;
        this.host = host;
        this.time = time;
        /** Which of the people we are. @type {string | null} */
        this.id = null;
        /** What was told last on this connection. @type {string | null} */
        this.lastSent = null;
        this.isTelling = false;
        /** @type {unknown} */
        this.timer = null;
    }

    /** The line is up: to the server we are somebody new. */
    onConnected() {
        this.lastSent = null;
        this.onMoved();
    }

    /** We may stand somewhere else, or be called something else. */
    onMoved() {
        this.timer ??= this.time.setTimer(() => {
            this.timer = null;
            this.#tell();
        }, STAND_MS);
    }

    async #tell() {
        const { page } = this;
        const name = this.host.called?.() || null;
        const said = JSON.stringify([page.here, name]);
        if (!page.isLoaded || page.connection !== 'open' || this.isTelling || said === this.lastSent) return;
        this.isTelling = true;
        this.lastSent = said;
        const reply = await this.host.send({ do: 'stand', state: page.here, name });
        this.isTelling = false;
        // What is refused is no news for anybody: the state has just gone, or the server does not know the word.
        if (reply.kind === 'standing' && reply.id !== this.id) {
            this.id = reply.id;
            this.host.changed();
        }
        if (reply.kind !== 'refused') this.onMoved();
    }
}

// @ts-check
// Following another person: the page goes to the state where they are, and scrolls to the cell that
// they edit, until its own user acts. Pure.

import { PRESENCE_WORDS as WORDS } from './presence-words.js';

/** @typedef {import('./presence.js').Other} Other */

export class Following {
    /** @param {import('../notebook/page.js').Page} page */
    constructor(page) {
        this.page = page;
        /** The followed person when last seen. @type {Other | null} */
        this.person = null;
    }

    /** The id of the followed person. */
    get id() {
        return this.person?.id ?? null;
    }

    /** The cell that the followed person edits. @returns {string | null} */
    get cell() {
        return this.person?.caret?.draft ?? this.person?.cell ?? null;
    }

    /** Follows a person, or ends that if the page follows them already. @param {string} id */
    toggle(id) {
        if (this.id === id) return this.stop();
        this.person = this.page.others().find((one) => one.id === id) ?? null;
        this.page.presence.onMoved();
        this.onPeople();
        return undefined;
    }

    /** @returns {boolean} whether the page followed somebody */
    stop() {
        if (!this.person) return false;
        this.person = null;
        this.page.presence.onMoved();
        this.page.host.requestPaint();
        return true;
    }

    /** Somebody moved, came or left. */
    onPeople() {
        const { person, page } = this;
        if (!person) return;
        this.person = page.others().find(({ id }) => id === person.id) ?? null;
        if (!this.person) {
            page.presence.onMoved();
            page.notify(WORDS.followedLeft(person.called), false);
        } else if (this.person.follows !== page.presence.id) page.goAlong(this.person.state);
        // Two people who follow each other would otherwise change places for ever.
        page.host.requestPaint();
    }
}

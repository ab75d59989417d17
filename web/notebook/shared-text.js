// @ts-check
// A text that several clients edit at once: operational transformation with the server as its
// authority. Pure. The server accepts only changes that are based on its current version, and each
// makes a new version. Our own unconfirmed changes are those sent to the server and those typed
// since. When the server accepts a change of another client, ours are rebased onto it. This is the
// model of @codemirror/collab except for one rule: when two clients insert at the same place, the
// insertion that continues its author's own typing comes first. Otherwise words that two people
// type side by side would be mixed.

import {
    applied,
    changesBetween,
    changesOf,
    claimedChanges,
    endOf,
    insertionsOf,
    noChanges,
    startOf,
} from '../text/changes.js';

/** @typedef {import('../text/changes.js').Changes} Changes */

export class SharedText {
    /**
     * @param {number} version the server's version of the text
     * @param {string} source
     * @param {number | null} [typingEnd]
     */
    constructor(version, source, typingEnd = null) {
        this.version = version;
        /** The text of that version. */
        this.confirmed = source;
        /** The offset in `confirmed` where our own typing ended. */
        this.typingEnd = typingEnd;
        /** Changes sent to the server, one per message. @type {Changes[]} */
        this.sent = [];
        /** Changes typed since the last message. */
        this.typed = noChanges(source);
        /** The text as shown: `confirmed` with `sent` and `typed`. */
        this.text = source;
    }

    get isSettled() {
        return this.sent.length === 0 && this.typed.empty;
    }

    /** @param {Changes} changes to `text` */
    edit(changes) {
        this.typed = this.typed.compose(changes);
        this.text = applied(changes, this.text);
    }

    /** Moves the typed changes to the sent ones. @returns {Changes} */
    send() {
        const { typed } = this;
        this.sent.push(typed);
        this.typed = noChanges(this.text);
        return typed;
    }

    /** The server has accepted the first sent message. @param {number} version */
    confirm(version) {
        this.version = version;
        const sent = this.sent.shift();
        if (!sent) return;
        this.typingEnd = endOf(sent) ?? this.typingEnd;
        this.confirmed = applied(sent, this.confirmed);
    }

    /** The server has refused the sent messages: their changes are unsent again. */
    retract() {
        this.typed = this.sent.reduceRight((later, changes) => changes.compose(later), this.typed);
        this.sent = [];
    }

    /**
     * Translates an offset in `text` to one in `confirmed`.
     * @param {number} offset
     */
    confirmedOffset(offset) {
        const known = Math.min(offset, this.text.length);
        return [...this.sent, this.typed].reduceRight(
            (at, changes) => changes.invertedDesc.mapPos(at),
            known,
        );
    }

    /**
     * Translates an offset in `confirmed` to one in `text`.
     * @param {number} offset
     */
    shownOffset(offset) {
        const known = Math.min(offset, this.confirmed.length);
        return [...this.sent, this.typed].reduce((at, changes) => changes.mapPos(at), known);
    }

    /**
     * The server has accepted a change of another client.
     * @param {number} version
     * @param {string} source the text of that version
     * @param {unknown} [claimed] the change, as reported by its client
     * @returns {Changes} the same change, rebased onto `text`
     */
    receive(version, source, claimed) {
        const theirs = claimedChanges(claimed, this.confirmed, source);
        const { moved, over } = rebased([...this.sent, this.typed], theirs, this.typingEnd);
        const before = this.text;
        this.version = version;
        this.confirmed = source;
        this.typingEnd = this.typingEnd === null ? null : theirs.mapPos(this.typingEnd, -1);
        this.typed = moved.pop() ?? noChanges(source);
        this.sent = moved;
        this.text = applied(over, before);
        return over;
    }

    /**
     * Like `receive`, after a crash of the server: what another client inserts may be what we had
     * received from it, or it from us, and is still among our changes. It is inserted once.
     * @param {number} version
     * @param {string} source
     * @returns {Changes} what is new in `text`
     */
    receiveAgain(version, source) {
        const before = this.text;
        this.retract();
        const theirs = changesBetween(this.confirmed, source);
        this.version = version;
        this.confirmed = source;
        this.typingEnd = null;
        this.typed = withoutRepeated(this.typed, theirs, source);
        this.text = applied(this.typed, source);
        return changesBetween(before, this.text);
    }

    /**
     * The server's text was replaced, and its history is unknown. Every difference between that
     * text and `text` counts as our own change.
     * @param {number} version
     * @param {string} source
     */
    restart(version, source) {
        this.version = version;
        this.confirmed = source;
        this.typingEnd = null;
        this.sent = [];
        this.typed = changesBetween(source, this.text);
    }

    /**
     * The server lost changes that it had accepted, and may have accepted others since. Keeps
     * everything that is in either text.
     * @param {number} version
     * @param {string} source
     * @returns {Changes} what is new in `text`
     */
    recover(version, source) {
        const before = this.text;
        this.restart(version, source);
        this.typed = insertionsOf(this.typed, source);
        this.text = applied(this.typed, source);
        return changesBetween(before, this.text);
    }
}

/**
 * Rebases our changes onto one of another client.
 * @param {Changes[]} ours each applies to the result of the one before
 * @param {Changes} theirs applies to the same text as the first of ours
 * @param {number | null} typingEnd the offset in that text where our own typing ended
 * @returns {{moved: Changes[], over: Changes}} our changes after theirs, and theirs after ours
 */
function rebased(ours, theirs, typingEnd) {
    let over = theirs;
    const moved = ours.map((change) => {
        const goesOn = typingEnd !== null && startOf(change) === typingEnd;
        const own = change.map(over, goesOn);
        over = over.map(change, !goesOn);
        typingEnd = endOf(change) ?? (typingEnd === null ? null : change.mapPos(typingEnd, -1));
        return own;
    });
    return { moved, over };
}

/**
 * Rebases our changes onto one of another client. Of what both insert at the same place, ours keep
 * only what is not there yet.
 * @param {Changes} ours
 * @param {Changes} theirs
 * @param {string} source the text after theirs
 * @returns {Changes}
 */
function withoutRepeated(ours, theirs, source) {
    /** @type {import('../text/changes.js').Change[]} */
    const rest = [];
    ours.iterChanges((from, to, _fromAfter, _toAfter, insert) => {
        const [start, end] = [theirs.mapPos(from, -1), theirs.mapPos(to, 1)];
        if (!insertsWithin(theirs, start, end)) {
            rest.push({ from: start, to: end, insert });
            return;
        }
        const found = changesBetween(source.slice(start, end), insert.toString());
        found.iterChanges((_from, at, _fromAfter, _toAfter, more) => {
            rest.push({ from: start + at, to: start + at, insert: more });
        });
    });
    return changesOf(rest, source);
}

/**
 * Whether some changes insert text in a range of the text after them.
 * @param {Changes} changes @param {number} start @param {number} end
 */
function insertsWithin(changes, start, end) {
    let is = false;
    changes.iterChanges((_from, _to, from, to) => (is ||= from < to && from < end && to > start));
    return is;
}

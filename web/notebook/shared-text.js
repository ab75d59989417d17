// @ts-check
// A text that several clients change at once, by operational transformation with the server as its
// authority. Pure.
//
// The server accepts one change per version, and only one that was made of the version it has.
// Changes of ours wait in two steps: those that are on their way to the server, and those typed
// since. A change of somebody else that the server accepts meanwhile goes below both. This is the
// model of @codemirror/collab, but for one rule: of two texts that are typed at the same place, the
// one that goes on from what its author has typed there comes first. So nobody's words are torn
// apart.

import { applied, changesBetween, changesSaid, endOf, noChanges, startOf } from '../text/changes.js';

/** @typedef {import('../text/changes.js').Changes} Changes */

export class SharedText {
    /**
     * @param {number} version 0: the server has none
     * @param {string} source
     * @param {number | null} [held]
     */
    constructor(version, source, held = null) {
        this.version = version;
        /** The text of that version. */
        this.confirmed = source;
        /** Where our own typing ended in it. */
        this.held = held;
        /** What is on its way to the server, message by message. @type {Changes[]} */
        this.sent = [];
        /** What was typed since. */
        this.typed = noChanges(source);
        /** What the text reads here, with all of that. */
        this.text = source;
    }

    get isSettled() {
        return this.sent.length === 0 && this.typed.empty;
    }

    /** @param {Changes} changes of `text` */
    edit(changes) {
        this.typed = this.typed.compose(changes);
        this.text = applied(changes, this.text);
    }

    /** What was typed is on its way from now on. @returns {Changes} */
    send() {
        const { typed } = this;
        this.sent.push(typed);
        this.typed = noChanges(this.text);
        return typed;
    }

    /** What the text reads with the first message that is on its way; null where none is. */
    get nextText() {
        return this.sent[0] ? applied(this.sent[0], this.confirmed) : null;
    }

    /** The server has accepted the first message that was on its way. @param {number} version */
    confirm(version) {
        this.version = version;
        const sent = this.sent.shift();
        if (!sent) return;
        this.held = endOf(sent) ?? this.held;
        this.confirmed = applied(sent, this.confirmed);
    }

    /** The server has not accepted what was on its way. */
    retract() {
        this.typed = this.sent.reduceRight((later, changes) => changes.compose(later), this.typed);
        this.sent = [];
    }

    /**
     * Where an offset in the text as it reads here is in the confirmed one.
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
     * Where an offset in the confirmed text is in the one that reads here.
     * @param {number} offset
     */
    shownOffset(offset) {
        const known = Math.min(offset, this.confirmed.length);
        return [...this.sent, this.typed].reduce((at, changes) => changes.mapPos(at), known);
    }

    /**
     * The server has accepted a change of somebody else.
     * @param {number} version @param {string} source what that version reads @param {unknown}
     *   [said] how it came about
     * @returns {Changes} what it means for the text as it reads here
     */
    receive(version, source, said) {
        const theirs = changesSaid(said, this.confirmed, source);
        const { moved, over } = rebased([...this.sent, this.typed], theirs, this.held);
        const before = this.text;
        this.version = version;
        this.confirmed = source;
        this.held = this.held === null ? null : theirs.mapPos(this.held, -1);
        this.typed = moved.pop() ?? noChanges(source);
        this.sent = moved;
        this.text = applied(over, before);
        return over;
    }

    /**
     * The server has lost some versions, or has another text where we do not know how it came
     * about: all that reads otherwise here is ours.
     * @param {number} version
     * @param {string} source
     */
    restart(version, source) {
        this.version = version;
        this.confirmed = source;
        this.held = null;
        this.sent = [];
        this.typed = changesBetween(source, this.text);
    }
}

/**
 * Changes of ours, each made of what the one before it left, moved over one of somebody else's that
 * was made of the same text as the first.
 * @param {Changes[]} ours @param {Changes} theirs @param {number | null} held where our own typing
 *   ended before the first
 * @returns {{moved: Changes[], over: Changes}} ours, moved; and theirs, to be made after ours
 */
function rebased(ours, theirs, held) {
    let over = theirs;
    const moved = ours.map((change) => {
        const goesOn = held !== null && startOf(change) === held;
        const own = change.map(over, goesOn);
        over = over.map(change, !goesOn);
        held = endOf(change) ?? (held === null ? null : change.mapPos(held, -1));
        return own;
    });
    return { moved, over };
}

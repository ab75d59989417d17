// @ts-check
// Drafts that were cut out: what can be pasted, and what can be put back. Pure.

import { newId } from './text/format.js';
import { WORDS } from './words.js';

/** @typedef {import('./protocol.js').Draft} Draft */
/** @typedef {import('./line.js').Cell} Cell */

/** How many removed drafts can be put back. */
const KEPT = 50;

export class Cuttings {
    /** @param {import('./page.js').Page} page */
    constructor(page) {
        this.page = page;
        /** @type {{kind: Draft['kind'], source: string} | null} */
        this.copied = null;
        /** @type {{draft: Draft, after: string | null}[]} */
        this.removed = [];
    }

    /** @param {Draft['kind']} kind @param {string} source */
    copy(kind, source) {
        this.copied = { kind, source };
    }

    /** Puts what was copied below a cell. @param {Cell} cell @returns {string | null} its id */
    paste(cell) {
        return this.copied && this.page.insertBelow(cell, this.copied.kind, this.copied.source);
    }

    /** Throws a draft away, with what it reads now. @param {Draft} draft @param {() => void} putBack what undoes it */
    remove(draft, putBack) {
        const { page } = this;
        const now = page.drafts.get(draft.id) ?? draft;
        if (now.source.trim()) {
            this.removed.push({ draft: { ...now }, after: page.drafts.before(now) });
            this.removed.splice(0, this.removed.length - KEPT);
            page.say(WORDS.draftRemoved, false, { act: { text: WORDS.undo, act: putBack } });
        }
        page.drafts.remove(draft.id);
    }

    /** Puts back what was removed last, where it stood. @returns {string | null} its id */
    putBack() {
        const { page } = this;
        const last = this.removed.pop();
        if (!last) return null;
        const on = page.model.states.has(last.draft.on) ? last.draft.on : page.here;
        // A new id: under the old one the server may still be about to forget it.
        if (page.notice?.text === WORDS.draftRemoved) page.hush();
        return page.drafts.add({ ...last.draft, id: newId(), on }, last.after);
    }

    /** Forgets a failed attempt, and the draft that it came from if it still reads the same. @param {import('./model.js').Run} run @param {() => void} putBack */
    forget(run, putBack) {
        const draft = run.draft ? this.page.drafts.get(run.draft) : undefined;
        this.page.dropAttempt(run.exec_id);
        if (draft && draft.source === run.code) this.remove(draft, putBack);
    }
}

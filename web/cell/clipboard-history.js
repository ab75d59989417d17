// @ts-check
// Drafts that were cut out: what can be pasted, and what can be put back. Pure.

import { newId } from '../text/format.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('../shell/protocol.js').Draft} Draft */
/** @typedef {import('./cell-operations.js').Piece} Piece */

/** How many removals can be put back. */
const KEPT = 50;

export class ClipboardHistory {
    /** @param {import('../notebook/page.js').Page} page */
    constructor(page) {
        this.page = page;
        /** What would be pasted. @type {Piece[]} */
        this.content = [];
        /** What was removed together, or how something else is undone; the newest last. @type {({draft: Draft, after: string | null}[] | (() => string | null))[]} */
        this.undoStack = [];
        /** The button of the notice about the last removal. @type {{text: string, act: () => void} | null} */
        this.offer = null;
    }

    /** @param {Piece[]} pieces */
    copy(pieces) {
        this.content = pieces;
    }

    /** Throws drafts away, with what they read now. @param {Draft[]} drafts in order @param {() => void} undo called by the notice */
    remove(drafts, undo) {
        const { page } = this;
        const now = drafts.map((draft) => page.drafts.now(draft));
        if (now.length)
            this.#push(now.map((draft) => ({ draft: { ...draft }, after: page.drafts.before(draft) })));
        // An empty one comes back by the same key, but nobody has to be told of it.
        const worth = now.filter(({ source }) => source.trim());
        if (worth.length) {
            this.offer = { text: WORDS.undo, act: undo };
            const said = worth.length === 1 ? WORDS.draftRemoved : EDITOR_WORDS.removed(worth.length);
            page.notify(said, false, { act: this.offer });
        }
        for (const { id } of drafts) page.drafts.remove(id);
    }

    /** @param {ClipboardHistory['undoStack'][number]} one */
    #push(one) {
        this.undoStack.push(one);
        this.undoStack.splice(0, this.undoStack.length - KEPT);
    }

    /** Something was done to drafts that is undone in its turn with what was removed. @param {() => string | null} undo gives the id of the draft to go to; null: it was undone, or cannot be any more */
    recordUndo(undo) {
        // The notice offers to undo something that is no longer the last change.
        this.#dismissOffer();
        this.#push(undo);
    }

    #dismissOffer() {
        if (this.offer && this.page.notice?.act === this.offer) this.page.dismissNotice();
    }

    /** Drafts were added that were not there; they go if nobody has changed them since. @param {string[]} ids @param {() => string} undo what else is to be done; gives where to go */
    recordAdded(ids, undo) {
        const read = ids.map((id) => this.page.drafts.get(id)?.source);
        this.recordUndo(() => {
            if (ids.some((id, i) => this.page.drafts.get(id)?.source !== read[i])) return null;
            for (const id of ids) this.page.drafts.remove(id);
            return undo();
        });
    }

    /** Puts back what was removed last, where it stood; or undoes what was done last. @returns {string | null} the id of the first */
    undo() {
        const { page } = this;
        const last = this.undoStack.pop();
        if (!last) return null;
        if (typeof last === 'function') return last() ?? this.undo();
        this.#dismissOffer();
        /** Under its old id the server may still be about to forget a draft. @type {Map<string | null, string>} */
        const ids = new Map(last.map(({ draft }) => [draft.id, newId()]));
        for (const { draft, after } of last) {
            const on = page.model.states.has(draft.on) ? draft.on : page.here;
            const id = page.drafts.add(
                { ...draft, id: ids.get(draft.id) ?? newId(), on },
                ids.get(after) ?? after,
            );
            if (on !== page.here) page.openedDrafts.add(id);
        }
        return ids.get(last[0].draft.id) ?? null;
    }

    /** Forgets a failed attempt, and the draft that it came from if it still reads the same. @param {import('../shell/model.js').Run} run @param {() => void} putBack */
    forgetAttempt(run, putBack) {
        const draft = run.draft ? this.page.drafts.get(run.draft) : undefined;
        this.page.dropAttempt(run.exec_id);
        if (draft && draft.source === run.code)
            this.remove([draft], () => (this.page.deletion.undo(), putBack()));
    }
}

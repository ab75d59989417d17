// @ts-check
// Cut and deleted drafts: the clipboard and its undo stack. Pure.

import { newId } from '../text/format.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('../shell/protocol.js').Draft} Draft */
/** @typedef {import('./cell-operations.js').Piece} Piece */

/** The number of undo steps kept. */
const KEPT = 50;

export class ClipboardHistory {
    /** @param {import('../notebook/page.js').Page} page */
    constructor(page) {
        this.page = page;
        /** What a paste inserts. @type {Piece[]} */
        this.content = [];
        /**
         * Each step is a list of drafts that were deleted together, or a function that undoes
         * another change. The newest step is last.
         * @type {({draft: Draft, after: string | null}[] | (() => string | null))[]}
         */
        this.undoStack = [];
        /**
         * The button of the notice about the last deletion.
         * @type {{text: string, act: () => void} | null}
         */
        this.offer = null;
    }

    /** @param {Piece[]} pieces */
    copy(pieces) {
        this.content = pieces;
    }

    /**
     * Deletes drafts with their current text.
     * @param {Draft[]} drafts in order
     * @param {() => void} undo called by the notice
     */
    remove(drafts, undo) {
        const { page } = this;
        const now = drafts.map((draft) => page.drafts.now(draft));
        if (now.length)
            this.#push(now.map((draft) => ({ draft: { ...draft }, after: page.drafts.before(draft) })));
        // Deleting an empty draft can be undone as well, but is not worth a notice.
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

    /**
     * Adds an undo step.
     * @param {() => string
     *   | null} undo returns the id of the draft to go to; null if it is already undone or too late
     */
    recordUndo(undo) {
        // The button of an earlier notice would undo this step instead of its deletion.
        this.#dismissOffer();
        this.#push(undo);
    }

    #dismissOffer() {
        if (this.offer && this.page.notice?.act === this.offer) this.page.dismissNotice();
    }

    /**
     * Adds an undo step for new drafts. It deletes them unless they were edited since.
     * @param {string[]} ids
     * @param {() => string} undo does the rest of the undo; returns the key of the cell to go to
     */
    recordAdded(ids, undo) {
        const read = ids.map((id) => this.page.drafts.get(id)?.source);
        this.recordUndo(() => {
            if (ids.some((id, i) => this.page.drafts.get(id)?.source !== read[i])) return null;
            for (const id of ids) this.page.drafts.remove(id);
            return undo();
        });
    }

    /** Undoes the last step. @returns {string | null} the id of the first restored draft */
    undo() {
        const { page } = this;
        const last = this.undoStack.pop();
        if (!last) return null;
        if (typeof last === 'function') return last() ?? this.undo();
        this.#dismissOffer();
        /**
         * From old to new ids: the server may still be about to delete the drafts with the old ids.
         * @type {Map<string | null, string>}
         */
        const ids = new Map(last.map(({ draft }) => [draft.id, newId()]));
        for (const { draft, after } of last) {
            const on = page.model.states.has(draft.on) ? draft.on : page.here;
            const id = page.drafts.add(
                { ...draft, id: ids.get(draft.id) ?? newId(), on },
                ids.get(after) ?? after,
            );
            if (on !== page.here) page.openedDrafts.add(id);
        }
        return ids.get(last[0]?.draft.id ?? '') ?? null;
    }

    /**
     * Deletes a failed attempt, and its draft if that still has the same text.
     * @param {import('../shell/model.js').Run} run
     * @param {() => void} putBack
     */
    forgetAttempt(run, putBack) {
        const draft = run.draft ? this.page.drafts.get(run.draft) : undefined;
        this.page.dropAttempt(run.exec_id);
        if (draft && draft.source === run.code)
            this.remove([draft], () => (this.page.deletion.undo(), putBack()));
    }
}

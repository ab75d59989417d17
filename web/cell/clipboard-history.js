// @ts-check
// The clipboard of cells, and the undo stack of deleted and added drafts. Pure.

import { textKey } from '../notebook/cell-list.js';
import { newId } from '../text/format.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('../shell/protocol.js').Draft} Draft */
/** @typedef {import('../notebook/cell-list.js').TextCell} TextCell */
/** @typedef {import('./cell-operations.js').Piece} Piece */

/**
 * @typedef {{state: string, index: number, text: string}} Text a deleted text above the code of a
 *   state
 */

/**
 * An undo step: the drafts and texts that were deleted together, the state or attempt that was
 * deleted, several steps at once, or a function that undoes another change. The tab keeps all but
 * functions across a reload of the page.
 * @typedef {{drafts: {draft: Draft, after: string | null}[], texts: Text[]}
 *   | {deleted: string} | {steps: Step[]} | (() => string | null)} Step
 */

/** The maximum number of undo steps, and of characters that the tab keeps of them. */
const KEPT = 50;
const KEPT_CHARACTERS = 500_000;

/** @param {Step} step @returns {boolean} */
const canBeKept = (step) => typeof step !== 'function' && (!('steps' in step) || step.steps.every(canBeKept));

export class ClipboardHistory {
    /** @param {import('../notebook/page.js').Page} page */
    constructor(page) {
        this.page = page;
        /** The pieces that a paste inserts. @type {Piece[]} */
        this.content = [];
        /**
         * The undo steps, newest last.
         * @type {Step[]}
         */
        this.undoStack = page.host.recall('undo') ?? [];
        /**
         * The Undo button of the notice about the last deletion.
         * @type {{text: string, act: () => void} | null}
         */
        this.offer = null;
        page.deletion.onDeleted = (deleted) => {
            // The Undo button of an older notice would undo this newer step.
            this.#dismissOffer();
            this.#push({ deleted });
        };
    }

    /** @param {Piece[]} pieces */
    copy(pieces) {
        this.content = pieces;
    }

    /**
     * Deletes drafts, and texts above cells that ran. Their current texts become an undo step.
     * @param {Draft[]} drafts in order
     * @param {() => void} undo called by the notice's Undo button
     * @param {TextCell[]} [cells] the texts, in order
     */
    remove(drafts, undo, cells = []) {
        const { page } = this;
        const now = drafts.map((draft) => page.drafts.now(draft));
        const texts = cells.map(({ state, index, text }) => ({ state: state.id, index, text }));
        if (now.length || texts.length)
            this.#push({
                drafts: now.map((draft) => ({ draft: { ...draft }, after: page.drafts.before(draft) })),
                texts,
            });
        // Deleting an empty draft can be undone, but shows no notice.
        const worth = now.filter(({ source }) => source.trim()).length + texts.length;
        if (worth) {
            this.offer = { text: WORDS.undo, act: undo };
            const said = worth === 1 && !texts.length ? WORDS.draftRemoved : EDITOR_WORDS.removed(worth);
            page.notify(said, false, { act: this.offer });
        }
        for (const { id } of drafts) page.drafts.remove(id);
        // From the bottom, so that the indices of the texts above stay right.
        for (const { key, state, index } of cells.toReversed()) {
            page.textEdits.delete(key);
            page.prose.set(state.id, state.prose.toSpliced(index, 1));
        }
    }

    /** @param {Step} step */
    #push(step) {
        this.undoStack.push(step);
        this.undoStack.splice(0, this.undoStack.length - KEPT);
        this.#keep();
    }

    /** Keeps the newest steps for the time after a reload. */
    #keep() {
        const steps = this.undoStack.filter(canBeKept);
        let room = KEPT_CHARACTERS;
        const fits = steps.findLastIndex((step) => (room -= JSON.stringify(step).length) < 0);
        this.page.host.remember('undo', steps.slice(fits + 1));
    }

    /**
     * Adds an undo step.
     * @param {() => string | null} undo returns the id of the draft to focus, or null if the change
     *   can no longer be undone
     */
    recordUndo(undo) {
        // The Undo button of an older notice would undo this newer step.
        this.#dismissOffer();
        this.#push(undo);
    }

    #dismissOffer() {
        if (this.offer && this.page.notice?.act === this.offer) this.page.dismissNotice();
    }

    /**
     * Adds an undo step that deletes new drafts, unless one of the drafts was edited since.
     * @param {string[]} ids
     * @param {() => string} undo called after the deletion; returns the key of the cell to focus
     */
    recordAdded(ids, undo) {
        const read = ids.map((id) => this.page.drafts.get(id)?.source);
        this.recordUndo(() => {
            if (ids.some((id, i) => this.page.drafts.get(id)?.source !== read[i])) return null;
            for (const id of ids) this.page.drafts.remove(id);
            return undo();
        });
    }

    /**
     * Undoes the newest step that can be undone.
     * @returns {string | null} the key of the cell to focus; null if nothing was undone
     */
    undo() {
        const last = this.undoStack.pop();
        if (!last) return null;
        this.#keep();
        return this.#undoStep(last) ?? this.undo();
    }

    /** @param {Step} last @returns {string | null} null if there is nothing left to undo */
    #undoStep(last) {
        const { page } = this;
        if (typeof last === 'function') return last();
        if ('deleted' in last) return page.deletion.undoOf(last.deleted);
        if ('steps' in last)
            return last.steps.reduce(
                (key, step) => this.#undoStep(step) ?? key,
                /** @type {string | null} */ (null),
            );
        this.#dismissOffer();
        /**
         * Maps old to new ids. Restored drafts need new ids, because the server may still delete
         * the drafts with the old ids.
         * @type {Map<string | null, string>}
         */
        const ids = new Map(last.drafts.map(({ draft }) => [draft.id, newId()]));
        for (const { draft, after } of last.drafts) {
            const on = page.model.states.has(draft.on) ? draft.on : page.here;
            const id = page.drafts.add(
                { ...draft, id: ids.get(draft.id) ?? newId(), on },
                ids.get(after) ?? after,
            );
            if (on !== page.here) page.openedDrafts.add(id);
        }
        for (const { state, index, text } of last.texts) {
            const prose = page.model.states.get(state)?.prose;
            if (prose) page.prose.set(state, prose.toSpliced(index, 0, text));
            else page.drafts.add({ id: newId(), on: page.here, kind: 'markdown', source: text }, null);
        }
        const [text] = last.texts;
        return ids.get(last.drafts[0]?.draft.id ?? '') ?? (text ? textKey(text.state, text.index) : '');
    }

    /**
     * Deletes a failed attempt. Also deletes the attempt's draft if the draft still contains the
     * code that ran.
     * @param {import('../shell/model.js').Run} run
     * @param {() => void} putBack called after the user undoes both deletions
     */
    forgetAttempt(run, putBack) {
        const draft = run.draft ? this.page.drafts.get(run.draft) : undefined;
        this.page.dropAttempt(run.exec_id);
        if (draft && draft.source === run.code) {
            this.remove([draft], putBack);
            const [attempt, drafts] = this.undoStack.splice(-2);
            if (attempt && drafts) this.#push({ steps: [attempt, drafts] });
        }
    }
}

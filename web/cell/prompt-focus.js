// @ts-check
// The focus when a run asks for input: it goes to the input box, unless the user is typing
// elsewhere, and back afterwards.

import { WORDS } from '../shell/words.js';
import { keyOf } from './focus.js';

export class PromptFocus {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {import('./focus.js').Focus} focus
     */
    constructor(page, focus) {
        this.page = page;
        this.focus = focus;
        /**
         * The cell in which the user typed last; null if the user has not typed since the last
         * run.
         * @type {string | null}
         */
        this.lastTyped = null;
        /**
         * The cell whose editor had the focus when a run asked for input.
         * @type {string | null}
         */
        this.editorBefore = null;
    }

    /**
     * Focuses the input box of a run of this tab. If the user is typing elsewhere, shows a notice
     * instead.
     * @param {string} exec_id
     * @param {string} text the prompt
     * @param {HTMLElement} box
     */
    onRequested(exec_id, text, box) {
        if (!this.page.ownRuns.has(exec_id)) return;
        this.editorBefore = keyOf(document.activeElement?.closest('.editor'));
        const go = () => box.focus();
        if (this.#isWriting(box))
            this.page.notify(WORDS.asks(text), false, { stays: true, act: { text: WORDS.asksGo, act: go } });
        else go();
    }

    /**
     * Whether the user is typing somewhere other than in the cell of the input box.
     * @param {HTMLElement} box
     */
    #isWriting(box) {
        const at = document.activeElement;
        if (at?.closest('dialog, .menu, input')) return at !== box;
        const key = keyOf(at?.closest('.editor'));
        return (
            key !== null &&
            key !== keyOf(box) &&
            key === this.lastTyped &&
            this.focus.views.get(key)?.text.trim() !== ''
        );
    }

    /**
     * Dismisses the notice of an input prompt that ended. If the input box had the focus, returns
     * the focus to the editor that had it before.
     * @param {string} text the prompt
     * @param {string | null} key the prompt's cell; null if the input box did not have the focus
     */
    onEnded(text, key) {
        if (this.page.notice?.text === WORDS.asks(text)) this.page.dismissNotice();
        if (key !== null) this.focus.target = { key: this.editorBefore ?? key };
        this.editorBefore = null;
    }
}

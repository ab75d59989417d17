// @ts-check
// The cells of the page as the rest of the page uses them: their focus, selection, sections, runs
// and edits, and their keys.

import { CodeAssist } from '../editor/code-assist.js';
import { bindAll } from '../commands/key-bindings.js';
import { KeySequence, keyNamesOf } from '../commands/commands.js';
import { isText, runOf } from '../notebook/cell-list.js';
import { saveNow } from '../notebook/save-now.js';
import { pictureAt } from '../outputs/local-images.js';
import { toggleFold } from '../outputs/outputs.js';
import { PRESENCE_WORDS } from '../presence/presence-words.js';
import { stepBeside } from './branch-tabs.js';
import { withPart } from '../shell/lazy-parts.js';
import { WORDS } from '../shell/words.js';
import { ask } from '../ui/dialog.js';
import { EditCommands } from './edit-commands.js';
import { Focus } from './focus.js';
import { PromptFocus } from './prompt-focus.js';
import { RunCommands } from './run-commands.js';
import { SectionCommands } from './section-commands.js';
import { SectionFolds } from './section-folds.js';
import { SelectedCells } from './selected-cells.js';

/** @typedef {import('./cell.js').Cell} CellView */
/** @typedef {import('../commands/commands.js').Target} Target */

/**
 * The keys of undo and redo. Where nothing can be typed, the browser would apply them to the editor
 * that was typed into last.
 */
const HISTORY_KEYS = ['Mod-z', 'Mod-Shift-z', 'Mod-y'];

export class CellController {
    /** @param {import('../notebook/page.js').Page} page */
    constructor(page) {
        this.page = page;
        this.sections = new SectionFolds(page);
        this.focus = new Focus(page, this.sections);
        this.sectionCommands = new SectionCommands(this.sections, this.focus);
        this.selected = new SelectedCells(page, this.sections, this.focus);
        this.prompts = new PromptFocus(page, this.focus);
        this.edits = new EditCommands(page, this.focus, this.selected, this.prompts);
        this.runs = new RunCommands(page, this.focus, this.selected, this.prompts, this.edits);
        this.assist = new CodeAssist(page, () => performance.now());
        /** Null until it is loaded. @type {import('../lint/code-problems.js').CodeProblems | null} */
        this.problems = null;
        /** Null before the first search. @type {import('../find/find-panel.js').Finder | null} */
        this.finder = null;
        /**
         * Functions that toggle the panes beside the cells. `uncover`: closes those that cover the
         * kept outputs; `wentInGraph`: the user went to a state in the graph.
         * @type {{graph: () => void, outline: () => void, variables: () => void,
         *   files: () => void, uncover: () => void, wentInGraph: () => void} | null}
         */
        this.panes = null;
        this.keys = new KeySequence();
        bindAll(this);
    }

    /** The address of a picture in a text cell. @param {string} address */
    pictures = (address) => pictureAt(this.page.model.name, address, Date.now());

    // Position

    /** Goes to a state and focuses the empty cell, where a branch begins. @param {string} state */
    branch(state) {
        this.page.branchFrom(state);
        this.page.host.paintNow();
        this.focus.fresh();
    }

    /**
     * Goes to a state and focuses its cell, because the pressed button disappears.
     * @param {string} state
     */
    goOn(state) {
        this.page.goTo(state);
        const cell = this.page
            .cells()
            .findLast((one) => one.kind === 'ran' && one.state.id === this.page.here);
        if (cell) this.focus.go({ key: cell.key, asCell: true });
    }

    /**
     * The cell with which the branch of a cell begins: the nearest one with tabs, upwards.
     * @param {CellView} view
     */
    forkAbove(view) {
        const cells = this.page.cells();
        const at = cells.findIndex(({ key }) => key === view.props.cell.key);
        return cells.slice(0, at + 1).findLast((one) => 'beside' in one && one.beside.length > 1);
    }

    /**
     * Shows the branch before or after that of a cell, and keeps the focus on the cell there.
     * @param {CellView} view
     * @param {1 | -1} step
     */
    showBeside(view, step) {
        const fork = this.forkAbove(view);
        const cell = fork && stepBeside(this, fork, step)?.closest('.cell');
        if (cell instanceof HTMLElement) cell.focus({ preventScroll: true });
    }

    /** @param {import('../shell/protocol.js').State} state */
    async label(state) {
        const label = await ask({
            title: WORDS.labelAsk,
            why: WORDS.labelWhy,
            act: WORDS.labelDo,
            input: state.label ?? '',
        });
        if (label !== null) this.page.label(state.id, label);
    }

    // Code

    /** @param {CellView} view */
    format(view) {
        return withPart('lint', this.page, (part) => part.formatCell(this, view));
    }

    formatDrafts() {
        return withPart('lint', this.page, (part) => part.formatDrafts(this));
    }

    /** @param {CellView} view */
    fold(view) {
        for (const { props } of this.selected.with(view)) toggleFold(runOf(props.cell)?.exec_id);
    }

    /** Collapses or expands the code of the selected cells. @param {CellView} view */
    foldCode(view) {
        const isFolded = !view.isFolded;
        for (const one of this.selected.with(view)) if (!isText(one.props.cell)) one.fold(isFolded);
    }

    // The notebook

    /** @param {boolean} replaces */
    find(replaces) {
        withPart('finder', this.page, ({ Finder }) => {
            this.finder ??= new Finder(this);
            this.finder.open(replaces);
        });
    }

    showPalette() {
        withPart('palette', this.page, ({ showPalette }) => showPalette(this));
    }

    showPython() {
        withPart('python', this.page, async ({ showPython }) => {
            if ((await showPython(this.page)) !== null) this.focus.fresh();
        });
    }

    saveNow() {
        saveNow(this.page);
    }

    /** @param {number} pages in heights of the visible area; negative: upwards */
    scroll(pages) {
        const main = document.querySelector('main');
        main?.scrollBy({ top: pages * main.clientHeight });
    }

    /** Called after each paint. @param {import('../notebook/cell-list.js').Cell[]} cells */
    onPainted(cells) {
        this.focus.onPainted(cells);
        this.selected.show(cells);
        this.finder?.onPainted(cells);
        this.runs.onPainted();
        this.problems?.onPainted(cells);
        this.focus.follow();
    }

    // Keys

    /**
     * Runs the command bound to a key press.
     * @param {import('../commands/commands.js').Mode} mode
     * @param {CellView | null} view
     * @param {KeyboardEvent} event
     * @returns {boolean} whether the page, not the browser, handles the key press
     */
    press(mode, view, event) {
        if (event.isComposing || event.getModifierState('AltGraph')) return false;
        // Paint pending changes first, so that the command acts on the newest cells. The paint may
        // replace a cell; the focus is then in the cell that took its place.
        this.page.host.paintIfDue();
        const isReplaced = view !== null && this.focus.views.get(view.props.cell.key) !== view;
        const at = { view: isReplaced ? this.focus.view : view };
        for (const entry of this.keys.press(mode, keyNamesOf(event), performance.now(), at)) {
            if ((event.repeat && entry.isOnce) || entry.act(at) !== false) return true;
        }
        return this.keys.isWaiting;
    }

    /** The focused cell or, if no cell has the focus, the last focused cell. @returns {Target} */
    target() {
        return { view: this.focus.view };
    }

    /** Handles keys that work everywhere in the page. @param {KeyboardEvent} event */
    onGlobalKey(event) {
        const target = /** @type {Element} */ (event.target);
        if (event.defaultPrevented) return;
        const isInDialog = target.closest('dialog') !== null;
        const [name = ''] = keyNamesOf(event);
        if (HISTORY_KEYS.includes(name) && !target.closest('input, textarea, [contenteditable="true"]')) {
            event.preventDefault();
            if (!this.page.mayRun || isInDialog) return;
            if (name === 'Mod-z') this.edits.undo();
            else this.edits.redo();
        } else if (isInDialog) return;
        else if (this.press('anywhere', this.target().view, event)) event.preventDefault();
    }

    /** Handles keys while a cell, not its editor, has the focus. @param {KeyboardEvent} event */
    onCellKey(event) {
        const target = /** @type {HTMLElement} */ (event.target);
        const view = target.matches('.cell') ? this.focus.views.get(target.dataset.cell ?? '') : undefined;
        if (view && this.press('cell', view, event)) event.preventDefault();
        else if (view) this.#sayViewOnly(event);
    }

    /**
     * Handles keys in an editor.
     * @param {CellView} view
     * @param {KeyboardEvent} event
     * @returns {boolean} whether the key was handled
     */
    onEditorKey(view, event) {
        if (this.press('editor', view, event)) return true;
        this.#sayViewOnly(event);
        return false;
    }

    /** Says why a key that types or runs does nothing for a user who may only view the notebook. */
    #sayViewOnly(/** @type {KeyboardEvent} */ { key, ctrlKey, metaKey }) {
        const isTyping = key.length === 1 && !ctrlKey && !metaKey;
        const acts = isTyping || ['Enter', 'Backspace', 'Delete'].includes(key);
        if (this.page.scope === 'view' && acts) this.page.notify(PRESENCE_WORDS.viewOnly, false);
    }
}

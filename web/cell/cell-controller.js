// @ts-check
// What the keys and buttons of cells do, and where the focus is.

import { CodeAssist } from '../editor/code-assist.js';
import { ClipboardHistory } from './clipboard-history.js';
import { hasEnded } from '../shell/protocol.js';
import { WORDS } from '../shell/words.js';
import { COMPARE_WORDS } from '../compare/compare-words.js';
import { runOf } from '../notebook/cell-list.js';
import { compareWith } from '../compare/compare-commands.js';
import { ask } from '../ui/dialog.js';
import { CellCommands } from './cell-commands.js';
import { residencyActions } from '../checkpoints/residency-view.js';
import { deleteActions } from '../presence/avatars.js';

/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('./cell.js').Cell} CellView */
/** @typedef {import('../notebook/page.js').Page} Page */

/** Space kept free below the focused cell while outputs above it grow, in px. */
const FREE = 24;

export class CellController {
    /** @param {Page} page */
    constructor(page) {
        this.page = page;
        this.clipboard = new ClipboardHistory(page);
        /** @type {Map<string, CellView>} */
        this.views = new Map();
        /**
         * Where the next paint moves the focus.
         * @type {{key: string, asCell?: boolean} | {after: string} | null}
         */
        this.focusTarget = null;
        /** The cell that was typed into since the last run started. @type {string | null} */
        this.lastTypedCell = null;
        /**
         * The cell whose editor had the focus before a run asked for input.
         * @type {string | null}
         */
        this.editorBeforePrompt = null;
        /**
         * The last cell whose run moved the focus below it. Its outputs must not push the focus out
         * of view.
         * @type {string | null}
         */
        this.followedCell = null;
        /**
         * The last focused cell. Its index and `asCell` serve to recover the focus if the cell
         * disappears.
         * @type {{key: string, index: number, asCell: boolean} | null}
         */
        this.lastFocus = null;
        /**
         * Whether the user left the focus inside the page. Stays true if the focused element is
         * removed or disabled, so that the focus can be recovered.
         */
        this.hasFocus = false;
        this.assist = new CodeAssist(page, () => performance.now());
        this.commands = new CellCommands(this);
    }

    /** @param {string} key @param {CellView} view */
    mounted(key, view) {
        this.views.set(key, view);
    }

    /** @param {string} key @param {CellView} view */
    unmounted(key, view) {
        if (this.views.get(key) === view) this.views.delete(key);
    }

    /** Tracks the focus, and recovers it when the pressed button disappears. */
    watchFocus() {
        document.addEventListener(
            'focusin',
            ({ target }) => (this.hasFocus = /** @type {Element} */ (target).closest('.app') !== null),
        );
        // If the user clicks on empty space, the focus leaves on purpose, and its old element
        // still exists.
        document.addEventListener('focusout', ({ target, relatedTarget }) =>
            queueMicrotask(() => {
                if (
                    !relatedTarget &&
                    document.hasFocus() &&
                    /** @type {Element} */ (target).isConnected &&
                    !isDisabled(/** @type {Element} */ (target))
                )
                    this.hasFocus = document.activeElement !== document.body;
            }),
        );
        document.addEventListener('click', () =>
            requestAnimationFrame(() => this.#recoverFocus(this.page.cells())),
        );
    }

    // Actions of cells

    /** @param {CellView} view @param {'next' | 'stay' | 'insert'} then */
    run(view, then) {
        const { cell } = view.props;
        this.page.run(cell, view.text);
        this.lastTypedCell = null;
        this.followedCell = then === 'stay' ? null : cell.key;
        if (then === 'next') this.go({ after: cell.key });
        if (then === 'insert') this.insertBelow(cell);
        // As in Jupyter, the next keys are commands.
        if (then === 'stay') this.focusCell(cell.key);
    }

    /**
     * Moves the focus without delay, because the next key is meant for the new cell.
     * @param {{key: string, asCell?: boolean} | {after: string}} where
     */
    go(where) {
        this.focusTarget = where;
        this.page.host.paintNow();
    }

    /** Stops a cell; if it is not running, the oldest open run. @param {CellData} [cell] */
    stop(cell) {
        const own = cell && runOf(cell);
        const run = own && !hasEnded(own.status) ? own : this.page.model.openRuns()[0];
        if (run && this.page.mayRun) this.page.stop(run.exec_id);
    }

    /**
     * Stops a cell and focuses it, so that the next key does not press the button that replaces
     * Stop.
     * @param {CellData} cell
     * @param {MouseEvent} event
     */
    onStopPressed(cell, event) {
        // A double click stops once. Only a separate second click kills the process.
        if (event.detail < 2) this.stop(cell);
        this.focusCell(cell.key);
    }

    /**
     * @param {CellData} cell
     * @param {string} text
     * @param {import('../notebook/drafts.js').Typed} typed
     */
    type(cell, text, typed) {
        this.lastTypedCell = cell.key;
        this.page.type(cell, text, typed);
    }

    /** @param {string} draft */
    flush(draft) {
        this.page.drafts.flush(draft);
    }

    /**
     * @param {string} exec_id
     * @param {string} text
     * @returns {Promise<boolean>} whether the server accepted it
     */
    answer(exec_id, text) {
        return this.page.answer(exec_id, text);
    }

    /**
     * A run of this tab asks for input: focuses the input box, or shows a notice if the user is
     * typing elsewhere.
     * @param {string} exec_id
     * @param {string} text
     * @param {HTMLElement} box
     */
    onInputRequested(exec_id, text, box) {
        if (!this.page.ownRuns.has(exec_id)) return;
        this.editorBeforePrompt = keyOf(document.activeElement?.closest('.editor'));
        const go = () => box.focus();
        if (this.#isWriting(box))
            this.page.notify(WORDS.asks(text), false, { stays: true, act: { text: WORDS.asksGo, act: go } });
        else go();
    }

    /** @param {HTMLElement} box the input box of the prompt */
    #isWriting(box) {
        const at = document.activeElement;
        if (at?.closest('dialog, .menu, input')) return at !== box;
        const key = keyOf(at?.closest('.editor'));
        return (
            key !== null &&
            key !== keyOf(box) &&
            key === this.lastTypedCell &&
            this.views.get(key)?.text.trim() !== ''
        );
    }

    /**
     * A run no longer asks for input.
     * @param {string} text
     * @param {string | null} key the cell that asked, if its box had the focus
     */
    onInputEnded(text, key) {
        if (this.page.notice?.text === WORDS.asks(text)) this.page.dismissNotice();
        if (key !== null) this.focusTarget = { key: this.editorBeforePrompt ?? key };
        this.editorBeforePrompt = null;
    }

    /**
     * @param {import('../shell/protocol.js').State} state
     * @param {number} at
     * @param {string} text
     */
    setProse(state, at, text) {
        this.page.setProse(state.id, state.prose.with(at, text));
    }

    /** @param {Extract<CellData, {kind: 'ran'}>} cell */
    undoEdit(cell) {
        this.page.undoEdit(cell);
    }

    /** @param {Extract<CellData, {kind: 'draft'}>} cell @param {'code' | 'markdown'} kind */
    setKind(cell, kind) {
        this.page.setKind(cell, kind);
        this.go({ key: cell.key });
    }

    /** @param {CellData} cell @param {'code' | 'markdown'} [kind] */
    insertBelow(cell, kind) {
        const next = this.#neighbour(cell.key, 1);
        // The empty cell at the end serves as the cell below the last one.
        const isThere = !kind && next?.kind === 'draft' && next.isFresh;
        this.go({ key: isThere ? next.key : this.page.insertBelow(cell, kind) });
    }

    /** @param {Extract<CellData, {kind: 'draft'}>} cell */
    insertAbove(cell) {
        this.go({ key: this.commands.operations.insertAbove(cell) });
    }

    /** @param {Extract<CellData, {kind: 'draft'}>} cell */
    remove(cell) {
        if (!cell.isFresh) this.clipboard.remove([cell.draft], () => this.undoRemoval());
    }

    /** Deletes a draft and its failed attempt. @param {Extract<CellData, {kind: 'draft'}>} cell */
    removeFailed(cell) {
        if (!cell.run || this.page.scope !== 'owner') return this.remove(cell);
        this.clipboard.forgetAttempt(cell.run, () => this.undoRemoval());
        // Delete the draft even if it was changed since the failure.
        if (this.page.drafts.get(cell.draft.id)) this.remove(cell);
        return undefined;
    }

    undoRemoval() {
        const key = this.clipboard.undo();
        if (key) this.go({ key, asCell: true });
    }

    /** Goes to the newest state below a state. @param {string} state */
    goToNewestBelow(state) {
        this.page.goTo(this.page.model.newestBelow(state));
    }

    /** @param {CellView} view @returns {import('../ui/menu.js').Action[]} */
    menuOf(view) {
        const { cell } = view.props;
        const { page } = this;
        const run = runOf(cell);
        const failed = run && hasEnded(run.status) && !run.state ? run : null;
        const mayDelete = page.scope === 'owner';
        const drop = failed &&
            mayDelete && {
                text: WORDS.dropAttempt,
                hint: failed.draft && cell.kind === 'draft' ? WORDS.dropHint : undefined,
                act: () => this.clipboard.forgetAttempt(failed, () => this.undoRemoval()),
            };
        const copy = { text: WORDS.copyCode, act: () => this.go({ key: page.copyAsDraft(view.text) }) };
        const insert = { text: WORDS.insertBelow, act: () => this.insertBelow(cell) };
        const below = page.runnable(cell.key).length;
        const all = { act: () => page.runFrom(cell.key) };
        if (cell.kind === 'attempt') return [copy, drop];
        if (cell.kind === 'draft') {
            const kind = cell.draft.kind === 'code' ? 'markdown' : 'code';
            const turn = {
                text: kind === 'code' ? WORDS.toCode : WORDS.toText,
                act: () => this.setKind(cell, kind),
            };
            const above = { text: WORDS.insertAbove, act: () => this.insertAbove(cell) };
            const isIdle = !run || hasEnded(run.status);
            const beside = isIdle &&
                view.text.trim() !== '' &&
                page.waitsFor(cell) !== undefined && {
                    text: WORDS.runBeside,
                    hint: WORDS.runBesideHint,
                    act: () => page.run(cell, view.text, true),
                };
            return [
                beside,
                !cell.isInside && below > 1 && { ...all, text: WORDS.runBelow },
                !cell.isInside && above,
                !cell.isInside && insert,
                turn,
                drop,
                { text: WORDS.removeDraft, act: () => this.remove(cell), isBad: true },
            ];
        }
        const isTip = cell.state.id === page.here;
        return [
            !isTip && { text: WORDS.standHere, act: () => page.goTo(cell.state.id) },
            isTip && below > 0 && { ...all, text: WORDS.runAllBelow },
            isTip && insert,
            copy,
            { text: WORDS.label, act: () => this.label(cell.state) },
            page.model.states.size > 2 && {
                text: COMPARE_WORDS.compareWith,
                act: () => compareWith(page, cell.state.id),
            },
            ...residencyActions(cell.state, page),
            drop,
            ...(mayDelete ? deleteActions(cell.state, page) : []),
        ];
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

    /** Runs the drafts shown; their button calls this. @param {CellData[]} waiting */
    runAll(waiting) {
        const [first] = waiting;
        this.page.runFrom();
        if (first) this.focusCell(first.key);
    }

    /** Goes to a state and focuses its cell, as the button disappears. @param {string} state */
    goOn(state) {
        this.page.goTo(state);
        const cell = this.page
            .cells()
            .findLast((one) => one.kind === 'ran' && one.state.id === this.page.here);
        if (cell) this.go({ key: cell.key, asCell: true });
    }

    // Focus

    /** @param {CellView} view */
    leaveEditor(view) {
        this.focusCell(view.props.cell.key);
    }

    /** Focuses the cell itself, not its editor. @param {string} key */
    focusCell(key) {
        this.#elementOf(key)?.focus();
    }

    /**
     * In the first or last line, an arrow key moves to the neighbouring cell.
     * @param {CellView} view
     * @param {1 | -1} step
     * @returns {boolean} whether the focus moved
     */
    leaveByArrow(view, step) {
        const state = view.editor?.view?.state;
        if (!state || state.selection.ranges.length > 1 || !state.selection.main.empty) return false;
        const line = state.doc.lineAt(state.selection.main.head).number;
        if (line !== (step === 1 ? state.doc.lines : 1)) return false;
        const next = this.#neighbour(view.props.cell.key, step);
        if (!next) return false;
        this.#elementOf(next.key);
        this.views.get(next.key)?.focus(step === 1 ? 'start' : 'end');
        return true;
    }

    /**
     * A cell's element. Keys may arrive before the paint that creates it.
     * @param {string} key
     * @returns {HTMLElement | null}
     */
    #elementOf(key) {
        if (!cellElement(key)) this.page.host.paintNow();
        return cellElement(key);
    }

    /**
     * Backspace deletes an empty draft.
     * @param {CellView} view
     * @returns {boolean} whether the draft was deleted
     */
    eraseEmpty(view) {
        const { cell } = view.props;
        if (cell.kind !== 'draft' || cell.isFresh || view.text !== '' || runOf(cell)) return false;
        const before = this.#neighbour(cell.key, -1);
        this.remove(cell);
        if (before) this.views.get(before.key)?.focus('end');
        return true;
    }

    /** @param {string} key @param {number} step */
    #neighbour(key, step) {
        const cells = this.page.cells();
        return cells[cells.findIndex((cell) => cell.key === key) + step];
    }

    /**
     * After each paint: moves the focus to its target, and keeps it inside the notebook.
     * @param {CellData[]} cells
     */
    onPainted(cells) {
        const { focusTarget } = this;
        this.focusTarget = null;
        if (focusTarget) {
            const step = 'key' in focusTarget ? 0 : 1;
            const at = cells.findIndex(
                (cell) => cell.key === ('key' in focusTarget ? focusTarget.key : focusTarget.after),
            );
            const next =
                cells[
                    Math.min(at < 0 ? (this.lastFocus?.index ?? cells.length) : at + step, cells.length - 1)
                ];
            // On an existing cell the next keys are commands; in the empty cell they are code.
            const asCell =
                'key' in focusTarget ? focusTarget.asCell : next?.kind !== 'draft' || !next.isFresh;
            if (next && asCell) this.focusCell(next.key);
            else if (next) this.views.get(next.key)?.focus();
        } else this.#recoverFocus(cells);
        this.rememberFocus(document.activeElement, cells);
        this.commands.onPainted(cells);
        this.follow();
    }

    /** @param {Element | null} target @param {CellData[]} cells */
    rememberFocus(target, cells) {
        const key = keyOf(target);
        const index = cells.findIndex((cell) => cell.key === key);
        if (key && index >= 0) this.lastFocus = { key, index, asCell: !target?.closest('.cm-editor') };
    }

    /**
     * Moves the focus from a removed element to its cell, or to the cell that took its position.
     * @param {CellData[]} cells
     */
    #recoverFocus(cells) {
        const { lastFocus } = this;
        const at = document.activeElement;
        if (at !== document.body && !(at && isDisabled(at))) return;
        const isThere = cells.some((cell) => cell.key === lastFocus?.key);
        if (!this.hasFocus && (isThere || !lastFocus)) return;
        const next = isThere
            ? lastFocus
            : cells[Math.min(lastFocus?.index ?? cells.length, cells.length - 1)];
        if (next && lastFocus && !isThere && !lastFocus.asCell) this.views.get(next.key)?.focus();
        // The user did not scroll, so the page must not either.
        else if (next) this.#elementOf(next.key)?.focus({ preventScroll: isThere });
    }

    /** Scrolls while outputs above the focused cell grow, so that this cell stays in view. */
    follow() {
        const cell = this.followedCell === null ? null : cellElement(this.followedCell);
        const next = document.activeElement?.closest('.cell');
        const box = cell?.closest('main');
        if (!cell || !box || !next || next === cell) return;
        const hidden = next.getBoundingClientRect().bottom + FREE - box.getBoundingClientRect().bottom;
        const room = cell.getBoundingClientRect().top - box.getBoundingClientRect().top;
        const by = Math.min(hidden, room);
        if (by > 0) box.scrollTop += by;
    }

    /** Stops following: the user scrolled elsewhere. */
    unfollow() {
        this.followedCell = null;
    }

    /**
     * Focuses the empty cell at the end.
     * @param {boolean} [asCell] focuses the cell, not its editor
     */
    focusFresh(asCell = false) {
        const fresh = this.page.cells().findLast((cell) => cell.kind === 'draft' && cell.isFresh);
        if (fresh && asCell) this.focusCell(fresh.key);
        else if (fresh) this.views.get(fresh.key)?.focus();
    }

    /** Handles keys that work everywhere in the page. @param {KeyboardEvent} event */
    onGlobalKey(event) {
        const target = /** @type {Element} */ (event.target);
        if (event.defaultPrevented || target.closest('dialog')) return;
        if (this.commands.press('anywhere', this.commands.target().view, event)) event.preventDefault();
    }

    /** Handles keys while a cell, not its editor, has the focus. @param {KeyboardEvent} event */
    onCellKey(event) {
        const target = /** @type {HTMLElement} */ (event.target);
        const view = target.matches('.cell') ? this.views.get(target.dataset.cell ?? '') : undefined;
        if (view && this.commands.press('cell', view, event)) event.preventDefault();
    }

    /**
     * Handles keys in an editor.
     * @param {CellView} view
     * @param {KeyboardEvent} event
     * @returns {boolean} whether the key was handled
     */
    onEditorKey(view, event) {
        return this.commands.press('editor', view, event);
    }
}

/**
 * @param {Element | null | undefined} inside
 * @returns {string | null} the key of the cell that contains the element
 */
const keyOf = (inside) => inside?.closest('.cell')?.getAttribute('data-cell') ?? null;

/** Disabled elements receive no key events. @param {Element} one */
const isDisabled = (one) => one.matches(':disabled');

/** @param {string} key @returns {HTMLElement | null} */
const cellElement = (key) => document.querySelector(`[data-cell="${CSS.escape(key)}"]`);

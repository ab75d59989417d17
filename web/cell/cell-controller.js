// @ts-check
// What the keys and buttons of cells do, and who has the focus.

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

/** Space in px that stays free below a cell that is followed. */
const FREE = 24;

export class CellController {
    /** @param {Page} page */
    constructor(page) {
        this.page = page;
        this.clipboard = new ClipboardHistory(page);
        /** @type {Map<string, CellView>} */
        this.views = new Map();
        /** Where the focus is to go when the next picture is painted. @type {{key: string, asCell?: boolean} | {after: string} | null} */
        this.focusTarget = null;
        /** The cell that was typed into since the last run was started. @type {string | null} */
        this.lastTypedCell = null;
        /** The editor that had the focus before an answer was asked for. @type {string | null} */
        this.editorBeforePrompt = null;
        /** A cell that was run with the focus going on below it: its outputs must not push the focus out of sight. @type {string | null} */
        this.followedCell = null;
        /** The cell that has the focus, where it stood, and whether as a cell or in its editor, in case it disappears. @type {{key: string, index: number, asCell: boolean} | null} */
        this.lastFocus = null;
        /** Whether the page has the focus: if it has it no more, and nobody led it away, what had it is gone. */
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

    /** Keeps the focus from falling out of the page where the button that was pressed goes away. */
    watchFocus() {
        document.addEventListener(
            'focusin',
            ({ target }) => (this.hasFocus = /** @type {Element} */ (target).closest('.app') !== null),
        );
        // Who clicks beside everything leaves; what had the focus is still there then.
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

    // What a cell does

    /** @param {CellView} view @param {'next' | 'stay' | 'insert'} then */
    run(view, then) {
        const { cell } = view.props;
        this.page.run(cell, view.text);
        this.lastTypedCell = null;
        this.followedCell = then === 'stay' ? null : cell.key;
        if (then === 'next') this.go({ after: cell.key });
        if (then === 'insert') this.insertBelow(cell);
        // As in Jupyter: the cell has run, the next keys are commands.
        if (then === 'stay') this.focusCell(cell.key);
    }

    /** Leads the focus on, at once: the next key is meant for where it goes. @param {{key: string, asCell?: boolean} | {after: string}} where */
    go(where) {
        this.focusTarget = where;
        this.page.host.now();
    }

    /** @param {CellData} [cell] without one, or where nothing of it runs: what runs longest */
    stop(cell) {
        const own = cell && runOf(cell);
        const run = own && !hasEnded(own.status) ? own : this.page.model.openRuns()[0];
        if (run && this.page.mayRun) this.page.stop(run.exec_id);
    }

    /** The button was pressed. Where it was there will be another, which the next key must not press. @param {CellData} cell @param {MouseEvent} event */
    onStopPressed(cell, event) {
        // A double click is one wish; only who asks again wants the process to be killed.
        if (event.detail < 2) this.stop(cell);
        this.focusCell(cell.key);
    }

    /** @param {CellData} cell @param {string} text @param {string} before */
    type(cell, text, before) {
        this.lastTypedCell = cell.key;
        this.page.type(cell, text, before);
    }

    /** @param {string} draft */
    flush(draft) {
        this.page.drafts.flush(draft);
    }

    /** @param {string} exec_id @param {string} text @returns {Promise<boolean>} whether it was taken */
    answer(exec_id, text) {
        return this.page.answer(exec_id, text);
    }

    /** A run asks: the next keys are the answer, if it is ours and nothing else is being written. @param {string} exec_id @param {string} text @param {HTMLElement} box */
    onInputRequested(exec_id, text, box) {
        if (!this.page.ownRuns.has(exec_id)) return;
        this.editorBeforePrompt = keyOf(document.activeElement?.closest('.editor'));
        const go = () => box.focus();
        if (this.#isWriting(box))
            this.page.notify(WORDS.asks(text), false, { stays: true, act: { text: WORDS.asksGo, act: go } });
        else go();
    }

    /** @param {HTMLElement} box the answer's */
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

    /** Nothing is asked any more. @param {string} text @param {string | null} key the cell that asked, if its box had the focus */
    onInputEnded(text, key) {
        if (this.page.notice?.text === WORDS.asks(text)) this.page.dismissNotice();
        if (key !== null) this.focusTarget = { key: this.editorBeforePrompt ?? key };
        this.editorBeforePrompt = null;
    }

    /** @param {import('../shell/protocol.js').State} state @param {number} at @param {string} text */
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
        // Below the last cell there is an empty one already.
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

    /** Removes a draft and the failed attempt that it made. @param {Extract<CellData, {kind: 'draft'}>} cell */
    removeFailed(cell) {
        if (!cell.run || this.page.scope !== 'owner') return this.remove(cell);
        this.clipboard.forgetAttempt(cell.run, () => this.undoRemoval());
        // What was changed since is no copy of what failed; it goes all the same.
        if (this.page.drafts.get(cell.draft.id)) this.remove(cell);
        return undefined;
    }

    undoRemoval() {
        const key = this.clipboard.undo();
        if (key) this.go({ key, asCell: true });
    }

    /** Looks at the newest line that goes through a state. @param {string} state */
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

    /** Runs the drafts of this line, by their button. @param {CellData[]} waiting */
    runAll(waiting) {
        const [first] = waiting;
        this.page.runFrom();
        if (first) this.focusCell(first.key);
    }

    /** Goes to a state by a button that is not there any more then. @param {string} state */
    goOn(state) {
        this.page.goTo(state);
        const cell = this.page
            .cells()
            .findLast((one) => one.kind === 'ran' && one.state.id === this.page.here);
        if (cell) this.go({ key: cell.key, asCell: true });
    }

    // Who has the focus

    /** @param {CellView} view */
    leaveEditor(view) {
        this.focusCell(view.props.cell.key);
    }

    /** The cell as a whole, not its editor. @param {string} key */
    focusCell(key) {
        this.#elementOf(key)?.focus();
    }

    /** At the first or last line, an arrow goes on to the next cell. @param {CellView} view @param {1 | -1} step @returns {boolean} whether it did */
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

    /** A cell's element; keys may be faster than the next picture. @param {string} key @returns {HTMLElement | null} */
    #elementOf(key) {
        if (!cellElement(key)) this.page.host.now();
        return cellElement(key);
    }

    /** Backspace in an empty draft removes it. @param {CellView} view @returns {boolean} whether it did */
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

    /** After each paint: the focus goes where it was wanted, and never falls out of the notebook. @param {CellData[]} cells */
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
            // On a cell that is there already the next keys are commands; in the empty one, they are code.
            const asCell =
                'key' in focusTarget ? focusTarget.asCell : next?.kind !== 'draft' || !next.isFresh;
            if (next && asCell) this.focusCell(next.key);
            else if (next) this.views.get(next.key)?.focus();
        } else this.#recoverFocus(cells);
        this.rememberFocus(document.activeElement, cells);
        this.commands.onPainted(cells);
        this.follow();
    }

    /** Remembers the cell that has the focus. @param {Element | null} target @param {CellData[]} cells */
    rememberFocus(target, cells) {
        const key = keyOf(target);
        const index = cells.findIndex((cell) => cell.key === key);
        if (key && index >= 0) this.lastFocus = { key, index, asCell: !target?.closest('.cm-editor') };
    }

    /** What had the focus is gone: it goes to its cell, or to the one that took that one's place. @param {CellData[]} cells */
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
        // Nobody asked to look elsewhere.
        else if (next) this.#elementOf(next.key)?.focus({ preventScroll: isThere });
    }

    /** The focus went on below a cell whose outputs grow: it stays in sight, as far as the cell itself does. */
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

    /** The user looks somewhere else. */
    unfollow() {
        this.followedCell = null;
    }

    /** Leads to the place to type at the end. @param {boolean} [asCell] to it as a cell, not into its editor */
    focusFresh(asCell = false) {
        const fresh = this.page.cells().findLast((cell) => cell.kind === 'draft' && cell.isFresh);
        if (fresh && asCell) this.focusCell(fresh.key);
        else if (fresh) this.views.get(fresh.key)?.focus();
    }

    /** Keys that do the same everywhere in the page. @param {KeyboardEvent} event */
    onGlobalKey(event) {
        const target = /** @type {Element} */ (event.target);
        if (event.defaultPrevented || target.closest('dialog')) return;
        if (this.commands.press('anywhere', this.commands.target().view, event)) event.preventDefault();
    }

    /** Keys while a cell, not its editor, has the focus. @param {KeyboardEvent} event */
    onCellKey(event) {
        const target = /** @type {HTMLElement} */ (event.target);
        const view = target.matches('.cell') ? this.views.get(target.dataset.cell ?? '') : undefined;
        if (view && this.commands.press('cell', view, event)) event.preventDefault();
    }

    /** Keys in an editor. @param {CellView} view @param {KeyboardEvent} event @returns {boolean} whether it was used */
    onEditorKey(view, event) {
        return this.commands.press('editor', view, event);
    }
}

/** @param {Element | null | undefined} inside @returns {string | null} the cell that something is in */
const keyOf = (inside) => inside?.closest('.cell')?.getAttribute('data-cell') ?? null;

/** A button that cannot be pressed any more hears no keys. @param {Element} one */
const isDisabled = (one) => one.matches(':disabled');

/** @param {string} key @returns {HTMLElement | null} */
const cellElement = (key) => document.querySelector(`[data-cell="${CSS.escape(key)}"]`);

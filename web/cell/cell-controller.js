// @ts-check
// The actions behind the keys and buttons of cells. Also tracks and moves the focus.

import { CodeAssist } from '../editor/code-assist.js';
import { ClipboardHistory } from './clipboard-history.js';
import { hasEnded } from '../shell/protocol.js';
import { WORDS } from '../shell/words.js';
import { COMPARE_COMMAND_WORDS } from '../compare/compare-command-words.js';
import { LINT_WORDS } from '../lint/lint-words.js';
import { isText, runOf } from '../notebook/cell-list.js';
import { compareWith } from '../compare/compare-commands.js';
import { ROW_WORDS } from '../sweep/row-words.js';
import { askSweep } from '../sweep/sweep-commands.js';
import { loadPart, withPart } from '../shell/lazy-parts.js';
import { pictureAt } from '../outputs/local-images.js';
import { ask } from '../ui/dialog.js';
import { OUTPUT_WORDS } from '../outputs/output-words.js';
import { hasOutput, isOutputFolded, toggleFold } from '../outputs/outputs.js';
import { CellCommands } from './cell-commands.js';
import { foldedSections } from './folds.js';
import { hiding, sectionsOf } from '../notebook/sections.js';
import { residencyActions } from '../checkpoints/residency-view.js';
import { PRESENCE_WORDS } from '../presence/presence-words.js';
import { deleteActions } from '../presence/avatars.js';

/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('./cell.js').Cell} CellView */
/**
 * @typedef {{key: string, caret: {anchor: number, head: number} | null}} KeptFocus `key`: that of
 *   the cell, 'fresh' for the empty cell, or 'graph'; `caret`: the selection in the cell's editor,
 *   null if the cell itself has the focus
 */
/** @typedef {import('../notebook/page.js').Page} Page */

/** Free space that `follow` leaves below the focused cell, in px. */
const FREE = 24;

export class CellController {
    /** @param {Page} page */
    constructor(page) {
        this.page = page;
        this.clipboard = new ClipboardHistory(page);
        /** @type {Map<string, CellView>} */
        this.views = new Map();
        /**
         * The cell that the next paint focuses: the cell `key`, or the cell below `after`.
         * @type {{key: string, asCell?: boolean} | {after: string} | null}
         */
        this.focusTarget = null;
        /**
         * The cell in which the user typed last; null if the user has not typed since the last
         * run.
         * @type {string | null}
         */
        this.lastTypedCell = null;
        /**
         * The cell whose editor had the focus when a run asked for input.
         * @type {string | null}
         */
        this.editorBeforePrompt = null;
        /**
         * The last cell that the user ran with a key that moves the focus down. While the outputs
         * of this cell grow, `follow` keeps the focused cell in view.
         * @type {string | null}
         */
        this.followedCell = null;
        /**
         * The last focused cell. `#recoverFocus` uses it if the focused element disappears.
         * `asCell`: whether the cell had the focus, not its editor.
         * @type {{key: string, index: number, asCell: boolean} | null}
         */
        this.lastFocus = null;
        /**
         * Whether the user's focus is in the page. Stays true when the focused element is removed
         * or disabled, so that `#recoverFocus` then focuses a cell.
         */
        this.hasFocus = false;
        this.assist = new CodeAssist(page, () => performance.now());
        /**
         * Null until it is loaded.
         * @type {import('../lint/code-problems.js').CodeProblems | null}
         */
        this.problems = null;
        this.commands = new CellCommands(this);
    }

    /** The address of a picture in a text cell. @param {string} address */
    pictures = (address) => pictureAt(this.page.model.name, address, Date.now());

    /**
     * Attaches pictures to the notebook and shows them in a text cell.
     * @param {CellView} view
     * @param {File[]} files
     */
    async attach(view, files) {
        const part = await loadPart('attachPictures').catch(() => null);
        if (!part) return this.page.notify(WORDS.partMissing, true);
        const text = await part.attachPictures(this.page, files);
        if (!text) return undefined;
        // The user may have left the cell meanwhile.
        if (!view.editor) view.focus('end');
        this.page.host.paintNow();
        view.editor?.insert(text);
        return undefined;
    }

    /** @param {string} key @param {CellView} view */
    mounted(key, view) {
        this.views.set(key, view);
    }

    /** @param {string} key @param {CellView} view */
    unmounted(key, view) {
        if (this.views.get(key) === view) this.views.delete(key);
    }

    /** Tracks the focus. If a pressed button disappears, moves the focus to a cell. */
    watchFocus() {
        document.addEventListener('focusin', ({ target }) => {
            this.hasFocus = /** @type {Element} */ (target).closest('.app') !== null;
            this.page.presence.onMoved();
        });
        // A click on empty space removes the focus on purpose. The element that had the focus
        // then still exists.
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

    // Cells

    /** @param {CellView} view @param {'next' | 'stay' | 'insert'} then */
    run(view, then) {
        const { cell } = view.props;
        this.page.run(cell, view.text);
        this.lastTypedCell = null;
        this.followedCell = then === 'stay' ? null : cell.key;
        if (then === 'next') this.go({ after: cell.key });
        if (then === 'insert') this.insertBelow(cell);
        // As in Jupyter, the cell is then in command mode.
        if (then === 'stay') this.focusCell(cell.key);
    }

    /**
     * Runs a cell from its own state now, as a branch beside the cells that run there.
     * @param {CellView} view
     */
    runAsBranch(view) {
        const { cell } = view.props;
        if (cell.kind === 'draft' && !cell.isInside) this.page.branchFrom(cell.draft.on);
        this.run(view, 'next');
    }

    /** @param {CellView} view */
    mayTryVariants({ props: { cell } }) {
        const run = runOf(cell);
        return this.page.mayRun && cell.kind !== 'attempt' && !isText(cell) && (!run || hasEnded(run.status));
    }

    /** Asks for variants of a cell and runs them. @param {CellView} view */
    tryVariants(view) {
        const { page } = this;
        const { cell } = view.props;
        this.lastTypedCell = null;
        this.followedCell = cell.key;
        return withPart('variants', page, (part) => part.tryVariants(page, cell, view.text));
    }

    /**
     * Asks for the values of a cell's parameters and runs the cell with them.
     * @param {CellView} view
     */
    sweep(view) {
        const { cell } = view.props;
        // The rows would run against the state before the cell above.
        if (cell.kind === 'draft' ? this.page.waitsFor(cell) : 'isOutdated' in cell && cell.isOutdated)
            return this.page.notify(ROW_WORDS.wait, false);
        return askSweep(this.page, cell, view.text);
    }

    /** Goes to a state and focuses the empty cell, where a branch begins. @param {string} state */
    branch(state) {
        this.page.branchFrom(state);
        this.page.host.paintNow();
        this.focusFresh();
    }

    /**
     * Moves the focus at once, so that the next key reaches the new cell.
     * @param {{key: string, asCell?: boolean} | {after: string}} where
     */
    go(where) {
        this.focusTarget = where;
        this.page.host.paintNow();
    }

    /**
     * Stops the run of a cell. If the cell has no open run, stops the oldest open run.
     * @param {CellData} [cell]
     */
    stop(cell) {
        const own = cell && runOf(cell);
        const run = own && !hasEnded(own.status) ? own : this.page.model.openRuns()[0];
        if (run && this.page.mayRun) this.page.stop(run.exec_id);
    }

    /**
     * Stops a cell and focuses the cell. Without that, the next key could press the button that
     * replaces Stop.
     * @param {CellData} cell
     * @param {MouseEvent} event
     */
    onStopPressed(cell, event) {
        // A double click stops once. Only a separate second click kills the process.
        if (event.detail < 2) this.stop(cell);
        this.focusCell(cell.key);
    }

    /**
     * Runs a cell. A double click on Stop does not run it: its second click may reach the button
     * that has replaced Stop.
     * @param {CellView} view
     * @param {MouseEvent} event
     */
    onRunPressed(view, event) {
        if (event.detail < 2) this.run(view, 'stay');
        else this.focusCell(view.props.cell.key);
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
     * @returns {Promise<boolean>} whether the server accepted the answer
     */
    answer(exec_id, text) {
        return this.page.answer(exec_id, text);
    }

    /**
     * Focuses the input box of a run of this tab. If the user is typing elsewhere, shows a notice
     * instead.
     * @param {string} exec_id
     * @param {string} text the prompt
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
            key === this.lastTypedCell &&
            this.views.get(key)?.text.trim() !== ''
        );
    }

    /**
     * Dismisses the notice of an input prompt that ended. If the input box had the focus, returns
     * the focus to the editor that had it before.
     * @param {string} text the prompt
     * @param {string | null} key the prompt's cell; null if the input box did not have the focus
     */
    onInputEnded(text, key) {
        if (this.page.notice?.text === WORDS.asks(text)) this.page.dismissNotice();
        if (key !== null) this.focusTarget = { key: this.editorBeforePrompt ?? key };
        this.editorBeforePrompt = null;
    }

    /**
     * Saves the text of a text cell that the user leaves. An emptied cell is deleted.
     * @param {import('../notebook/cell-list.js').TextCell} cell
     */
    saveText(cell) {
        const edit = this.page.textEdits.get(cell.key);
        if (edit && !edit.text.trim()) this.removeText({ ...cell, text: edit.was });
        else this.page.saveText(cell);
    }

    /** @param {import('../notebook/cell-list.js').TextCell} cell */
    removeText(cell) {
        this.clipboard.remove([], () => this.undoRemoval(), [cell]);
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
        // If the empty cell already follows `cell`, focus the empty cell; do not add another.
        const isThere = !kind && next?.kind === 'draft' && next.isFresh;
        this.go({
            key: isThere ? next.key : this.page.insertBelow(cell, { kind: kind ?? 'code', source: '' }),
        });
    }

    /** @param {CellData} cell */
    insertAbove(cell) {
        this.go({ key: this.commands.operations.insertAbove(cell) });
    }

    /** @param {Extract<CellData, {kind: 'draft'}>} cell */
    remove(cell) {
        if (!cell.isFresh) this.clipboard.remove([cell.draft], () => this.undoRemoval());
    }

    /**
     * Deletes a draft and, if the user is the owner, its failed attempt.
     * @param {Extract<CellData, {kind: 'draft'}>} cell
     */
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
        const variants = this.mayTryVariants(view) && {
            text: WORDS.tryVariants,
            hint: WORDS.tryVariantsHint,
            act: () => void this.tryVariants(view),
        };
        const sweep = this.mayTryVariants(view) &&
            view.text.trim() !== '' && {
                text: ROW_WORDS.menu,
                hint: ROW_WORDS.menuHint,
                act: () => void this.sweep(view),
            };
        const below = page.runnable(cell.key).length;
        const above = page.runnable().length - below;
        const format = page.mayRun && {
            text: LINT_WORDS.format,
            act: () => void this.commands.format(view),
        };
        const fold = {
            text: view.isFolded ? WORDS.unfoldCode : WORDS.foldCode,
            act: () => view.fold(!view.isFolded),
        };
        const foldOutput = hasOutput(run) && {
            text: isOutputFolded(run?.exec_id) ? OUTPUT_WORDS.unfold : OUTPUT_WORDS.fold,
            act: () => toggleFold(run?.exec_id),
        };
        const runBelow = { text: WORDS.runBelow, act: () => this.commands.runBelow(view) };
        if (cell.kind === 'attempt') return [copy, fold, foldOutput, drop];
        const edit = isText(cell) && { text: WORDS.editText, act: () => view.focus('end') };
        const own = this.sections().byKey.get(cell.key);
        const section = own !== undefined &&
            own.count > 0 && {
                text: own.isFolded ? WORDS.unfoldSection : WORDS.foldSection,
                act: () => this.foldSection(own, !own.isFolded),
            };
        if (cell.kind === 'text') {
            const { commands } = this;
            return [
                edit,
                section,
                { text: WORDS.insertAbove, act: () => commands.insert(view, 'above') },
                { text: WORDS.insertBelow, act: () => commands.insert(view, 'below') },
                { text: WORDS.moveUp, act: () => commands.move(view, -1) },
                { text: WORDS.moveDown, act: () => commands.move(view, 1) },
                { text: WORDS.toCode, act: () => commands.convert(view, 'code') },
                { text: WORDS.removeText, act: () => this.removeText(cell), isBad: true },
            ];
        }
        if (cell.kind === 'draft') {
            const kind = cell.draft.kind === 'code' ? 'markdown' : 'code';
            const turn = {
                text: kind === 'code' ? WORDS.toCode : WORDS.toText,
                act: () => this.setKind(cell, kind),
            };
            const insertAbove = { text: WORDS.insertAbove, act: () => this.insertAbove(cell) };
            const isIdle = !run || hasEnded(run.status);
            const asBranch = isIdle &&
                view.text.trim() !== '' &&
                page.waitsFor(cell) !== undefined && {
                    text: WORDS.runAsBranch,
                    hint: WORDS.runAsBranchHint,
                    act: () => this.runAsBranch(view),
                };
            return [
                edit,
                asBranch,
                variants,
                sweep,
                !cell.isInside && above > 0 && { text: WORDS.runAbove, act: () => page.runAbove(cell.key) },
                !cell.isInside && below > 1 && runBelow,
                section,
                !cell.isInside && insertAbove,
                !cell.isInside && insert,
                turn,
                !isText(cell) && format,
                !isText(cell) && fold,
                foldOutput,
                drop,
                { text: WORDS.removeDraft, act: () => this.remove(cell), isBad: true },
            ];
        }
        const isTip = cell.state.id === page.here;
        return [
            cell.state.living !== 'deleted' && {
                text: WORDS.branchHere,
                hint: WORDS.branchHint,
                act: () => this.branch(cell.state.id),
            },
            variants,
            sweep,
            !isTip && { text: WORDS.standHere, act: () => page.branchFrom(cell.state.id) },
            isTip && below > 0 && { text: WORDS.runAllBelow, act: () => page.runFrom(cell.key) },
            !isTip && !cell.isOutdated && runBelow,
            isTip && insert,
            copy,
            format,
            fold,
            foldOutput,
            { text: WORDS.label, act: () => this.label(cell.state) },
            page.model.states.size > 2 && {
                text: COMPARE_COMMAND_WORDS.compareWith,
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

    /**
     * Runs all waiting drafts and focuses the first, because the pressed button disappears.
     * @param {CellData[]} waiting
     */
    runAll(waiting) {
        const [first] = waiting;
        this.page.runFrom();
        if (first) this.focusCell(first.key);
    }

    /**
     * Runs the drafts that repeat earlier cells, and focuses the first.
     * @param {CellData[]} good
     */
    replay(good) {
        const [first] = good;
        this.page.replayRest();
        if (first) this.focusCell(first.key);
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
        if (cell) this.go({ key: cell.key, asCell: true });
    }

    // Sections

    /** The sections of the notebook, and the cells that collapsed ones hide. */
    sections(cells = this.page.cells()) {
        return sectionsOf(cells, (id) => foldedSections.has(id));
    }

    /** The cells that no collapsed section hides. @returns {CellData[]} */
    shownCells(cells = this.page.cells()) {
        const { hidden } = this.sections(cells);
        return hidden.size ? cells.filter(({ key }) => !hidden.has(key)) : cells;
    }

    /**
     * Collapses or expands a section. A hidden cell cannot have the focus.
     * @param {import('../notebook/sections.js').Section} section
     * @param {boolean} isFolded
     */
    foldSection({ id, key }, isFolded) {
        foldedSections.set(id, isFolded);
        const at = keyOf(document.activeElement);
        this.page.host.paintNow();
        if (at === null || at === key || this.sections().hidden.has(at)) this.focusCell(key);
    }

    /** Expands the collapsed sections that hide a cell. @param {string} key */
    reveal(key) {
        const found = hiding(this.sections(), key);
        for (const { id } of found) foldedSections.set(id, false);
        if (found.length) this.page.host.paintNow();
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
     * Moves the cursor from the first line to the cell above, or from the last line to the cell
     * below. A cell with collapsed code gets the focus itself.
     * @param {CellView} view
     * @param {1 | -1} step 1: down; -1: up
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
        const target = this.views.get(next.key);
        if (target?.isFolded) this.focusCell(next.key);
        else target?.focus(step === 1 ? 'start' : 'end');
        return true;
    }

    /**
     * Returns a cell's element. Paints first if the element does not exist yet, because a key may
     * arrive before that paint.
     * @param {string} key
     * @returns {HTMLElement | null}
     */
    #elementOf(key) {
        if (!cellElement(key)) this.page.host.paintNow();
        this.reveal(key);
        return cellElement(key);
    }

    /**
     * Handles Backspace: deletes an empty draft and focuses the cell above.
     * @param {CellView} view
     * @returns {boolean} whether the draft was deleted
     */
    eraseEmpty(view) {
        const { cell } = view.props;
        const isErasable = cell.kind === 'text' || (cell.kind === 'draft' && !cell.isFresh);
        if (!isErasable || view.text !== '' || runOf(cell)) return false;
        const before = this.#neighbour(cell.key, -1);
        if (cell.kind === 'text') this.saveText(cell);
        else this.remove(cell);
        if (before) this.views.get(before.key)?.focus('end');
        return true;
    }

    /** @param {string} key @param {number} step */
    #neighbour(key, step) {
        const cells = this.shownCells();
        return cells[cells.findIndex((cell) => cell.key === key) + step];
    }

    /**
     * Called after each paint: focuses `focusTarget` or, without a target, recovers a lost focus.
     * @param {CellData[]} cells
     */
    onPainted(cells) {
        const { focusTarget } = this;
        this.focusTarget = null;
        if (focusTarget) {
            const step = 'key' in focusTarget ? 0 : 1;
            const shown = step ? this.shownCells(cells) : cells;
            const at = shown.findIndex(
                (cell) => cell.key === ('key' in focusTarget ? focusTarget.key : focusTarget.after),
            );
            const next =
                shown[
                    Math.min(at < 0 ? (this.lastFocus?.index ?? shown.length) : at + step, shown.length - 1)
                ];
            // Focus an existing cell in command mode, but the empty cell in edit mode.
            const asCell =
                'key' in focusTarget ? focusTarget.asCell : next?.kind !== 'draft' || !next.isFresh;
            if (next && asCell) this.focusCell(next.key);
            else if (next) this.views.get(next.key)?.focus();
        } else this.#recoverFocus(cells);
        this.rememberFocus(document.activeElement, cells);
        this.commands.onPainted(cells);
        this.problems?.onPainted(cells);
        this.follow();
    }

    /** @param {Element | null} target @param {CellData[]} cells */
    rememberFocus(target, cells) {
        const key = keyOf(target);
        const index = cells.findIndex((cell) => cell.key === key);
        if (key && index >= 0) this.lastFocus = { key, index, asCell: !target?.closest('.cm-editor') };
    }

    /**
     * If the focused element was removed or disabled, focuses its cell. If that cell is gone,
     * focuses the cell that now has its index.
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
        // If the cell still exists, do not scroll: the user did not move to another cell.
        else if (next) this.#elementOf(next.key)?.focus({ preventScroll: isThere });
    }

    /** Scrolls while the outputs of `followedCell` grow, so that the focused cell stays in view. */
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

    /** Called when the user scrolls: from now on, growing outputs do not scroll the page. */
    unfollow() {
        this.followedCell = null;
    }

    /**
     * Focuses the empty cell at the end.
     * @param {boolean} [asCell] whether to focus the cell, not its editor
     */
    focusFresh(asCell = false) {
        const fresh = this.page.cells().findLast((cell) => cell.kind === 'draft' && cell.isFresh);
        if (fresh && asCell) this.focusCell(fresh.key);
        else if (fresh) this.views.get(fresh.key)?.focus();
    }

    /** Focuses the editor of the empty cell at the end. Only typing then scrolls to it. */
    focusFreshInPlace() {
        const fresh = this.page.cells().findLast((cell) => cell.kind === 'draft' && cell.isFresh);
        if (fresh) this.views.get(fresh.key)?.editor?.focus();
    }

    /**
     * Where the focus is, for the time after a reload of the page.
     * @returns {KeptFocus | null}
     */
    keptFocus() {
        const at = document.activeElement;
        if (at?.id === 'graph') return { key: 'graph', caret: null };
        const cell = /** @type {HTMLElement | null | undefined} */ (at?.closest('.cell'));
        const key = cell?.dataset.cell;
        if (!cell || key === undefined) return null;
        const isEditor = at?.closest('.cm-editor') != null;
        const { anchor, head } = this.views.get(key)?.editor?.selection ?? { anchor: 0, head: 0 };
        // The empty cell gets another key when the page loads.
        return {
            key: cell.dataset.fresh === undefined ? key : 'fresh',
            caret: isEditor ? { anchor, head } : null,
        };
    }

    /** @param {KeptFocus} kept @returns {boolean} whether the place still exists */
    restoreFocus({ key, caret }) {
        if (key === 'graph') document.getElementById('graph')?.focus();
        else {
            const isFresh = (/** @type {CellData} */ cell) => cell.kind === 'draft' && cell.isFresh;
            const cell = this.page.cells().find((one) => (key === 'fresh' ? isFresh(one) : one.key === key));
            const view = cell && this.views.get(cell.key);
            if (caret) view?.focus('keep', caret);
            else if (cell) this.focusCell(cell.key);
        }
        return document.activeElement !== document.body;
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
        else if (view) this.#sayViewOnly(event);
    }

    /**
     * Handles keys in an editor.
     * @param {CellView} view
     * @param {KeyboardEvent} event
     * @returns {boolean} whether the key was handled
     */
    onEditorKey(view, event) {
        if (this.commands.press('editor', view, event)) return true;
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

/**
 * @param {Element | null | undefined} inside
 * @returns {string | null} the key of the cell that contains the element
 */
const keyOf = (inside) => inside?.closest('.cell')?.getAttribute('data-cell') ?? null;

/** Whether an element is disabled, and so receives no key events. @param {Element} one */
const isDisabled = (one) => one.matches(':disabled');

/** @param {string} key @returns {HTMLElement | null} */
const cellElement = (key) => document.querySelector(`[data-cell="${CSS.escape(key)}"]`);

// @ts-check
// The commands of cells: what keys and the palette do to one cell or to all selected cells.

import { KeySequence, keyNamesOf } from '../commands/commands.js';
import { CellOperations, isRestOfLine } from './cell-operations.js';
import { isText, runOf, textOf } from '../notebook/cell-list.js';
import { hasEnded } from '../shell/protocol.js';
import { Selection } from './selection.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { WORDS as WHOLE } from '../shell/words.js';
import { bindAll } from '../commands/key-bindings.js';
import { ask } from '../ui/dialog.js';
import { forgetEverything, mayForget } from '../notebook/header.js';
import { withPart } from '../shell/lazy-parts.js';
import { toggleFold } from '../outputs/outputs.js';
import { saveNow } from '../notebook/save-now.js';

/** @typedef {import('./cell.js').Cell} CellView */
/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('../commands/commands.js').Target} Target */

export class CellCommands {
    /** @param {import('./cell-controller.js').CellController} controller */
    constructor(controller) {
        this.controller = controller;
        this.page = controller.page;
        this.operations = new CellOperations(controller.page);
        this.selection = new Selection();
        this.keys = new KeySequence();
        /** Created by the first search. @type {import('../find/find-panel.js').Finder | null} */
        this.finder = null;
        /**
         * A draft that is being moved. The focus follows it.
         * @type {{key: string, asCell: boolean, index: number} | null}
         */
        this.movingCell = null;
        /** If this run succeeds, the cells below are replayed. @type {string | null} */
        this.restAfter = null;
        /**
         * Functions that toggle the panes beside the cells.
         * @type {{graph: () => void, variables: () => void} | null}
         */
        this.panes = null;
        /** The last text announced to screen readers. */
        this.announced = '';
        bindAll(this);
    }

    // Keys

    /**
     * Runs the command bound to a key press. Returns whether the press was used.
     * @param {import('../commands/commands.js').Mode} mode
     * @param {CellView | null} view
     * @param {KeyboardEvent} event
     */
    press(mode, view, event) {
        if (event.isComposing || event.getModifierState('AltGraph')) return false;
        const at = { view };
        for (const entry of this.keys.press(mode, keyNamesOf(event), performance.now(), at)) {
            // Commands act on current cells, so paint pending changes first.
            if (mode === 'cell') this.page.host.paintIfDue();
            if ((event.repeat && entry.isOnce) || entry.act(at) !== false) return true;
        }
        return this.keys.isWaiting;
    }

    /** The cell that has the focus, or had it last. @returns {Target} */
    target() {
        const key =
            document.activeElement?.closest('.cell')?.getAttribute('data-cell') ??
            this.controller.lastFocus?.key;
        return { view: this.controller.views.get(key ?? '') ?? null };
    }

    // Running

    /** @param {CellView} view @param {'next' | 'stay' | 'insert'} then */
    runSelected(view, then) {
        const drafts = this.#selected(view).filter((one) => one.props.cell.kind === 'draft');
        if (drafts.length < 2) return view.run(then);
        for (const one of drafts) this.controller.run(one, 'stay');
        const last = drafts.at(-1);
        if (last && then === 'next') this.controller.go({ after: last.props.cell.key });
        if (last && then === 'insert') this.controller.insertBelow(last.props.cell);
        return undefined;
    }

    /** Runs the drafts above a cell. @param {string} key */
    runAbove(key) {
        const keys = this.page.cells().map((cell) => cell.key);
        const above = this.page.runnable().filter((cell) => keys.indexOf(cell.key) < keys.indexOf(key));
        for (const cell of above) this.page.run(cell, cell.draft.source);
    }

    /**
     * Runs a changed cell again and, after success, the cells that followed it.
     * @param {CellView} view
     */
    runAndRest(view) {
        this.controller.run(view, 'stay');
        const { cell } = view.props;
        this.restAfter = cell.kind === 'ran' ? (this.page.edits.get(cell.state.id)?.run ?? null) : null;
    }

    /** The number of drafts that the page offers to replay; see `isRestOfLine`. */
    restCount(waiting = this.page.mayRun ? this.page.runnable() : []) {
        return isRestOfLine(this.page, waiting) ? waiting.length : 0;
    }

    /** Runs the drafts below once the run `restAfter` has left a state. */
    #runRest() {
        const run = this.page.model.runs.get(this.restAfter ?? '');
        if (!run || !hasEnded(run.status)) return;
        this.restAfter = null;
        if (run.state && this.page.here === run.state) this.page.runFrom();
    }

    // Which cells

    /**
     * @param {CellView} view
     * @returns {CellView[]} all selected cells, in order; only the cell itself if not selected
     */
    #selected(view) {
        const keys = this.selection.keys(this.page.cells().map((cell) => cell.key));
        const own = view.props.cell.key;
        return (keys.includes(own) ? keys : [own]).flatMap((key) => this.controller.views.get(key) ?? []);
    }

    /**
     * Moves the focus in command mode, extending the selection if asked to.
     * @param {string} key
     * @param {number} step
     * @param {boolean} extends_ whether the cells between become selected
     */
    moveFocus(key, step, extends_) {
        const cells = this.page.cells();
        const next =
            cells[
                Math.max(0, Math.min(cells.length - 1, cells.findIndex((cell) => cell.key === key) + step))
            ];
        if (!next) return;
        if (extends_) this.selection.extend(key, next.key);
        else this.selection.only(next.key);
        this.controller.focusCell(next.key);
        this.#showSelection(cells);
    }

    selectAll() {
        const cells = this.page.cells();
        this.selection.anchor = cells[0]?.key ?? null;
        this.selection.head = this.controller.lastFocus?.key ?? null;
        const last = cells.at(-1);
        if (!last) return;
        this.selection.head = last.key;
        this.controller.focusCell(last.key);
        this.#showSelection(cells);
    }

    /**
     * Selects the cell that received the focus, by mouse, Tab or script.
     * @param {Element} target
     */
    onFocusIn(target) {
        const key = target.closest('.cell')?.getAttribute('data-cell') ?? null;
        this.selection.moved(key);
        const cells = this.page.cells();
        this.controller.rememberFocus(target, cells);
        if (target.closest('.cm-editor')) this.selection.only(key);
        this.#showSelection(cells);
    }

    /** @param {CellData[]} cells */
    #showSelection(cells) {
        const keys = this.selection.keys(cells.map((cell) => cell.key));
        for (const cell of document.querySelectorAll('.cell')) {
            cell.toggleAttribute(
                'data-selected',
                keys.length > 1 && keys.includes(cell.getAttribute('data-cell') ?? ''),
            );
        }
        this.announce(keys.length > 1 ? WORDS.selected(keys.length) : '');
    }

    /** Announces a text to screen readers. @param {string} text */
    announce(text) {
        if (this.announced === text) return;
        this.announced = text;
        const region = document.getElementById('said');
        if (region) region.textContent = text;
    }

    /** @param {number} pages */
    scroll(pages) {
        const main = document.querySelector('main');
        main?.scrollBy({ top: pages * main.clientHeight });
    }

    // Cells

    /** @param {CellView} view @param {'above' | 'below'} where */
    insert(view, where) {
        const { cell } = view.props;
        const key =
            where === 'above'
                ? this.operations.insertAbove(cell)
                : (this.#freshBelow(cell) ?? this.operations.insertBelow(cell));
        this.controller.go({ key, asCell: true });
    }

    /**
     * The key of the empty cell, if it is directly below a cell: no other cell is inserted there.
     * @param {CellData} cell
     */
    #freshBelow(cell) {
        const cells = this.page.cells();
        const next = cells[cells.findIndex((one) => one.key === cell.key) + 1];
        return next?.kind === 'draft' && next.isFresh ? next.key : null;
    }

    /** @param {CellView} view */
    copy(view) {
        const pieces = this.#selected(view).map((one) => ({
            kind: /** @type {'code' | 'markdown'} */ (isText(one.props.cell) ? 'markdown' : 'code'),
            source: one.text,
        }));
        this.controller.clipboard.copy(pieces);
    }

    /** @param {CellView} view @param {'above' | 'below'} where */
    paste(view, where) {
        let { cell } = view.props;
        const pieces = this.controller.clipboard.content;
        let first = null;
        /** @type {string[]} */
        const made = [];
        for (const piece of where === 'above' ? pieces : pieces.toReversed()) {
            const key =
                where === 'above'
                    ? this.operations.insertAbove(cell, piece)
                    : this.operations.insertBelow(cell, piece);
            first = where === 'above' ? (first ?? key) : key;
            made.push(key);
            cell = this.page.cells().find((one) => one.key === view.props.cell.key) ?? cell;
        }
        if (!first) return;
        this.controller.clipboard.recordAdded(made, () => view.props.cell.key);
        this.controller.go({ key: first, asCell: true });
    }

    /** @param {CellView} view */
    cut(view) {
        this.copy(view);
        this.#remove(view, WORDS.copiedRan);
    }

    /** @param {CellView} view */
    removeSelected(view) {
        this.#remove(view, WORDS.staysRan);
    }

    /**
     * Deletes the selected drafts. If all selected cells have run, a notice says that they stay.
     * @param {CellView} view
     * @param {(n: number) => string} stays
     */
    #remove(view, stays) {
        const cells = this.#selected(view).map((one) => one.props.cell);
        const drafts = this.operations.movable(cells);
        const ran = cells.filter((cell) => cell.kind === 'ran');
        if (drafts.length) {
            const all = this.page.cells();
            const gone = new Set(drafts.map((cell) => cell.key));
            const at = all.findIndex((cell) => cell.key === cells.at(-1)?.key);
            const next =
                all.slice(at).find((cell) => !gone.has(cell.key)) ??
                all.findLast((cell) => !gone.has(cell.key));
            this.controller.clipboard.remove(
                drafts.map(({ draft }) => draft),
                () => this.controller.undoRemoval(),
            );
            if (next) this.controller.focusCell(next.key);
        } else if (ran.length) {
            this.page.notify(stays(ran.length), false, {
                act: { text: WORDS.goOnWithout(ran.length), act: () => this.operations.skip(ran) },
            });
        }
    }

    /** @param {CellView} view @param {'code' | 'markdown'} kind */
    convert(view, kind) {
        const drafts = this.#drafts(view, WORDS.onlyDraftsKind);
        for (const cell of drafts) this.page.setKind(cell, kind);
        if (drafts.length) this.controller.go({ key: view.props.cell.key, asCell: true });
    }

    /** @param {CellView} view @param {number} level */
    convertToHeading(view, level) {
        for (const cell of this.#drafts(view, WORDS.onlyDraftsKind)) {
            const text = textOf(cell).replace(/^\s*#*\s*/, '');
            this.page.setKind(cell, 'markdown');
            const now = this.page.cells().find((one) => one.key === cell.key);
            if (now) this.page.type(now, `${'#'.repeat(level)} ${text}`);
        }
        this.controller.go({ key: view.props.cell.key });
    }

    /**
     * The selected drafts. Shows a notice if there are none.
     * @param {CellView} view
     * @param {string} why
     */
    #drafts(view, why) {
        const drafts = this.#selected(view)
            .map((one) => one.props.cell)
            .filter((cell) => cell.kind === 'draft');
        if (!drafts.length)
            this.page.notify(why, false, {
                act: {
                    text: WORDS.copyAsDraft,
                    act: () => this.controller.go({ key: this.page.copyAsDraft(view.text) }),
                },
            });
        return drafts;
    }

    /** @param {CellView} view @param {1 | -1} step */
    move(view, step) {
        const cells = this.operations.movable(this.#selected(view).map((one) => one.props.cell));
        if (!cells.length)
            return void (view.props.cell.kind === 'ran' && this.#drafts(view, WORDS.onlyDrafts));
        return this.#moved(
            view,
            this.operations.moveBy(
                cells.map(({ draft }) => draft.id),
                step,
            ),
            cells,
            step,
        );
    }

    /**
     * @param {CellView} view
     * @param {boolean} isDone
     * @param {import('./cell-operations.js').DraftCell[]} cells
     * @param {number} step
     */
    #moved(view, isDone, cells, step) {
        const [first] = cells;
        if (!isDone || !first) return;
        const { key } = view.props.cell;
        this.movingCell = {
            key,
            asCell: document.activeElement?.matches('.cell') ?? true,
            index: this.page.cells().findIndex((cell) => cell.key === key),
        };
        const order = this.page.drafts.beside(first.draft).map(({ id }) => id);
        this.announce(WORDS.moved(order.indexOf(first.draft.id) + 1 + step, order.length));
    }

    /**
     * Drafts were dropped at another position.
     * @param {string[]} ids
     * @param {string | null} after
     */
    onDropped(ids, after) {
        this.operations.moveAfter(ids, after);
    }

    /** The drafts that a drag moves together. @param {CellView} view @returns {string[]} */
    draggedWith(view) {
        const cells = this.operations.movable(this.#selected(view).map((one) => one.props.cell));
        const { cell } = view.props;
        return cell.kind === 'draft'
            ? cells.filter(({ draft }) => draft.on === cell.draft.on).map(({ draft }) => draft.id)
            : [];
    }

    /** @param {CellView} view */
    split(view) {
        const { cell } = view.props;
        const state = view.editor?.view?.state;
        if (!state) return;
        if (cell.kind !== 'draft') return void this.#drafts(view, WORDS.onlyDrafts);
        const whole = state.doc.toString();
        const made = this.operations.split(
            cell,
            whole,
            state.selection.ranges.flatMap(({ from, to, empty }) => (empty ? [from] : [from, to])),
        );
        const first = this.page.drafts.get(cell.draft.id)?.source;
        this.controller.clipboard.recordAdded(made, () => {
            const now = this.page.drafts.get(cell.draft.id);
            if (now && now.source === first) this.page.drafts.put({ ...now, source: whole });
            return cell.key;
        });
        this.controller.go({ key: made.at(-1) ?? cell.key });
    }

    /** @param {CellView} view */
    merge(view) {
        const { cell } = view.props;
        if (cell.kind !== 'draft') return void this.#drafts(view, WORDS.onlyDrafts);
        const selected = this.operations.movable(this.#selected(view).map((one) => one.props.cell));
        const cells = this.page.cells();
        const next = cells[cells.findIndex((one) => one.key === cell.key) + 1];
        const both = selected.length > 1 ? selected : next ? this.operations.movable([cell, next]) : [];
        const same = both.filter(({ draft }) => draft.on === both[0]?.draft.on);
        const [first] = same;
        if (!first || same.length < 2) return void this.page.notify(WORDS.nothingBelow, false);
        const undo = this.operations.merge(same, () => this.controller.go({ key: first.key, asCell: true }));
        this.controller.clipboard.recordUndo(() => (undo() ? first.key : null));
        this.selection.only(first.key);
        this.controller.go({ key: first.key, asCell: true });
    }

    /** @param {CellView} view */
    fold(view) {
        for (const { props } of this.#selected(view)) toggleFold(runOf(props.cell)?.exec_id);
    }

    // The notebook

    /** @param {boolean} replaces */
    find(replaces) {
        withPart('finder', this.page, ({ Finder }) => {
            this.finder ??= new Finder(this.controller, this.operations);
            this.finder.open(replaces);
        });
    }

    showPalette() {
        withPart('palette', this.page, ({ showPalette }) => showPalette(this.target()));
    }

    saveNow() {
        saveNow(this.page);
    }

    /**
     * Asks, then returns to the start, like Jupyter's restart. The confirming button has the
     * initial focus only if no cell is running.
     */
    async restart() {
        const { page } = this;
        const running = () =>
            page
                .cells()
                .flatMap((cell) => runOf(cell) ?? [])
                .filter(({ status }) => !hasEnded(status));
        const other = mayForget(page)
            ? { text: WHOLE.reset, act: () => void forgetEverything(page) }
            : undefined;
        const n = running().length;
        const answer = await ask({
            title: WHOLE.restartAsk,
            why: WHOLE.restartWhy(n),
            act: WHOLE.restartDo,
            isBad: n > 0,
            other,
        });
        if (answer === null) return;
        for (const run of running()) page.stop(run.exec_id);
        const first = this.operations.restart();
        if (first) this.controller.go({ key: first, asCell: true });
    }

    /** @param {CellData[]} cells */
    onPainted(cells) {
        const { movingCell } = this;
        const index = cells.findIndex((cell) => cell.key === movingCell?.key);
        if (movingCell && index !== movingCell.index) {
            this.movingCell = null;
            if (movingCell.asCell) this.controller.focusCell(movingCell.key);
            else this.controller.views.get(movingCell.key)?.focus();
        }
        this.#showSelection(cells);
        this.finder?.onPainted(cells);
        this.#runRest();
    }
}

// @ts-check
// The commands that keys and the palette run on one cell or on all selected cells.

import { KeySequence, keyNamesOf } from '../commands/commands.js';
import { CellOperations, isRestOfLine, originOf } from './cell-operations.js';
import { isText, runOf, textKey, textOf } from '../notebook/cell-list.js';
import { hasEnded, ROOT_STATE } from '../shell/protocol.js';
import { Selection } from './selection.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { WORDS as WHOLE } from '../shell/words.js';
import { announce } from '../ui/announce.js';
import { bindAll } from '../commands/key-bindings.js';
import { ask } from '../ui/dialog.js';
import { forgetEverything, mayForget } from '../notebook/header.js';
import { withPart } from '../shell/lazy-parts.js';
import { toggleFold } from '../outputs/outputs.js';
import { foldedSections } from './folds.js';
import { saveNow } from '../notebook/save-now.js';

/** @typedef {import('./cell.js').Cell} CellView */
/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('../notebook/cell-list.js').TextCell} TextCell */
/** @typedef {import('../commands/commands.js').Target} Target */

export class CellCommands {
    /** @param {import('./cell-controller.js').CellController} controller */
    constructor(controller) {
        this.controller = controller;
        this.page = controller.page;
        this.operations = new CellOperations(controller.page);
        this.selection = new Selection();
        this.keys = new KeySequence();
        /** Null before the first search. @type {import('../find/find-panel.js').Finder | null} */
        this.finder = null;
        /**
         * The draft that a command moved, until a paint shows it at its new index. That paint
         * focuses the draft. `index`: its index before the move.
         * @type {{key: string, asCell: boolean, index: number} | null}
         */
        this.movingCell = null;
        /** The id of a run. If this run succeeds, the drafts below run. @type {string | null} */
        this.restAfter = null;
        /**
         * Functions that toggle the panes beside the cells. `wentInGraph`: the user went to a
         * state in the graph.
         * @type {{graph: () => void, outline: () => void, variables: () => void,
         *   files: () => void, wentInGraph: () => void} | null}
         */
        this.panes = null;
        /** The last text announced to screen readers. */
        this.announced = '';
        bindAll(this);
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
        const at = { view };
        for (const entry of this.keys.press(mode, keyNamesOf(event), performance.now(), at)) {
            // Paint pending changes first, so that the command acts on the newest cells.
            if (mode === 'cell') this.page.host.paintIfDue();
            if ((event.repeat && entry.isOnce) || entry.act(at) !== false) return true;
        }
        return this.keys.isWaiting;
    }

    /** The focused cell or, if no cell has the focus, the last focused cell. @returns {Target} */
    target() {
        const key =
            document.activeElement?.closest('.cell')?.getAttribute('data-cell') ??
            this.controller.lastFocus?.key;
        return { view: this.controller.views.get(key ?? '') ?? null };
    }

    /** @param {CellView} view */
    format(view) {
        return withPart('lint', this.page, (part) => part.formatCell(this.controller, view));
    }

    formatDrafts() {
        return withPart('lint', this.page, (part) => part.formatDrafts(this.controller));
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

    /** Runs all cells that have not run. If all have, offers to run them again from the start. */
    runAll() {
        if (this.page.runnable().length > 0) return this.page.runFrom();
        const again = { text: WHOLE.restartRun, act: () => void this.restart(true) };
        return this.page.notify(WORDS.allRan, false, { act: again });
    }

    /**
     * Runs a cell and all cells below it: drafts as they are, cells that ran as new versions.
     * @param {CellView} view
     */
    runBelow(view) {
        const { cell } = view.props;
        if (cell.kind === 'ran') this.runAndRest(view);
        else this.page.runFrom(cell.key);
    }

    /**
     * Runs a changed cell again. If the run succeeds, also runs the drafts that repeat the cells
     * below.
     * @param {CellView} view
     */
    runAndRest(view) {
        this.controller.run(view, 'stay');
        const { cell } = view.props;
        this.restAfter = cell.kind === 'ran' ? (this.page.edits.get(cell.state.id)?.run ?? null) : null;
    }

    /** The number of drafts that the page offers to run again; see `isRestOfLine`. */
    restCount(waiting = this.page.mayRun ? this.page.runnable() : []) {
        return isRestOfLine(this.page, waiting) ? waiting.length : 0;
    }

    /** Runs the drafts below if the run `restAfter` has succeeded. */
    #runRest() {
        const run = this.page.model.runs.get(this.restAfter ?? '');
        if (!run || !hasEnded(run.status)) return;
        this.restAfter = null;
        if (run.state && this.page.here === run.state) this.page.replayRest();
    }

    // Which cells

    /**
     * @param {CellView} view
     * @returns {CellView[]} all selected cells in order, or only `view` if it is not selected
     */
    #selected(view) {
        const keys = this.selection.keys(this.page.cells().map((cell) => cell.key));
        const own = view.props.cell.key;
        return (keys.includes(own) ? keys : [own]).flatMap((key) => this.controller.views.get(key) ?? []);
    }

    /**
     * Moves the focus in command mode.
     * @param {string} key the cell to start from
     * @param {number} step in cells; negative: upwards
     * @param {boolean} extends_ extends the selection to the newly focused cell
     */
    moveFocus(key, step, extends_) {
        const cells = this.controller.shownCells();
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
        const cells = this.controller.shownCells();
        this.selection.anchor = cells[0]?.key ?? null;
        this.selection.head = this.controller.lastFocus?.key ?? null;
        const last = cells.at(-1);
        if (!last) return;
        this.selection.head = last.key;
        this.controller.focusCell(last.key);
        this.#showSelection(cells);
    }

    /**
     * Selects the cell that received the focus by mouse, Tab or script.
     * @param {Element} target the focused element
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

    /**
     * Collapses the section of a heading's cell, or goes to the heading above. Same as in
     * JupyterLab.
     * @param {CellView} view
     */
    foldSection(view) {
        const { key } = view.props.cell;
        const { byKey, around } = this.controller.sections();
        const own = byKey.get(key);
        if (own && !own.isFolded && own.count > 0) return this.controller.foldSection(own, true);
        const above = around.get(key);
        if (above) this.controller.focusCell(above.key);
        return undefined;
    }

    /**
     * Expands the section of a heading's cell, or goes to the heading below.
     * @param {CellView} view
     */
    unfoldSection(view) {
        const { key } = view.props.cell;
        const cells = this.controller.shownCells();
        const { byKey } = this.controller.sections();
        const own = byKey.get(key);
        if (own?.isFolded) return this.controller.foldSection(own, false);
        const below = cells
            .slice(cells.findIndex((cell) => cell.key === key) + 1)
            .find((cell) => byKey.has(cell.key));
        if (below) this.controller.focusCell(below.key);
        return undefined;
    }

    /** Collapses or expands all sections. @param {boolean} isFolded */
    foldAllSections(isFolded) {
        const at = document.activeElement?.closest('.cell')?.getAttribute('data-cell') ?? '';
        const { byKey, around } = this.controller.sections();
        for (const { id, count } of byKey.values())
            if (count > 0 || !isFolded) foldedSections.set(id, isFolded);
        this.page.host.paintNow();
        let top = isFolded ? around.get(at) : null;
        while (top?.parent) top = top.parent;
        if (top) this.controller.focusCell(top.key);
    }

    /** Announces a text to screen readers. @param {string} text */
    announce(text) {
        if (this.announced === text) return;
        this.announced = text;
        announce(text);
    }

    /** @param {number} pages in heights of the visible area; negative: upwards */
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
     * The key of the empty cell at the end if it directly follows `cell`, else null. Inserting
     * below `cell` then reuses the empty cell.
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
            ...originOf(one.props.cell),
        }));
        this.controller.clipboard.copy(pieces);
    }

    /** @param {CellView} view @param {'above' | 'below'} where */
    paste(view, where) {
        let { cell } = view.props;
        if (cell.kind === 'text') cell = this.operations.asDraft(cell) ?? cell;
        const { key: target } = cell;
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
            cell = this.page.cells().find((one) => one.key === target) ?? cell;
        }
        if (!first) return;
        this.controller.clipboard.recordAdded(made, () => target);
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
     * Deletes the selected drafts and texts. If all selected cells have run, deletes nothing and
     * shows a notice.
     * @param {CellView} view
     * @param {(n: number) => string} stays the notice's text for a number of cells
     */
    #remove(view, stays) {
        const cells = this.#selected(view).map((one) => one.props.cell);
        const drafts = this.operations.movable(cells);
        const ran = cells.filter((cell) => cell.kind === 'ran');
        const texts = cells.filter((cell) => cell.kind === 'text');
        if (drafts.length || texts.length) {
            const all = this.page.cells();
            const gone = new Set([...drafts, ...texts].map((cell) => cell.key));
            const at = all.findIndex((cell) => cell.key === cells.at(-1)?.key);
            const next =
                all.slice(at).find((cell) => !gone.has(cell.key)) ??
                all.findLast((cell) => !gone.has(cell.key));
            this.controller.clipboard.remove(
                drafts.map(({ draft }) => draft),
                () => this.controller.undoRemoval(),
                texts,
            );
            if (next) this.controller.go({ key: keyAfter(next, texts), asCell: true });
        } else if (ran.length) {
            this.page.notify(stays(ran.length), false, {
                act: { text: WORDS.goOnWithout(ran.length), act: () => this.operations.skip(ran) },
            });
        }
    }

    /** @param {CellView} view @param {'code' | 'markdown'} kind */
    convert(view, kind) {
        const { cell: focused } = view.props;
        if (focused.kind === 'text') {
            const draft = kind === 'code' ? this.operations.asDraft(focused) : null;
            if (draft) this.page.setKind(draft, kind);
            return this.controller.go({ key: draft?.key ?? focused.key, asCell: true });
        }
        const drafts = this.#drafts(view, WORDS.onlyDraftsKind);
        for (const cell of drafts) this.page.setKind(cell, kind);
        if (drafts.length) this.controller.go({ key: focused.key, asCell: true });
    }

    /** @param {CellView} view @param {number} level */
    convertToHeading(view, level) {
        const { cell: text } = view.props;
        if (text.kind === 'text') {
            this.page.setText(text, headed(text.text, level));
            return this.controller.go({ key: text.key });
        }
        for (const cell of this.#drafts(view, WORDS.onlyDraftsKind)) {
            this.page.setKind(cell, 'markdown');
            const now = this.page.cells().find((one) => one.key === cell.key);
            if (now) this.page.type(now, headed(textOf(cell), level));
        }
        this.controller.go({ key: view.props.cell.key });
    }

    /**
     * Returns the selected drafts. If no draft is selected, shows a notice.
     * @param {CellView} view
     * @param {string} why the notice's text
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
        const { cell: text } = view.props;
        if (text.kind === 'text') return this.#movedText(this.#saved(text), step);
        const cells = this.operations.movable(this.#selected(view).map((one) => one.props.cell));
        if (!cells.length)
            return void (view.props.cell.kind === 'ran' && this.#drafts(view, WORDS.onlyDrafts));
        const ids = cells.map(({ draft }) => draft.id);
        const isDone = this.operations.moveBy(ids, step);
        const [first] = cells;
        if (!isDone && step === -1 && first && cells.length === 1) {
            const moved = this.operations.moveIntoState(first);
            if (moved) return this.#showMovedText(moved);
        }
        return this.#moved(view, isDone, cells, step);
    }

    /**
     * Saves the typing into a text cell.
     * @param {TextCell} cell
     * @returns {TextCell} the cell now
     */
    #saved(cell) {
        this.page.saveText(cell);
        const now = this.page.cells().find(({ key }) => key === cell.key);
        return now?.kind === 'text' ? now : cell;
    }

    /** @param {TextCell} cell @param {1 | -1} step */
    #movedText(cell, step) {
        const moved = this.operations.moveText(cell, step);
        if (moved) this.#showMovedText(moved);
    }

    /** @param {{key: string, undo: () => string | null}} moved */
    #showMovedText({ key, undo }) {
        this.controller.clipboard.recordUndo(undo);
        this.controller.go({ key, asCell: true });
        const cells = this.page.cells();
        this.announce(WORDS.moved(cells.findIndex((cell) => cell.key === key) + 1, cells.length));
    }

    /**
     * Announces a move and lets the focus follow the moved cell.
     * @param {CellView} view
     * @param {boolean} isDone whether the drafts moved
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
     * Moves drafts to the position where the user dropped them.
     * @param {string[]} ids
     * @param {string | null} after the draft above that position; null: none
     */
    onDropped(ids, after) {
        this.operations.moveAfter(ids, after);
    }

    /**
     * The ids of all drafts that move when the user drags a cell: the selected drafts on the same
     * state.
     * @param {CellView} view
     * @returns {string[]}
     */
    draggedWith(view) {
        const cells = this.operations.movable(this.#selected(view).map((one) => one.props.cell));
        const { cell } = view.props;
        return cell.kind === 'draft'
            ? cells.filter(({ draft }) => draft.on === cell.draft.on).map(({ draft }) => draft.id)
            : [];
    }

    /** @param {CellView} view */
    split(view) {
        const state = view.editor?.view?.state;
        if (!state) return;
        let { cell } = view.props;
        if (cell.kind === 'text') cell = this.operations.asDraft(this.#saved(cell)) ?? cell;
        if (cell.kind !== 'draft') return void this.#drafts(view, WORDS.onlyDrafts);
        const { id } = cell.draft;
        const whole = state.doc.toString();
        const made = this.operations.split(
            cell,
            whole,
            state.selection.ranges.flatMap(({ from, to, empty }) => (empty ? [from] : [from, to])),
        );
        const first = this.page.drafts.get(id)?.source;
        this.controller.clipboard.recordAdded(made, () => {
            const now = this.page.drafts.get(id);
            if (now && now.source === first) this.page.drafts.put({ ...now, source: whole });
            return id;
        });
        this.controller.go({ key: made.at(-1) ?? id });
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

    /** Collapses or expands the code of the selected cells. @param {CellView} view */
    foldCode(view) {
        const isFolded = !view.isFolded;
        for (const one of this.#selected(view)) if (!isText(one.props.cell)) one.fold(isFolded);
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
     * Asks the user, then stops the runs of the shown cells and goes to the root, where the cells
     * become drafts. Corresponds to Jupyter's restart. The dialog's confirm button has the initial
     * focus only if no cell is running.
     * @param {boolean} [runsAll] whether all drafts run then
     */
    async restart(runsAll = false) {
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
            title: runsAll ? WHOLE.restartRunAsk : WHOLE.restartAsk,
            why: runsAll ? WHOLE.restartRunWhy(n) : WHOLE.restartWhy(n),
            act: runsAll ? WHOLE.restartRunDo : WHOLE.restartDo,
            isBad: n > 0,
            other,
        });
        if (answer === null) return;
        for (const run of running()) page.stop(run.exec_id);
        const isAtStart = runsAll && page.here === ROOT_STATE;
        const first = isAtStart ? page.runnable()[0]?.key : this.operations.restart();
        if (runsAll) page.runFrom();
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

/** A text as a heading. @param {string} text @param {number} level */
const headed = (text, level) => `${'#'.repeat(level)} ${text.replace(/^\s*#*\s*/, '')}`;

/**
 * The key of a cell after texts were deleted: the texts below them move up.
 * @param {CellData} cell
 * @param {TextCell[]} gone
 */
function keyAfter(cell, gone) {
    if (cell.kind !== 'text') return cell.key;
    const above = gone.filter(({ state, index }) => state.id === cell.state.id && index < cell.index);
    return textKey(cell.state.id, cell.index - above.length);
}

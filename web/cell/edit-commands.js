// @ts-check
// Changes the cells of the notebook: inserts, deletes, copies, pastes, moves, splits, merges, and
// turns them into text or code. Acts on one cell or on the selected ones, and moves the focus.

import {
    CellOperations,
    joined,
    movedBy,
    originOf,
    partsOf,
    wholeCells,
    without,
} from './cell-operations.js';
import { ClipboardHistory } from './clipboard-history.js';
import { isText, runOf, textKey, textOf } from '../notebook/cell-list.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { loadPart } from '../shell/lazy-parts.js';
import { WORDS as WHOLE } from '../shell/words.js';

/** @typedef {import('./cell.js').Cell} CellView */
/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('../notebook/cell-list.js').TextCell} TextCell */

export class EditCommands {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {import('./focus.js').Focus} focus
     * @param {import('./selected-cells.js').SelectedCells} selected
     * @param {import('./prompt-focus.js').PromptFocus} prompts
     */
    constructor(page, focus, selected, prompts) {
        this.page = page;
        this.focus = focus;
        this.selected = selected;
        this.prompts = prompts;
        this.operations = new CellOperations(page);
        this.clipboard = new ClipboardHistory(page);
    }

    // Typing

    /**
     * @param {CellData} cell
     * @param {string} text
     * @param {import('../notebook/drafts.js').Typed} typed
     */
    type(cell, text, typed) {
        this.prompts.lastTyped = cell.key;
        this.page.type(cell, text, typed);
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

    /**
     * Attaches pictures to the notebook and shows them in a text cell.
     * @param {CellView} view
     * @param {File[]} files
     */
    async attach(view, files) {
        const part = await loadPart('attachPictures').catch(() => null);
        if (!part) return this.page.notify(WHOLE.partMissing, true);
        const text = await part.attachPictures(this.page, files);
        if (!text) return undefined;
        // The user may have left the cell meanwhile.
        if (!view.editor) view.focus('end');
        this.page.host.paintNow();
        view.editor?.insert(text);
        return undefined;
    }

    // Adding and deleting

    /** @param {CellView} view @param {'above' | 'below'} where */
    insert(view, where) {
        const { cell } = view.props;
        if (where === 'above') return this.focus.go({ key: this.operations.insertAbove(cell), asCell: true });
        const key = this.#emptyBelow(cell) ?? this.operations.insertBelow(cell);
        return this.focus.go({ key, asCell: true });
    }

    /** Adds a cell to write in below a cell, at the end of the lineage. @param {CellData} cell */
    insertAtEnd(cell) {
        this.focus.go({ key: this.#emptyBelow(cell) ?? this.operations.insertAtEnd(cell) });
    }

    /** @param {CellData} cell */
    insertAbove(cell) {
        this.focus.go({ key: this.operations.insertAbove(cell) });
    }

    /**
     * The key of the empty cell at the end if it directly follows `cell`, else null. Inserting
     * below `cell` then reuses the empty cell.
     * @param {CellData} cell
     */
    #emptyBelow(cell) {
        const next = this.focus.neighbour(cell.key, 1);
        return next?.kind === 'draft' && next.isFresh ? next.key : null;
    }

    /** @param {CellView} view */
    copy(view) {
        const pieces = this.selected.with(view).map((one) => ({
            kind: /** @type {'code' | 'markdown'} */ (isText(one.props.cell) ? 'markdown' : 'code'),
            source: one.text,
            ...originOf(one.props.cell),
        }));
        this.clipboard.copy(pieces);
    }

    /** @param {CellView} view @param {'above' | 'below'} where */
    paste(view, where) {
        let { cell } = view.props;
        if (cell.kind === 'text') cell = this.operations.asDraft(cell) ?? cell;
        const { key: target } = cell;
        const pieces = this.clipboard.content;
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
        this.clipboard.recordAdded(made, () => target);
        this.focus.go({ key: first, asCell: true });
    }

    /** @param {CellView} view */
    cut(view) {
        this.copy(view);
        this.removeSelected(view);
    }

    /** Deletes the selected cells. @param {CellView} view */
    removeSelected(view) {
        const cells = this.selected.with(view).map((one) => one.props.cell);
        const drafts = this.operations.movable(cells);
        const texts = cells.filter((cell) => cell.kind === 'text');
        const ran = cells.filter((cell) => cell.kind === 'ran');
        const out = [...drafts, ...texts, ...ran];
        if (!out.length) return;
        const all = this.page.cells();
        const gone = new Set(out.map((cell) => cell.key));
        const at = all.findIndex((cell) => cell.key === cells.at(-1)?.key);
        const next =
            all.slice(at).find((cell) => !gone.has(cell.key)) ?? all.findLast((cell) => !gone.has(cell.key));
        if (ran.length) {
            this.#rewrite(view, without(all, out), next?.key, (n) => WORDS.leftOut(out.length, n));
            return;
        }
        this.clipboard.remove(
            drafts.map(({ draft }) => draft),
            () => this.undo(),
            texts,
        );
        if (next) this.focus.go({ key: keyAfter(next, texts), asCell: true });
    }

    /**
     * Changes cells of which some have run, as one step.
     * @param {CellView} view
     * @param {import('./cell-operations.js').Wanted} wanted
     * @param {string | undefined} focused the key of the cell that then gets the focus, or of the
     *   cell in whose place there are pieces
     * @param {(drafts: number) => string} said
     */
    #rewrite(view, wanted, focused, said) {
        if (!this.page.mayRun) return;
        const { key } = view.props.cell;
        const at = wanted.findIndex((item) => (Array.isArray(item) ? focused === key : item.key === focused));
        const { keys, back } = this.operations.rewrite(wanted, said);
        this.clipboard.recordUndo(() => (back() ? key : null));
        const shown = keys[at] ?? this.page.cells().at(-1)?.key;
        if (shown) this.focus.go({ key: shown, asCell: true });
    }

    /** @param {Extract<CellData, {kind: 'draft'}>} cell */
    remove(cell) {
        if (!cell.isFresh) this.clipboard.remove([cell.draft], () => this.undo());
    }

    /** @param {import('../notebook/cell-list.js').TextCell} cell */
    removeText(cell) {
        this.clipboard.remove([], () => this.undo(), [cell]);
    }

    /**
     * Deletes a draft and, if the user is the owner, its failed attempt.
     * @param {Extract<CellData, {kind: 'draft'}>} cell
     */
    removeFailed(cell) {
        if (!cell.run || this.page.scope !== 'owner') return this.remove(cell);
        this.forgetAttempt(cell.run);
        // Delete the draft even if it was changed since the failure.
        if (this.page.drafts.get(cell.draft.id)) this.remove(cell);
        return undefined;
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
        const before = this.focus.neighbour(cell.key, -1);
        if (cell.kind === 'text') this.saveText(cell);
        else this.remove(cell);
        if (before) this.focus.views.get(before.key)?.focus('end');
        return true;
    }

    /** Deletes a failed attempt, and its draft. @param {import('../shell/model.js').Run} run */
    forgetAttempt(run) {
        this.clipboard.forgetAttempt(run, () => this.undo());
    }

    /** Undoes the newest step, and focuses what it restored. */
    undo() {
        const key = this.clipboard.undo();
        if (key) this.focus.go({ key, asCell: true });
    }

    // Changing

    /** @param {Extract<CellData, {kind: 'draft'}>} cell @param {'code' | 'markdown'} kind */
    setKind(cell, kind) {
        this.page.setKind(cell, kind);
        this.focus.go({ key: cell.key });
    }

    /** @param {CellView} view @param {'code' | 'markdown'} kind */
    convert(view, kind) {
        const { cell: focused } = view.props;
        if (focused.kind === 'text') {
            const draft = kind === 'code' ? this.operations.asDraft(focused) : null;
            if (draft) this.page.setKind(draft, kind);
            return this.focus.go({ key: draft?.key ?? focused.key, asCell: true });
        }
        if (this.#convertRan(view, (source) => ({ kind, source }))) return;
        const drafts = this.#drafts(view);
        for (const cell of drafts) this.page.setKind(cell, kind);
        if (drafts.length) this.focus.go({ key: focused.key, asCell: true });
    }

    /**
     * Puts pieces in place of the selected cells, if one of them has run.
     * @param {CellView} view
     * @param {(source: string) => import('./cell-operations.js').Piece} pieceOf
     * @returns {boolean} whether one has
     */
    #convertRan(view, pieceOf) {
        const chosen = this.selected.with(view).map((one) => one.props.cell);
        if (!chosen.some(({ kind }) => kind === 'ran')) return false;
        const keys = new Set(chosen.filter((cell) => !isText(cell)).map(({ key }) => key));
        const wanted = this.page.cells().map((cell) => (keys.has(cell.key) ? [pieceOf(textOf(cell))] : cell));
        this.#rewrite(view, wanted, view.props.cell.key, (n) => WORDS.converted(keys.size, n));
        return true;
    }

    /** @param {CellView} view @param {number} level */
    convertToHeading(view, level) {
        const { cell: text } = view.props;
        if (text.kind === 'text') {
            this.page.setText(text, headed(text.text, level));
            return this.focus.go({ key: text.key });
        }
        if (this.#convertRan(view, (source) => ({ kind: 'markdown', source: headed(source, level) }))) return;
        for (const cell of this.#drafts(view)) {
            this.page.setKind(cell, 'markdown');
            const now = this.page.cells().find((one) => one.key === cell.key);
            if (now) this.page.type(now, headed(textOf(cell), level));
        }
        this.focus.go({ key: view.props.cell.key });
    }

    /** The selected drafts. @param {CellView} view */
    #drafts(view) {
        return this.selected
            .with(view)
            .map((one) => one.props.cell)
            .filter((cell) => cell.kind === 'draft');
    }

    /** @param {CellView} view @param {1 | -1} step */
    move(view, step) {
        const { cell: text } = view.props;
        if (text.kind === 'text') return this.#movedText(this.#saved(text), step);
        const chosen = this.selected.with(view).map((one) => one.props.cell);
        if (chosen.some(({ kind }) => kind === 'ran')) return this.#moveRan(view, chosen, step);
        const cells = this.operations.movable(chosen);
        const ids = cells.map(({ draft }) => draft.id);
        const isDone = this.operations.moveBy(ids, step);
        const [first] = cells;
        if (!isDone && step === -1 && first && cells.length === 1) {
            const moved = this.operations.moveIntoState(first);
            if (moved) return this.#showMovedText(moved);
        }
        if (!isDone && step === -1 && first && !first.isInside) return this.#moveRan(view, cells, step);
        return this.#moved(view, isDone, cells, step);
    }

    /**
     * Moves cells by one step, if some of them have run or if they move past one that has.
     * @param {CellView} view
     * @param {CellData[]} chosen
     * @param {1 | -1} step
     */
    #moveRan(view, chosen, step) {
        const moved = chosen.filter(
            (cell) => cell.kind !== 'attempt' && !('isFresh' in cell && cell.isFresh),
        );
        const wanted = moved.length ? movedBy(this.page.cells(), moved, step) : null;
        if (wanted)
            this.#rewrite(view, wanted, view.props.cell.key, (n) => WORDS.movedCells(moved.length, n));
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
        this.clipboard.recordUndo(undo);
        this.focus.go({ key, asCell: true });
        const cells = this.page.cells();
        this.selected.announce(WORDS.moved(cells.findIndex((cell) => cell.key === key) + 1, cells.length));
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
        this.focus.goAlong(key);
        const order = this.page.drafts.beside(first.draft).map(({ id }) => id);
        this.selected.announce(WORDS.moved(order.indexOf(first.draft.id) + 1 + step, order.length));
    }

    /**
     * Moves cells to the position where the user dropped them.
     * @param {CellView} view the cell by which they were dragged
     * @param {string[]} keys
     * @param {string | null} after the key of the cell above that position; null: none
     */
    onDropped(view, keys, after) {
        const cells = this.page.cells();
        const moved = cells.filter(({ key }) => keys.includes(key));
        const at = cells.findIndex(({ key }) => key === after);
        const drafts = this.operations.movable(moved);
        const [first] = drafts;
        const above = cells[at];
        const isBeside = (/** @type {CellData | undefined} */ cell) =>
            cell?.kind === 'draft' && cell.draft.on === first?.draft.on && cell.isInside === first.isInside;
        // Drafts that stay at one state only change their order.
        if (drafts.length === moved.length && (isBeside(above) || isBeside(cells[at + 1])))
            return this.operations.moveAfter(
                drafts.map(({ draft }) => draft.id),
                above?.kind === 'draft' && isBeside(above) ? above.draft.id : null,
            );
        const others = without(cells, moved);
        const place = cells.slice(0, at + 1).filter((cell) => !keys.includes(cell.key)).length;
        const wanted = others.toSpliced(place, 0, ...moved);
        if (wanted.every(({ key }, i) => key === cells[i]?.key)) return false;
        this.#rewrite(view, wanted, view.props.cell.key, (n) => WORDS.movedCells(moved.length, n));
        return true;
    }

    /**
     * The keys of all cells that move when the user drags a cell.
     * @param {CellView} view
     * @returns {string[]}
     */
    draggedWith(view) {
        return wholeCells(this.selected.with(view).map((one) => one.props.cell)).map(({ key }) => key);
    }

    /** @param {CellView} view */
    split(view) {
        const state = view.editor?.view?.state;
        if (!state) return;
        let { cell } = view.props;
        if (cell.kind === 'text') cell = this.operations.asDraft(this.#saved(cell)) ?? cell;
        const whole = state.doc.toString();
        const cuts = state.selection.ranges.flatMap(({ from, to, empty }) => (empty ? [from] : [from, to]));
        if (cell.kind === 'ran') {
            const { key } = cell;
            const [last = '', ...above] = partsOf(whole, cuts).reverse();
            /** @type {import('./cell-operations.js').Piece[]} */
            const pieces = above.reverse().map((source) => ({ kind: 'code', source }));
            pieces.push({ kind: 'code', source: last, ...originOf(cell) });
            const wanted = this.page.cells().map((one) => (one.key === key ? pieces : one));
            return this.#rewrite(view, wanted, key, (n) => WORDS.splitInto(pieces.length, n));
        }
        if (cell.kind !== 'draft') return undefined;
        const { id } = cell.draft;
        const made = this.operations.split(cell, whole, cuts);
        const first = this.page.drafts.get(id)?.source;
        this.clipboard.recordAdded(made, () => {
            const now = this.page.drafts.get(id);
            if (now && now.source === first) this.page.drafts.put({ ...now, source: whole });
            return id;
        });
        this.focus.go({ key: made.at(-1) ?? id });
        return undefined;
    }

    /** @param {CellView} view */
    merge(view) {
        const { cell } = view.props;
        const chosen = this.selected.with(view).map((one) => one.props.cell);
        const cells = this.page.cells();
        const next = cells[cells.findIndex((one) => one.key === cell.key) + 1];
        const all = chosen.length > 1 ? chosen : next ? [cell, next] : [cell];
        const whole = wholeCells(all);
        if (whole.length > 1 && whole.some(({ kind }) => kind === 'ran')) return this.#mergeRan(view, whole);
        if (cell.kind !== 'draft') return this.page.notify(WORDS.nothingBelow, false);
        const selected = this.operations.movable(chosen);
        const both = selected.length > 1 ? selected : next ? this.operations.movable([cell, next]) : [];
        const same = both.filter(({ draft }) => draft.on === both[0]?.draft.on);
        const [first] = same;
        if (!first || same.length < 2) return void this.page.notify(WORDS.nothingBelow, false);
        const undo = this.operations.merge(same, () => this.focus.go({ key: first.key, asCell: true }));
        this.clipboard.recordUndo(() => (undo() ? first.key : null));
        this.selected.selection.only(first.key);
        this.focus.go({ key: first.key, asCell: true });
        return undefined;
    }

    /**
     * Merges cells of which some have run into one draft.
     * @param {CellView} view
     * @param {CellData[]} whole
     */
    #mergeRan(view, whole) {
        const [first, ...others] = whole;
        /** @type {import('./cell-operations.js').Piece} */
        const piece = {
            kind: first && isText(first) ? 'markdown' : 'code',
            source: joined(whole.map(textOf)),
        };
        const wanted = without(this.page.cells(), others).map((cell) =>
            cell.key === first?.key ? [piece] : cell,
        );
        this.#rewrite(view, wanted, view.props.cell.key, (n) => WORDS.mergedCells(whole.length, n));
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

// @ts-check
// Changes the cells of the notebook: inserts, deletes, copies, pastes, moves, splits, merges, and
// turns them into text or code. Acts on one cell or on the selected ones, and moves the focus.

import { CellOperations, originOf } from './cell-operations.js';
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
        const cells = this.selected.with(view).map((one) => one.props.cell);
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
            this.clipboard.remove(
                drafts.map(({ draft }) => draft),
                () => this.undo(),
                texts,
            );
            if (next) this.focus.go({ key: keyAfter(next, texts), asCell: true });
        } else if (ran.length) {
            this.page.notify(stays(ran.length), false, {
                act: { text: WORDS.goOnWithout(ran.length), act: () => this.operations.skip(ran) },
            });
        }
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
        const drafts = this.#drafts(view, WORDS.onlyDraftsKind);
        for (const cell of drafts) this.page.setKind(cell, kind);
        if (drafts.length) this.focus.go({ key: focused.key, asCell: true });
    }

    /** @param {CellView} view @param {number} level */
    convertToHeading(view, level) {
        const { cell: text } = view.props;
        if (text.kind === 'text') {
            this.page.setText(text, headed(text.text, level));
            return this.focus.go({ key: text.key });
        }
        for (const cell of this.#drafts(view, WORDS.onlyDraftsKind)) {
            this.page.setKind(cell, 'markdown');
            const now = this.page.cells().find((one) => one.key === cell.key);
            if (now) this.page.type(now, headed(textOf(cell), level));
        }
        this.focus.go({ key: view.props.cell.key });
    }

    /**
     * Returns the selected drafts. If no draft is selected, shows a notice.
     * @param {CellView} view
     * @param {string} why the notice's text
     */
    #drafts(view, why) {
        const drafts = this.selected
            .with(view)
            .map((one) => one.props.cell)
            .filter((cell) => cell.kind === 'draft');
        if (!drafts.length)
            this.page.notify(why, false, {
                act: {
                    text: WORDS.copyAsDraft,
                    act: () => this.focus.go({ key: this.page.copyAsDraft(view.text) }),
                },
            });
        return drafts;
    }

    /** @param {CellView} view @param {1 | -1} step */
    move(view, step) {
        const { cell: text } = view.props;
        if (text.kind === 'text') return this.#movedText(this.#saved(text), step);
        const cells = this.operations.movable(this.selected.with(view).map((one) => one.props.cell));
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
        const cells = this.operations.movable(this.selected.with(view).map((one) => one.props.cell));
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
        this.clipboard.recordAdded(made, () => {
            const now = this.page.drafts.get(id);
            if (now && now.source === first) this.page.drafts.put({ ...now, source: whole });
            return id;
        });
        this.focus.go({ key: made.at(-1) ?? id });
    }

    /** @param {CellView} view */
    merge(view) {
        const { cell } = view.props;
        if (cell.kind !== 'draft') return void this.#drafts(view, WORDS.onlyDrafts);
        const selected = this.operations.movable(this.selected.with(view).map((one) => one.props.cell));
        const cells = this.page.cells();
        const next = cells[cells.findIndex((one) => one.key === cell.key) + 1];
        const both = selected.length > 1 ? selected : next ? this.operations.movable([cell, next]) : [];
        const same = both.filter(({ draft }) => draft.on === both[0]?.draft.on);
        const [first] = same;
        if (!first || same.length < 2) return void this.page.notify(WORDS.nothingBelow, false);
        const undo = this.operations.merge(same, () => this.focus.go({ key: first.key, asCell: true }));
        this.clipboard.recordUndo(() => (undo() ? first.key : null));
        this.selected.selection.only(first.key);
        this.focus.go({ key: first.key, asCell: true });
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

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
import { UndoHistory } from './undo-history.js';
import { isOpen, isText, kindOf, runOf, textKey, textOf } from '../notebook/cell-list.js';
import { ROOT_STATE } from '../shell/protocol.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { loadPart, withPart } from '../shell/lazy-parts.js';
import { WORDS as WHOLE } from '../shell/words.js';

/** @typedef {import('./cell.js').Cell} CellView */
/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('../notebook/cell-list.js').TextCell} TextCell */
/** @typedef {import('./undo-history.js').Step} Step */
/** @typedef {import('./cell-operations.js').Piece} Piece */

/** Where the copied cells are kept for all notebooks. */
const COPIED = 'ratoon.copied';

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
        this.history = new UndoHistory(page, { onUndo: () => this.undo(), clock: () => Date.now() });
        /** The cells that were copied last in this tab. @type {Piece[]} */
        this.own = [];
    }

    /** What a paste inserts: the cells that were copied last in this browser. @returns {Piece[]} */
    get copied() {
        /** @type {{notebook: string, pieces: Piece[]} | null} */
        const kept = JSON.parse(localStorage.getItem(COPIED) ?? 'null');
        if (!kept) return this.own;
        if (kept.notebook === this.page.model.name) return kept.pieces;
        // Outputs and places in an imported file belong to the other notebook.
        return kept.pieces.map(({ kind, source }) => ({ kind, source }));
    }

    set copied(pieces) {
        this.own = pieces;
        try {
            localStorage.setItem(COPIED, JSON.stringify({ notebook: this.page.model.name, pieces }));
        } catch {
            // They are too large for other tabs.
            localStorage.removeItem(COPIED);
        }
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

    /**
     * @param {CellView} view
     * @param {'above' | 'below'} where
     * @param {boolean} [asCell] whether the new cell gets the focus in command mode
     */
    insert(view, where, asCell = true) {
        const { cell } = view.props;
        const key =
            where === 'above'
                ? this.#inserted(cell, () => this.operations.insertAbove(cell))
                : (this.#emptyBelow(cell) ?? this.#inserted(cell, () => this.operations.insertBelow(cell)));
        this.focus.go({ key, asCell });
    }

    /** Adds a cell to write in below a cell, at the end of the lineage. @param {CellData} cell */
    insertAtEnd(cell) {
        const key = this.#emptyBelow(cell) ?? this.#inserted(cell, () => this.operations.insertAtEnd(cell));
        this.focus.go({ key });
    }

    /** @param {CellData} cell */
    insertAbove(cell) {
        this.focus.go({ key: this.#inserted(cell, () => this.operations.insertAbove(cell)) });
    }

    /** @param {CellData} cell @param {() => string} insert */
    #inserted({ key }, insert) {
        return this.history.record(insert, { said: WORDS.inserted, key });
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
        this.copied = this.#pieces(view);
    }

    /** The selected cells as pieces. @param {CellView} view */
    #pieces(view) {
        return this.selected.with(view).map((one) => ({
            kind: kindOf(one.props.cell),
            source: one.text,
            ...originOf(one.props.cell),
        }));
    }

    /** Inserts copies of the selected cells below them. @param {CellView} view */
    duplicate(view) {
        const pieces = this.#pieces(view);
        const last = this.selected.with(view).at(-1)?.props.cell ?? view.props.cell;
        const first = this.history.record(() => this.#put(pieces, 'below', last), {
            said: WORDS.duplicated(pieces.length),
            key: view.props.cell.key,
        });
        if (first) this.focus.go({ key: first, asCell: true });
    }

    /** @param {CellView} view @param {'above' | 'below'} where */
    paste(view, where) {
        const { cell } = view.props;
        const { copied } = this;
        const first = this.history.record(() => this.#put(copied, where, cell), {
            said: WORDS.pasted(copied.length),
            key: cell.key,
        });
        if (first) this.focus.go({ key: first, asCell: true });
    }

    /**
     * Inserts pieces next to a cell.
     * @param {Piece[]} pieces
     * @param {'above' | 'below'} where
     * @param {CellData} beside
     * @returns {string | null} the key of the first
     */
    #put(pieces, where, beside) {
        const { operations } = this;
        if (!pieces.length) return null;
        let cell = beside.kind === 'text' ? (operations.asDraft(beside) ?? beside) : beside;
        const { key: target } = cell;
        let first = null;
        // Nothing is below the empty cell.
        const isAbove = where === 'above' || (cell.kind === 'draft' && cell.isFresh);
        for (const piece of isAbove ? pieces : pieces.toReversed()) {
            const key = isAbove ? operations.insertAbove(cell, piece) : operations.insertBelow(cell, piece);
            first = isAbove ? (first ?? key) : key;
            cell = this.page.cells().find((one) => one.key === target) ?? cell;
        }
        return first;
    }

    /** @param {CellView} view */
    cut(view) {
        this.copy(view);
        this.removeSelected(view);
    }

    /**
     * Changes cells. Those that wait to run leave the queue first; one that runs has to end before.
     * @param {CellData[]} cells
     * @param {() => void} change
     */
    change(cells, change) {
        if (!cells.some(isOpen)) return change();
        return void withPart(
            'queue',
            this.page,
            ({ leaveQueue }) => leaveQueue(this.page, cells, change),
            false,
        );
    }

    /** The selected cells. @param {CellView} view */
    #chosen(view) {
        return this.selected.with(view).map(({ props }) => props.cell);
    }

    /** Deletes the selected cells. @param {CellView} view */
    removeSelected(view) {
        this.change(this.#chosen(view), () => this.#removeSelected(view));
    }

    /** @param {CellView} view */
    #removeSelected(view) {
        const cells = this.#chosen(view);
        const out = wholeCells(cells);
        const [first] = cells;
        if (first?.kind === 'attempt' && cells.length === 1 && this.page.scope === 'owner')
            return this.forgetAttempt(first.run);
        if (!out.length) return undefined;
        const all = this.page.cells();
        const gone = new Set(out.map((cell) => cell.key));
        const at = all.findIndex((cell) => cell.key === cells.at(-1)?.key);
        const next =
            all.slice(at).find((cell) => !gone.has(cell.key)) ?? all.findLast((cell) => !gone.has(cell.key));
        if (out.some(({ kind }) => kind === 'ran')) {
            this.rewrite(view, without(all, out), next?.key, (n) => WORDS.leftOut(out.length, n));
            return undefined;
        }
        const texts = out.filter((cell) => cell.kind === 'text');
        const drafts = this.operations.movable(out).map(({ draft }) => draft);
        this.#delete(drafts, texts);
        if (next) this.focus.go({ key: keyAfter(next, texts), asCell: true });
        return undefined;
    }

    /**
     * Changes cells of which some have run, as one step.
     * @param {CellView} view
     * @param {import('./cell-operations.js').Wanted} wanted
     * @param {string | undefined} focused the key of the cell that then gets the focus, or of the
     *   cell in whose place there are pieces
     * @param {(drafts: number) => string} said
     */
    rewrite(view, wanted, focused, said) {
        const { key } = view.props.cell;
        const at = wanted.findIndex((item) => (Array.isArray(item) ? focused === key : item.key === focused));
        const keys = this.#rewritten(wanted, key, said);
        const shown = keys?.[at] ?? this.page.cells().at(-1)?.key;
        if (keys && shown) this.focus.go({ key: shown, asCell: true });
    }

    /**
     * Does the same, without moving the focus.
     * @param {import('./cell-operations.js').Wanted} wanted
     * @param {string} key of the cell that has the focus after an undo
     * @param {(drafts: number) => string} said
     * @returns {(string | undefined)[] | null} the keys of the cells of `wanted`
     */
    #rewritten(wanted, key, said) {
        if (!this.page.mayRun) return null;
        return this.history.record(() => this.operations.rewrite(wanted), {
            said: ({ count }) => said(count),
            key,
            isTold: true,
            untilRun: true,
        }).keys;
    }

    /**
     * Deletes drafts, and texts above cells that ran. Deleting only empty drafts shows no notice.
     * @param {import('../shell/protocol.js').Draft[]} drafts in order
     * @param {TextCell[]} [texts] in order
     */
    #delete(drafts, texts = []) {
        const full = drafts.filter((draft) => this.page.drafts.now(draft).source.trim());
        const worth = full.length + texts.length;
        this.history.record(() => this.operations.remove(drafts, texts), {
            said: worth === 1 && !texts.length ? WHOLE.draftRemoved : WORDS.removed(worth || drafts.length),
            key: drafts[0]?.id ?? texts[0]?.key,
            isTold: worth > 0,
        });
    }

    /** @param {Extract<CellData, {kind: 'draft'}>} cell */
    remove(cell) {
        if (!cell.isFresh) this.change([cell], () => this.#delete([cell.draft]));
    }

    /** @param {TextCell} cell */
    removeText(cell) {
        this.#delete([], [cell]);
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

    /**
     * Deletes a failed attempt. Also deletes the attempt's draft if the draft still contains the
     * code that ran.
     * @param {import('../shell/model.js').Run} run
     */
    forgetAttempt(run) {
        const { page } = this;
        const draft = run.draft ? page.drafts.get(run.draft) : undefined;
        const drafts = draft && draft.source === run.code ? [draft] : [];
        this.history.record(
            () => {
                page.dropAttempt(run.exec_id);
                this.operations.remove(drafts, []);
            },
            { said: WHOLE.draftRemoved, key: draft?.id, isTold: drafts.length > 0 },
        );
    }

    /**
     * Undoes steps, the newest first, and focuses what the last one restored.
     * @param {number} [left] the number of steps that are not undone; without it, the newest step
     *   that can be undone is
     */
    undo(left) {
        const { history } = this;
        this.#show(
            revertTo(left, history.done, () => history.undo()),
            WORDS.undone,
        );
    }

    /**
     * Makes steps again, beginning with the one that was undone last.
     * @param {number} [left] the number of steps that stay undone
     */
    redo(left) {
        const { history } = this;
        this.#show(
            revertTo(left, history.undone, () => history.redo()),
            WORDS.redone,
        );
    }

    /**
     * @param {Step | null} step
     * @param {(said: string) => string} said
     */
    #show(step, said) {
        if (!step) return;
        if (this.page.cells().some(({ key }) => key === step.key))
            this.focus.go({ key: step.key, asCell: true });
        this.selected.announce(said(step.said));
    }

    /**
     * Goes to the root, where the cells become drafts.
     * @returns {string | undefined} the id of the first draft
     */
    restart() {
        const { page } = this;
        if (page.here === ROOT_STATE) {
            page.notify(WHOLE.atStart, false);
            return page.drafts.on(ROOT_STATE)[0]?.id;
        }
        return this.history.record(() => this.operations.restart(), {
            said: ({ count, others }) => WHOLE.restarted(count, others),
            isTold: true,
            untilRun: true,
        }).first;
    }

    /**
     * Replaces the texts of cells, as if the user had typed.
     * @param {{key: string, text: string}[]} changes
     * @param {boolean} [isTold] whether to show a notice with an Undo button
     * @returns {number} the number of changed cells
     */
    replaceTexts(changes, isTold = true) {
        return this.history.record(() => this.operations.replaceTexts(changes), {
            said: WORDS.changed,
            key: changes[0]?.key,
            isTold,
        });
    }

    /**
     * Shows the code that ran in place of the changed code.
     * @param {Extract<CellData, {kind: 'ran'}>} cell
     */
    revert(cell) {
        this.history.record(() => this.page.revertEdit(cell.state), {
            said: WORDS.reverted,
            key: cell.key,
        });
    }

    // Changing

    /**
     * @param {Extract<CellData, {kind: 'draft'}>} cell
     * @param {import('../shell/protocol.js').Draft['kind']} kind
     */
    setKind(cell, kind) {
        this.change([cell], () => {
            this.#convertDrafts([cell], (draft) => this.page.setKind(draft, kind));
            this.focus.go({ key: cell.key });
        });
    }

    /**
     * @param {Extract<CellData, {kind: 'draft'}>[]} drafts
     * @param {(draft: Extract<CellData, {kind: 'draft'}>) => void} convert
     */
    #convertDrafts(drafts, convert) {
        this.history.record(() => drafts.forEach(convert), {
            said: WORDS.convertedDrafts(drafts.length),
            key: drafts[0]?.key,
        });
    }

    /** @param {CellView} view @param {import('../shell/protocol.js').Draft['kind']} kind */
    convert(view, kind) {
        this.change(this.#chosen(view), () => this.#convert(view, kind));
    }

    /** @param {CellView} view @param {import('../shell/protocol.js').Draft['kind']} kind */
    #convert(view, kind) {
        const { cell: focused } = view.props;
        if (focused.kind === 'text') {
            const toDraft = () => {
                const draft = kind !== 'markdown' ? this.operations.asDraft(focused) : null;
                if (draft) this.page.setKind(draft, kind);
                return draft?.key;
            };
            const how = { said: WORDS.convertedDrafts(1), key: focused.key };
            return this.focus.go({ key: this.history.record(toDraft, how) ?? focused.key, asCell: true });
        }
        if (this.#convertRan(view, (source) => ({ kind, source }))) return;
        const drafts = this.#drafts(view);
        this.#convertDrafts(drafts, (cell) => this.page.setKind(cell, kind));
        if (drafts.length) this.focus.go({ key: focused.key, asCell: true });
    }

    /**
     * Puts pieces in place of the selected cells, if one of them has run.
     * @param {CellView} view
     * @param {(source: string) => import('./cell-operations.js').Piece} pieceOf
     * @returns {boolean} whether one has
     */
    #convertRan(view, pieceOf) {
        const chosen = this.#chosen(view);
        if (!chosen.some(({ kind }) => kind === 'ran')) return false;
        const keys = new Set(chosen.filter((cell) => !isText(cell)).map(({ key }) => key));
        const wanted = this.page.cells().map((cell) => (keys.has(cell.key) ? [pieceOf(textOf(cell))] : cell));
        this.rewrite(view, wanted, view.props.cell.key, (n) => WORDS.converted(keys.size, n));
        return true;
    }

    /** @param {CellView} view @param {number} level */
    convertToHeading(view, level) {
        this.change(this.#chosen(view), () => this.#convertToHeading(view, level));
    }

    /** @param {CellView} view @param {number} level */
    #convertToHeading(view, level) {
        const { cell: text } = view.props;
        if (text.kind === 'text') {
            this.history.record(() => this.page.setText(text, headed(text.text, level)), {
                said: WORDS.convertedDrafts(1),
                key: text.key,
            });
            return this.focus.go({ key: text.key });
        }
        if (this.#convertRan(view, (source) => ({ kind: 'markdown', source: headed(source, level) }))) return;
        this.#convertDrafts(this.#drafts(view), (cell) => {
            this.page.setKind(cell, 'markdown');
            const now = this.page.cells().find((one) => one.key === cell.key);
            if (now) this.page.type(now, headed(textOf(now), level));
        });
        this.focus.go({ key: view.props.cell.key });
    }

    /** The selected drafts. @param {CellView} view */
    #drafts(view) {
        return this.#chosen(view).filter((cell) => cell.kind === 'draft');
    }

    /** @param {CellView} view @param {1 | -1} step */
    move(view, step) {
        this.change(this.#chosen(view), () => this.#move(view, step));
    }

    /** @param {CellView} view @param {1 | -1} step */
    #move(view, step) {
        const { cell: text } = view.props;
        if (this.selected.sections.of().hidden.size)
            return void withPart('drag', this.page, ({ moveShown }) => moveShown(this, view, step), false);
        if (text.kind === 'text') return this.#moveText(this.#saved(text).key, step);
        const chosen = this.#chosen(view);
        if (chosen.some(({ kind }) => kind === 'ran')) return this.#moveRan(view, chosen, step);
        const cells = this.operations.movable(chosen);
        const ids = cells.map(({ draft }) => draft.id);
        const [first] = cells;
        const isDone = this.reorder(ids, view.props.cell.key, () => this.operations.moveBy(ids, step));
        if (!isDone && first && cells.length === 1 && isText(first)) return this.#moveText(first.key, step);
        if (!isDone && step === -1 && first && !first.isInside) return this.#moveRan(view, cells, step);
        return this.#moved(view, isDone, cells, step);
    }

    /** @param {string} key @param {1 | -1} step */
    #moveText(key, step) {
        return void withPart('drag', this.page, ({ moveTextBy }) => moveTextBy(this, key, step), false);
    }

    /**
     * Moves drafts that stay at one state.
     * @param {string[]} ids
     * @param {string} key
     * @param {() => boolean} move
     */
    reorder(ids, key, move) {
        return this.history.record(move, { said: WORDS.reordered(ids.length), key, moved: ids });
    }

    /**
     * Moves cells by one step, if some of them have run or if they move past one that has.
     * @param {CellView} view
     * @param {CellData[]} chosen
     * @param {1 | -1} step
     */
    #moveRan(view, chosen, step) {
        const moved = wholeCells(chosen);
        const wanted = moved.length ? movedBy(this.page.cells(), moved, step) : null;
        const { key } = view.props.cell;
        const keys = wanted && this.#rewritten(wanted, key, (n) => WORDS.movedCells(moved.length, n));
        if (!keys) return;
        const at = wanted.findIndex((cell) => !Array.isArray(cell) && cell.key === key);
        const now = moved.flatMap((cell) => keys[wanted.indexOf(cell)] ?? []);
        this.selected.selection.range(now, keys[at] ?? '');
        this.focus.go({ key: keys[at] ?? '', asCell: true });
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

    /**
     * Moves a text cell, or a draft that becomes one.
     * @param {string} from its key
     * @param {() => string | null} move returns its new key
     * @returns {boolean} whether it moved
     */
    moveText(from, move) {
        const key = this.history.record(move, { said: WORDS.reordered(1), key: from });
        if (!key) return false;
        this.focus.go({ key, asCell: true });
        const cells = this.page.cells();
        this.selected.announce(WORDS.moved(cells.findIndex((cell) => cell.key === key) + 1, cells.length));
        return true;
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

    /** @param {CellView} view */
    split(view) {
        this.change([view.props.cell], () => this.#split(view));
    }

    /** @param {CellView} view */
    #split(view) {
        const state = view.editor?.view?.state;
        if (!state) return;
        const { cell } = view.props;
        const whole = state.doc.toString();
        const cuts = state.selection.ranges.flatMap(({ from, to, empty }) => (empty ? [from] : [from, to]));
        if (cell.kind === 'ran') {
            const { key } = cell;
            const [last = '', ...above] = partsOf(whole, cuts).reverse();
            /** @type {import('./cell-operations.js').Piece[]} */
            const pieces = above.reverse().map((source) => ({ kind: 'code', source }));
            pieces.push({ kind: 'code', source: last, ...originOf(cell) });
            const wanted = this.page
                .cells()
                .flatMap(
                    (one) =>
                        /** @type {import('./cell-operations.js').Wanted} */ (
                            one.key === key ? pieces.map((piece) => [piece]) : [one]
                        ),
                );
            const keys = this.#rewritten(wanted, key, (n) => WORDS.splitInto(pieces.length, n));
            // As in a draft, the cursor is then in the last part.
            const at = wanted.findLastIndex(Array.isArray);
            return keys ? this.focus.go({ key: keys[at] ?? key }) : undefined;
        }
        const text = cell.kind === 'text' ? this.#saved(cell) : null;
        const made = this.history.record(
            () => {
                const draft = text ? this.operations.asDraft(text) : cell;
                return draft?.kind === 'draft' ? this.operations.split(draft, whole, cuts) : [];
            },
            { said: ({ length }) => WORDS.parts(length + 1), key: cell.key },
        );
        return this.focus.go({ key: made.at(-1) ?? cell.key });
    }

    /** Merges the selected cells, or a cell with the one above. @param {CellView} view */
    mergeAbove(view) {
        if (this.selected.with(view).length > 1) return this.merge(view);
        const above = this.focus.neighbour(view.props.cell.key, -1);
        const other = this.focus.views.get(above?.key ?? '');
        return other ? this.merge(other) : this.page.notify(WORDS.nothingAbove, false);
    }

    /** Merges the selected cells, or a cell with the one below. @param {CellView} view */
    merge(view) {
        const { cell } = view.props;
        const chosen = this.#chosen(view);
        const cells = this.page.cells();
        const next = cells[cells.findIndex((one) => one.key === cell.key) + 1];
        const all = chosen.length > 1 ? chosen : next ? [cell, next] : [cell];
        this.change(all, () => this.#merge(view, all));
    }

    /** @param {CellView} view @param {CellData[]} all */
    #merge(view, all) {
        const { cell } = view.props;
        const whole = wholeCells(all);
        if (whole.length > 1 && whole.some(({ kind }) => kind === 'ran')) return this.#mergeRan(view, whole);
        if (cell.kind !== 'draft') return this.page.notify(WORDS.nothingBelow, false);
        const both = this.operations.movable(all);
        const same = both.filter(({ draft }) => draft.on === both[0]?.draft.on);
        const [first] = same;
        if (!first || same.length < 2) return void this.page.notify(WORDS.nothingBelow, false);
        this.history.record(() => this.operations.merge(same), {
            said: WORDS.merged(same.length),
            key: first.key,
            isTold: true,
        });
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
            kind: first ? kindOf(first) : 'code',
            source: joined(whole.map(textOf)),
        };
        const wanted = without(this.page.cells(), others).map((cell) =>
            cell.key === first?.key ? [piece] : cell,
        );
        this.rewrite(view, wanted, view.props.cell.key, (n) => WORDS.mergedCells(whole.length, n));
    }
}

/**
 * Reverts the newest steps.
 * @param {number | undefined} left the number of steps that stay; none: stops at the first step
 *   that could be reverted
 * @param {readonly Step[]} steps becomes shorter with each step
 * @param {() => Step | null} revert
 * @returns {Step | null} the last step that was reverted
 */
function revertTo(left, steps, revert) {
    /** @type {Step | null} */
    let last = null;
    while (steps.length > (left ?? 0) && (left !== undefined || !last)) last = revert() ?? last;
    return last;
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

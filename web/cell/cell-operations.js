// @ts-check
// Operations on cells other than typing: insert, move, split, merge, replace text. Pure.
//
// A cell that ran does not change. Moving, splitting, merging, converting or deleting it makes
// drafts of a new branch; see `rewrite`. Inserting next to it begins a branch when the new cell
// runs.

import { kindOf, runOrStale, textOf } from '../notebook/cell-list.js';
import { hasEnded, ROOT_STATE } from '../shell/protocol.js';
import { newId } from '../text/format.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/** @typedef {Extract<Cell, {kind: 'draft'}>} DraftCell */
/** @typedef {Extract<Cell, {kind: 'ran'}>} RanCell */
/** @typedef {import('../notebook/cell-list.js').TextCell} TextCell */
/** @typedef {import('../shell/protocol.js').Draft} Draft */
/** @typedef {Pick<Draft, 'kind' | 'source' | 'imported_cell' | 'stale_run'>} Piece */
/** @typedef {Pick<Draft, 'on' | 'before'>} DraftPosition */
/** @typedef {(Cell | Piece[])[]} Wanted cells as they are, and pieces in place of others */

export class CellOperations {
    /** @param {import('../notebook/page.js').Page} page */
    constructor(page) {
        this.page = page;
    }

    /**
     * Adds a draft above a cell. Above a cell that ran, the draft begins a branch.
     * @param {Cell} cell
     * @param {Piece} [piece]
     * @returns {string} the id of the draft
     */
    insertAbove(cell, piece = EMPTY) {
        const { drafts, model } = this.page;
        if (cell.kind === 'text' && cell.index > 0) {
            const draft = this.asDraft(cell);
            if (draft) return this.insertAbove(draft, piece);
        }
        if (cell.kind === 'ran' || cell.kind === 'text') {
            const on = cell.state.parent ?? ROOT_STATE;
            return model.states.get(on)?.living === 'deleted'
                ? this.insertAtEnd(cell, piece)
                : this.addAt({ on, before: cell.state.id }, drafts.lastOn(on, cell.state.id), piece);
        }
        if (cell.kind === 'attempt') return this.insertAtEnd(cell, piece);
        return this.addAt(
            cell.draft,
            cell.isFresh ? drafts.lastOn(cell.draft.on) : drafts.before(cell.draft),
            piece,
        );
    }

    /**
     * Adds a draft below a cell. Between two cells that ran, the draft begins a branch.
     * @param {Cell} cell
     * @param {Piece} [piece]
     * @returns {string} the id of the draft
     */
    insertBelow(cell, piece = EMPTY) {
        const draft = cell.kind === 'text' ? this.asDraft(cell) : null;
        if (draft) return this.insertBelow(draft, piece);
        if (cell.kind === 'ran' && !cell.isHere && cell.state.living !== 'deleted')
            return this.addAt({ on: cell.state.id, before: this.#nextOf(cell.state.id) }, null, piece);
        if (cell.kind === 'draft' && cell.isInside) return this.addAt(cell.draft, cell.draft.id, piece);
        return this.insertAtEnd(cell, piece);
    }

    /**
     * Adds a draft below a cell at the end of the lineage. Below a cell that ran, it becomes the
     * first draft there, because between cells an empty draft would begin a branch.
     * @param {Cell} cell
     * @param {Piece} [piece]
     * @returns {string} the id of the draft
     */
    insertAtEnd(cell, piece = EMPTY) {
        const { drafts, here } = this.page;
        const isBeside = cell.kind !== 'draft' || cell.isInside;
        const on = isBeside ? here : cell.draft.on;
        const after = isBeside ? null : cell.isFresh ? drafts.lastOn(on) : cell.draft.id;
        return this.addAt({ on }, after, piece);
    }

    /**
     * The state after `state` in the lineage that the page shows.
     * @param {string} state
     * @returns {string | null}
     */
    #nextOf(state) {
        const line = this.page.model.lineage(this.page.here);
        return line[line.findIndex(({ id }) => id === state) + 1]?.id ?? null;
    }

    /**
     * Adds a draft at a position.
     * @param {DraftPosition} place
     * @param {string | null} after the draft above it there
     * @param {Piece} piece
     * @returns {string} its id
     */
    addAt({ on, before }, after, piece) {
        return this.page.addShown({ id: newId(), on, before, ...piece }, after);
    }

    /**
     * The drafts among some cells, without the empty cell at the end. They can be moved and
     * deleted.
     * @param {Cell[]} cells
     * @returns {DraftCell[]}
     */
    movable(cells) {
        return cells.filter((cell) => cell.kind === 'draft').filter((cell) => !cell.isFresh);
    }

    /**
     * Moves drafts one step up or down. All drafts must have the same position in the graph.
     * @param {string[]} ids
     * @param {1 | -1} step 1: down; -1: up
     * @returns {boolean} whether anything moved
     */
    moveBy(ids, step) {
        const order = this.#orderOf(ids[0] ?? '');
        const places = order.flatMap((id, i) => (ids.includes(id) ? [i] : []));
        const beside = order[step === 1 ? (places.at(-1) ?? 0) + 1 : (places[0] ?? 0) - 1];
        if (beside === undefined || !places.length) return false;
        return this.moveAfter(ids, step === 1 ? beside : (order[order.indexOf(beside) - 1] ?? null));
    }

    /**
     * Moves drafts. All drafts must have the same position in the graph.
     * @param {string[]} ids
     * @param {string | null} after the draft above the new position; null: move to the top
     * @returns {boolean} whether anything moved
     */
    moveAfter(ids, after) {
        const { page } = this;
        const order = this.#orderOf(ids[0] ?? '');
        const moved = order.filter((id) => ids.includes(id));
        const others = order.filter((id) => !ids.includes(id));
        const behind =
            after === null || moved.includes(after)
                ? others[
                      others.indexOf(
                          order
                              .slice(0, order.indexOf(after ?? '') + 1)
                              .findLast((id) => others.includes(id)) ?? '',
                      )
                  ]
                : after;
        const at = behind === undefined ? 0 : others.indexOf(behind) + 1;
        const wanted = others.toSpliced(at, 0, ...moved);
        if (!moved.length || wanted.every((id, i) => id === order[i])) return false;
        page.drafts.flushAll();
        let last = behind ?? null;
        for (const id of moved) {
            const draft = page.drafts.get(id);
            if (draft) page.drafts.place(draft, last);
            last = id;
        }
        return true;
    }

    /** @param {string} id @returns {string[]} the ids of all drafts at this draft's position */
    #orderOf(id) {
        const draft = this.page.drafts.get(id);
        return draft ? this.page.drafts.beside(draft).map((one) => one.id) : [];
    }

    /**
     * Splits a draft.
     * @param {DraftCell} cell
     * @param {string} text the draft's current text
     * @param {number[]} at the offsets in `text` where a new draft begins
     * @returns {string[]} the ids of the new drafts
     */
    split(cell, text, at) {
        const [first = '', ...others] = partsOf(text, at);
        this.page.type(cell, first);
        this.page.drafts.flush(cell.draft.id);
        /** @type {string[]} */
        const made = [];
        for (const source of others)
            made.push(
                this.page.drafts.add({ ...cell.draft, id: newId(), source }, made.at(-1) ?? cell.draft.id),
            );
        return made;
    }

    /**
     * Merges drafts into the first draft.
     * @param {DraftCell[]} cells at least two, in order
     */
    merge(cells) {
        const { page } = this;
        const [first, ...others] = cells;
        if (!first) return;
        page.type(first, joined(cells.map(({ draft }) => page.drafts.now(draft).source)));
        page.drafts.flush(first.draft.id);
        for (const { draft } of others) page.drafts.remove(draft.id);
    }

    /**
     * Deletes drafts, and texts above cells that ran.
     * @param {Draft[]} drafts in order
     * @param {TextCell[]} texts in order
     */
    remove(drafts, texts) {
        const { page } = this;
        for (const { id } of drafts) page.drafts.remove(id);
        // From the bottom, so that the indices of the texts above stay right.
        for (const { key, state, index } of texts.toReversed()) {
            page.textEdits.delete(key);
            page.prose.set(state.id, state.prose.toSpliced(index, 1));
        }
    }

    /**
     * Shows a changed list of cells. What ran stays as far as the list begins with it. From there
     * on, the cells become drafts of a new branch. The line that was shown stays in the graph.
     * @param {Wanted} wanted at least one of the cells that it changes, moves or lacks has run
     * @returns {{keys: (string | undefined)[], count: number}} the key of each item of `wanted`, if
     *   it has a cell; how many of the drafts can run
     */
    rewrite(wanted) {
        const { page } = this;
        const cells = page.cells();
        const isSame = (/** @type {Cell} */ cell, /** @type {number} */ i) => {
            const item = wanted[i];
            return item !== undefined && !Array.isArray(item) && item.key === cell.key;
        };
        const changed = cells.findIndex((cell, i) => !isSame(cell, i));
        const same = changed < 0 ? cells : cells.slice(0, changed);
        const at = same.findLastIndex((cell) => cell.kind === 'ran' && !cell.isDeleted);
        const last = cells[at];
        const pieces = wanted.slice(at + 1).map((item) => (Array.isArray(item) ? item : shownPieces(item)));
        const { made, count } = this.replaceDrafts(
            last?.kind === 'ran' ? last.state.id : ROOT_STATE,
            pieces.flat(),
        );
        let next = 0;
        const keys = pieces.map(({ length }) => (length ? made[(next += length) - length] : undefined));
        return { keys: [...cells.slice(0, at + 1).map(({ key }) => key), ...keys], count };
    }

    /**
     * Goes to the root and adds the current texts of all cells as drafts there. Deletes no states.
     * @returns {{first: string | undefined, count: number, others: number}} the id of the first
     *   draft, how many can run, and how many others wait there
     */
    restart() {
        const { drafts } = this.page;
        const pieces = this.page.cells().flatMap(shownPieces);
        const { made, count } = this.replaceDrafts(ROOT_STATE, pieces);
        const others = drafts
            .on(ROOT_STATE)
            .filter(({ id, source }) => source.trim() && !made.includes(id)).length;
        return { first: made[0], count, others };
    }

    /**
     * Adds drafts to a state, above the drafts already on that state, and goes to the state.
     * Deletes those existing drafts whose text also exists elsewhere, because an earlier restart
     * or change of cells that ran added them.
     * @param {string} on
     * @param {Piece[]} pieces
     * @returns {{made: string[], count: number}} the ids of the added drafts, and how many of them
     *   can run
     */
    replaceDrafts(on, pieces) {
        const { page } = this;
        const { drafts } = page;
        for (const { id } of this.#copiesAt(on)) drafts.remove(id);
        /** @type {string[]} */
        const made = [];
        for (const piece of pieces) made.push(this.addAt({ on }, made.at(-1) ?? null, piece));
        page.goTo(on);
        const count = pieces.filter(({ kind, source }) => kind === 'code' && source.trim()).length;
        return { made, count };
    }

    /**
     * Finds drafts that repeat the text of a cell that ran or of another draft. Deleting these
     * drafts loses no text. Omits drafts with an open run.
     * @param {string} on
     * @returns {Draft[]}
     */
    #copiesAt(on) {
        const { model, drafts } = this.page;
        const waiting = drafts.on(on).filter(({ source }) => source.trim());
        const here = new Set(waiting.map(({ id }) => id));
        const others = [...model.drafts.values()].flat().filter(({ id }) => !here.has(id));
        const known = new Set(others.map(pieceKey));
        for (const state of model.states.values())
            for (const piece of piecesOf(model, state)) known.add(pieceKey(piece));
        const isOpen = (/** @type {string} */ id) =>
            model.openRuns().some(({ draft }) => draft === id) || this.page.ownRuns.requested.has(id);
        return waiting.filter((draft) => known.has(pieceKey(draft)) && !isOpen(draft.id));
    }

    /**
     * Replaces the texts of cells, as if the user had typed.
     * @param {{key: string, text: string}[]} changes
     * @returns {number} the number of changed cells
     */
    replaceTexts(changes) {
        return changes.filter(({ key, text }) => {
            const cell = this.page.cells().find((one) => one.key === key);
            if (!cell || !isOpenToChange(cell) || textOf(cell) === text) return false;
            this.page.type(cell, text);
            if (cell.kind === 'text') this.page.saveText(cell);
            return true;
        }).length;
    }

    // Text cells above the code of a state

    /**
     * Turns a text cell and the text cells above it into drafts at the same position, so that
     * other cells can stand between them.
     * @param {Pick<TextCell, 'state' | 'index'>} cell
     * @returns {DraftCell | null} the draft of this cell; null if the position was deleted
     */
    asDraft({ state, index }) {
        const { page } = this;
        const on = state.parent ?? ROOT_STATE;
        if (page.model.states.get(on)?.living === 'deleted') return null;
        let last = page.drafts.lastOn(on, state.id);
        for (const source of state.prose.slice(0, index + 1))
            last = this.addAt({ on, before: state.id }, last, { kind: 'markdown', source });
        page.prose.set(state.id, state.prose.slice(index + 1));
        const draft = page.cells().find(({ key }) => key === last);
        return draft?.kind === 'draft' ? draft : null;
    }
}

/**
 * The parts of a text that is split.
 * @param {string} text
 * @param {number[]} at the offsets where a part begins
 * @returns {string[]} at least one
 */
export function partsOf(text, at) {
    const cuts = [0, ...at.toSorted((a, b) => a - b), text.length];
    return cuts.slice(1).map((end, i) => {
        const part = i > 0 ? text.slice(cuts[i], end).replace(/^\n/, '') : text.slice(0, end);
        return end < text.length ? part.replace(/\n+$/, '') : part;
    });
}

/** Whether a cell is neither an attempt nor the empty one at the end. @param {Cell} cell */
export const isWhole = (cell) => cell.kind !== 'attempt' && !(cell.kind === 'draft' && cell.isFresh);

/** @param {Cell[]} cells */
export const wholeCells = (cells) => cells.filter(isWhole);

/** The text of merged cells. @param {string[]} sources */
export const joined = (sources) => sources.filter((source) => source.trim()).join('\n\n');

/** Cells without some of them. @param {Cell[]} cells @param {Cell[]} out */
export const without = (cells, out) => {
    const gone = new Set(out.map(({ key }) => key));
    return cells.filter(({ key }) => !gone.has(key));
};

/**
 * Cells in which some have moved by one step.
 * @param {Cell[]} cells
 * @param {Cell[]} moved some of them, in order
 * @param {1 | -1} step 1: down; -1: up
 * @returns {Cell[] | null} null if they are at the end already
 */
export function movedBy(cells, moved, step) {
    const [first, last] = [moved[0], moved.at(-1)].map((cell) =>
        cells.findIndex(({ key }) => key === cell?.key),
    );
    const beside = cells[step === 1 ? (last ?? 0) + 1 : (first ?? 0) - 1];
    if (!beside || !isWhole(beside)) return null;
    const others = without(cells, moved);
    const at = others.findIndex(({ key }) => key === beside.key) + (step === 1 ? 1 : 0);
    return others.toSpliced(at, 0, ...moved);
}

/** @type {Piece} */
const EMPTY = { kind: 'code', source: '' };

/**
 * Where a draft that copies a cell comes from: the number of the cell in the imported file, so that
 * an export finds its metadata, and the run whose outputs the cell shows.
 * @param {Cell} cell
 * @returns {Pick<Draft, 'imported_cell' | 'stale_run'>}
 */
export function originOf(cell) {
    if (cell.kind === 'text' || kindOf(cell) === 'markdown') return {};
    const number = (cell.kind === 'draft' ? cell.draft : cell.run)?.imported_cell;
    const run = runOrStale(cell);
    const isKept = run && hasEnded(run.status) && run.outputs.length > 0;
    return {
        ...(typeof number === 'number' ? { imported_cell: number } : {}),
        ...(isKept ? { stale_run: run.exec_id } : {}),
    };
}

/** The current texts of a cell, as pieces for new drafts. @param {Cell} cell @returns {Piece[]} */
export function shownPieces(cell) {
    if (cell.kind === 'text') return [{ kind: 'markdown', source: cell.text }];
    if (cell.kind === 'ran') return [{ kind: 'code', source: textOf(cell), ...originOf(cell) }];
    if (cell.kind !== 'draft' || cell.isFresh) return [];
    const { kind, source } = cell.draft;
    return [{ kind, source, ...originOf(cell) }];
}

/**
 * The texts of a state's cell, as pieces for new drafts.
 * @param {import('../shell/model.js').Model} model
 * @param {import('../shell/protocol.js').State} state
 * @returns {Piece[]}
 */
const piecesOf = (model, state) => [
    ...state.prose.map((source) => /** @type {Piece} */ ({ kind: 'markdown', source })),
    { kind: 'code', source: model.runOf(state)?.code ?? '' },
];

/** A string that identifies the kind and text of a piece. @param {Piece} piece */
export const pieceKey = ({ kind, source }) => `${kind} ${source}`;

/**
 * Whether the text of a cell may change now. The text of a cell that ran may not change while a
 * run of the cell is queued or running.
 * @param {Cell} cell
 */
const isOpenToChange = (cell) =>
    cell.kind === 'draft' ||
    cell.kind === 'text' ||
    (cell.kind === 'ran' &&
        (!cell.shown || (cell.shown.status !== 'running' && cell.shown.status !== 'queued')));

/**
 * Whether the waiting drafts repeat cells of another branch, so that the page offers to run them
 * again. Compares only the first draft, with the cells at and below the siblings of the current
 * state, and with those below its children.
 * @param {import('../notebook/page.js').Page} page
 * @param {DraftCell[]} waiting
 */
export function isRestOfLine({ model, here }, waiting) {
    const [first] = waiting;
    if (!first) return false;
    const parent = model.states.get(here)?.parent;
    const siblings = parent ? model.childrenOf(parent).filter(({ id }) => id !== here) : [];
    const isFirst = (/** @type {import('../shell/protocol.js').State} */ state) =>
        model.runOf(state)?.code === first.draft.source;
    // If the current cell was inserted above a cell that ran, the first draft repeats that cell.
    if (siblings.some(isFirst)) return true;
    return [...siblings, ...model.childrenOf(here)].some(({ id }) => model.childrenOf(id).some(isFirst));
}

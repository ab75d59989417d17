// @ts-check
// Changes of cells other than typing: insert, move, split, merge, skip, replace text. Pure.
//
// Only drafts can be reordered. A cell that ran does not change: an operation on it begins a
// branch beside it, or continues without it.

import { textOf } from '../notebook/cell-list.js';
import { ROOT_STATE } from '../shell/protocol.js';
import { newId } from '../text/format.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { WORDS as ALL } from '../shell/words.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/** @typedef {Extract<Cell, {kind: 'draft'}>} DraftCell */
/** @typedef {Extract<Cell, {kind: 'ran'}>} RanCell */
/** @typedef {import('../shell/protocol.js').Draft} Draft */
/** @typedef {{kind: Draft['kind'], source: string}} Piece */
/** @typedef {Pick<Draft, 'on' | 'before'>} DraftPosition */

export class CellOperations {
    /** @param {import('../notebook/page.js').Page} page */
    constructor(page) {
        this.page = page;
    }

    /**
     * Adds a draft above a cell. Above a cell that ran, the draft begins a branch.
     * @param {Cell} cell
     * @param {Piece} [piece]
     * @returns {string} its id
     */
    insertAbove(cell, piece = EMPTY) {
        const { drafts, model } = this.page;
        if (cell.kind === 'ran') {
            const on = cell.state.parent ?? ROOT_STATE;
            return model.states.get(on)?.living === 'deleted'
                ? this.page.insertBelow(cell, piece.kind, piece.source)
                : this.#addAt({ on, before: cell.state.id }, drafts.lastOn(on, cell.state.id), piece);
        }
        if (cell.kind === 'attempt') return this.page.insertBelow(cell, piece.kind, piece.source);
        return this.#addAt(
            cell.draft,
            cell.isFresh ? drafts.lastOn(cell.draft.on) : drafts.before(cell.draft),
            piece,
        );
    }

    /**
     * Adds a draft below a cell. Between cells that ran, the draft begins a branch.
     * @param {Cell} cell
     * @param {Piece} [piece]
     * @returns {string} its id
     */
    insertBelow(cell, piece = EMPTY) {
        if (cell.kind === 'ran' && !cell.isHere && cell.state.living !== 'deleted')
            return this.#addAt({ on: cell.state.id, before: this.#nextOf(cell.state.id) }, null, piece);
        if (cell.kind === 'draft' && cell.isInside) return this.#addAt(cell.draft, cell.draft.id, piece);
        return this.page.insertBelow(cell, piece.kind, piece.source);
    }

    /** The next state of the lineage shown. @param {string} state @returns {string | null} */
    #nextOf(state) {
        const line = this.page.model.lineage(this.page.here);
        return line[line.findIndex(({ id }) => id === state) + 1]?.id ?? null;
    }

    /** @param {DraftPosition} place @param {string | null} after @param {Piece} piece */
    #addAt({ on, before }, after, { kind, source }) {
        const id = newId();
        if (on !== this.page.here) this.page.openedDrafts.add(id);
        return this.page.drafts.add({ id, on, before, kind, source }, after);
    }

    /** The cells that can be moved and deleted. @param {Cell[]} cells @returns {DraftCell[]} */
    movable(cells) {
        return cells.filter((cell) => cell.kind === 'draft').filter((cell) => !cell.isFresh);
    }

    /**
     * Moves drafts that are at the same position of the graph one step up or down.
     * @param {string[]} ids
     * @param {1 | -1} step
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
     * Moves drafts behind another draft, or to the front (null).
     * @param {string[]} ids
     * @param {string | null} after
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
            if (draft)
                page.host
                    .send({ do: 'put_draft', draft, after: last, in_place: false })
                    .then((reply) => page.reportRefusal(reply));
            last = id;
        }
        return true;
    }

    /** @param {string} id @returns {string[]} the ids of the drafts at the same position */
    #orderOf(id) {
        const draft = this.page.drafts.get(id);
        return draft ? this.page.drafts.beside(draft).map((one) => one.id) : [];
    }

    /**
     * Splits a draft at offsets of its text.
     * @param {DraftCell} cell
     * @param {string} text
     * @param {number[]} at
     * @returns {string[]} the ids of the new drafts
     */
    split(cell, text, at) {
        const cuts = [0, ...at.toSorted((a, b) => a - b), text.length];
        const parts = cuts.slice(1).map((end, i) => {
            const part = i > 0 ? text.slice(cuts[i], end).replace(/^\n/, '') : text.slice(0, end);
            return end < text.length ? part.replace(/\n+$/, '') : part;
        });
        const [first = '', ...others] = parts;
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
     * Merges drafts into the first.
     * @param {DraftCell[]} cells at least two, in order
     * @param {() => void} putBack called after the undo, to show the restored drafts
     * @returns {() => boolean} undoes the merge; returns whether it could still be undone
     */
    merge(cells, putBack) {
        const { page } = this;
        const [first, ...others] = cells;
        if (!first) return () => false;
        const before = cells.map(({ draft }) => page.drafts.now(draft));
        const [original = first.draft, ...merged] = before;
        page.type(
            first,
            before
                .map(({ source }) => source)
                .filter((source) => source.trim())
                .join('\n\n'),
        );
        page.drafts.flush(first.draft.id);
        for (const { draft } of others) page.drafts.remove(draft.id);
        let isUndone = false;
        const undo = () => {
            if (isUndone) return false;
            isUndone = true;
            const now = page.drafts.get(first.draft.id);
            if (now) page.drafts.put({ ...now, source: original.source });
            let last = first.draft.id;
            const { on, before: child } = now ?? original;
            for (const draft of merged)
                last = page.drafts.add({ ...draft, id: newId(), on, before: child }, last);
            if (page.notice?.act === offer) page.dismissNotice();
            putBack();
            return true;
        };
        const offer = { text: WORDS.undo, act: undo };
        page.notify(WORDS.merged(cells.length), false, { act: offer });
        return undo;
    }

    /**
     * Continues without some cells that ran: goes to the state before the first of them. All other
     * cells after that state become drafts there. Nothing is deleted.
     * @param {RanCell[]} out
     */
    skip(out) {
        const { page } = this;
        const parent = out[0]?.state.parent;
        if (!parent || !page.mayRun) return;
        const gone = new Set(out.map(({ key }) => key));
        const cells = page.cells();
        const behind = cells.slice(
            cells.findIndex((cell) => cell.kind === 'ran' && cell.state.id === parent) + 1,
        );
        const { made, back } = this.#replaceDrafts(
            parent,
            behind.filter(({ key }) => !gone.has(key)),
        );
        page.notify(WORDS.leftOut(out.length, made.length), false, { act: { text: WORDS.undo, act: back } });
    }

    /**
     * Starts over: the current texts of all cells become drafts on the root. Nothing is deleted.
     * @returns {string | null} the id of the first draft
     */
    restart() {
        const { page } = this;
        if (page.here === ROOT_STATE) {
            page.notify(ALL.atStart, false);
            return page.drafts.on(ROOT_STATE)[0]?.id ?? null;
        }
        const { made, back } = this.#replaceDrafts(ROOT_STATE, page.cells());
        const others = page.drafts
            .on(ROOT_STATE)
            .filter(({ id, source }) => source.trim() && !made.includes(id)).length;
        page.notify(ALL.restarted(made.length, others), false, { act: { text: WORDS.undo, act: back } });
        return made[0] ?? null;
    }

    /**
     * Adds the current texts of cells as drafts on a state, above its own drafts, and goes there.
     * Replaces the state's drafts whose text also exists elsewhere: an earlier restart added them.
     * @param {string} on
     * @param {Cell[]} cells
     * @returns {{made: string[], back: () => void}} the ids of the drafts, and an undo function
     */
    #replaceDrafts(on, cells) {
        const { page } = this;
        const { drafts, here } = page;
        const pieces = cells.flatMap((cell) => shownPieces(cell));
        const replaced = this.#copiesAt(on);
        const before = replaced.map((draft) => ({ draft: drafts.now(draft), after: drafts.before(draft) }));
        for (const { id } of replaced) drafts.remove(id);
        /** @type {string[]} */
        const made = [];
        for (const piece of pieces) made.push(drafts.add({ id: newId(), on, ...piece }, made.at(-1) ?? null));
        page.goTo(on);
        const back = () => {
            for (const id of made) drafts.remove(id);
            /**
             * From old to new ids: the server may still be about to delete the drafts with the old
             * ids.
             * @type {Map<string | null, string>}
             */
            const ids = new Map();
            for (const { draft, after } of before)
                ids.set(draft.id, drafts.add({ ...draft, id: newId() }, ids.get(after) ?? after));
            page.goTo(here);
        };
        return { made, back };
    }

    /**
     * The drafts at the end of a lineage whose text also exists in a cell that ran or in another
     * draft, so that deleting them loses nothing.
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
            model.openRuns().some(({ draft }) => draft === id) || this.page.requestedRuns.has(id);
        return waiting.filter((draft) => known.has(pieceKey(draft)) && !isOpen(draft.id));
    }

    /**
     * Replaces the texts of cells in one step with one undo. Cells that ran change as if the user
     * had typed.
     * @param {{key: string, text: string, prose?: string[]}[]} changes `prose`: of a state, before
     *   its code
     * @param {boolean} [isSaid]
     * @returns {number} the number of changed cells
     */
    replaceTexts(changes, isSaid = true) {
        const before = changes.map(({ key }) => this.#textsOf(key));
        const done = changes.flatMap((change, i) =>
            this.#write(change, before[i] ?? null) ? [{ change, was: before[i] }] : [],
        );
        const undo = () => {
            for (const { change, was } of done)
                if (was) this.#write({ key: change.key, ...was }, this.#textsOf(change.key), change);
        };
        if (done.length && isSaid)
            this.page.notify(WORDS.changed(done.length), false, { act: { text: WORDS.undo, act: undo } });
        return done.length;
    }

    /** @param {string} key @returns {{text: string, prose?: string[]} | null} */
    #textsOf(key) {
        const cell = this.page.cells().find((one) => one.key === key);
        return cell
            ? { text: textOf(cell), prose: cell.kind === 'ran' ? cell.state.prose : undefined }
            : null;
    }

    /**
     * Writes the texts of one cell, if they changed.
     * @param {{key: string, text: string, prose?: string[]}} change
     * @param {{text: string, prose?: string[]} | null} now
     * @param {{text: string}} [expected] the change applies only if the code still reads like this
     * @returns {boolean} whether the cell changed
     */
    #write({ key, text, prose }, now, expected) {
        const cell = this.page.cells().find((one) => one.key === key);
        if (!cell || !now || cell.kind === 'attempt') return false;
        const writes = now.text !== text && isOpenToChange(cell) && (!expected || now.text === expected.text);
        const writesProse =
            cell.kind === 'ran' && prose !== undefined && JSON.stringify(prose) !== JSON.stringify(now.prose);
        if (writes) this.page.type(cell, text);
        if (writesProse) this.page.setProse(cell.state.id, prose);
        return writes || writesProse;
    }
}

/** @type {Piece} */
const EMPTY = { kind: 'code', source: '' };

/** The current texts of a cell, as pieces for new drafts. @param {Cell} cell @returns {Piece[]} */
function shownPieces(cell) {
    if (cell.kind === 'ran')
        return [
            ...cell.state.prose.map((source) => /** @type {Piece} */ ({ kind: 'markdown', source })),
            { kind: 'code', source: textOf(cell) },
        ];
    const isMeant = cell.kind === 'draft' && !cell.isFresh && cell.draft.source.trim();
    return isMeant ? [{ kind: cell.draft.kind, source: cell.draft.source }] : [];
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

/** Equal for pieces of equal kind and text. @param {Piece} piece */
const pieceKey = ({ kind, source }) => `${kind} ${source}`;

/** Whether the text of a cell may change now. @param {Cell} cell */
const isOpenToChange = (cell) =>
    cell.kind === 'draft' ||
    (cell.kind === 'ran' &&
        (!cell.shown || (cell.shown.status !== 'running' && cell.shown.status !== 'queued')));

/**
 * Whether the drafts here repeat cells that followed an earlier version of the current cell, or a
 * skipped cell. If so, the page offers to replay them.
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
    // After an insertion, the first draft repeats the cell above which the new cell was inserted.
    if (siblings.some(isFirst)) return true;
    return [...siblings, ...model.childrenOf(here)].some(({ id }) => model.childrenOf(id).some(isFirst));
}

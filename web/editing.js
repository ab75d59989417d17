// @ts-check
// What can be done to cells besides typing: inserted, moved, split, merged, left out, replaced in. Pure.
//
// Only drafts can be changed in their order. A cell that ran stays what it is: beside it a branch is begun, or the line
// goes on without it.

import { newId } from './text/format.js';
import { EDITOR_WORDS as WORDS } from './words/editor.js';
import { WORDS as ALL } from './words.js';

/** @typedef {import('./line.js').Cell} Cell */
/** @typedef {Extract<Cell, {kind: 'draft'}>} DraftCell */
/** @typedef {Extract<Cell, {kind: 'ran'}>} RanCell */
/** @typedef {import('./protocol.js').Draft} Draft */
/** @typedef {{kind: Draft['kind'], source: string}} Piece */

export class Editing {
    /** @param {import('./page.js').Page} page */
    constructor(page) {
        this.page = page;
    }

    /** A draft above a cell; above one that ran it will start a branch there. @param {Cell} cell @param {Piece} [piece] @returns {string} its id */
    above(cell, piece = EMPTY) {
        const { drafts, model } = this.page;
        if (cell.kind === 'ran') {
            const on = cell.state.parent ?? 'initial';
            return model.states.get(on)?.living === 'deleted' ? this.page.insertBelow(cell, piece.kind, piece.source) : this.#begin(on, drafts.lastOn(on), piece);
        }
        if (cell.kind === 'attempt') return this.page.insertBelow(cell, piece.kind, piece.source);
        return this.#begin(cell.draft.on, cell.isFresh ? drafts.lastOn(cell.draft.on) : drafts.before(cell.draft), piece);
    }

    /** A draft below a cell; in the midst of the line it will start a branch there. @param {Cell} cell @param {Piece} [piece] @returns {string} its id */
    below(cell, piece = EMPTY) {
        if (cell.kind === 'ran' && !cell.isHere && cell.state.living !== 'deleted') return this.#begin(cell.state.id, null, piece);
        if (cell.kind === 'draft' && cell.isInside) return this.#begin(cell.draft.on, cell.draft.id, piece);
        return this.page.insertBelow(cell, piece.kind, piece.source);
    }

    /** @param {string} on @param {string | null} after @param {Piece} piece */
    #begin(on, after, { kind, source }) {
        const id = newId();
        if (on !== this.page.here) this.page.begun.add(id);
        return this.page.drafts.add({ id, on, kind, source }, after);
    }

    /** The drafts among some cells that can be moved and removed. @param {Cell[]} cells @returns {DraftCell[]} */
    movable(cells) {
        return cells.filter((cell) => cell.kind === 'draft').filter((cell) => !cell.isFresh);
    }

    /** Moves drafts of one state by one place. @param {string[]} ids @param {1 | -1} step @returns {boolean} whether anything moved */
    step(ids, step) {
        const order = this.#orderOf(ids[0]);
        const places = order.flatMap((id, i) => (ids.includes(id) ? [i] : []));
        const beside = order[step === 1 ? (places.at(-1) ?? 0) + 1 : (places[0] ?? 0) - 1];
        if (beside === undefined || !places.length) return false;
        return this.place(ids, step === 1 ? beside : order[order.indexOf(beside) - 1] ?? null);
    }

    /** Puts drafts of one state behind another, or before all. @param {string[]} ids @param {string | null} after @returns {boolean} whether anything moved */
    place(ids, after) {
        const { page } = this;
        const order = this.#orderOf(ids[0]);
        const moved = order.filter((id) => ids.includes(id));
        const others = order.filter((id) => !ids.includes(id));
        const behind = after === null || moved.includes(after) ? others[others.indexOf(order.slice(0, order.indexOf(after ?? '') + 1).findLast((id) => others.includes(id)) ?? '')] : after;
        const at = behind === undefined ? 0 : others.indexOf(behind) + 1;
        const wanted = others.toSpliced(at, 0, ...moved);
        if (!moved.length || wanted.every((id, i) => id === order[i])) return false;
        page.drafts.flushAll();
        let last = behind ?? null;
        for (const id of moved) {
            const draft = page.drafts.get(id);
            if (draft) page.around.send({ do: 'put_draft', draft, after: last, in_place: false }).then((reply) => page.refused(reply));
            last = id;
        }
        return true;
    }

    /** @param {string} id @returns {string[]} the drafts on the same state */
    #orderOf(id) {
        const draft = this.page.drafts.get(id);
        return draft ? this.page.drafts.on(draft.on).map((one) => one.id) : [];
    }

    /** Cuts a draft into several, at places of its text. @param {DraftCell} cell @param {string} text @param {number[]} at @returns {string[]} the ids of those that are new */
    split(cell, text, at) {
        const cuts = [0, ...at.toSorted((a, b) => a - b), text.length];
        const parts = cuts.slice(1).map((end, i) => {
            const part = i > 0 ? text.slice(cuts[i], end).replace(/^\n/, '') : text.slice(0, end);
            return end < text.length ? part.replace(/\n+$/, '') : part;
        });
        this.page.type(cell, parts[0]);
        this.page.drafts.flush(cell.draft.id);
        /** @type {string[]} */
        const made = [];
        for (const source of parts.slice(1)) made.push(this.page.drafts.add({ id: newId(), on: cell.draft.on, kind: cell.draft.kind, source }, made.at(-1) ?? cell.draft.id));
        return made;
    }

    /** Makes one draft of several. @param {DraftCell[]} cells at least two, in order @param {() => void} putBack shows where it was undone @returns {() => boolean} undoes it; whether that was to be done still */
    merge(cells, putBack) {
        const { page } = this;
        const [first, ...others] = cells;
        const before = cells.map(({ draft }) => page.drafts.now(draft));
        page.type(first, before.map(({ source }) => source).filter((source) => source.trim()).join('\n\n'));
        page.drafts.flush(first.draft.id);
        for (const { draft } of others) page.drafts.remove(draft.id);
        let isUndone = false;
        const undo = () => {
            if (isUndone) return false;
            isUndone = true;
            const now = page.drafts.get(first.draft.id);
            if (now) page.drafts.put({ ...now, source: before[0].source });
            let last = first.draft.id;
            for (const draft of before.slice(1)) last = page.drafts.add({ ...draft, id: newId(), on: now?.on ?? draft.on }, last);
            putBack();
            return true;
        };
        page.say(WORDS.merged(cells.length), false, { act: { text: WORDS.undo, act: undo } });
        return undo;
    }

    /**
     * Goes on without cells that ran: the cells behind the first of them become drafts on the state before it. Nothing is deleted.
     * @param {RanCell[]} out
     */
    leaveOut(out) {
        const { page } = this;
        const { model, drafts, here } = page;
        const parent = out[0]?.state.parent;
        if (!parent || !page.mayRun) return;
        const gone = new Set(out.map(({ state }) => state.id));
        const line = model.lineage(here);
        const rest = line.slice(line.findIndex(({ id }) => id === out[0].state.id)).filter(({ id }) => !gone.has(id));
        const pieces = rest.flatMap((state) => piecesOf(model, state));
        /** @type {string[]} */
        const made = [];
        for (const piece of pieces) made.push(drafts.add({ id: newId(), on: parent, ...piece }, made.at(-1) ?? drafts.lastOn(parent)));
        page.goTo(parent);
        const back = () => {
            for (const id of made) drafts.remove(id);
            page.goTo(here);
        };
        page.say(WORDS.leftOut(pieces.length), false, { act: { text: WORDS.undo, act: back } });
    }

    /**
     * Begins the line anew: what its cells read now waits as drafts on the start, behind those that are there. Nothing is deleted.
     * @returns {string | null} the id of the first
     */
    restart() {
        const { page } = this;
        const { drafts, here } = page;
        const pieces = page.cells().flatMap((cell) => shownPieces(cell));
        /** @type {string[]} */
        const made = [];
        for (const piece of pieces) made.push(drafts.add({ id: newId(), on: ROOT, ...piece }, made.at(-1) ?? drafts.lastOn(ROOT)));
        page.goTo(ROOT);
        const back = () => {
            for (const id of made) drafts.remove(id);
            page.goTo(here);
        };
        page.say(ALL.restarted(pieces.length), false, pieces.length ? { act: { text: WORDS.undo, act: back } } : {});
        return drafts.on(ROOT)[0]?.id ?? null;
    }

    /**
     * Gives cells other texts, in one step that can be undone. Cells that ran are changed as by typing.
     * @param {{key: string, text: string, prose?: string[]}[]} changes `prose`: of a state, before its code
     * @param {boolean} [isSaid] @returns {number} how many cells were changed
     */
    rewrite(changes, isSaid = true) {
        const before = changes.map(({ key }) => this.#textsOf(key));
        const done = changes.flatMap((change, i) => (this.#write(change, before[i]) ? [i] : []));
        const undo = () => {
            for (const i of done) {
                const was = before[i];
                if (was) this.#write({ key: changes[i].key, ...was }, this.#textsOf(changes[i].key), changes[i]);
            }
        };
        if (done.length && isSaid) this.page.say(WORDS.changed(done.length), false, { act: { text: WORDS.undo, act: undo } });
        return done.length;
    }

    /** @param {string} key @returns {{text: string, prose?: string[]} | null} */
    #textsOf(key) {
        const cell = this.page.cells().find((one) => one.key === key);
        return cell ? { text: sourceOf(cell), prose: cell.kind === 'ran' ? cell.state.prose : undefined } : null;
    }

    /**
     * @param {{key: string, text: string, prose?: string[]}} change @param {{text: string, prose?: string[]} | null} now
     * @param {{text: string}} [expected] what the code must read for it to be changed @returns {boolean} whether something changed
     */
    #write({ key, text, prose }, now, expected) {
        const cell = this.page.cells().find((one) => one.key === key);
        if (!cell || !now || cell.kind === 'attempt') return false;
        const writes = now.text !== text && isOpenToChange(cell) && (!expected || now.text === expected.text);
        const writesProse = cell.kind === 'ran' && prose !== undefined && JSON.stringify(prose) !== JSON.stringify(now.prose);
        if (writes) this.page.type(cell, text);
        if (writesProse) this.page.setProse(cell.state.id, prose);
        return writes || writesProse;
    }
}

/** The state from which every notebook grows. */
const ROOT = 'initial';

/** @type {Piece} */
const EMPTY = { kind: 'code', source: '' };

/** What a cell reads, for drafts on the start. @param {Cell} cell @returns {Piece[]} */
function shownPieces(cell) {
    if (cell.kind === 'ran') return [...cell.state.prose.map((source) => /** @type {Piece} */ ({ kind: 'markdown', source })), { kind: 'code', source: sourceOf(cell) }];
    const isMeant = cell.kind === 'draft' && !cell.isFresh && cell.draft.on !== ROOT && cell.draft.source.trim();
    return isMeant ? [{ kind: cell.draft.kind, source: cell.draft.source }] : [];
}

/** A state's cell, with the text before it, as pieces for drafts. @param {import('./model.js').Model} model @param {import('./protocol.js').State} state @returns {Piece[]} */
const piecesOf = (model, state) => [...state.prose.map((source) => /** @type {Piece} */ ({ kind: 'markdown', source })), { kind: 'code', source: model.runOf(state)?.code ?? '' }];

/** @param {Cell} cell */
export function sourceOf(cell) {
    if (cell.kind === 'ran') return cell.edit?.text ?? cell.run?.code ?? '';
    return cell.kind === 'draft' ? cell.draft.source : cell.run.code;
}

/** Whether its text may be changed now. @param {Cell} cell */
export const isOpenToChange = (cell) => cell.kind === 'draft' || (cell.kind === 'ran' && (!cell.shown || (cell.shown.status !== 'running' && cell.shown.status !== 'queued')));

/**
 * Whether the drafts that wait here are what followed the earlier version of a cell, or one that was left out: then the
 * page offers to replay the rest.
 * @param {import('./page.js').Page} page @param {DraftCell[]} waiting
 */
export function isRest({ model, here }, waiting) {
    const [first] = waiting;
    if (!first) return false;
    const parent = model.states.get(here)?.parent;
    const siblings = parent ? model.childrenOf(parent).filter(({ id }) => id !== here) : [];
    const isFirst = (/** @type {import('./protocol.js').State} */ state) => model.runOf(state)?.code === first.draft.source;
    // Behind an inserted cell waits what grew beside it.
    if (siblings.some(isFirst)) return true;
    return [...siblings, ...model.childrenOf(here)].some(({ id }) => model.childrenOf(id).some(isFirst));
}

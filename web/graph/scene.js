// @ts-check
// The rows of the graph and their positions, updated incrementally.
//
// Rows are in creation order, so a new row is always last. Positions change only when the user
// chooses another trunk, opens or closes a fold, or deletes something. Folds close by themselves
// only outside the viewport. Pure.

import { foldsOf, nearTo } from './folding.js';
import { Layout } from './layout.js';
import { Nodes } from './nodes.js';

/** @typedef {import('./nodes.js').Node} Node */
/** @typedef {import('./layout.js').Position} Position */
/**
 * @typedef {{id: string, node: Node, fold: null, place: Position}
 *   | {id: string, node: Node, fold: Node[], place: Position}} Row `fold`: the nodes of a fold;
 *     `node` is the first of them.
 */
/**
 * @typedef {{isAnew: boolean, slid: boolean, followed: boolean, from: number, ended: Node[]}}
 *   Change `isAnew`: rows may have moved; `slid`: lanes moved; `followed`: the current state is
 *   new; `from`: the first new row; `ended`: runs that ended
 */

/** After this many new rows, rows outside the viewport may be folded. */
const TIDY = 12;
/** The most states that can be unfolded by hand. Beyond it, those opened first are folded again. */
const OPENED = 2000;

export class Scene {
    /** @param {{isWhole?: boolean, opened?: string[]}} [kept] the stored settings of this tab */
    constructor({ isWhole = false, opened = [] } = {}) {
        this.nodes = new Nodes();
        /** Whether everything is unfolded. */
        this.isWhole = isWhole;
        /** States unfolded by hand. @type {Set<string>} */
        this.opened = new Set(opened);
        /** @type {Set<string>} */
        this.standing = new Set();
        /** Search hits, by index. @type {Set<number>} */
        this.found = new Set();
        /** The end of the lineage chosen last. */
        this.tip = '';
        /** The end of the trunk. */
        this.straight = '';
        this.hidden = 0;
        this.untidy = 0;
        this.here = '';
        /** @type {Row[]} */
        this.rows = [];
        /** The row of each node, by the node's index. @type {number[]} */
        this.rowOf = [];
        this.layout = new Layout();
    }

    /**
     * @param {string | null} id of a state or run
     * @returns {number} its row, or the row of its fold; -1 for none
     */
    rowAt(id) {
        const node = this.nodes.get(id);
        return (node && this.rowOf[node.at]) ?? -1;
    }

    /**
     * Updates the rows from the model and the current state.
     * @param {import('../shell/model.js').Model} model
     * @param {{here: string, standing: Iterable<string>, seen: [number, number]}} look `standing`:
     *   the positions of others; `seen`: the visible rows
     * @returns {Change}
     */
    update(model, { here, standing, seen }) {
        this.standing = new Set(standing);
        // Before the first snapshot no row can move.
        const isFirst = this.rows.length < 2;
        if (isFirst) this.tip = this.straight = '';
        const { from, changed } = this.nodes.update(model);
        const followed = this.#hasGrown(here, from, changed);
        const slid = this.#choose(model, here, followed);
        this.here = here;
        if (from > 0 && slid && !this.#wantsOpen()) return { ...this.#slide(from), followed, ended: changed };
        if (from === 0 || slid || this.#wantsOpen())
            return { ...this.#rebuild(isFirst ? null : seen, slid && !isFirst), followed, ended: changed };
        for (const one of changed) this.#settle(one);
        const first = this.rows.length;
        for (const node of this.nodes.list.slice(from)) this.#add(node);
        this.untidy += this.rows.length - first;
        const isTidied = this.untidy > TIDY && this.#tidy(seen);
        return {
            isAnew: isTidied,
            slid: false,
            followed,
            from: isTidied ? this.rows.length : first,
            ended: changed,
        };
    }

    /**
     * Whether the current state is a new one, created by a run instead of chosen by the user.
     * @param {string} here
     * @param {number} from
     * @param {Node[]} changed
     */
    #hasGrown(here, from, changed) {
        const node = this.nodes.get(here);
        return (
            node !== undefined &&
            here !== this.here &&
            from > 0 &&
            (node.at >= from || changed.includes(node))
        );
    }

    /** Unfolds the current state if it is in a fold. Returns whether it was. */
    #wantsOpen() {
        const here = this.rows[this.rowAt(this.here)]?.fold ?? [];
        for (const { id } of here) this.opened.add(id);
        return here.length > 0;
    }

    /** Unfolds or folds everything. @param {boolean} isWhole */
    showAll(isWhole) {
        this.isWhole = isWhole;
        if (!isWhole) this.opened.clear();
        this.#rebuild(null, false);
    }

    /** Unfolds a fold for the life of this tab. @param {Node[]} fold */
    open(fold) {
        for (const { id } of fold) this.opened.add(id);
        for (const id of this.opened) if (this.opened.size > OPENED) this.opened.delete(id);
        this.#rebuild([0, this.rows.length], false);
    }

    /**
     * Keeps search hits unfolded until the next search.
     * @param {number[]} places
     * @returns {boolean} whether rows may have moved
     */
    search(places) {
        const before = this.found;
        this.found = new Set(places);
        const isHidden = places.some((at) => this.rows[this.rowOf[at] ?? -1]?.fold);
        if (!isHidden && (before.size === 0 || places.length > 0)) return false;
        this.#rebuild(places.length > 0 ? [0, this.rows.length] : null, false);
        return true;
    }

    /**
     * Chooses the trunk. Returns whether it changed.
     * @param {import('../shell/model.js').Model} model
     * @param {string} here
     * @param {boolean} followed
     */
    #choose(model, here, followed) {
        const isKnown = model.states.has(this.tip) && model.states.has(this.straight);
        if (isKnown && here === this.here) return false;
        if (isKnown && isAbove(model, here, this.tip)) return false;
        const isStraight = isKnown && isAbove(model, here, this.straight);
        const isLonger = isKnown && isAbove(model, this.tip, here);
        this.tip = isStraight ? this.straight : isLonger || followed ? here : model.newestBelow(here);
        if (isKnown && (isLonger || followed || isStraight)) return false;
        this.straight = this.tip;
        return true;
    }

    /**
     * @param {[number, number] | null} seen rows that must not be folded
     * @param {boolean} slid
     * @returns {Change}
     */
    #rebuild(seen, slid) {
        const kept = new Set();
        if (seen)
            for (const { node, fold } of this.rows.slice(seen[0], seen[1] + 1)) if (!fold) kept.add(node.id);
        this.#build(kept);
        return { isAnew: true, slid, followed: false, from: this.rows.length, ended: [] };
    }

    /** Draws another trunk: lanes change, rows do not. @param {number} from @returns {Change} */
    #slide(from) {
        this.#draw(this.rows.flatMap(({ fold }) => (fold ? [fold.map(({ at }) => at)] : [])));
        return {
            isAnew: true,
            slid: true,
            followed: false,
            from: this.rowOf[from] ?? this.rows.length,
            ended: [],
        };
    }

    /** @param {Set<string>} kept */
    #build(kept) {
        const { list } = this.nodes;
        const near = nearTo(list, this.nodes.get(this.here));
        this.#draw(
            this.isWhole
                ? []
                : foldsOf(
                      list,
                      ({ id, at }) =>
                          near.has(at) ||
                          kept.has(id) ||
                          this.found.has(at) ||
                          this.opened.has(id) ||
                          this.standing.has(id),
                  ),
        );
        this.untidy = 0;
    }

    /** Rebuilds all rows. @param {number[][]} folds the indexes of the nodes of each fold */
    #draw(folds) {
        const { list } = this.nodes;
        /** @type {Map<number, number[]>} */
        const starts = new Map(folds.map((fold) => [fold[0] ?? -1, fold]));
        const inside = new Set(folds.flatMap((fold) => fold.slice(1)));
        const trunk = new Set();
        for (let node = this.nodes.get(this.straight); node; node = list[node.from]) trunk.add(node.at);
        this.rows = [];
        this.rowOf = [];
        this.layout = new Layout([...trunk].filter((at) => !inside.has(at)).length);
        for (const node of list) {
            if (inside.has(node.at)) continue;
            const fold = starts.get(node.at);
            this.#add(node, fold?.flatMap((at) => list[at] ?? []) ?? null, trunk.has(node.at));
            for (const at of fold ?? []) this.rowOf[at] = this.rows.length - 1;
        }
        this.hidden = inside.size;
    }

    /** @param {Node} node @param {Node[] | null} [fold] @param {boolean} [isTrunk] */
    #add(node, fold = null, isTrunk = false) {
        const id = fold ? `fold ${node.id}` : node.id;
        const place = this.layout.add({
            id,
            from: this.rowOf[node.from] ?? -1,
            isFailedLeaf: node.isFailedLeaf,
            isTrunk,
        });
        this.rowOf[node.at] = place.row;
        this.rows.push({ id, node, fold, place });
    }

    /** Updates the row of a run that ended. @param {Node} node */
    #settle(node) {
        const row = this.rows[this.rowOf[node.at] ?? -1];
        if (!row) return;
        row.id = row.place.id = node.id;
        if (node.isFailedLeaf) this.layout.fail(row.place.row);
    }

    /**
     * Folds rows outside the viewport, unless that would change visible rows. Returns whether it
     * folded any.
     * @param {[number, number]} seen
     */
    #tidy(seen) {
        this.untidy = 0;
        if (this.isWhole) return false;
        const before = { rows: this.rows, rowOf: this.rowOf, layout: this.layout, hidden: this.hidden };
        const sight = this.rows.slice(seen[0], seen[1] + 1);
        this.#build(new Set(sight.filter(({ fold }) => !fold).map(({ node }) => node.id)));
        const first = (sight[0] && this.rowOf[sight[0].node.at]) ?? 0;
        const isSame =
            this.rows.length < before.rows.length &&
            sight.every((row, i) => isAlike(row, this.rows[first + i]));
        if (!isSame) Object.assign(this, before);
        return isSame;
    }
}

/**
 * Whether a row has the same content and lane before and after.
 * @param {Row} before
 * @param {Row | undefined} now
 */
const isAlike = (before, now) =>
    now?.id === before.id &&
    now.place.lane === before.place.lane &&
    now.place.beside === before.place.beside &&
    now.fold?.length === before.fold?.length;

/**
 * Whether state `above` is an ancestor of state `below`, or the same state.
 * @param {import('../shell/model.js').Model} model
 * @param {string} above
 * @param {string} below
 */
function isAbove(model, above, below) {
    const least = model.states.get(above)?.exec_count ?? 0;
    for (let state = model.states.get(below); state; state = model.states.get(state.parent ?? '')) {
        if (state.id === above) return true;
        if (state.exec_count < least) return false;
    }
    return false;
}

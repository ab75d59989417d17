// @ts-check
// What the graph shows: its rows and where they are drawn, kept up to date while the notebook grows.
//
// Rows go by age, so a new one is always the last. What is drawn changes its place only when somebody asks for another
// line (it becomes the straight one), opens or closes a fold, or deletes something. Folds close by themselves only where nobody
// looks. Pure.

import { foldsOf, nearTo } from './folding.js';
import { Layout } from './layout.js';
import { Nodes } from './nodes.js';

/** @typedef {import('./nodes.js').Node} Node */
/** @typedef {import('./layout.js').Place} Place */
/** @typedef {{id: string, node: Node, fold: null, place: Place} | {id: string, node: Node, fold: Node[], place: Place}} Row A fold's node is its first. */
/** @typedef {{isAnew: boolean, slid: boolean, followed: boolean, from: number, ended: Node[]}} Change `isAnew`: rows may stand elsewhere; `slid`: lanes do; `followed`: we stand on what has just grown; `from`: the first new row; `ended`: runs that did */

/** After so many new rows, what is out of sight may be folded. */
const TIDY = 12;
/** States that were opened by hand; of more, the oldest close again. */
const OPENED = 2000;

export class Scene {
    /** @param {{isWhole?: boolean, opened?: string[]}} [kept] what this tab remembers */
    constructor({ isWhole = false, opened = [] } = {}) {
        this.nodes = new Nodes();
        /** Every state has its row. */
        this.isWhole = isWhole;
        /** States that somebody opened. @type {Set<string>} */
        this.opened = new Set(opened);
        /** @type {Set<string>} */
        this.standing = new Set();
        /** What is searched for, by place. @type {Set<number>} */
        this.found = new Set();
        /** Where the line that was chosen last ends. */
        this.tip = '';
        /** The end of the straight line. */
        this.straight = '';
        this.hidden = 0;
        this.untidy = 0;
        this.here = '';
        /** @type {Row[]} */
        this.rows = [];
        /** The row of each node, by its place in the list of nodes. @type {number[]} */
        this.rowOf = [];
        this.layout = new Layout();
    }

    /** @param {string | null} id of a state or run @returns {number} its row, or that of the fold that it is in; -1 */
    rowAt(id) {
        const node = this.nodes.get(id);
        return node ? this.rowOf[node.at] : -1;
    }

    /**
     * Follows the model, and where we stand.
     * @param {import('../shell/model.js').Model} model
     * @param {{here: string, standing: Iterable<string>, seen: [number, number]}} look `standing`: where others stand; `seen`: the rows in sight
     * @returns {Change}
     */
    update(model, { here, standing, seen }) {
        this.standing = new Set(standing);
        // Before the notebook is there, there is nothing that could move.
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
        for (let at = from; at < this.nodes.list.length; at += 1) this.#add(this.nodes.list[at]);
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

    /** Whether where we stand has just grown: nobody went there by hand. @param {string} here @param {number} from @param {Node[]} changed */
    #hasGrown(here, from, changed) {
        const node = this.nodes.get(here);
        return (
            node !== undefined &&
            here !== this.here &&
            from > 0 &&
            (node.at >= from || changed.includes(node))
        );
    }

    /** Where we stand or what is searched for lies in a fold: opens it. */
    #wantsOpen() {
        const here = this.rows[this.rowAt(this.here)]?.fold ?? [];
        for (const { id } of here) this.opened.add(id);
        return here.length > 0;
    }

    /** Shows all, or folds again. @param {boolean} isWhole */
    showAll(isWhole) {
        this.isWhole = isWhole;
        if (!isWhole) this.opened.clear();
        this.#rebuild(null, false);
    }

    /** Opens a fold, for as long as this tab lives. @param {Node[]} fold */
    open(fold) {
        for (const { id } of fold) this.opened.add(id);
        for (const id of this.opened) if (this.opened.size > OPENED) this.opened.delete(id);
        this.#rebuild([0, this.rows.length], false);
    }

    /** Folds stay away from what is searched for, until something else is. @param {number[]} places @returns {boolean} whether rows may stand elsewhere now */
    search(places) {
        const before = this.found;
        this.found = new Set(places);
        const isHidden = places.some((at) => this.rows[this.rowOf[at]]?.fold);
        if (!isHidden && (before.size === 0 || places.length > 0)) return false;
        this.#rebuild(places.length > 0 ? [0, this.rows.length] : null, false);
        return true;
    }

    /** Whether another line is chosen, which is to be straight. @param {import('../shell/model.js').Model} model @param {string} here @param {boolean} followed */
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

    /** @param {[number, number] | null} seen rows that must not be folded @param {boolean} slid @returns {Change} */
    #rebuild(seen, slid) {
        const kept = new Set();
        if (seen)
            for (const { node, fold } of this.rows.slice(seen[0], seen[1] + 1)) if (!fold) kept.add(node.id);
        this.#build(kept);
        return { isAnew: true, slid, followed: false, from: this.rows.length, ended: [] };
    }

    /** Another line becomes straight: lanes change, rows do not. @param {number} from @returns {Change} */
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

    /** Makes all rows anew. @param {number[][]} folds what is folded, by place */
    #draw(folds) {
        const { list } = this.nodes;
        /** @type {Map<number, number[]>} */
        const starts = new Map(folds.map((fold) => [fold[0], fold]));
        const inside = new Set(folds.flatMap((fold) => fold.slice(1)));
        const trunk = new Set();
        for (let node = this.nodes.get(this.straight); node; node = list[node.from]) trunk.add(node.at);
        this.rows = [];
        this.rowOf = [];
        this.layout = new Layout([...trunk].filter((at) => !inside.has(at)).length);
        for (const node of list) {
            if (inside.has(node.at)) continue;
            const fold = starts.get(node.at);
            this.#add(node, fold?.map((at) => list[at]) ?? null, trunk.has(node.at));
            for (const at of fold ?? []) this.rowOf[at] = this.rows.length - 1;
        }
        this.hidden = inside.size;
    }

    /** @param {Node} node @param {Node[] | null} [fold] @param {boolean} [isTrunk] */
    #add(node, fold = null, isTrunk = false) {
        const id = fold ? `fold ${node.id}` : node.id;
        const place = this.layout.add({
            id,
            from: node.from < 0 ? -1 : this.rowOf[node.from],
            bud: node.bud,
            isTrunk,
        });
        this.rowOf[node.at] = place.row;
        this.rows.push({ id, node, fold, place });
    }

    /** What a run came to. @param {Node} node */
    #settle(node) {
        const row = this.rows[this.rowOf[node.at]];
        row.id = row.place.id = node.id;
        if (node.bud) this.layout.fail(row.place.row);
    }

    /** Folds what is out of sight, if what is in sight stays as it is. @param {[number, number]} seen */
    #tidy(seen) {
        this.untidy = 0;
        if (this.isWhole) return false;
        const before = { rows: this.rows, rowOf: this.rowOf, layout: this.layout, hidden: this.hidden };
        const sight = this.rows.slice(seen[0], seen[1] + 1);
        this.#build(new Set(sight.filter(({ fold }) => !fold).map(({ node }) => node.id)));
        const first = sight[0] ? this.rowOf[sight[0].node.at] : 0;
        const isSame =
            this.rows.length < before.rows.length &&
            sight.every((row, i) => isAlike(row, this.rows[first + i]));
        if (!isSame) Object.assign(this, before);
        return isSame;
    }
}

/** Whether a row looks as it did, and stands in the same lane. @param {Row} before @param {Row | undefined} now */
const isAlike = (before, now) =>
    now?.id === before.id &&
    now.place.lane === before.place.lane &&
    now.place.beside === before.place.beside &&
    now.fold?.length === before.fold?.length;

/** Whether a state is on the way from the root to another, or is that. @param {import('../shell/model.js').Model} model @param {string} above @param {string} below */
function isAbove(model, above, below) {
    const least = model.states.get(above)?.exec_count ?? 0;
    for (let state = model.states.get(below); state; state = model.states.get(state.parent ?? '')) {
        if (state.id === above) return true;
        if (state.exec_count < least) return false;
    }
    return false;
}

// @ts-check
// The rows of the graph: the tree without the nodes that are folded, closed or filtered out. Pure.
//
// Long sections without branches fold into one row by themselves, but only outside the viewport.
// The user closes and opens the subtree of a node, and a search shows only its hits. A closed sweep
// hides its rows (see nodes.js); long sweeps are closed until the user opens them. Deleted states
// have no row, also those with living descendants.

import { foldsOf, nearTo } from './folding.js';
import { treeOf } from './layout.js';
import { Nodes } from './nodes.js';
import { isLong } from '../sweep/sweeps.js';

/** @typedef {import('./nodes.js').Node} Node */
/**
 * @typedef {object} Position
 * @property {number} row
 * @property {number} lane
 * @property {number} colour see layout.js
 * @property {number} from the row of the nearest shown ancestor; -1 for the root
 * @property {number} straight the row of the child in the same lane; -1 if there is none
 * @property {number} lastBranch the row of the last child in another lane; -1 if there is none
 * @property {number} depth the number of shown ancestors
 * @property {number} nth the index among the shown rows with the same nearest ancestor
 * @property {number} children the number of shown rows whose nearest ancestor is this row
 */
/**
 * @typedef {object} Row
 * @property {string} id
 * @property {Node} node the row's node, or the first node of a fold
 * @property {Node[] | null} fold the nodes that the row folds, or null
 * @property {number} closed the number of nodes hidden because the user closed the node's subtree,
 *   or the number of the hidden rows of a sweep
 * @property {Position} place
 */
/**
 * @typedef {{from: number, to: number}} Taking `from`: the row of the state whose variables were
 *   taken; `to`: the row of the state that has them now
 */
/**
 * @typedef {{isMoved: boolean, followed: boolean, added: Node[], ended: Node[]}} Change `isMoved`:
 *   whether rows may have moved; `followed`: whether a run created the current state; `added`: the
 *   new nodes; `ended`: the nodes of ended runs
 */

/** The maximum number of states in `opened`. Adding more removes the states unfolded first. */
const OPENED = 2000;

export class Scene {
    /**
     * @param {{isWhole?: boolean, opened?: string[], closed?: string[],
     *   sweeps?: [string, boolean][], seen?: string[],
     *   given?: import('./layout.js').GivenColours}} [kept] the stored settings of this tab;
     *   `seen`: the nodes that were visible before a reload
     */
    constructor({
        isWhole = false,
        opened = [],
        closed = [],
        sweeps = [],
        seen = [],
        given = new Map(),
    } = {}) {
        this.given = given;
        /** The ids of the nodes that were visible before a reload. */
        this.seenBefore = seen;
        this.nodes = new Nodes({ isFolded: (sweep) => this.#isFolded(sweep) });
        /** The sweeps that the user has folded or unfolded, by id. @type {Map<string, boolean>} */
        this.sweeps = new Map(sweeps);
        /** Whether the user unfolded all rows. */
        this.isWhole = isWhole;
        /** The ids of the states that the user unfolded. @type {Set<string>} */
        this.opened = new Set(opened);
        /** The ids of the nodes whose subtrees the user closed. @type {Set<string>} */
        this.closed = new Set(closed);
        /** The states where other people are. @type {Set<string>} */
        this.standing = new Set();
        /** The indexes of the nodes that a search found; null without hits. @type {Set<number> | null} */
        this.found = null;
        /** The number of folded nodes. */
        this.folded = 0;
        /** The number of lanes. */
        this.lanes = 1;
        this.here = '';
        /** The states and runs about to be deleted. @type {Set<string>} */
        this.going = new Set();
        /** The ids of what the page shows: the current state, and the run below it. @type {string[]} */
        this.looked = [];
        /** @type {Row[]} */
        this.rows = [];
        /** The row of each node, of its fold or of its closed ancestor, by index. @type {number[]} */
        this.rowOf = [];
        /** The rows whose states took variables, with the rows they took from. @type {Taking[]} */
        this.takings = [];
    }

    /**
     * @param {string | null} id of a state or run
     * @returns {number} the row of the node, of its fold or of its closed ancestor; -1 if there is
     *   none
     */
    rowAt(id) {
        const node = this.nodes.get(id);
        return (node && this.rowOf[node.at]) ?? -1;
    }

    /**
     * Updates the rows from the model and the current state.
     * @param {import('../shell/model.js').Model} model
     * @param {{here: string, attempt?: string | null, going?: Set<string>,
     *   standing: Iterable<string>, seen: [number, number]}} look
     *   `attempt`: the run shown below the current state; `going`: the states and runs about to be
     *   deleted, another set after each change; `standing`: the ids of the states where other
     *   people are; `seen`: the first and the last visible row
     * @returns {Change}
     */
    update(model, { here, attempt = null, going = this.going, standing, seen }) {
        this.standing = new Set(standing);
        // At first, what was in sight before a reload stays unfolded, and nothing else.
        const isFirst = this.rows.length < 2;
        const before = this.nodes.index;
        this.looked = attempt === null ? [here] : [here, attempt];
        const { from, changed } = this.nodes.update(model, { looked: this.looked });
        const { list } = this.nodes;
        const isKnown = (/** @type {Node} */ { id, run }) => before.has(run?.exec_id ?? id);
        const added = from > 0 ? list.slice(from) : list.filter((one) => !isKnown(one));
        const node = this.nodes.get(here);
        const followed =
            here !== this.here &&
            from > 0 &&
            !!node &&
            !this.nodes.lookedAt.has(node) &&
            (node.at >= from || changed.includes(node));
        const hasGone = here !== this.here && !isFirst;
        const isElsewhere = hasGone && (this.#showNode(here) || this.found !== null);
        const wasGone =
            here !== this.here && (this.#isDeleted(this.nodes.get(this.here)) || this.#isDeleted(node));
        const isOther = going !== this.going || wasGone;
        this.here = here;
        this.going = going;
        const isMoved = from === 0 || from < list.length || changed.length > 0 || isElsewhere || isOther;
        if (isMoved) this.#build(isFirst ? this.seenBefore : this.nodesIn(seen));
        return { isMoved, followed, added, ended: changed };
    }

    /**
     * The ids of the nodes in rows that fold nothing.
     * @param {[number, number]} rows the first and the last row
     */
    nodesIn([first, last]) {
        return this.rows.slice(first, last + 1).flatMap(({ node, fold }) => (fold ? [] : node.id));
    }

    /** @param {Node | undefined} node */
    #isDeleted = (node) => !!node && (node.state?.living === 'deleted' || this.going.has(node.id));

    /**
     * Whether a node has no row because it is deleted, or about to be. The current state keeps its
     * row.
     * @param {Node} node
     */
    isGone(node) {
        return node.id !== this.here && this.#isDeleted(node);
    }

    /**
     * Opens what hides a node.
     * @param {string} id
     * @returns {boolean} whether anything hid the node
     */
    #showNode(id) {
        const node = this.nodes.get(id);
        if (!node) return false;
        const fold = this.rows[this.rowOf[node.at] ?? -1]?.fold ?? [];
        for (const one of fold) this.opened.add(one.id);
        let isHidden = fold.length > 0;
        const { list } = this.nodes;
        for (let above = list[node.from]; above; above = list[above.from])
            if (this.closed.delete(above.id)) isHidden = true;
        return isHidden;
    }

    /** Unfolds and opens all rows, or folds all foldable rows again. @param {boolean} isWhole */
    showAll(isWhole) {
        this.isWhole = isWhole;
        if (isWhole) this.closed.clear();
        else this.opened.clear();
        this.sweeps.clear();
        this.#refold();
        this.#build([]);
    }

    /**
     * Unfolds a fold. The rows stay unfolded until the user folds all rows.
     * @param {Node[]} fold
     */
    open(fold) {
        for (const { id } of fold) this.opened.add(id);
        for (const id of this.opened) if (this.opened.size > OPENED) this.opened.delete(id);
        this.#build(this.nodesIn([0, this.rows.length]));
    }

    /** @param {import('../sweep/sweeps.js').Sweep} sweep */
    #isFolded(sweep) {
        return !this.isWhole && (this.sweeps.get(sweep.id) ?? isLong(sweep));
    }

    /**
     * Closes the subtree of a node, or opens it.
     * @param {Node} node
     * @param {boolean} isClosed
     */
    close(node, isClosed) {
        if (node.sweep) {
            this.sweeps.set(node.sweep.id, isClosed);
            this.#refold();
        } else if (isClosed && node.children.length) this.closed.add(node.id);
        else this.closed.delete(node.id);
        this.#build(this.nodesIn([0, this.rows.length]));
    }

    /** Creates all nodes again, because other sweeps are folded now. */
    #refold() {
        const { model } = this.nodes;
        if (model?.sweeps.size) this.nodes.update(model, { looked: this.looked, isAnew: true });
    }

    /**
     * Shows only the hits of a search, the root, the current state and open runs; all nodes if
     * there is no hit.
     * @param {number[]} places the indexes of the found nodes
     * @returns {boolean} whether rows may have moved
     */
    search(places) {
        if (!this.found && places.length === 0) return false;
        this.found = places.length > 0 ? new Set(places) : null;
        this.#build([]);
        return true;
    }

    /**
     * Creates all rows.
     * @param {string[]} kept the nodes that must not be folded
     */
    #build(kept) {
        const { list } = this.nodes;
        const { order, lanes, colours } = treeOf(list, this.given);
        const gone = new Set(list.filter((node) => this.isGone(node)).map(({ at }) => at));
        const sizes = sizesOf(list, gone);
        const folds = this.found || this.isWhole ? [] : this.#folds(new Set(kept), gone);
        /** @type {Map<number, number[]>} */
        const starts = new Map(folds.map((fold) => [fold[0] ?? -1, fold]));
        const inside = new Set(folds.flatMap((fold) => fold.slice(1)));
        this.rows = [];
        this.rowOf = new Array(list.length).fill(-1);
        this.folded = inside.size;
        this.lanes = 1;
        for (const at of order) {
            const node = list[at];
            if (!node) continue;
            const above = this.rowOf[node.from] ?? -1;
            const isClosed = Boolean(this.rows[above]?.closed && !this.rows[above]?.node.sweep);
            const isShown = this.found
                ? this.found.has(at) || node.from < 0 || node.id === this.here || this.nodes.open.has(node)
                : !inside.has(at) && !isClosed;
            if (!isShown || gone.has(at)) {
                this.rowOf[at] = above;
                continue;
            }
            const fold = starts.get(at)?.flatMap((one) => list[one] ?? []) ?? null;
            const closed = this.found ? 0 : this.#closedOf(node, sizes[at] ?? 0);
            this.#add({ node, fold, closed, above, lane: lanes[at] ?? 0, colour: colours[at] ?? 0 });
        }
        this.takings = list.flatMap((node) => {
            const [from, to] = [this.rowAt(node.state?.taken_from ?? null), this.rowOf[node.at] ?? -1];
            return from < 0 || to < 0 || from === to ? [] : [{ from, to }];
        });
    }

    /** See `Row`. @param {Node} node @param {number} size see `sizesOf` */
    #closedOf({ id, sweep, children }, size) {
        if (!sweep) return this.closed.has(id) ? size : 0;
        return this.#isFolded(sweep) ? Math.max(1, sweep.rows.length - children.length) : 0;
    }

    /**
     * @param {{node: Node, fold: Node[] | null, closed: number, above: number, lane: number,
     *   colour: number}} what `above`: the row of the nearest shown ancestor
     */
    #add({ node, fold, closed, above, lane, colour }) {
        const row = this.rows.length;
        const parent = this.rows[above]?.place;
        if (parent) parent[parent.lane === lane ? 'straight' : 'lastBranch'] = row;
        const id = fold ? `fold ${node.id}` : node.id;
        const place = {
            row,
            lane,
            colour,
            from: above,
            straight: -1,
            lastBranch: -1,
            depth: parent ? parent.depth + 1 : 0,
            nth: parent?.children ?? 0,
            children: 0,
        };
        if (parent) parent.children += 1;
        this.rows.push({ id, node, fold, closed, place });
        for (const one of fold ?? [node]) this.rowOf[one.at] = row;
        this.lanes = Math.max(this.lanes, lane + 1);
    }

    /**
     * @param {Set<string>} kept the nodes that must not be folded
     * @param {Set<number>} gone the indexes of nodes without a row
     * @returns {number[][]} for each fold, the indexes of the folded nodes
     */
    #folds(kept, gone) {
        const near = nearTo(this.nodes.list, this.nodes.get(this.here));
        return foldsOf(
            this.nodes.list,
            ({ id, at }) =>
                gone.has(at) ||
                near.has(at) ||
                kept.has(id) ||
                this.opened.has(id) ||
                this.closed.has(id) ||
                this.standing.has(id),
            gone,
        );
    }
}

/**
 * The number of the descendants of each node, by index.
 * @param {Node[]} nodes parents before their children
 * @param {Set<number>} gone the indexes of nodes that do not count
 */
function sizesOf(nodes, gone) {
    const sizes = new Array(nodes.length).fill(0);
    for (const { at, from } of nodes.toReversed())
        if (from >= 0) sizes[from] += sizes[at] + (gone.has(at) ? 0 : 1);
    return sizes;
}

// @ts-check
// The graph of states beside the cells. Paints the rows near the viewport, and handles the pointer,
// the keyboard cursor and the search.

import { Scene } from './scene.js';
import { search } from './node-search.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS } from '../shell/words.js';
import { ROW_WORDS } from '../sweep/row-words.js';
import { GRAPH_WORDS } from './graph-words.js';
import { compareWithHere, continueFrom, goTo } from './node-actions.js';
import { LazyPart } from '../shell/lazy-parts.js';
import { PaneResize } from './pane-resize.js';
import { isReload } from '../ui/reload.js';
import { GraphHeader } from './graph-header.js';
import { showBranches } from '../compare/compare-commands.js';
import { onKey } from './graph-keys.js';
import { comparedIn, othersByState } from './row-annotations.js';
import { renderRows } from './rows.js';
import { HoverTracker } from './hover.js';
import { rowId, titleOf } from './graph-row.js';
import { ROW, laneX, widthOf } from './geometry.js';

/** The number of rows painted above and below the visible rows, so that scrolling shows no gaps. */
const MARGIN = 16;
/** The number of rows that the user scrolls before the range of painted rows changes. */
const STEP = 8;
/** The number of sweeps of which a tab remembers whether the user has folded them. */
const KEPT_SWEEPS = 200;
/** How long a node is marked as new, in milliseconds. */
const NEW = 1200;
/** A cursor that stays on the current hit of the search, also when the hits change. */
const ON_HIT = Symbol('on hit');

/** @typedef {import('./scene.js').Row} Row */
/**
 * @typedef {{page: import('../notebook/page.js').Page,
 *   controller: import('../cell/cell-controller.js').CellController, stamp: string}} GraphProps
 * @typedef {{id: string, right: number, top: number, takesFocus: boolean}} Card `id`: of its node
 */
/**
 * @typedef {{cursor: string | typeof ON_HIT | null,
 *   card: Card | null,
 *   menu: {id: string, x: number, y: number} | null, query: string, hit: string | null}} GraphState
 *   `cursor` and `id`: ids of nodes; `hit`: the node of the hit that the user went to; null: the
 *   first hit
 */

/**
 * A text that changes whenever the graph must be painted again.
 * @param {import('../notebook/page.js').Page} page
 */
export const graphStamp = (page) =>
    [
        page.model.marksRev,
        page.here,
        page.attempt,
        page.mayRun,
        page.presence.id,
        [...page.pendingDeletion],
        comparedIn(page),
    ].join(' ');

const stateCard = (/** @type {typeof import('./state-card.js')} */ part) => part.StateCard;
const minimap = (/** @type {typeof import('./minimap.js')} */ part) => part.Minimap;
const nodeMenu = (/** @type {typeof import('./node-menu.js')} */ part) => part.NodeMenu;

/** @extends {Component<GraphProps, GraphState>} */
export class Graph extends Component {
    /**
     * What was in view before a reload, until it is again.
     * @type {{id: string, by: number, left: number, seen?: string[]} | null}
     */
    kept = isReload() ? this.props.page.host.recall('graphScroll') : null;
    /** @type {GraphState} */
    state = { cursor: null, card: null, menu: null, query: '', hit: null };
    scene = new Scene({
        isWhole: this.props.page.host.recall('graphWhole') ?? false,
        opened: this.props.page.host.recall('graphOpened') ?? [],
        closed: this.props.page.host.recall('graphClosed') ?? [],
        sweeps: this.props.page.host.recall('graphSweeps') ?? [],
        seen: this.kept?.seen,
        given: this.props.page.branches.given,
    });
    hover = new HoverTracker({
        show: (row) => this.showCard(row),
        hide: () => this.hideCard(),
        isShown: () => this.state.card !== null,
    });
    /** @type {HTMLElement | null} */
    box = null;
    /** @type {GraphHeader | null} */
    head = null;
    top = 0;
    /** The scroll position to restore after the next paint. @type {number | undefined} */
    restored = undefined;
    /** The size of the box. To read it from the box, the browser would lay out the whole page. */
    height = 600;
    width = Number.POSITIVE_INFINITY;
    rev = -1;
    here = '';
    /** The current state and the run below it, as of the last update. */
    looked = '';
    /** The query and the model revisions for which `hits` was computed. */
    searched = '';
    /** @type {import('./node-search.js').Hit[]} */
    hits = [];
    /** When the nodes of new runs appeared, by the id of the run. @type {Map<string, number>} */
    addedAt = new Map();
    announced = '';
    /** Whether the graph is scrolled as before a reload, until its size changes. */
    isRestored = false;
    /** The row to scroll to after the next paint; null: do not scroll. @type {number | null} */
    scrollTarget = null;
    /** @type {string | null} */
    shownHere = null;
    /**
     * The node on which the user pressed Enter last. A second Enter continues from that node.
     * @type {string | null}
     */
    entered = null;

    get actionContext() {
        return { page: this.props.page, controller: this.props.controller };
    }

    componentDidMount() {
        if (!this.box) return;
        this.resized = new ResizeObserver(() => {
            this.height = this.box?.clientHeight ?? this.height;
            this.width = this.box?.clientWidth ?? this.width;
            if (!this.isRestored) this.#seeHere();
            this.isRestored = false;
            this.forceUpdate(() => this.#settle());
        });
        this.resized.observe(this.box);
        addEventListener('pagehide', this.#keep);
        this.#settle();
    }

    componentDidUpdate() {
        this.#settle();
    }

    componentWillUnmount() {
        this.resized?.disconnect();
        this.hover.stop();
        removeEventListener('pagehide', this.#keep);
    }

    /** Keeps the scroll position for the time after a reload. */
    #keep = () => {
        const row = this.scene.rows[Math.floor(this.#scroll() / ROW)];
        if (!row || !this.box) return;
        const seen = this.scene.nodesIn(this.#seen());
        const kept = { id: row.node.id, by: this.#scroll() % ROW, left: this.box.scrollLeft, seen };
        this.props.page.host.remember('graphScroll', kept);
    };

    /** @param {GraphProps} next @param {GraphState} state */
    shouldComponentUpdate(next, state) {
        return next.stamp !== this.props.stamp || state !== this.state;
    }

    // Painting

    /** Updates the scene if the model has changed. */
    #arrange() {
        const { page } = this.props;
        const { model, here } = page;
        const looked = `${here} ${page.attempt}`;
        const going = page.pendingDeletion;
        if (this.rev === model.graphRev && this.looked === looked && this.scene.going === going) return;
        const isFirst = this.scene.rows.length === 0;
        // A search that was left open has scrolled the graph; the user has not.
        const wasSearched = this.state.query !== '' && !this.#isUsed();
        const follows = wasSearched || this.#isSeen(this.scene.rowAt(this.here));
        const anchor = this.#anchor();
        const change = this.scene.update(model, {
            here,
            attempt: page.attempt,
            going,
            standing: othersByState(page).keys(),
            seen: this.#seen(),
        });
        this.rev = model.graphRev;
        this.here = here;
        this.looked = looked;
        if (change.isMoved) this.#restore(anchor);
        if (change.followed) this.shownHere = here;
        if (isFirst && this.kept && this.scene.rowAt(this.kept.id) >= 0) {
            this.#restore(this.kept);
            this.shownHere = page.attempt ?? here;
            this.isRestored = true;
        }
        if (isFirst) return;
        for (const node of change.added) {
            if (!node.run) continue;
            this.addedAt.set(node.run.exec_id, performance.now());
            // Announce the state of a quick run here: the run began and ended since the last paint.
            this.#announce(node);
            if (follows && page.ownRuns.has(node.run.exec_id)) this.scrollTarget = this.#rowOfNode(node);
        }
        if (change.followed && follows) this.scrollTarget = this.scene.rowAt(here);
        for (const node of change.ended) this.#announce(node);
    }

    /** @param {Row['node']} node */
    #rowOfNode = (node) => this.scene.rowOf[node.at] ?? null;

    /** Whether the user looks around in the graph. */
    #isUsed() {
        const pane = this.box?.parentElement;
        return !!pane && (pane.matches(':hover') || pane.contains(document.activeElement));
    }

    /** Whether a row is in the viewport. @param {number} row */
    #isSeen(row) {
        const [first, last] = this.#seen();
        return row >= first && row <= last;
    }

    /**
     * Announces a new state to screen readers if the state begins a branch.
     * @param {Row['node']} node
     */
    #announce(node) {
        const parent = this.scene.nodes.list[node.from];
        // A failed attempt beside it is no branch.
        const siblings = parent?.children.filter((child) => !this.scene.nodes.list[child]?.isFailedLeaf);
        if (node.state && !node.member && parent && siblings && siblings.length > 1)
            this.announced = GRAPH_WORDS.grew(node.state.exec_count, parent.state?.exec_count ?? 0);
    }

    /**
     * The anchor: the row of the current state if it is visible, otherwise the row at the upper
     * edge of the viewport.
     * @returns {{id: string, by: number} | null} `by`: the distance from the row's upper edge down
     *   to that of the viewport, in px
     */
    #anchor() {
        const here = this.scene.rowAt(this.here);
        const at = this.#isSeen(here) ? here : Math.floor(this.#scroll() / ROW);
        const row = this.scene.rows[at];
        return row ? { id: row.node.id, by: this.#scroll() - at * ROW } : null;
    }

    /**
     * Scrolls so that the anchor row keeps its position on the screen.
     * @param {{id: string, by: number} | null} anchor
     */
    #restore(anchor) {
        const row = anchor ? this.scene.rowAt(anchor.id) : -1;
        if (!anchor || row < 0) return;
        this.top = this.restored = Math.max(0, row * ROW + anchor.by);
    }

    /** How far the graph is scrolled. To read it, the browser lays out the whole page. */
    #scroll() {
        return this.scene.rows.length > 0 ? (this.box?.scrollTop ?? 0) : 0;
    }

    /** The visible rows. @returns {[number, number]} */
    #seen() {
        return [Math.floor(this.#scroll() / ROW), Math.ceil((this.#scroll() + this.height) / ROW)];
    }

    /** Called after each paint. Restores the scroll position, or scrolls to `scrollTarget`. */
    #settle() {
        const { box } = this;
        if (!box) return;
        if (this.restored !== undefined) {
            box.scrollTop = this.restored;
            if (this.kept) box.scrollLeft = this.kept.left;
            this.kept = null;
        }
        this.restored = undefined;
        const at = this.props.page.attempt ?? this.props.page.here;
        if (at !== this.shownHere && this.scene.rows.length > 0) {
            this.shownHere = at;
            this.#seeHere();
        }
        const { scrollTarget } = this;
        this.scrollTarget = null;
        if (scrollTarget !== null) this.#reveal(scrollTarget);
    }

    #seeHere() {
        this.scrollTarget = this.scene.rowAt(this.props.page.attempt ?? this.props.page.here);
    }

    /** @param {number} row */
    #reveal(row) {
        const { box } = this;
        if (!box || row < 0) return;
        const top = row * ROW;
        if (top < box.scrollTop + ROW) box.scrollTop = top - ROW;
        else if (top + 2 * ROW > box.scrollTop + box.clientHeight)
            box.scrollTop = top + 2 * ROW - box.clientHeight;
        const { lane = 0 } = this.scene.rows[row]?.place ?? {};
        const [left, right] = [laneX(lane) - ROW, widthOf(lane + 1)];
        if (left < box.scrollLeft) box.scrollLeft = Math.max(0, left);
        else if (right > box.scrollLeft + box.clientWidth)
            box.scrollLeft = Math.min(left, right - box.clientWidth);
    }

    #scrolled() {
        const { box } = this;
        if (!box) return;
        const top = Math.floor(box.scrollTop / (STEP * ROW)) * STEP * ROW;
        this.hover.scrolled();
        if (this.state.card && !this.#holdsFocus(this.state.card)) this.hideCard();
        if (top === this.top) return;
        this.top = top;
        this.forceUpdate();
    }

    /** Whether a card has the focus, or takes it as soon as it is loaded. @param {Card} card */
    #holdsFocus({ takesFocus }) {
        const shown = document.querySelector('.node-card');
        return shown ? shown.contains(document.activeElement) : takesFocus;
    }

    // Pointer and cursor

    /** The row with the keyboard cursor. Without a cursor, the row of the current state. */
    cursorRow() {
        return this.scene.rowAt(this.#cursor() ?? this.props.page.attempt ?? this.props.page.here);
    }

    /** The node with the keyboard cursor; null if there is none, or the node was deleted. */
    #cursor() {
        const { cursor } = this.state;
        if (cursor === ON_HIT) return this.#nodeOfHit(this.#hitAt());
        return this.scene.nodes.get(cursor) ? cursor : null;
    }

    /** Moves the cursor to a row. @param {number} row */
    walk(row) {
        this.entered = null;
        const cursor = this.scene.rows[row]?.node.id;
        if (cursor === undefined) return;
        this.setState({ cursor });
        this.#reveal(row);
        this.hover.walked(row);
    }

    /** @param {number} row @param {boolean} [takesFocus] */
    showCard(row, takesFocus = false) {
        const shown = this.scene.rows[row];
        const { box } = this;
        if (!shown || shown.fold || !box || this.state.menu || document.querySelector('dialog[open]'))
            return this.hideCard();
        const edge = box.getBoundingClientRect();
        const top = edge.top + row * ROW - box.scrollTop;
        this.setState({ card: { id: shown.node.id, right: edge.right, top, takesFocus } });
        return undefined;
    }

    /** @param {boolean} [takesFocus] */
    hideCard(takesFocus = false) {
        this.hover.stop();
        if (this.state.card) this.setState({ card: null });
        if (takesFocus) this.box?.focus();
    }

    /** @param {number} row @param {{x: number, y: number}} [at] */
    showMenu(row, at) {
        const shown = this.scene.rows[row];
        const edge = this.box?.getBoundingClientRect();
        if (!shown || shown.fold || !edge || !this.box) return;
        this.hideCard();
        const place = at ?? { x: edge.left + 60, y: edge.top + (row + 1) * ROW - this.box.scrollTop };
        this.setState({ menu: { id: shown.node.id, ...place } });
    }

    /** @param {boolean} takesFocus */
    #hideMenu(takesFocus) {
        if (this.state.menu) this.setState({ menu: null });
        if (takesFocus) this.box?.focus();
    }

    /** @param {Event} event */
    #rowOf(event) {
        const target = /** @type {HTMLElement} */ (event.target);
        return Number(target.closest?.('.row')?.getAttribute('data-row') ?? -1);
    }

    /** @param {MouseEvent} event */
    #onClick(event) {
        const row = this.scene.rows[this.#rowOf(event)];
        if (!row || this.hover.isHeld) return;
        this.hover.clicked(row.place.row);
        this.setState({ cursor: null });
        if (row.fold) this.unfold(row);
        else if (row.node.sweep || /** @type {HTMLElement} */ (event.target).closest('.twist'))
            this.close(row, !row.closed);
        else if (event.shiftKey) compareWithHere(this.actionContext, row.node);
        // With touch, the focus would open the keyboard of the screen.
        else if (/** @type {PointerEvent} */ (event).pointerType === 'touch')
            goTo(this.actionContext, row.node);
        else continueFrom(this.actionContext, row.node, true);
    }

    /** @param {PointerEvent} event */
    #onContextMenu(event) {
        const row = this.#rowOf(event);
        if (row < 0) return;
        event.preventDefault();
        if (event.pointerType !== 'touch') this.showMenu(row, { x: event.clientX, y: event.clientY });
    }

    /** Unfolds a fold and moves the cursor to the first row of the fold. @param {Row} row */
    unfold(row) {
        const { id } = row.node;
        const anchor = this.#anchor();
        this.scene.open(row.fold ?? []);
        this.props.page.host.remember('graphOpened', [...this.scene.opened]);
        this.#restore(anchor);
        this.setState({ cursor: id, card: null });
    }

    /** Hides or shows the subtree of a row's node. @param {Row} row @param {boolean} isClosed */
    close(row, isClosed) {
        const anchor = { id: row.node.id, by: this.#scroll() - row.place.row * ROW };
        this.scene.close(row.node, isClosed);
        this.props.page.host.remember('graphClosed', [...this.scene.closed]);
        this.#rememberSweeps();
        this.#restore(anchor);
        this.setState({ cursor: row.node.id, card: null });
    }

    #showAll() {
        const { page } = this.props;
        const anchor = { id: page.attempt ?? page.here, by: 0 };
        anchor.by = this.#scroll() - this.scene.rowAt(anchor.id) * ROW;
        this.scene.showAll(!this.scene.isWhole);
        page.host.remember('graphWhole', this.scene.isWhole);
        page.host.remember('graphOpened', [...this.scene.opened]);
        page.host.remember('graphClosed', [...this.scene.closed]);
        this.#rememberSweeps();
        this.#restore(anchor);
        this.forceUpdate();
    }

    #rememberSweeps() {
        const { sweeps } = this.scene;
        this.props.page.host.remember('graphSweeps', [...sweeps].slice(-KEPT_SWEEPS));
    }

    // Search

    /** @param {string} query */
    #onQuery(query) {
        const before = this.#cursor();
        this.#find(query);
        this.setState({ query, hit: null, cursor: this.hits.length > 0 ? ON_HIT : before });
        this.#seeHit(0);
    }

    /**
     * Searches again if the query or the model has changed. The server finds out later which
     * variables a cell changed, so another hit can become the first.
     * @param {string} query
     */
    #find(query) {
        const { graphRev, marksRev } = this.props.page.model;
        const stamp = `${graphRev} ${marksRev} ${query}`;
        if (stamp === this.searched) return;
        const before = this.#cursor();
        this.searched = stamp;
        const { nodes } = this.scene;
        this.hits = search(nodes.list, query).filter(({ at }) => {
            const node = nodes.list[at];
            return node && !this.scene.isGone(node);
        });
        const anchor = this.#anchor();
        if (this.scene.search(this.hits.map(({ at }) => at))) this.#restore(anchor);
        if (this.state.cursor === ON_HIT && this.#cursor() !== before) this.#seeHit(this.#hitAt());
    }

    /** @param {1 | -1} step */
    #step(step) {
        const { length } = this.hits;
        if (length === 0) return;
        const at = (this.#hitAt() + step + length) % length;
        this.setState({ hit: this.#nodeOfHit(at), cursor: ON_HIT });
        this.#seeHit(at);
    }

    /** Keeps the cursor where it is, also when the hits change: the user has left the search. */
    #keepHit() {
        this.setState({ hit: this.#nodeOfHit(this.#hitAt()), cursor: this.#cursor() });
    }

    /** The index of the current hit. */
    #hitAt() {
        const node = this.scene.nodes.get(this.state.hit);
        return Math.max(0, node ? this.hits.findIndex(({ at }) => at === node.at) : 0);
    }

    /** The id of a hit's node; null if there is no such hit. @param {number} hit */
    #nodeOfHit(hit) {
        return this.scene.nodes.list[this.hits[hit]?.at ?? -1]?.id ?? null;
    }

    /** Scrolls to a hit, if there is one. @param {number} hit */
    #seeHit(hit) {
        this.scrollTarget = this.scene.rowOf[this.hits[hit]?.at ?? -1] ?? null;
    }

    render() {
        const { page } = this.props;
        const { card, menu, query } = this.state;
        this.#arrange();
        if (query) this.#find(query);
        const cursor = this.#cursor();
        const { rows } = this.scene;
        const first = Math.max(0, Math.floor(this.top / ROW) - MARGIN);
        const last = Math.min(rows.length - 1, Math.ceil((this.top + this.height) / ROW) + MARGIN + STEP);
        const cursorAt = cursor === null ? -1 : this.scene.rowAt(cursor);
        const now = performance.now();
        const cursorRow = rows[cursorAt];
        const isPainted = cursorAt >= first && cursorAt <= last;
        return html`
            <${GraphHeader} held=${(/** @type {GraphHeader} */ head) => (this.head = head)} query=${query}
                count=${this.hits.length && query ? this.hits.length : 0} at=${this.#hitAt()}
                canFold=${this.scene.folded > 0 || this.scene.closed.size > 0} isWhole=${this.scene.isWhole}
                onQuery=${(/** @type {string} */ text) => this.#onQuery(text)}
                onStep=${(/** @type {1 | -1} */ step) => this.#step(step)} onLeave=${() => this.box?.focus()}
                onBlur=${() => this.#keepHit()}
                onWhole=${() => this.#showAll()} onTable=${() => void showBranches(page)} />
            <div class="graph" id="graph" role="tree" tabindex="0"
                aria-label=${`${WORDS.graph}. ${GRAPH_WORDS.hint}`}
                aria-busy=${rows.length === 0 ? 'true' : null}
                aria-activedescendant=${cursorRow && isPainted ? rowId(cursorRow.id) : null}
                ref=${(/** @type {HTMLElement | null} */ box) => (this.box = box)}
                onScroll=${() => this.#scrolled()}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) =>
                    onKey(this, event) && event.preventDefault()}
                onFocus=${() => this.setState({ cursor: this.#cursor() ?? page.attempt ?? page.here })}
                onBlur=${(/** @type {FocusEvent} */ event) => this.#blurred(event)}
                onPointerMove=${(/** @type {PointerEvent} */ event) =>
                    this.hover.moved(event, this.#rowOf(event))}
                    onPointerLeave=${(/** @type {PointerEvent} */ event) => this.hover.left(event)}
                onPointerDown=${(/** @type {PointerEvent} */ event) =>
                    this.hover.pressed(event, this.#rowOf(event))}
                    onPointerUp=${(/** @type {PointerEvent} */ event) => this.hover.released(event)}
                onClick=${(/** @type {MouseEvent} */ event) => this.#onClick(event)}
                onDblClick=${(/** @type {MouseEvent} */ event) => this.#onDoubleClick(event)}
                onContextMenu=${(/** @type {PointerEvent} */ event) => this.#onContextMenu(event)}>
                ${renderRows({
                    scene: this.scene,
                    page,
                    hits: query.trim() ? this.hits : null,
                    first,
                    last,
                    cursorAt,
                    isNew: (node) => now - (this.addedAt.get(node.run?.exec_id ?? '') ?? -NEW) < NEW,
                })}
            </div>
            ${
                this.box &&
                widthOf(this.scene.lanes) > this.width &&
                html`<div class="minimap-room"><${LazyPart} of="minimap" view=${minimap} page=${page}
                onFailed=${() => {}} rows=${rows} lanes=${this.scene.lanes}
                at=${this.scene.rowAt(page.attempt ?? page.here)} box=${this.box} /></div>`
            }
            <span class="visually-hidden" role="status">${this.announced}</span>
            ${card && this.#card(card)}
            ${menu && this.#menu(menu)}
            <${PaneResize} />`;
    }

    /** @param {Card} card */
    #card({ id, right, top, takesFocus }) {
        const { page } = this.props;
        const row = this.scene.rows[this.scene.rowAt(id)];
        return (
            row &&
            !row.fold &&
            html`<${LazyPart} of="stateCard" view=${stateCard} page=${page} onFailed=${() => this.hideCard()}
                takesFocus=${takesFocus} row=${row} anchor=${{ right, top }}
                people=${othersByState(page).get(id) ?? []}
                context=${this.actionContext}
            close=${(/** @type {boolean} */ takesFocus) => this.hideCard(takesFocus)}
            onIn=${(/** @type {PointerEvent} */ event) => this.hover.stays(event)}
            onOut=${(/** @type {PointerEvent} */ event) => this.hover.left(event)} />`
        );
    }

    /** @param {{id: string, x: number, y: number}} menu */
    #menu({ id, x, y }) {
        const row = this.scene.rows[this.scene.rowAt(id)];
        const left = (/** @type {FocusEvent} */ event) =>
            !(
                /** @type {Element} */ (event.currentTarget).contains(
                    /** @type {Node | null} */ (event.relatedTarget),
                )
            ) && this.#hideMenu(false);
        return (
            row &&
            html`<div class="graph-menu" onFocusOut=${left}>
                <${LazyPart} of="nodeMenu" view=${nodeMenu} page=${this.props.page}
                    onFailed=${() => this.#hideMenu(true)} context=${this.actionContext} node=${row.node}
                    more=${this.#closing(row)} name=${titleOf(row)} at=${{ x, y }}
                    close=${(/** @type {boolean} */ takesFocus) => this.#hideMenu(takesFocus)} /></div>`
        );
    }

    /** @param {Row} row @returns {import('../ui/menu.js').Action} */
    #closing(row) {
        return (
            (row.node.children.length > 0 || row.closed > 0) && {
                text: row.node.sweep
                    ? ROW_WORDS[row.closed ? 'unfold' : 'fold']
                    : GRAPH_WORDS[row.closed ? 'openBelow' : 'closeBelow'],
                act: () => this.close(row, !row.closed),
            }
        );
    }

    /** @param {MouseEvent} event */
    #onDoubleClick(event) {
        const row = this.scene.rows[this.#rowOf(event)];
        const isTwist = /** @type {HTMLElement} */ (event.target).closest('.twist');
        if (row && !row.fold && !row.node.sweep && !isTwist) continueFrom(this.actionContext, row.node);
    }

    /**
     * Removes the cursor and hides the card if the focus leaves the graph pane. Does nothing if a
     * dialog takes the focus.
     * @param {FocusEvent} event
     */
    #blurred(event) {
        const to = /** @type {Element | null} */ (event.relatedTarget);
        if (to?.closest?.('.graph-pane, dialog')) return;
        this.entered = null;
        this.hideCard();
        this.setState({ cursor: null });
    }
}

// @ts-check
// The graph of states beside the cells: paints the rows near the viewport; handles pointer, search
// and selection.

import { Scene } from './scene.js';
import { search } from './node-search.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS } from '../shell/words.js';
import { GRAPH_WORDS } from './graph-words.js';
import { actionsOf, compareWithHere, continueFrom, goTo, shortActionsOf } from './node-actions.js';
import { StateCard } from './state-card.js';
import { GraphEdge } from './graph-edge.js';
import { GraphHeader } from './graph-header.js';
import { onKey } from './graph-keys.js';
import { comparedIn, othersByState } from './row-annotations.js';
import { renderRows } from './rows.js';
import { HoverTracker } from './hover.js';
import { rowId, titleOf } from './graph-row.js';
import { ROW } from './geometry.js';
import { List } from '../ui/menu.js';

/** Rows painted beyond the visible ones, so that fast scrolling shows no gaps. */
const MARGIN = 16;
/** Rows scrolled before the painted range changes. */
const STEP = 8;
/** How long a node counts as new (`NEW`), and how long lanes slide (`SLIDE`), in milliseconds. */
const NEW = 1200;
const SLIDE = 300;

/** @typedef {import('./scene.js').Row} Row */
/**
 * @typedef {{page: import('../notebook/page.js').Page,
 *   controller: import('../cell/cell-controller.js').CellController, stamp: string}} GraphProps
 */
/**
 * @typedef {{cursor: string | null, card: {id: string, right: number, top: number} | null,
 *   menu: {id: string, x: number, y: number} | null, query: string, hit: number}} GraphState Rows
 *   are identified by their nodes; `hit`: the index of the current hit
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

/** @extends {Component<GraphProps, GraphState>} */
export class Graph extends Component {
    /** @type {GraphState} */
    state = { cursor: null, card: null, menu: null, query: '', hit: 0 };
    scene = new Scene({
        isWhole: this.props.page.host.recall('graphWhole') ?? false,
        opened: this.props.page.host.recall('graphOpened') ?? [],
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
    height = 600;
    isAtEnd = true;
    rev = -1;
    here = '';
    /** The query and the model revisions for which `hits` was computed. */
    searched = '';
    /** @type {import('./node-search.js').Hit[]} */
    hits = [];
    /** When new nodes appeared, by run. @type {Map<string, number>} */
    addedAt = new Map();
    slidAt = -SLIDE;
    announced = '';
    /**
     * The row to scroll to after the next paint; 'end': the last; null: none.
     * @type {number | 'end' | null}
     */
    scrollTarget = null;
    /** @type {string | null} */
    shownHere = null;
    /**
     * The node on which Enter was pressed last. A second Enter continues from it.
     * @type {string | null}
     */
    entered = null;
    /** Whether the card takes the focus after the next paint. */
    wantsCard = false;

    get actionContext() {
        return { page: this.props.page, controller: this.props.controller };
    }

    componentDidMount() {
        if (!this.box) return;
        this.resized = new ResizeObserver(() => {
            this.height = this.box?.clientHeight ?? 600;
            this.#seeHere();
            this.forceUpdate(() => this.#settle());
        });
        this.resized.observe(this.box);
        this.#settle();
    }

    componentDidUpdate() {
        this.#settle();
        this.wantsCard = false;
    }

    componentWillUnmount() {
        this.resized?.disconnect();
        this.hover.stop();
    }

    /** @param {GraphProps} next @param {GraphState} state */
    shouldComponentUpdate(next, state) {
        return next.stamp !== this.props.stamp || state !== this.state;
    }

    // Painting

    /** Updates the scene if the model has changed. */
    #arrange() {
        const { page } = this.props;
        const { model, here } = page;
        if (this.rev === model.graphRev && this.here === here) return;
        const isFirst = this.scene.rows.length === 0;
        const anchor = this.#anchor();
        const change = this.scene.update(model, {
            here,
            standing: othersByState(page).keys(),
            seen: this.#seen(),
        });
        this.rev = model.graphRev;
        this.here = here;
        if (change.isAnew) this.#restore(anchor);
        if (change.slid) this.slidAt = performance.now();
        if (change.followed) this.shownHere = here;
        if (isFirst) return;
        for (const { node } of this.scene.rows.slice(change.from)) {
            if (!node.run) continue;
            this.addedAt.set(node.run.exec_id, performance.now());
            // Also announce a quick run that began and ended between two paints.
            this.#announce(node);
            if (this.isAtEnd && page.ownRuns.has(node.run.exec_id)) this.scrollTarget = 'end';
        }
        if (change.followed && this.isAtEnd) this.scrollTarget = 'end';
        for (const node of change.ended) this.#announce(node);
    }

    /**
     * Announces a new branch; a cell that only continues is not announced.
     * @param {Row['node']} node
     */
    #announce(node) {
        const parent = this.scene.nodes.list[node.from];
        if (node.state && parent && parent.children.length > 1)
            this.announced = GRAPH_WORDS.grew(node.state.exec_count, parent.state?.exec_count ?? 0);
    }

    /**
     * The row at the upper edge of the viewport, and how many px of it are scrolled out of view.
     * @returns {{id: string, by: number} | null}
     */
    #anchor() {
        const at = Math.floor(this.#scroll() / ROW);
        const row = this.scene.rows[at];
        return row ? { id: row.node.id, by: this.#scroll() - at * ROW } : null;
    }

    /**
     * Scrolls so that the anchor row stays where it was on screen.
     * @param {{id: string, by: number} | null} anchor
     */
    #restore(anchor) {
        const row = anchor ? this.scene.rowAt(anchor.id) : -1;
        if (!anchor || row < 0) return;
        this.top = this.restored = Math.max(0, row * ROW + anchor.by);
    }

    #scroll() {
        return this.box?.scrollTop ?? 0;
    }

    /** The visible rows. @returns {[number, number]} */
    #seen() {
        return [Math.floor(this.#scroll() / ROW), Math.ceil((this.#scroll() + this.height) / ROW)];
    }

    /** After each paint: scrolls where needed. */
    #settle() {
        const { box } = this;
        if (!box) return;
        if (this.restored !== undefined) box.scrollTop = this.restored;
        this.restored = undefined;
        const at = this.props.page.attempt ?? this.props.page.here;
        if (at !== this.shownHere && this.scene.rows.length > 0) {
            this.shownHere = at;
            this.#seeHere();
        }
        const { scrollTarget } = this;
        this.scrollTarget = null;
        if (scrollTarget === 'end') box.scrollTop = box.scrollHeight;
        else if (scrollTarget !== null) this.#reveal(scrollTarget);
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
    }

    #scrolled() {
        const { box } = this;
        if (!box) return;
        this.isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - ROW;
        const top = Math.floor(box.scrollTop / (STEP * ROW)) * STEP * ROW;
        if (this.state.card && !this.wantsCard && !document.activeElement?.closest('.node-card'))
            this.hideCard();
        if (top === this.top) return;
        this.top = top;
        this.forceUpdate();
    }

    // Pointer and cursor

    /** The row of the keyboard cursor, else of the current state. */
    cursorRow() {
        return this.scene.rowAt(this.state.cursor ?? this.props.page.attempt ?? this.props.page.here);
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
        this.wantsCard = takesFocus;
        this.setState({
            card: { id: shown.node.id, right: edge.right, top: edge.top + row * ROW - box.scrollTop },
        });
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
        else if (event.shiftKey) compareWithHere(this.actionContext, row.node);
        else goTo(this.actionContext, row.node);
    }

    /** @param {PointerEvent} event */
    #onContextMenu(event) {
        const row = this.#rowOf(event);
        if (row < 0) return;
        event.preventDefault();
        if (event.pointerType !== 'touch') this.showMenu(row, { x: event.clientX, y: event.clientY });
    }

    /** Unfolds a fold and keeps its first row in place. @param {Row} row */
    unfold(row) {
        const { id } = row.node;
        const anchor = this.#anchor();
        this.scene.open(row.fold ?? []);
        this.props.page.host.remember('graphOpened', [...this.scene.opened]);
        this.#restore(anchor);
        this.setState({ cursor: id, card: null });
    }

    #showAll() {
        const { page } = this.props;
        const anchor = { id: page.attempt ?? page.here, by: 0 };
        anchor.by = this.#scroll() - this.scene.rowAt(anchor.id) * ROW;
        this.scene.showAll(!this.scene.isWhole);
        page.host.remember('graphWhole', this.scene.isWhole);
        page.host.remember('graphOpened', [...this.scene.opened]);
        this.#restore(anchor);
        this.forceUpdate();
    }

    // Search

    /** @param {string} query */
    #onQuery(query) {
        this.setState({ query, hit: 0 });
        this.#find(query);
        this.#goToHit(0);
    }

    /** Searches again if the query or the model has changed. @param {string} query */
    #find(query) {
        const { graphRev, marksRev } = this.props.page.model;
        const stamp = `${graphRev} ${marksRev} ${query}`;
        if (stamp === this.searched) return;
        this.searched = stamp;
        this.hits = search(this.scene.nodes.list, query);
        const anchor = this.#anchor();
        if (this.scene.search(this.hits.map(({ at }) => at))) this.#restore(anchor);
    }

    /** @param {1 | -1} step */
    #step(step) {
        const { hits } = this;
        if (hits.length === 0) return;
        const hit = (this.state.hit + step + hits.length) % hits.length;
        this.setState({ hit });
        this.#goToHit(hit);
    }

    /** Moves the cursor to a hit, if there is one. @param {number} hit */
    #goToHit(hit) {
        const node = this.scene.nodes.list[this.hits[hit]?.at ?? -1];
        if (node) this.setState({ cursor: node.id });
        this.scrollTarget = node ? (this.scene.rowOf[node.at] ?? null) : null;
    }

    render() {
        const { page } = this.props;
        const { cursor, card, menu, query, hit } = this.state;
        this.#arrange();
        if (query) this.#find(query);
        const { rows } = this.scene;
        const first = Math.max(0, Math.floor(this.top / ROW) - MARGIN);
        const last = Math.min(rows.length - 1, Math.ceil((this.top + this.height) / ROW) + MARGIN + STEP);
        const cursorAt = cursor === null ? -1 : this.scene.rowAt(cursor);
        const now = performance.now();
        const cursorRow = rows[cursorAt];
        const isPainted = cursorAt >= first && cursorAt <= last;
        return html`
            <${GraphHeader} held=${(/** @type {GraphHeader} */ head) => (this.head = head)} query=${query}
                count=${this.hits.length && query ? this.hits.length : 0} at=${hit}
                canFold=${this.scene.hidden > 0} isWhole=${this.scene.isWhole}
                onQuery=${(/** @type {string} */ text) => this.#onQuery(text)}
                onStep=${(/** @type {1 | -1} */ step) => this.#step(step)} onLeave=${() => this.box?.focus()}
                onWhole=${() => this.#showAll()} />
            <div class="graph" id="graph" role="tree" tabindex="0"
                aria-label=${`${WORDS.graph}. ${GRAPH_WORDS.hint}`}
                aria-busy=${rows.length === 0 ? 'true' : null}
                aria-activedescendant=${cursorRow && isPainted ? rowId(cursorRow.id) : null}
                ref=${(/** @type {HTMLElement | null} */ box) => (this.box = box)}
                onScroll=${() => this.#scrolled()}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) =>
                    onKey(this, event) && event.preventDefault()}
                onFocus=${() => this.setState({ cursor: this.state.cursor ?? page.attempt ?? page.here })}
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
                    slides: now - this.slidAt < SLIDE,
                })}
            </div>
            <span class="visually-hidden" role="status">${this.announced}</span>
            ${card && this.#card(card)}
            ${menu && this.#menu(menu)}
            <${GraphEdge} />`;
    }

    /** @param {{id: string, right: number, top: number}} card */
    #card({ id, right, top }) {
        const { page } = this.props;
        const row = this.scene.rows[this.scene.rowAt(id)];
        return (
            row &&
            !row.fold &&
            html`<${StateCard} takesFocus=${this.wantsCard} row=${row} anchor=${{ right, top }}
                people=${othersByState(page).get(id) ?? []}
                actions=${shortActionsOf(this.actionContext, row.node)}
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
                <${List} label=${GRAPH_WORDS.actions(titleOf(row))}
                    actions=${actionsOf(this.actionContext, row.node)} at=${{ x, y }}
                    close=${(/** @type {boolean} */ takesFocus) => this.#hideMenu(takesFocus)} /></div>`
        );
    }

    /** @param {MouseEvent} event */
    #onDoubleClick(event) {
        const row = this.scene.rows[this.#rowOf(event)];
        if (row && !row.fold) continueFrom(this.actionContext, row.node);
    }

    /**
     * The cursor stays while the focus is in the graph, its card or its menu.
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

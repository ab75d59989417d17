// @ts-check
// The graph of states beside the cells: paints the layout's places, one row each, and only those near the screen.

import { layout, nodesOf } from '../graph-layout.js';
import { namesOf } from '../graph-names.js';
import { saidOf, signOf } from '../living.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS } from '../words.js';
import { PinIcon } from './icons.js';

/** Sizes in px. */
const ROW = 30;
const LANE = 16;
/** Each lane is nearer to the one before it by this factor: however many there are, the texts begin within reach. */
const NEARER = 0.85;
const LEFT = 18;
/** Rows painted beyond the visible ones, so that a fast scroll meets no gap. */
const MARGIN = 16;
/** Rows that may scroll by before others are painted. */
const STEP = 8;
/** Characters of a cell's code that its tooltip shows. */
const TITLE = 1000;

/** @typedef {ReturnType<typeof nodesOf>[number]} Node */
/** @typedef {import('../graph-layout.js').Place} Place */
/** @typedef {{model: import('../model.js').Model, rev: number, marks: number, here: string, attempt: string | null, goTo: (id: string) => void}} GraphProps */

/** @extends {Component<GraphProps, {top: number, height: number, cursor: number}>} */
export class Graph extends Component {
    state = { top: 0, height: 600, cursor: -1 };
    /** @type {HTMLElement | null} */
    box = null;
    /** @type {Node[]} */
    nodes = [];
    /** @type {Place[]} */
    places = [];
    /** @type {string[]} */
    names = [];
    rev = -1;
    /** @type {string | null} */
    shownHere = null;

    componentDidMount() {
        if (!this.box) return;
        this.resized = new ResizeObserver(() => {
            this.setState({ height: this.box?.clientHeight ?? 600 });
            this.shownHere = null;
            this.#follow();
        });
        this.resized.observe(this.box);
        this.#follow();
    }

    componentDidUpdate() {
        this.#follow();
    }

    componentWillUnmount() {
        this.resized?.disconnect();
    }

    /** @param {GraphProps} next @param {object} state */
    shouldComponentUpdate(next, state) {
        const { rev, marks, here, attempt } = this.props;
        return next.rev !== rev || next.marks !== marks || next.here !== here || next.attempt !== attempt || state !== this.state;
    }

    /** Lays the graph out again if it has changed. */
    #arrange() {
        if (this.rev === this.props.rev) return;
        this.rev = this.props.rev;
        this.nodes = nodesOf(this.props.model);
        this.places = layout(this.nodes).places;
        this.names = namesOf(this.nodes);
    }

    /** Brings the row we stand on into sight, once for each time we go somewhere. */
    #follow() {
        const at = this.props.attempt ?? this.props.here;
        if (!this.box || at === this.shownHere) return;
        this.shownHere = at;
        this.#reveal(this.nodes.findIndex((node) => node.id === at));
    }

    /** @param {number} row */
    #reveal(row) {
        const { box } = this;
        if (!box || row < 0) return;
        const top = row * ROW;
        if (top < box.scrollTop + ROW) box.scrollTop = top - ROW;
        else if (top + 2 * ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * ROW - box.clientHeight;
    }

    #scrolled() {
        const top = Math.floor((this.box?.scrollTop ?? 0) / (STEP * ROW)) * STEP * ROW;
        if (top !== this.state.top) this.setState({ top });
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const { nodes, places } = this;
        const at = this.state.cursor >= 0 ? this.state.cursor : nodes.findIndex((node) => node.id === this.props.here);
        const child = () => places.findIndex((place) => place.from === at);
        const moves = /** @type {Record<string, () => number>} */ ({
            ArrowUp: () => at - 1, ArrowDown: () => at + 1, ArrowLeft: () => places[at]?.from ?? -1, ArrowRight: child,
            Home: () => 0, End: () => nodes.length - 1, PageUp: () => Math.max(0, at - 10), PageDown: () => Math.min(nodes.length - 1, at + 10),
        });
        if (event.key === 'Enter' || event.key === ' ') {
            if (nodes[at]) this.props.goTo(nodes[at].id);
        } else if (moves[event.key]) {
            const cursor = moves[event.key]();
            if (!nodes[cursor]) return event.preventDefault();
            this.setState({ cursor });
            this.#reveal(cursor);
        } else {
            return;
        }
        event.preventDefault();
    }

    /** @param {GraphProps} props @param {{top: number, height: number, cursor: number}} state */
    render({ model, here, attempt, goTo }, { top, height, cursor }) {
        this.#arrange();
        const { nodes, places } = this;
        const first = Math.max(0, Math.floor(top / ROW) - MARGIN);
        const last = Math.min(nodes.length - 1, Math.ceil((top + height) / ROW) + MARGIN);
        const line = new Set(model.lineage(here).map((state) => state.id));
        if (attempt) line.add(attempt);
        const edges = places.filter((place) => place.from >= 0 && place.from <= last && place.row >= first);
        const right = rightmost(edges, places, first, last);
        const shown = nodes.slice(first, last + 1);
        const at = attempt ?? here;
        return html`
            <div class="graph" id="graph" role="listbox" tabindex="0" aria-label=${`${WORDS.graph}. ${WORDS.graphHint}`}
                aria-activedescendant=${nodes[cursor] ? rowId(cursor) : null} ref=${(/** @type {HTMLElement | null} */ box) => (this.box = box)}
                onScroll=${() => this.#scrolled()}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)} onBlur=${() => this.setState({ cursor: -1 })}>
                <div class="rows" style=${{ height: `${nodes.length * ROW}px` }}>
                    ${shown.map((node, i) => {
                        const row = first + i;
                        return html`<${Row} key=${node.run?.exec_id ?? node.id} node=${node} name=${this.names[row]} row=${row} count=${nodes.length} left=${textLeft(right[i])}
                            model=${model}                            isHere=${node.id === at} isOnLine=${line.has(node.id)} isCursor=${row === cursor} onPick=${() => goTo(node.id)} />`;
                    })}
                    <svg class="lanes" aria-hidden="true" style=${{ top: `${first * ROW}px` }} width=${textLeft(Math.max(0, ...right))} height=${(last - first + 1) * ROW}>
                        <g transform=${`translate(0 ${-first * ROW})`}>
                            ${byImportance(edges, nodes, line).map((place) => html`<path key=${place.id} class="edge" data-line=${line.has(place.id) ? '' : null}
                                data-status=${statusOf(nodes[place.row])} d=${pathTo(place, places[place.from])} />`)}
                            ${shown.map((node, i) => mark(node, places[first + i], model.replays.get(node.id), node.id === at, line.has(node.id)))}
                        </g>
                    </svg>
                </div>
            </div>`;
    }
}

/** @param {{node: Node, model: import('../model.js').Model, name: string, row: number, count: number, left: number, isHere: boolean, isOnLine: boolean, isCursor: boolean, onPick: () => void}} props */
function Row({ node, model, name, row, count, left, isHere, isOnLine, isCursor, onPick }) {
    const { state } = node;
    const status = statusOf(node);
    const progress = model.replays.get(node.id);
    const where = state ? saidOf(state, progress, model.trouble !== null && model.unsaved.has(state.id)) : '';
    const said = progress ? WORDS.replaying(progress.done, progress.total) : state?.saving.now === 'failed' ? WORDS.notSaved : WORDS.nodeStatus[status];
    const number = state?.exec_count || '';
    const label = state?.label;
    const text = label ?? (node.run ? name : WORDS.graphRoot);
    return html`
        <div class="row" id=${rowId(row)} role="option" aria-selected=${isHere ? 'true' : 'false'} aria-setsize=${count} aria-posinset=${row + 1}
            data-node=${node.id} data-status=${status} data-here=${isHere ? '' : null} data-line=${isOnLine ? '' : null} data-cursor=${isCursor ? '' : null}
            aria-label=${[number, text, state && isPlain(state) ? said : where || said, isHere && WORDS.nodeHere].filter(Boolean).join(', ')} title=${[node.run ? node.run.code.slice(0, TITLE) : text, where].filter(Boolean).join('\n\n')}
            style=${{ top: `${row * ROW}px`, paddingLeft: `${left}px` }} onClick=${onPick}>
            <span class="what" data-label=${label || !node.run ? '' : null}>${text}</span>
            ${state?.saving.now === 'writing' && html`<span class="said late">${state.saving.percent} %</span>`}
            ${state?.pinned && html`<span class="pinned"><${PinIcon} /></span>`}
            ${said ? html`<span class="said" data-bad=${state?.saving.now === 'failed' ? '' : null}>${said}</span>` : html`<span class="number">${number}</span>`}
        </div>`;
}

/**
 * A node's mark: its status, where its state lives and how that is saved can be read from its shape: filled in memory, hollow
 * on disk, dashed when its cells have to run again; an arc while it is written or replayed.
 * @param {Node} node @param {Place} place @param {import('../living.js').Progress | undefined} progress @param {boolean} isHere @param {boolean} isOnLine
 */
function mark(node, place, progress, isHere, isOnLine) {
    const status = statusOf(node);
    const { x, y } = spot(place);
    const cross = status === 'error' || status === 'crashed' || status === 'interrupted';
    const { saving } = node.state ?? {};
    const sign = node.state && signOf(node.state);
    const arc = progress ? progress.done / progress.total : saving?.now === 'writing' ? saving.percent / 100 : null;
    const size = node.parent === null ? 5.5 : status === 'running' ? 3 : 4.5;
    return html`
        <g key=${node.run?.exec_id ?? node.id} class="mark" data-status=${status} data-living=${node.state?.living ?? null} data-here=${isHere ? '' : null} data-line=${isOnLine ? '' : null} transform=${`translate(${x} ${y})`}>
            ${isHere && html`<circle class="halo" r="9" />`}
            ${cross
                ? html`<circle class="ground" r="6" /><path class="cross" d=${status === 'interrupted' ? 'M-3.5 0h7' : 'M-3 -3l6 6M3 -3l-6 6'} />`
                : html`<circle class="dot" r=${size} />${status === 'running' && html`<circle class="spin" r="7.5" />`}`}
            ${arc !== null && html`<circle class="arc" data-late=${progress ? null : ''} r=${isHere ? 12 : 7.5} pathLength="100" stroke-dasharray=${`${Math.max(4, 100 * arc)} 100`} transform="rotate(-90)" />`}
            ${sign === 'partial' && html`<circle class="speck" cx="5" cy="5" r="2.75" />`}
            ${sign === 'failed' && html`<path class="alarm" d="M0 -8v4.5M0 -0.5v.01" transform=${`translate(${isHere ? 13 : 8} 0)`} />`}
        </g>`;
}

/** @param {Node} node @returns {keyof typeof WORDS.nodeStatus} */
function statusOf({ state, run }) {
    if (state?.living === 'replay' || state?.living === 'deleted') return state.living;
    return state ? 'ok' : run?.status ?? 'ok';
}

/** Nothing that anyone has to be told. @param {import('../protocol.js').State} state */
const isPlain = (state) => (state.living === 'memory' || state.living === 'freezing' || state.living === 'deleted') && signOf(state) === null && !state.pinned;

/** Edges of the line we stand on are painted last, above the others. @param {Place[]} edges @param {Node[]} nodes @param {Set<string>} line */
const byImportance = (edges, nodes, line) => [...edges.filter((e) => !line.has(nodes[e.row].id)), ...edges.filter((e) => line.has(nodes[e.row].id))];

/** How far from the first a lane lies. @param {number} lane */
const across = (lane) => (LANE * (1 - NEARER ** lane)) / (1 - NEARER);

/** @param {Place} place */
const spot = (place) => ({ x: LEFT + across(place.lane) + (place.beside ? 0.62 * LANE * NEARER ** place.lane : 0), y: place.row * ROW + ROW / 2 });

/** From a parent into the child's lane at once, then straight down. @param {Place} place @param {Place} parent */
function pathTo(place, parent) {
    const from = spot(parent);
    const to = spot(place);
    if (from.x === to.x) return `M${from.x} ${from.y}V${to.y}`;
    if (place.beside) return `M${from.x} ${from.y}V${to.y - ROW / 2}Q${from.x} ${to.y} ${to.x} ${to.y}`;
    const bend = from.y + ROW;
    return `M${from.x} ${from.y}C${from.x} ${from.y + ROW * 0.6} ${to.x} ${from.y + ROW * 0.4} ${to.x} ${bend}V${to.y}`;
}

/** The rightmost lane in which anything is drawn, for each painted row: its text starts behind it. @param {Place[]} edges @param {Place[]} places @param {number} first @param {number} last */
function rightmost(edges, places, first, last) {
    const lanes = new Array(Math.max(0, last - first + 1)).fill(0);
    for (const place of edges) {
        const end = place.lane + (place.beside ? 0.62 : 0);
        for (let row = Math.max(first, place.from + (place.beside ? place.row - place.from : 1)); row <= Math.min(last, place.row); row += 1) {
            lanes[row - first] = Math.max(lanes[row - first], end);
        }
    }
    for (let row = first; row <= last; row += 1) lanes[row - first] = Math.max(lanes[row - first], places[row].lane);
    return lanes;
}

/** @param {number} lane */
const textLeft = (lane) => Math.round(LEFT + across(lane) + 18);

/** @param {number} row */
const rowId = (row) => `row-${row}`;

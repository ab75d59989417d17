// @ts-check
// A map below a graph that is wider than its pane: all rows as dots, the current state, and a frame
// around what the pane shows. A press or a drag moves the pane there.

import { Component, html } from '../vendor/preact.js';
import { ROW, laneX, widthOf } from './geometry.js';
import { mapOf } from './map-dots.js';

/** @typedef {import('./scene.js').Row} Row */
/**
 * @typedef {{rows: Row[], lanes: number, at: number, box: HTMLElement}} MinimapProps `at`: the row
 *   of the current state; `box`: the element that scrolls
 */

/** The height of the map, in px; see minimap.css. */
const HEIGHT = 56;

/** @extends {Component<MinimapProps, {}>} */
export class Minimap extends Component {
    /** @type {HTMLElement | null} */
    frame = null;
    /** The width of the map that is drawn, in px. */
    width = 0;

    componentDidMount() {
        this.props.box.addEventListener('scroll', this.show, { passive: true });
        this.resized = new ResizeObserver(this.show);
        this.resized.observe(this.props.box);
        this.show();
    }

    componentDidUpdate() {
        this.show();
    }

    componentWillUnmount() {
        this.props.box.removeEventListener('scroll', this.show);
        this.resized?.disconnect();
    }

    /** @param {MinimapProps} next */
    shouldComponentUpdate(next) {
        return next.rows !== this.props.rows || next.at !== this.props.at;
    }

    /** The width and height of the graph, in px. */
    get #size() {
        const { rows, lanes, box } = this.props;
        return [Math.max(widthOf(lanes), box.clientWidth), Math.max(rows.length * ROW, box.clientHeight)];
    }

    /** Moves the frame to what the pane shows. */
    show = () => {
        const { box } = this.props;
        if (box.clientWidth !== this.width) this.forceUpdate();
        const [width = 1, height = 1] = this.#size;
        if (!this.frame) return;
        this.frame.style.left = `${(box.scrollLeft / width) * 100}%`;
        this.frame.style.top = `${(box.scrollTop / height) * 100}%`;
        this.frame.style.width = `${Math.min(1, box.clientWidth / width) * 100}%`;
        this.frame.style.height = `${Math.min(1, box.clientHeight / height) * 100}%`;
    };

    /** Shows what is under the pointer in the middle of the pane. @param {PointerEvent} event */
    #go(event) {
        const map = /** @type {HTMLElement} */ (event.currentTarget);
        if (event.type === 'pointerdown') map.setPointerCapture(event.pointerId);
        else if (!map.hasPointerCapture(event.pointerId)) return;
        const { box } = this.props;
        const { left, top, width, height } = map.getBoundingClientRect();
        const [wide = 1, high = 1] = this.#size;
        box.scrollLeft = ((event.clientX - left) / width) * wide - box.clientWidth / 2;
        box.scrollTop = ((event.clientY - top) / height) * high - box.clientHeight / 2;
    }

    /** @param {MinimapProps} props */
    render({ rows, at, box }) {
        const [width = 1, height = 1] = this.#size;
        this.width = box.clientWidth;
        const scale = { x: this.width / width, y: HEIGHT / height };
        const dots = mapOf(rows, (row) => [
            laneX(row.place.lane) * scale.x,
            (row.place.row + 0.5) * ROW * scale.y,
        ]);
        const own = rows[at];
        const go = (/** @type {PointerEvent} */ event) => this.#go(event);
        return html`<div class="minimap" aria-hidden="true" onPointerDown=${go} onPointerMove=${go}>
            <svg viewBox=${`0 0 ${this.width} ${HEIGHT}`} preserveAspectRatio="none">
                ${dots.map((d, colour) => html`<path key=${colour} data-branch=${colour} d=${d} />`)}
                ${
                    own &&
                    html`<circle r="3" data-branch=${own.place.colour} cx=${laneX(own.place.lane) * scale.x}
                    cy=${(at + 0.5) * ROW * scale.y} />`
                }
            </svg>
            <i ref=${(/** @type {HTMLElement | null} */ frame) => (this.frame = frame)}></i></div>`;
    }
}

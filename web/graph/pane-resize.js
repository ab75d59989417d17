// @ts-check
// The right edge of the graph pane. Dragging the edge or pressing arrow keys resizes the pane. The
// browser stores the width.

import { Component, html } from '../vendor/preact.js';
import { GRAPH_WORDS } from './graph-words.js';

const KEY = 'ratoon.graphWidth';
/** The minimum width of the pane, and the change per arrow key, in px. */
const LEAST = 200;
const STEP = 16;
/** The maximum width of the pane, as a share of the window's width. */
const MOST = 0.6;

/** @extends {Component<{}, {width: number}>} */
export class PaneResize extends Component {
    state = { width: Number(localStorage.getItem(KEY)) || 0 };
    /** @type {HTMLElement | null} */
    element = null;

    componentDidMount() {
        if (this.state.width) this.#paint(this.state.width);
        else this.setState({ width: this.#panel()?.offsetWidth ?? LEAST });
    }

    #panel() {
        return this.element?.parentElement ?? null;
    }

    /** @param {number} width */
    #paint(width) {
        this.#panel()?.style.setProperty('--graph-width', `${width}px`);
    }

    /** @param {number} wanted */
    #set(wanted) {
        const width = Math.round(Math.max(LEAST, Math.min(wanted, innerWidth * MOST)));
        this.#paint(width);
        this.setState({ width });
        localStorage.setItem(KEY, String(width));
    }

    #reset() {
        localStorage.removeItem(KEY);
        this.#panel()?.style.removeProperty('--graph-width');
        this.setState({ width: this.#panel()?.offsetWidth ?? LEAST });
    }

    /** @param {PointerEvent} event */
    #drag(event) {
        if (!this.element?.hasPointerCapture(event.pointerId)) return;
        this.#set(event.clientX - (this.#panel()?.getBoundingClientRect().left ?? 0));
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const { width } = this.state;
        if (event.key === 'ArrowLeft') this.#set(width - STEP);
        else if (event.key === 'ArrowRight') this.#set(width + STEP);
        else if (event.key === 'Home') this.#set(LEAST);
        else if (event.key === 'End') this.#set(innerWidth * MOST);
        else return;
        event.preventDefault();
    }

    render() {
        return html`<div class="pane-resize" role="separator" tabindex="0" aria-orientation="vertical"
            aria-label=${GRAPH_WORDS.resize} aria-valuenow=${this.state.width} aria-valuemin=${LEAST}
            aria-valuemax=${Math.round(innerWidth * MOST)}
            ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}
            onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}
            onDblClick=${() => this.#reset()}
            onPointerDown=${(/** @type {PointerEvent} */ event) => {
                event.preventDefault();
                this.element?.setPointerCapture(event.pointerId);
            }}
                onPointerMove=${(/** @type {PointerEvent} */ event) => this.#drag(event)}></div>`;
    }
}

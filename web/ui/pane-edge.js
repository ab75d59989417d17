// @ts-check
// The edge of the right pane: resizes it with the pointer or the arrow keys. This browser remembers
// the width.

import { Component, html } from '../vendor/preact.js';

/** The least width, and the step of an arrow key, in px. */
const LEAST = 240;
const STEP = 24;
/** The greatest share of the window for a pane. */
const SHARE = 0.7;

/** @extends {Component<{name: string, label: string}, {width: number}>} */
export class PaneEdge extends Component {
    key = `ratoon.width.${this.props.name}`;
    state = { width: Number(localStorage.getItem(this.key)) || 0 };
    /** @type {HTMLElement | null} */
    edge = null;

    componentDidMount() {
        this.componentDidUpdate();
        // Without a stored width, tells screen readers the actual width.
        if (!this.state.width && this.edge?.parentElement)
            this.edge.setAttribute('aria-valuenow', String(Math.round(this.edge.parentElement.offsetWidth)));
    }

    componentDidUpdate() {
        const { width } = this.state;
        const pane = this.edge?.parentElement;
        if (width) pane?.style.setProperty('--width', `${width}px`);
        // The graph leaves the notebook its room beside this pane.
        /** @type {HTMLElement | null | undefined} */ (pane?.closest('.app'))?.style.setProperty(
            '--right-width',
            width ? `${width}px` : null,
        );
    }

    /** @param {number} wished */
    #set(wished) {
        const width = Math.round(Math.min(Math.max(wished, LEAST), Math.max(LEAST, innerWidth * SHARE)));
        localStorage.setItem(this.key, String(width));
        this.setState({ width });
    }

    #width() {
        return this.edge?.parentElement?.getBoundingClientRect().width ?? LEAST;
    }

    /** @param {PointerEvent} event */
    #drag(event) {
        const { edge } = this;
        if (!edge || event.button !== 0) return;
        event.preventDefault();
        edge.setPointerCapture(event.pointerId);
        const [from, width] = [event.clientX, this.#width()];
        const move = (/** @type {PointerEvent} */ now) => this.#set(width + from - now.clientX);
        edge.addEventListener('pointermove', move);
        edge.addEventListener('lostpointercapture', () => edge.removeEventListener('pointermove', move), {
            once: true,
        });
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const by = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        this.#set(this.#width() + by);
    }

    /** @param {{name: string, label: string}} props @param {{width: number}} state */
    render({ label }, { width }) {
        return html`<div class="pane-edge" role="separator" aria-orientation="vertical" aria-label=${label}
            tabindex="0" aria-valuemin=${LEAST}
            aria-valuemax=${Math.max(LEAST, Math.round(innerWidth * SHARE))} aria-valuenow=${width || LEAST}
            ref=${(/** @type {HTMLElement | null} */ edge) => (this.edge = edge)}
            onPointerDown=${(/** @type {PointerEvent} */ event) => this.#drag(event)}
            onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}></div>`;
    }
}

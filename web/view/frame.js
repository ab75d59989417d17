// @ts-check
// HTML and SVG of outputs, in a frame that can do nothing to this page.
//
// The frame is a document of its own origin-less world (see frame.html). Content goes to it over a channel; all that
// may come back is its height, checked, clamped and at most once per painted frame.

import { Component, html } from '../vendor/preact.js';
import { onTheme, shownTheme } from '../theme.js';
import { WORDS } from '../words.js';
import { whenNear } from './near.js';

const ADDRESS = '/frame/v1';
/** Taller content scrolls inside, so that no output can push the notebook out of reach. */
const TALLEST_PX = 4000;

/** @extends {Component<{content: string}, {}>} */
export class Frame extends Component {
    /** @type {HTMLIFrameElement | null} */
    frame = null;
    /** @type {MessagePort | null} */
    port = null;
    height = 0;
    isHeightDue = false;

    componentDidMount() {
        const { frame } = this;
        if (!frame) return;
        frame.onload = () => this.#greet();
        whenNear(frame, () => {
            frame.src = ADDRESS;
        });
        this.endTheme = onTheme(() => this.port?.postMessage({ theme: shownTheme() }));
    }

    /** @param {{content: string}} next */
    shouldComponentUpdate(next) {
        if (next.content !== this.props.content) this.port?.postMessage({ content: next.content });
        return false;
    }

    componentWillUnmount() {
        this.endTheme?.();
        this.port?.close();
    }

    #greet() {
        const { frame } = this;
        if (!frame?.contentWindow || !frame.src) return;
        this.port?.close();
        const { port1, port2 } = new MessageChannel();
        this.port = port1;
        port1.onmessage = ({ data }) => this.#hear(data);
        // The frame has no origin that could be named; the port is what only it gets.
        frame.contentWindow.postMessage('ratoon', '*', [port2]);
        port1.postMessage({ theme: shownTheme(), content: this.props.content });
    }

    /** @param {unknown} data */
    #hear(data) {
        const height = /** @type {any} */ (data)?.height;
        if (typeof height !== 'number' || !Number.isFinite(height)) return;
        this.height = Math.min(TALLEST_PX, Math.max(0, Math.ceil(height)));
        if (this.isHeightDue) return;
        this.isHeightDue = true;
        requestAnimationFrame(() => {
            this.isHeightDue = false;
            if (!this.frame) return;
            this.frame.style.height = `${this.height}px`;
            this.frame.dataset.ready = '';
        });
    }

    render() {
        const keep = (/** @type {HTMLIFrameElement | null} */ frame) => (this.frame = frame);
        return html`<iframe class="frame" sandbox="allow-scripts" referrerpolicy="no-referrer" title=${WORDS.outputFrame} ref=${keep}></iframe>`;
    }
}

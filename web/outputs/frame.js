// @ts-check
// HTML of outputs, in a frame that can do nothing to this page.
//
// The frame is a document of its own origin-less world (see frame.html). Content goes to it over a channel. Back comes its
// height, checked, clamped and at most once per painted frame, and the address of a script it would like: it gets one out
// of a fixed list, or a sentence.

import { Component, html } from '../vendor/preact.js';
import { onTheme, shownTheme } from '../ui/theme.js';
import { WORDS } from '../shell/words.js';
import { rememberHeight, reservedHeight } from './frame-height.js';
import { scriptFor } from './library-scripts.js';
import { unwatch, watchNear } from '../ui/near-viewport.js';

const ADDRESS = '/frame/v1';
/** Taller content scrolls inside, so that no output can push the notebook out of reach. */
const TALLEST_PX = 4000;
/** Frames that stay alive when they are far from what is seen. Each is a process of its own, or a good part of one. */
const MOST_ALIVE = 24;
/**
 * How long content may grow, in milliseconds, before its height is taken for its own: a plot is an empty element until its
 * script has run.
 */
const REST_MS = 1000;
/** Scripts that one frame may ask for. */
const MOST_SCRIPTS = 40;

/** Frames that begin at the same time: what they show makes room, and those behind may not be near any more. */
const MOST_BEGINNING = 4;
/** How long one may begin before the next does not wait for it any more, in milliseconds. */
const PATIENCE_MS = 2000;

/** Those that are near and wait for their turn. @type {Set<Frame>} */
const waiting = new Set();
/** Those that have not told their height yet. @type {Set<Frame>} */
const beginning = new Set();

function beginNext() {
    for (const one of waiting) {
        if (beginning.size >= MOST_BEGINNING) return;
        waiting.delete(one);
        one.begin();
    }
}

/** Those that are alive, the one that came near last at the end. @type {Set<Frame>} */
const alive = new Set();

/**
 * A frame that begins anew is another one, also where its end has not been painted: `life` counts them, 0 is none.
 *
 * @extends {Component<{content: string, id: string}, {life: number}>} `id`: by which its height is remembered
 */
export class Frame extends Component {
    state = { life: 0 };
    /** @type {HTMLElement | null} */
    element = null;
    /** @type {MessagePort | null} */
    port = null;
    /** The height of the content in px, as it was told last. */
    height = 0;
    /** The width of the place in px when it got that height. */
    width = 0;
    /** The least height of the place in px until the content rests. */
    reserved = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    resting = undefined;
    lives = 0;
    scripts = 0;
    isNear = false;
    isHeightDue = false;

    componentDidMount() {
        const { element } = this;
        if (element) {
            this.reserved = reservedHeight(this.props.id, element.clientWidth, this.props.content);
            element.style.height = `${this.reserved}px`;
            watchNear(element, (isNear) => this.#came(isNear));
        }
        this.endTheme = onTheme(() => this.port?.postMessage({ theme: shownTheme() }));
    }

    /** @param {{content: string, id: string}} next @param {{life: number}} state */
    shouldComponentUpdate(next, state) {
        if (next.content !== this.props.content) this.port?.postMessage({ content: next.content });
        return state.life !== this.state.life;
    }

    componentWillUnmount() {
        this.#rest();
        if (this.element) unwatch(this.element);
        this.endTheme?.();
        this.#end();
    }

    /** @param {boolean} isNear */
    #came(isNear) {
        this.isNear = isNear;
        if (isNear && !alive.has(this)) waiting.add(this);
        else if (!isNear) waiting.delete(this);
        beginNext();
        if (isNear && alive.delete(this)) alive.add(this);
        for (const one of alive) {
            if (alive.size <= MOST_ALIVE) break;
            if (!one.isNear) one.#sleep();
        }
    }

    begin() {
        beginning.add(this);
        alive.add(this);
        this.lives += 1;
        this.setState({ life: this.lives });
        setTimeout(() => this.#hasBegun(), PATIENCE_MS);
    }

    /** The next ones follow when it is known who is near now: that is told after the next picture. */
    #hasBegun() {
        if (beginning.delete(this)) requestAnimationFrame(() => requestAnimationFrame(beginNext));
    }

    /** Far away and one of too many: its place stays as high as it was, and it begins anew when it comes near. */
    #sleep() {
        this.#rest();
        this.reserved = this.height;
        this.#end();
        this.setState({ life: 0 });
    }

    #end() {
        alive.delete(this);
        waiting.delete(this);
        this.#hasBegun();
        this.port?.close();
        this.port = null;
    }

    /** @param {HTMLIFrameElement} frame */
    #greet(frame) {
        if (!frame.contentWindow) return;
        this.port?.close();
        const { port1, port2 } = new MessageChannel();
        this.port = port1;
        this.scripts = 0;
        port1.onmessage = ({ data }) => this.#hear(data);
        // The frame has no origin that could be named; the port is what only it gets.
        frame.contentWindow.postMessage('ratoon', '*', [port2]);
        port1.postMessage({ theme: shownTheme(), content: this.props.content });
    }

    /** @param {any} data */
    #hear(data) {
        if (typeof data?.script === 'string') this.#give(data.script);
        const height = data?.height;
        if (typeof height !== 'number' || !Number.isFinite(height)) return;
        this.height = Math.min(TALLEST_PX, Math.max(0, Math.ceil(height)));
        if (this.isHeightDue) return;
        this.isHeightDue = true;
        requestAnimationFrame(() => {
            this.isHeightDue = false;
            if (!this.element || !this.port) return;
            this.element.style.height = `${Math.max(this.reserved, this.height)}px`;
            this.element.dataset.ready = '';
            this.width = this.element.clientWidth;
            this.resting ??= setTimeout(() => this.#rest(), REST_MS);
            this.#hasBegun();
        });
    }

    /** The content has its own height now, which is remembered. */
    #rest() {
        if (this.resting === undefined) return;
        clearTimeout(this.resting);
        this.resting = undefined;
        this.reserved = 0;
        if (!this.element) return;
        this.element.style.height = `${this.height}px`;
        rememberHeight(this.props.id, this.width, this.height);
    }

    /** @param {string} url */
    async #give(url) {
        const { port } = this;
        this.scripts += 1;
        if (url.length > 2000 || this.scripts > MOST_SCRIPTS) return;
        port?.postMessage({ script: url, ...(await scriptFor(url)) });
    }

    /** @param {{content: string, id: string}} _ @param {{life: number}} state */
    render(_, { life }) {
        const keep = (/** @type {HTMLElement | null} */ element) => (this.element = element);
        return html`<div class="frame-place" ref=${keep}>
            ${
                life > 0 &&
                html`<iframe key=${life} class="frame" sandbox="allow-scripts" referrerpolicy="no-referrer" title=${WORDS.outputFrame} src=${ADDRESS}
                onLoad=${(/** @type {{currentTarget: HTMLIFrameElement}} */ { currentTarget }) => this.#greet(currentTarget)}></iframe>`
            }
        </div>`;
    }
}

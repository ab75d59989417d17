// @ts-check
// HTML output, in a frame that has no access to this page.
//
// The frame's document has an opaque origin (see frame.html). The page sends content over a message
// channel. The frame sends back its height, the addresses of scripts it needs, and that it gives
// back the focus. The page checks and clamps the height and applies it at most once per animation
// frame. For an address on a fixed list, the page sends the script; for any other address, an error
// text.

import { Component, html } from '../vendor/preact.js';
import { onTheme, shownTheme } from '../ui/theme.js';
import { WORDS } from '../shell/words.js';
import { rememberHeight, reservedHeight } from './frame-height.js';
import { scriptFor } from './library-scripts.js';
import { unwatch, watchNear } from '../ui/near-viewport.js';
import { serverPath } from '../shell/server-path.js';

const ADDRESS = '/frame/v1';
/** Taller content scrolls inside, so that no output pushes the notebook out of reach. */
const TALLEST_PX = 4000;
/**
 * If more frames than this are loaded, those far from the viewport are unloaded. Each frame may be
 * a process.
 */
const MOST_ALIVE = 24;
/**
 * A height counts as final after this time without a change, in milliseconds. Content may grow
 * late: a plot is an empty element until its script has run.
 */
const REST_MS = 1000;
/** For how many paints the page waits until a frame has the focus that it gives back. */
const MOST_LOOKS = 30;
/** The most scripts that a frame may request. */
const MOST_SCRIPTS = 40;

/** The next look at whether a frame has the focus. A press or key in the page itself cancels it. */
let look = 0;
for (const kind of ['pointerdown', 'keydown', 'focusin'])
    addEventListener(kind, () => cancelAnimationFrame(look), true);

/**
 * The most frames loading at once: loaded content moves other frames, which may then no longer be
 * near the viewport.
 */
const MOST_BEGINNING = 4;
/**
 * After this time, in milliseconds, the next frame loads even if this one has not reported a
 * height.
 */
const PATIENCE_MS = 2000;

/** Frames near the viewport that wait to load. @type {Set<Frame>} */
const waiting = new Set();
/** Frames that have not reported a height yet. @type {Set<Frame>} */
const beginning = new Set();

function beginNext() {
    for (const one of waiting) {
        if (beginning.size >= MOST_BEGINNING) return;
        waiting.delete(one);
        one.begin();
    }
}

/** Loaded frames, in the order in which they last came near the viewport. @type {Set<Frame>} */
const alive = new Set();

/**
 * @typedef {object} FrameHost A view that exchanges messages with the code in its frame.
 * @property {(post: (message: any) => void) => void} greeted the frame is ready
 * @property {(data: any) => void} hear the frame sends a message, which may be anything
 * @property {() => void} ended the frame was unloaded
 */
/** @typedef {{content: string, id: string, host?: FrameHost}} FrameProps */
/**
 * @typedef {{pieces: import('../find/table-text.js').Piece[][], here: number}} FoundInFrame The
 *   matches of Find in the frame. `here`: the index of the current one; -1 for none
 */

/** The frames on the page, by their elements. @type {WeakMap<Element, Frame>} */
export const frames = new WeakMap();

/**
 * `life`: the number of the current iframe element; 0 for none. Each load gets a new number, so
 * that a reload creates a new element even if the removal of the old one was never painted.
 * @extends {Component<FrameProps, {life: number}>} `id`: the storage key of the height
 */
export class Frame extends Component {
    state = { life: 0 };
    /** @type {HTMLElement | null} */
    element = null;
    /** @type {MessagePort | null} */
    port = null;
    /** The last reported height of the content, in px. */
    height = 0;
    /** The width of the frame's box when `height` was reported, in px. */
    width = 0;
    /** The least height of the frame's box until its content is complete, in px. */
    reserved = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    resting = undefined;
    lives = 0;
    scripts = 0;
    isNear = false;
    isHeightDue = false;
    /** @type {FoundInFrame | null} */
    found = null;
    /** Receives where the current match is, in px below the top of the frame. */
    onFound = (/** @type {number} */ _) => {};

    componentDidMount() {
        const { element } = this;
        if (element) {
            frames.set(element, this);
            this.reserved = reservedHeight(this.props.id, element.clientWidth, this.props.content);
            element.style.height = `${this.reserved}px`;
            watchNear(element, (isNear) => this.#came(isNear));
        }
        this.endTheme = onTheme(() => this.port?.postMessage({ theme: shownTheme() }));
    }

    /** @param {FrameProps} next @param {{life: number}} state */
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

    /** Marks the matches of Find. @param {FoundInFrame | null} found */
    mark(found) {
        this.found = found;
        this.port?.postMessage({ found });
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

    /** Loads the next frames after a paint, when it is known which ones are near the viewport. */
    #hasBegun() {
        if (beginning.delete(this)) requestAnimationFrame(() => requestAnimationFrame(beginNext));
    }

    /**
     * Unloads a frame far from the viewport. Its box keeps the height, and it reloads when it comes
     * near.
     */
    #sleep() {
        this.#rest();
        this.reserved = Math.max(this.reserved, this.height);
        this.#end();
        this.setState({ life: 0 });
    }

    #end() {
        alive.delete(this);
        waiting.delete(this);
        this.#hasBegun();
        if (this.port) this.props.host?.ended();
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
        // An opaque origin cannot be named as the target; only this frame receives the port.
        frame.contentWindow.postMessage('ratoon', '*', [port2]);
        port1.postMessage({ theme: shownTheme(), content: this.props.content, found: this.found });
        this.props.host?.greeted((message) => port1.postMessage(message));
    }

    /** @param {any} data */
    #hear(data) {
        if (typeof data?.script === 'string') this.#give(data.script);
        if (data?.widgets !== undefined) this.props.host?.hear(data.widgets);
        if (data?.leave !== undefined) this.#leave(data.leave ? MOST_LOOKS : 0);
        if (Number.isFinite(data?.foundAt)) this.onFound(data.foundAt);
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

    /**
     * Moves the focus from the frame to the cell or pane around it. A frame cannot move a focus
     * that is elsewhere. The frame of an imported cell moves none: its script could take the focus
     * from where the user types, and the next keys could run the cell.
     * @param {number} looks how often to look: the message may arrive before the browser has moved
     *   the focus into the frame
     */
    #leave(looks) {
        cancelAnimationFrame(look);
        const frame = this.element?.querySelector('iframe');
        if (!frame || looks === 0 || frame.closest('[data-untrusted]')) return;
        const around = /** @type {HTMLElement | null} */ (frame.closest('[tabindex]'));
        if (document.activeElement === frame) around?.focus({ preventScroll: true });
        else look = requestAnimationFrame(() => this.#leave(looks - 1));
    }

    /** Remembers the final height of the content. */
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

    /** @param {FrameProps} _ @param {{life: number}} state */
    render(_, { life }) {
        const keep = (/** @type {HTMLElement | null} */ element) => (this.element = element);
        return html`<div class="frame-place" ref=${keep}>
            ${
                life > 0 &&
                html`<iframe key=${life} class="frame" sandbox="allow-scripts" referrerpolicy="no-referrer"
                    title=${WORDS.outputFrame} src=${serverPath(ADDRESS)}
                onLoad=${(/** @type {{currentTarget: HTMLIFrameElement}} */ { currentTarget }) =>
                    this.#greet(currentTarget)}></iframe>`
            }
        </div>`;
    }
}

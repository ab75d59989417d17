// @ts-check
// Loads the parts of the page that are not needed for showing a notebook and typing: on demand, or
// earlier when the page is idle. A loaded part is available synchronously from then on. The parts
// have one style sheet, which is loaded with the first of them.

import { Component, h } from '../vendor/preact.js';
import { whenIdle } from '../ui/idle.js';
import { WORDS } from './words.js';

/** @typedef {typeof import('./parts.js').PARTS} Parts */
/** @typedef {import('../notebook/page.js').Page} Page */
/** @template {keyof Parts} N @typedef {Awaited<ReturnType<Parts[N]>>} Part */

/** How long the page waits before it loads all remaining parts, in milliseconds. */
const REST_MS = 2000;
/** The longest time that key presses are held back for a part, in milliseconds. */
const HELD_MS = 1000;

/** @type {Partial<Parts>} */
let loaders = {};
/** @type {Map<keyof Parts, any>} */
const loaded = new Map();

/** What to do with a part as soon as it is loaded. @type {Map<keyof Parts, (part: any) => void>} */
const awaited = new Map();

/** The style of the parts, once it is requested. @type {Promise<void> | null} */
let styled = null;

/** @returns {Promise<void>} rejects without a connection */
function loadStyle() {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = new URL('../style/later.css', import.meta.url).href;
    return new Promise((done, failed) => {
        link.onload = () => done();
        link.onerror = () => {
            styled = null;
            link.remove();
            failed(new Error('the style of the parts did not load'));
        };
        document.head.append(link);
    });
}

/** @param {Parts} parts */
export function registerParts(parts) {
    loaders = parts;
}

/**
 * @template {keyof Parts} N
 * @param {N} name
 * @returns {Promise<Part<N>>} rejects without a connection; a later call may succeed
 */
export async function loadPart(name) {
    const [part] = loaded.has(name)
        ? [loaded.get(name)]
        : await Promise.all([loaders[name]?.(), (styled ??= loadStyle())]);
    if (!loaded.has(name)) {
        loaded.set(name, part);
        awaited.get(name)?.(part);
    }
    return part;
}

/**
 * @template {keyof Parts} N
 * @param {N} name
 * @returns {Part<N> | undefined} undefined if the part is not loaded yet
 */
export const loadedPart = (name) => loaded.get(name);

/**
 * Calls `act` once: now, or when a part is loaded on demand or because the page is idle.
 * @template {keyof Parts} N
 * @param {N} name
 * @param {(part: Part<N>) => void} act
 */
export const whenLoaded = (name, act) =>
    loaded.has(name) ? act(loaded.get(name)) : void awaited.set(name, act);

/** @param {Page} page */
const notifyMissing = (page) => page.notify(WORDS.partMissing, true);

/**
 * Calls `act` with a part. If the part takes the keyboard, keys typed while it loads are meant for
 * the part, not for a cell: they are inserted into its input.
 * @template {keyof Parts} N
 * @param {N} name
 * @param {Page} page
 * @param {(part: Part<N>) => any} act
 * @param {boolean} [takesKeys]
 */
export async function withPart(name, page, act, takesKeys = true) {
    if (loaded.has(name)) return act(loaded.get(name));
    const release = takesKeys ? heldKeys() : () => '';
    const part = await loadPart(name).catch(() => null);
    if (!part) {
        release();
        return notifyMissing(page);
    }
    try {
        return act(part);
    } finally {
        // The input is there in the next frame. Keys typed until then come after those before.
        requestAnimationFrame(() => {
            const typed = release();
            if (typed && document.activeElement?.matches('input'))
                document.execCommand('insertText', false, typed);
        });
    }
}

/** Holds all key presses back. The returned function ends that and returns the typed text. */
function heldKeys() {
    let typed = '';
    const hold = (/** @type {KeyboardEvent} */ event) => {
        event.preventDefault();
        event.stopImmediatePropagation();
        if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) typed += event.key;
    };
    const release = () => (removeEventListener('keydown', hold, true), typed);
    addEventListener('keydown', hold, true);
    setTimeout(release, HELD_MS);
    return release;
}

/** The performance mark that says that all parts are loaded. */
const ALL_LOADED = 'parts loaded';

/** Loads all parts, one after the other, while the page is idle. Then sets a performance mark. */
export function preloadParts() {
    const names = /** @type {(keyof Parts)[]} */ (Object.keys(loaders));
    const next = () => {
        const name = names.shift();
        // After a failure, stop: the other parts would fail as well. Opening a part reports it.
        if (!name) performance.mark(ALL_LOADED);
        else
            loadPart(name).then(
                () => whenIdle(next),
                () => {},
            );
    };
    setTimeout(() => whenIdle(next), REST_MS);
}

/**
 * @typedef {{of: keyof Parts, view: (part: any) => any, page: Page, onFailed: () => void,
 *   meanwhile?: any, [more: string]: any}} LazyProps `meanwhile`: rendered until the part is loaded
 */

/**
 * Renders a view of a part, with all other props.
 * @extends {Component<LazyProps, {}>}
 */
export class LazyPart extends Component {
    isUnmounted = false;

    componentDidMount() {
        const { of, page, onFailed } = this.props;
        if (loaded.has(of)) return;
        loadPart(of).then(
            () => this.isUnmounted || this.forceUpdate(),
            () => {
                if (this.isUnmounted) return;
                notifyMissing(page);
                onFailed();
            },
        );
    }

    componentWillUnmount() {
        this.isUnmounted = true;
    }

    /** @param {LazyProps} props */
    render({ of, view, onFailed: _, meanwhile = null, ...props }) {
        return loaded.has(of) ? h(view(loaded.get(of)), props) : meanwhile;
    }
}

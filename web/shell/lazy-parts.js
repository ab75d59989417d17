// @ts-check
// Parts of the page that are not needed to show a notebook and to type in it: fetched when they are wanted, or before that,
// once the page has come to rest. What was fetched is there at once from then on.

import { Component, h } from '../vendor/preact.js';
import { WORDS } from './words.js';

const PARTS = {
    compare: () => import('../compare/compare-view.js'),
    finder: () => import('../find/find-panel.js'),
    markdown: () => import('../outputs/markdown.js'),
    math: () => import('../outputs/formula-view.js'),
    palette: () => import('../commands/palette.js'),
    pick: () => import('../compare/state-picker.js'),
    share: () => import('../share/share-dialog.js'),
    sheet: () => import('../commands/shortcuts-sheet.js'),
    variables: () => import('../variables/variables-pane.js'),
};

/** @typedef {typeof PARTS} Parts */
/** @typedef {import('../notebook/page.js').Page} Page */
/** @template {keyof Parts} N @typedef {Awaited<ReturnType<Parts[N]>>} Part */

/** How long the page rests before the parts are fetched that nobody asked for, in milliseconds. */
const REST_MS = 2000;
/** How long keys wait for the part that they are meant for, in milliseconds. */
const HELD_MS = 1000;

/** @type {Map<keyof Parts, any>} */
const here = new Map();

/** @template {keyof Parts} N @param {N} name @returns {Promise<Part<N>>} fails while there is no connection; the next try may succeed */
export async function fetched(name) {
    const part = here.get(name) ?? (await PARTS[name]());
    here.set(name, part);
    return part;
}

/** @param {Page} page */
const sayMissing = (page) => page.say(WORDS.partMissing, true);

/**
 * Does something with a part that takes the keyboard. What is typed meanwhile was meant for it, and is no command to a cell: it is
 * typed there.
 * @template {keyof Parts} N @param {N} name @param {Page} page @param {(part: Part<N>) => any} act
 */
export async function withPart(name, page, act) {
    if (here.has(name)) return act(here.get(name));
    const release = heldKeys();
    /** @type {Part<N>} */
    let part;
    let typed = '';
    try {
        part = await fetched(name);
    } catch {
        return sayMissing(page);
    } finally {
        typed = release();
    }
    const done = act(part);
    if (typed)
        requestAnimationFrame(
            () =>
                document.activeElement?.matches('input') && document.execCommand('insertText', false, typed),
        );
    return done;
}

/** Lets no key through; answers how to let them through again, and what text they were. */
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

/** Fetches all parts, one after the other, while nothing else is to be done. */
export function fetchTheRest() {
    const whenIdle = window.requestIdleCallback ?? ((/** @type {() => void} */ what) => setTimeout(what));
    const names = /** @type {(keyof Parts)[]} */ (Object.keys(PARTS));
    const next = () => {
        const name = names.shift();
        // If one cannot be fetched, neither can the others; who wants one will be told then.
        if (name)
            fetched(name).then(
                () => whenIdle(next),
                () => {},
            );
    };
    setTimeout(() => whenIdle(next), REST_MS);
}

/** @typedef {{of: keyof Parts, view: (part: any) => any, page: Page, gone: () => void, [more: string]: any}} LaterProps `gone`: it could not be fetched */

/** A view out of a part, and nothing until that is there. It gets all that is given here. @extends {Component<LaterProps, {}>} */
export class Later extends Component {
    isOver = false;

    componentDidMount() {
        const { of, page, gone } = this.props;
        if (here.has(of)) return;
        fetched(of).then(
            () => this.isOver || this.forceUpdate(),
            () => {
                if (this.isOver) return;
                sayMissing(page);
                gone();
            },
        );
    }

    componentWillUnmount() {
        this.isOver = true;
    }

    /** @param {LaterProps} props */
    render({ of, view, gone: _, ...props }) {
        return here.has(of) ? h(view(here.get(of)), props) : null;
    }
}
